"""Quantized unary functions: ``qnn.tanh``, ``qnn.exp``, ``qnn.sigmoid``, …"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import const
from compiler.relay.op.qnn.arithmetic import rank_of
from compiler.relay.op.qnn.parameters import REWRITTEN, check_parameter
from compiler.relay.op.qnn.quantize import dequantize_array, dequantized, quantize_array, quantized
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import OpFunction, register
from compiler.relay.operator import Array, OpPattern, Types, call_op, relay_ops
from compiler.relay.ty import TensorType

_PARAMETERS = {
    "scale": "Scale of the data, a scalar.",
    "zero_point": "Zero point of the data, a scalar.",
    "output_scale": "Scale of the result, a scalar.",
    "output_zero_point": "Zero point of the result, a scalar.",
}


def _relation(types: Types, attrs: Attrs) -> Type:
    """The type of ``x``."""
    data = tensor(types[0], "x")
    for name, t in zip(_PARAMETERS, types[1:], strict=True):
        check_parameter(t, name, data, 0)
    return data


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
        relation=_relation,
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
