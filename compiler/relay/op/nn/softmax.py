"""Softmax: ``nn.softmax``, ``nn.fast_softmax``, ``nn.log_softmax``."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.common import axis_of
from compiler.relay.op.relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types, call_op
from compiler.topi.nn import softmax as topi


def _relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    axis_of(attrs.axis, len(data.dims))
    if not data.dtype.startswith(("float", "bfloat")):
        raise RelationError(f"data must be floating-point, got {data.dtype}")
    return data


def _softmax_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    return [topi.softmax(inputs[0], axis_of(attrs.axis, inputs[0].ndim))]


def _softmax_reference(attrs: Attrs, x: Any) -> Any:
    powers = np.exp(x - x.max(axis=attrs.axis, keepdims=True))
    return powers / powers.sum(axis=attrs.axis, keepdims=True)


def _softmax_gradient(call: Call, grad: Expr) -> list[Expr]:
    """d = (g - sum(g * y)) * y."""
    inner = call_op("sum", call_op("multiply", grad, call), axis=(call.attrs.axis,), keepdims=True)
    return [call_op("multiply", call_op("subtract", grad, inner), call)]


def _log_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    return [topi.log_softmax(inputs[0], axis_of(attrs.axis, inputs[0].ndim))]


def _log_reference(attrs: Attrs, x: Any) -> Any:
    low = x - x.max(axis=attrs.axis, keepdims=True)
    return low - np.log(np.exp(low).sum(axis=attrs.axis, keepdims=True))


def _log_gradient(call: Call, grad: Expr) -> list[Expr]:
    """d = g - sum(g) * exp(y)."""
    total = call_op("sum", grad, axis=(call.attrs.axis,), keepdims=True)
    return [call_op("subtract", grad, call_op("multiply", total, call_op("exp", call)))]


_SOFTMAX, _FAST_SOFTMAX = (
    register(
        name,
        doc=doc,
        inputs=("data",),
        attributes={"axis": -1},
        relation=_relation,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        compute=_softmax_compute,
        reference=_softmax_reference,
        gradient=_softmax_gradient,
    )
    for name, doc in (
        ("nn.softmax", "Exponentials along an axis, divided by their sum."),
        ("nn.fast_softmax", "Softmax by the vectorised exponential, which every softmax here is computed with."),
    )
)

_LOG_SOFTMAX = register(
    "nn.log_softmax",
    doc="Logarithm of the softmax along an axis.",
    inputs=("data",),
    attributes={"axis": -1},
    relation=_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=_log_compute,
    reference=_log_reference,
    gradient=_log_gradient,
)


def softmax(data: Expr, axis: int = -1) -> Call:
    """Return ``exp(data)`` divided by its sum along ``axis``."""
    return _SOFTMAX(data, axis=axis)


def fast_softmax(data: Expr, axis: int = -1) -> Call:
    """Return the softmax along ``axis``."""
    return _FAST_SOFTMAX(data, axis=axis)


def log_softmax(data: Expr, axis: int = -1) -> Call:
    """Return the logarithm of the softmax along ``axis``."""
    return _LOG_SOFTMAX(data, axis=axis)
