"""QuantizeRealize: replaces simulated quantisation by integer arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.classic.relay.transform.quantization.forward_rewrite import (
    Argument,
    ForwardRewrite,
    MarkedExpr,
    Rule,
    plain,
)
from compiler.classic.relay.transform.quantization.quantize_annotate import SIMULATED
from compiler.classic.relay.transform.quantization.quantize_config import QAnnotateKind, current_qconfig
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.relay.expr import Call, Constant, GraphExpr, Tuple, const
from compiler.relay.function import Function
from compiler.relay.op.annotation.markers import CastHintAttrs
from compiler.relay.op.annotation.simulated_quantize import SimulatedQuantizeAttrs
from compiler.relay.op.qnn.arithmetic import fixed_point
from compiler.relay.operator import call_of, call_op
from compiler.relay.transform.function_pass import FunctionPass


@dataclass(frozen=True)
class QRealizeIntExpr(MarkedExpr):
    """A quantized value: so many steps, of type ``dtype``, of a scale."""

    data: RelayExpr
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


def _quantized(args: Sequence[Argument]) -> list[QRealizeIntExpr] | None:
    values = [arg for arg in args if isinstance(arg, QRealizeIntExpr)]
    return values if len(values) == len(args) else None


def _cast(data: RelayExpr, dtype: str) -> Call:
    return call_op("cast", data, dtype=dtype)


def _as(value: QRealizeIntExpr, dtype: str) -> RelayExpr:
    return value.data if value.dtype == dtype else _cast(value.data, dtype)


def _scalar(expr: RelayExpr) -> float:
    assert isinstance(expr, Constant), "calibration makes constants of scales and bounds"
    return float(expr.value)


def _call(call: Call, args: Sequence[RelayExpr]) -> Call:
    return Call(call.op, tuple(args), call.attrs)


def _scaled(data: RelayExpr, factor: float) -> RelayExpr:
    """Return whole numbers times a factor, rounded, through 64 bits."""
    if current_qconfig().rounding == "UPWARD":
        multiplier, shift = fixed_point(factor)
        return call_op("fixed_point_multiply", _cast(data, "int64"), multiplier=multiplier, shift=shift)
    product = call_op("multiply", _cast(data, "float32"), const(factor, "float32"))
    return _cast(call_op("round", product), "int64")


def _power_of_two(factor: float) -> int | None:
    exponent = math.log2(factor)
    return int(exponent) if exponent == int(exponent) else None


def _quantize(call: Call, args: Sequence[Argument]) -> QRealizeIntExpr:
    value, scale, low, high = args[0], *map(_scalar, call.args[1:])
    bounds = {"a_min": low, "a_max": high}
    if not isinstance(value, QRealizeIntExpr):
        steps = call_op("multiply", plain(value), const(1 / scale, "float32"))
        return QRealizeIntExpr(call_op("clip", call_op("round", steps), **bounds), scale, "float32")
    if value.dom_scale == scale:
        return QRealizeIntExpr(call_op("clip", value.data, **bounds), scale, value.dtype)
    shift = _power_of_two(scale / value.dom_scale)
    if shift is None:
        clipped = call_op("clip", _scaled(value.data, value.dom_scale / scale), **bounds)
        return QRealizeIntExpr(_cast(clipped, value.dtype), scale, value.dtype)
    return QRealizeIntExpr(call_op("clip", _shifted(value, shift), **bounds), scale, value.dtype)


def _shifted(value: QRealizeIntExpr, right: int) -> RelayExpr:
    """Return whole numbers divided by a power of two, or multiplied by it."""
    dtype = current_qconfig().dtype_activation
    data = _as(value, dtype)
    if right < 0:
        return call_op("left_shift", data, const(-right, dtype))
    if current_qconfig().round_for_shift:
        data = call_op("add", data, const(1 << (right - 1), dtype))
    return call_op("right_shift", data, const(right, dtype))


def _weighted(call: Call, args: Sequence[Argument]) -> QRealizeIntExpr | None:
    values = _quantized(args)
    if values is None:
        return None
    config, (lhs, rhs) = current_qconfig(), values
    attrs = call.attrs.with_values(out_dtype=config.dtype_activation)
    product = Call(call.op, (_as(lhs, config.dtype_input), _as(rhs, config.dtype_weight)), attrs)
    return QRealizeIntExpr(product, lhs.dom_scale * rhs.dom_scale, config.dtype_activation)


def _product(call: Call, args: Sequence[Argument]) -> QRealizeIntExpr | None:
    values = _quantized(args)
    if values is None:
        return None
    dtype, (lhs, rhs) = current_qconfig().dtype_activation, values
    return QRealizeIntExpr(_call(call, (_as(lhs, dtype), _as(rhs, dtype))), lhs.dom_scale * rhs.dom_scale, dtype)


def _rescaled(value: QRealizeIntExpr, scale: float, dtype: str) -> RelayExpr:
    data, factor = _as(value, dtype), value.dom_scale / scale
    if factor == 1:
        return data
    left = _power_of_two(factor)
    if left is not None and left > 0:
        return call_op("left_shift", data, const(left, dtype))
    if factor == int(factor):
        return call_op("multiply", data, const(int(factor), dtype))
    return _cast(_scaled(data, factor), dtype)


def _sum(call: Call, args: Sequence[Argument]) -> QRealizeIntExpr | None:
    values = _quantized(args)
    if values is None:
        return None
    dtype, scale = current_qconfig().dtype_activation, min(value.dom_scale for value in values)
    terms = [_rescaled(value, scale, dtype) for value in values]
    # What is quantized for the sum alone is a kernel of its own, which other branches share.
    kernels = [_kernel(term) if _is_quantized_input(old) else term for term, old in zip(terms, call.args, strict=True)]
    return QRealizeIntExpr(_call(call, kernels), scale, dtype)


def _is_quantized_input(expr: GraphExpr) -> bool:
    quantized = call_of(expr, SIMULATED)
    return quantized is not None and SimulatedQuantizeAttrs.of(quantized).kind == QAnnotateKind.INPUT


def _kernel(data: RelayExpr) -> Call:
    return call_op("annotation.stop_fusion", data)


def _concatenation(call: Call, args: Sequence[Argument]) -> QRealizeIntExpr | None:
    fields = _quantized(args[0]) if isinstance(args[0], list) else None
    if fields is None:
        return None
    dtypes, scale = {field.dtype for field in fields}, min(field.dom_scale for field in fields)
    dtype = dtypes.pop() if len(dtypes) == 1 else current_qconfig().dtype_activation
    tensors = Tuple(tuple(_rescaled(field, scale, dtype) for field in fields))
    return QRealizeIntExpr(_call(call, (tensors,)), scale, dtype)


def _same(call: Call, args: Sequence[Argument]) -> QRealizeIntExpr | None:
    value = args[0]
    if not isinstance(value, QRealizeIntExpr):
        return None
    return QRealizeIntExpr(_call(call, (value.data, *map(plain, args[1:]))), value.dom_scale, value.dtype)


def _clip(call: Call, args: Sequence[Argument]) -> QRealizeIntExpr | None:
    value = args[0]
    if not isinstance(value, QRealizeIntExpr):
        return None
    low, high = (call.attrs[name] / value.dom_scale for name in ("a_min", "a_max"))
    return QRealizeIntExpr(call_op("clip", value.data, a_min=low, a_max=high), value.dom_scale, value.dtype)


def _hint(call: Call, args: Sequence[Argument]) -> RelayExpr | MarkedExpr:
    """A hint is followed where the data is quantized, and means nothing elsewhere."""
    value, dtype = args[0], CastHintAttrs.of(call).dtype
    if not isinstance(value, QRealizeIntExpr):
        return plain(value)
    return QRealizeIntExpr(_cast(value.data, dtype), value.dom_scale, dtype)


def _largest(call: Call, args: Sequence[Argument]) -> QRealizeIntExpr | None:
    value, dtype = args[0], current_qconfig().dtype_input
    if not isinstance(value, QRealizeIntExpr):
        return None
    return QRealizeIntExpr(_call(call, (_as(value, dtype),)), value.dom_scale, dtype)


def _average(call: Call, args: Sequence[Argument]) -> QRealizeIntExpr | None:
    value, dtype = args[0], current_qconfig().dtype_activation
    if not isinstance(value, QRealizeIntExpr):
        return None
    return QRealizeIntExpr(_call(call, (_as(value, dtype),)), value.dom_scale, dtype)


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
