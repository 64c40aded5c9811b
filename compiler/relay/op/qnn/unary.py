"""Quantized unary functions: ``qnn.tanh``, ``qnn.exp``, ``qnn.sigmoid``, …, and ``qnn.leaky_relu``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import FLOAT
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import const
from compiler.relay.op.qnn.arithmetic import Quantization, cast, fixed_point, rank_of, requantized, saturated
from compiler.relay.op.qnn.parameters import REWRITTEN, check_parameter, saturated_array
from compiler.relay.op.qnn.quantize import dequantize_array, dequantized, quantize_array, quantized
from compiler.relay.op.qnn.requantize import requantize_array, times_in_fixed_point
from compiler.relay.op.qnn.rounding import RequantizeConfig
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import OpFunction, register
from compiler.relay.operator import Array, OpPattern, Types, call_op, relay_ops
from compiler.relay.ty import TensorType

_SCALE, _ZERO_POINT = "Scale of the data, a scalar.", "Zero point of the data, a scalar."
_OF_RESULT = {
    "output_scale": "Scale of the result, a scalar.",
    "output_zero_point": "Zero point of the result, a scalar.",
}
_PARAMETERS = {"scale": _SCALE, "zero_point": _ZERO_POINT, **_OF_RESULT}
_LEAKY_PARAMETERS = {"input_scale": _SCALE, "input_zero_point": _ZERO_POINT, **_OF_RESULT}


def _like_data(parameters: Iterable[str]) -> Callable[[Types, Any], Type]:
    def relation(types: Types, attrs: Attrs) -> Type:
        """The type of ``x``."""
        data = tensor(types[0], "x")
        for name, t in zip(parameters, types[1:], strict=True):
            check_parameter(t, name, data, 0)
        return data

    return relation


def _through_reals(function: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return the rule of a function that is computed between dequantising and quantising."""

    def rule(attrs: Attrs, args: Sequence[RelayExpr], types: Sequence[Type]) -> RelayExpr:
        x, scale, zero_point, new_scale, new_zero_point = args
        rank = rank_of(types[0])
        dtype = types[0].dtype if isinstance(types[0], TensorType) else "int8"
        real = function(dequantized(x, scale, zero_point, 0, rank, "float32"))
        return quantized(real, new_scale, new_zero_point, 0, rank, dtype)

    return rule


def _reference(function: Callable[[Array], Array]) -> Callable[..., Any]:
    def reference(attrs: Attrs, x: Array, scale: Array, zero: Array, new_scale: Array, new_zero: Array) -> Array:
        with np.errstate(all="ignore"):
            real = function(dequantize_array(x, scale, zero, 0, "float32"))
            return quantize_array(np.nan_to_num(real.astype("float32")), new_scale, new_zero, 0, str(x.dtype))

    return reference


def hardswish_func(x: Array) -> Array:
    """Return hard swish of real numbers, ``x * min(max(x + 3, 0), 6) / 6``."""
    return np.asarray(x * np.clip(x + np.float32(3), 0, 6) / np.float32(6))


def _hardswish(x: Any) -> Any:
    """x * min(max(x + 3, 0), 6) / 6."""
    bounded = call_op("clip", call_op("add", x, const(np.float32(3))), a_min=0, a_max=6)
    return call_op("divide", call_op("multiply", x, bounded), const(np.float32(6)))


REAL_FUNCTIONS: dict[str, Callable[[Array], Array]] = {}
"""The function of real numbers that each operator of this module computes, on arrays."""


def _unary(
    name: str, doc: str, function: Callable[[Array], Array], canonical: Callable[..., Any] | None = None
) -> OpFunction:
    REAL_FUNCTIONS[f"qnn.{name}"] = function
    return register(
        f"qnn.{name}",
        doc=doc,
        inputs={"x": "Integers.", **_PARAMETERS},
        relation=_like_data(_PARAMETERS),
        pattern=OpPattern.ELEMWISE,
        reference=_reference(function),
        waived=REWRITTEN,
        rules={"FTVMQnnCanonicalize": _through_reals(canonical or (lambda x: call_op(name, x)))},
    )


def _erf(x: Array) -> Array:
    reference = relay_ops()["erf"].reference
    assert reference is not None, "erf computes with NumPy"
    return np.asarray(reference(None, x))


tanh = _unary("tanh", "Hyperbolic tangent of quantised numbers.", np.tanh)
exp = _unary("exp", "Exponential of quantised numbers.", np.exp)
sqrt = _unary("sqrt", "Square root of quantised numbers.", np.sqrt)
rsqrt = _unary("rsqrt", "One over the square root of quantised numbers.", lambda x: 1 / np.sqrt(x))
erf = _unary("erf", "Error function of quantised numbers.", _erf)
sigmoid = _unary("sigmoid", "Logistic function of quantised numbers.", lambda x: 1 / (1 + np.exp(-x)))
hardswish = _unary(
    "hardswish", "Hard swish of quantised numbers: x * min(max(x + 3, 0), 6) / 6.", hardswish_func, _hardswish
)
log = _unary("log", "Natural logarithm of quantised numbers.", np.log)
abs = _unary("abs", "Absolute value of quantised numbers.", np.abs)


class QnnLeakyReluAttrs(Attrs):
    UNWRITTEN = {"alpha": 0.25}

    alpha: float = attr_field(FLOAT, "Slope for negative numbers.")


def _leaky_canonical(attrs: QnnLeakyReluAttrs, args: Sequence[RelayExpr], types: Sequence[Type]) -> RelayExpr:
    """Requantize, and take the slope of what is below the zero point: ``alpha * q + (1 - alpha) * zero point``."""
    x, scale, zero_point, new_scale, new_zero_point = args
    dtype = types[0].dtype if isinstance(types[0], TensorType) else "int8"
    source, target = Quantization(scale, zero_point), Quantization(new_scale, new_zero_point)
    positive = requantized(x, source, target, rank_of(types[0]), "int32", RequantizeConfig().completed())
    offset = cast(new_zero_point, "int32")
    slope, rest = (fixed_point(part) for part in (attrs.alpha, 1 - attrs.alpha))
    negative = call_op(
        "add",
        call_op("fixed_point_multiply", positive, multiplier=slope[0], shift=slope[1]),
        call_op("fixed_point_multiply", offset, multiplier=rest[0], shift=rest[1]),
    )
    is_negative = call_op("less", cast(x, "int32"), cast(zero_point, "int32"))
    return saturated(call_op("where", is_negative, negative, positive), dtype)


def _leaky_reference(
    attrs: QnnLeakyReluAttrs, x: Array, scale: Array, zero: Array, new_scale: Array, new_zero: Array
) -> Array:
    config = RequantizeConfig().completed()
    positive = requantize_array(x, (scale, zero), (new_scale, new_zero), 0, "int32", config)
    slope, rest = np.asarray(attrs.alpha), np.asarray(1 - attrs.alpha)
    offset = np.asarray(new_zero, "int32")
    negative = times_in_fixed_point(positive, slope, True) + times_in_fixed_point(offset, rest, True)
    return saturated_array(np.where(x.astype("int32") < zero, negative, positive), str(x.dtype))


leaky_relu = register(
    "qnn.leaky_relu",
    doc="Quantised numbers, negative ones times a slope.",
    inputs={"x": "Integers.", **_LEAKY_PARAMETERS},
    attrs=QnnLeakyReluAttrs,
    parameters=("x", "alpha", *_LEAKY_PARAMETERS),
    relation=_like_data(_LEAKY_PARAMETERS),
    pattern=OpPattern.ELEMWISE,
    reference=_leaky_reference,
    waived=REWRITTEN,
    rules={"FTVMQnnCanonicalize": _leaky_canonical},
)
