"""QuantizeRealize: replaces simulated quantisation by integer arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compiler.classic.relay.transform.quantization.forward_rewrite import ForwardRewrite, Marked, Rule, marked
from compiler.classic.relay.transform.quantization.quantize_annotate import SIMULATED
from compiler.classic.relay.transform.quantization.quantize_config import QAnnotateKind, current_qconfig
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.relay.expr import Call, Constant, GraphExpr, Tuple, const
from compiler.relay.function import Function
from compiler.relay.op.annotation.markers import CastHintAttrs
from compiler.relay.op.annotation.simulated_quantize import SimulatedQuantizeAttrs
from compiler.relay.op.qnn.arithmetic import fixed_point
from compiler.relay.operator import call_of, call_op
from compiler.relay.transform.function_pass import FunctionPass

__all__ = ["QRealizeIntExpr", "QuantizeRealize", "realize"]


@dataclass(frozen=True)
class QRealizeIntExpr(Marked):
    """A quantized value: so many steps, of type ``dtype``, of a scale."""

    data: Any
    dom_scale: float
    dtype: str

    def realize(self) -> GraphExpr:
        """Return the value in floating point."""
        return call_op("multiply", _cast(self.data, "float32"), const(self.dom_scale, "float32"))


class QuantizeRealize(FunctionPass, opt_level=1):
    """Replace ``simulated_quantize`` by conversions to integers, and what follows by operators on integers.

    Level 1.  Scales must be constants, as calibration leaves them.  Those that are not powers of two are multiplied in
    fixed point, as in B. Jacob et al., "Quantization and Training of Neural Networks for Efficient
    Integer-Arithmetic-Only Inference", CVPR 2018.

    Examples
    --------
    ``QuantizeRealize()``::

        def @main(%x: Tensor[(3), float32]) {
          relay.op.annotation.simulated_quantize(%x, 0.0625f, -127f, 127f, kind=1)
        }
        ->
        def @main(%x: Tensor[(3), float32]) {
          multiply(cast(clip(round(multiply(%x, 16f)), a_min=-127f, a_max=127f), dtype="float32"), 0.0625f)
        }
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        enabled = current_qconfig().debug_enabled_ops
        rules = {n: r for n, r in _RULES.items() if enabled is None or n in (*enabled, SIMULATED)}
        return ForwardRewrite(rules).apply(func)


def realize() -> QuantizeRealize:
    """Return the pass that computes with integers."""
    return QuantizeRealize()


def _cast(data: Any, dtype: str) -> Call:
    return call_op("cast", data, dtype=dtype)


def _as(value: QRealizeIntExpr, dtype: str) -> Any:
    return value.data if value.dtype == dtype else _cast(value.data, dtype)


def _scalar(expr: Any) -> float:
    assert isinstance(expr, Constant), "calibration makes constants of scales and bounds"
    return float(expr.value)


def _call(call: Call, args: Sequence[Any]) -> Call:
    return Call(call.op, tuple(args), call.attrs)


def _scaled(data: Any, factor: float) -> Any:
    """Return whole numbers times a factor, rounded, through 64 bits."""
    if current_qconfig().rounding == "UPWARD":
        multiplier, shift = fixed_point(factor)
        return call_op("fixed_point_multiply", _cast(data, "int64"), multiplier=multiplier, shift=shift)
    product = call_op("multiply", _cast(data, "float32"), const(factor, "float32"))
    return _cast(call_op("round", product), "int64")


def _power_of_two(factor: float) -> int | None:
    """Return the exponent of a factor that is a power of two."""
    exponent = math.log2(factor)
    return int(exponent) if exponent == int(exponent) else None


def _quantize(call: Call, args: Sequence[Any]) -> QRealizeIntExpr:
    value, scale, low, high = args[0], *map(_scalar, call.args[1:])
    bounds = {"a_min": low, "a_max": high}
    if not isinstance(value, QRealizeIntExpr):
        steps = call_op("multiply", value, const(1 / scale, "float32"))
        return QRealizeIntExpr(call_op("clip", call_op("round", steps), **bounds), scale, "float32")
    if value.dom_scale == scale:
        return QRealizeIntExpr(call_op("clip", value.data, **bounds), scale, value.dtype)
    shift = _power_of_two(scale / value.dom_scale)
    if shift is None:
        clipped = call_op("clip", _scaled(value.data, value.dom_scale / scale), **bounds)
        return QRealizeIntExpr(_cast(clipped, value.dtype), scale, value.dtype)
    return QRealizeIntExpr(call_op("clip", _shifted(value, shift), **bounds), scale, value.dtype)


def _shifted(value: QRealizeIntExpr, right: int) -> Any:
    """Return whole numbers divided by a power of two, or multiplied by it."""
    dtype = current_qconfig().dtype_activation
    data = _as(value, dtype)
    if right < 0:
        return call_op("left_shift", data, const(-right, dtype))
    if current_qconfig().round_for_shift:
        data = call_op("add", data, const(1 << (right - 1), dtype))
    return call_op("right_shift", data, const(right, dtype))


def _weighted(call: Call, args: Sequence[Any]) -> QRealizeIntExpr | None:
    if not all(map(marked, args)):
        return None
    config, (lhs, rhs) = current_qconfig(), args
    attrs = call.attrs.with_values(out_dtype=config.dtype_activation)
    product = Call(call.op, (_as(lhs, config.dtype_input), _as(rhs, config.dtype_weight)), attrs)
    return QRealizeIntExpr(product, lhs.dom_scale * rhs.dom_scale, config.dtype_activation)


def _product(call: Call, args: Sequence[Any]) -> QRealizeIntExpr | None:
    if not all(map(marked, args)):
        return None
    dtype, (lhs, rhs) = current_qconfig().dtype_activation, args
    return QRealizeIntExpr(_call(call, (_as(lhs, dtype), _as(rhs, dtype))), lhs.dom_scale * rhs.dom_scale, dtype)


def _rescaled(value: QRealizeIntExpr, scale: float, dtype: str) -> Any:
    """Return a value in steps of another scale."""
    data, factor = _as(value, dtype), value.dom_scale / scale
    if factor == 1:
        return data
    left = _power_of_two(factor)
    if left is not None and left > 0:
        return call_op("left_shift", data, const(left, dtype))
    if factor == int(factor):
        return call_op("multiply", data, const(int(factor), dtype))
    return _cast(_scaled(data, factor), dtype)


def _sum(call: Call, args: Sequence[Any]) -> QRealizeIntExpr | None:
    if not all(map(marked, args)):
        return None
    dtype, scale = current_qconfig().dtype_activation, min(arg.dom_scale for arg in args)
    terms = [_rescaled(arg, scale, dtype) for arg in args]
    # What is quantized for the sum alone is a kernel of its own, which other branches share.
    kernels = [_kernel(term) if _is_quantized_input(old) else term for term, old in zip(terms, call.args, strict=True)]
    return QRealizeIntExpr(_call(call, kernels), scale, dtype)


def _is_quantized_input(expr: GraphExpr) -> bool:
    quantized = call_of(expr, SIMULATED)
    return quantized is not None and SimulatedQuantizeAttrs.of(quantized).kind == QAnnotateKind.INPUT


def _kernel(data: Any) -> Call:
    return call_op("annotation.stop_fusion", data)


def _concatenation(call: Call, args: Sequence[Any]) -> QRealizeIntExpr | None:
    fields = args[0]
    if not isinstance(fields, list) or not all(map(marked, fields)):
        return None
    dtypes, scale = {field.dtype for field in fields}, min(field.dom_scale for field in fields)
    dtype = dtypes.pop() if len(dtypes) == 1 else current_qconfig().dtype_activation
    tensors = Tuple(tuple(_rescaled(field, scale, dtype) for field in fields))
    return QRealizeIntExpr(_call(call, (tensors,)), scale, dtype)


def _same(call: Call, args: Sequence[Any]) -> QRealizeIntExpr | None:
    if not marked(args[0]):
        return None
    value = args[0]
    return QRealizeIntExpr(_call(call, (value.data, *args[1:])), value.dom_scale, value.dtype)


def _clip(call: Call, args: Sequence[Any]) -> QRealizeIntExpr | None:
    value = args[0]
    if not marked(value):
        return None
    low, high = (call.attrs[name] / value.dom_scale for name in ("a_min", "a_max"))
    return QRealizeIntExpr(call_op("clip", value.data, a_min=low, a_max=high), value.dom_scale, value.dtype)


def _hint(call: Call, args: Sequence[Any]) -> Any:
    """A hint is followed where the data is quantized, and means nothing elsewhere."""
    value, dtype = args[0], CastHintAttrs.of(call).dtype
    return QRealizeIntExpr(_cast(value.data, dtype), value.dom_scale, dtype) if marked(value) else value


def _largest(call: Call, args: Sequence[Any]) -> QRealizeIntExpr | None:
    value, dtype = args[0], current_qconfig().dtype_input
    return QRealizeIntExpr(_call(call, (_as(value, dtype),)), value.dom_scale, dtype) if marked(value) else None


def _average(call: Call, args: Sequence[Any]) -> QRealizeIntExpr | None:
    value, dtype = args[0], current_qconfig().dtype_activation
    return QRealizeIntExpr(_call(call, (_as(value, dtype),)), value.dom_scale, dtype) if marked(value) else None


_RULES: dict[str, Rule] = {
    SIMULATED: _quantize,
    **dict.fromkeys(("nn.conv1d", "nn.conv2d", "nn.dense", "nn.batch_matmul"), _weighted),
    "multiply": _product,
    "add": _sum,
    "concatenate": _concatenation,
    "clip": _clip,
    "annotation.cast_hint": _hint,
    **dict.fromkeys(("nn.max_pool1d", "nn.max_pool2d"), _largest),
    **dict.fromkeys(("nn.avg_pool2d", "nn.global_avg_pool2d"), _average),
    **dict.fromkeys(
        ("reshape", "nn.relu", "strided_slice", "nn.batch_flatten", "transpose", "annotation.stop_fusion"), _same
    ),
}
