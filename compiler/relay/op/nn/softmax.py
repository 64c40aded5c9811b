"""Softmax: ``nn.softmax``, ``nn.fast_softmax``, ``nn.log_softmax``."""

from __future__ import annotations

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import INT
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.common import normalize_axis
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, RelationError, Types, call_op
from compiler.topi.nn.softmax import log_softmax as topi_log_softmax
from compiler.topi.nn.softmax import softmax as topi_softmax


class SoftmaxAttrs(Attrs):
    """Attributes of ``nn.softmax``, ``nn.fast_softmax`` and ``nn.log_softmax``."""

    axis: int = attr_field(INT, "Axis along which the exponentials sum to 1.", -1)


def _relation(types: Types, attrs: SoftmaxAttrs) -> Type:
    """The output has the type of the data."""
    data = tensor(types[0], "data")
    normalize_axis(attrs.axis, len(data.dims))
    if not (data.dtype.startswith(("float", "bfloat")) or dt.is_custom(data.dtype)):
        raise RelationError(f"data must be floating-point, got {data.dtype}")
    return data


def _softmax_reference(attrs: SoftmaxAttrs, x: Array) -> Array:
    powers = np.exp(x - x.max(axis=attrs.axis, keepdims=True))
    result: Array = powers / powers.sum(axis=attrs.axis, keepdims=True)
    return result


def _softmax_gradient(call: Call, grad: Expr) -> list[Expr]:
    """d = (g - sum(g * y)) * y."""
    inner = call_op("sum", call_op("multiply", grad, call), axis=(SoftmaxAttrs.of(call).axis,), keepdims=True)
    return [call_op("multiply", call_op("subtract", grad, inner), call)]


def _log_reference(attrs: SoftmaxAttrs, x: Array) -> Array:
    low = x - x.max(axis=attrs.axis, keepdims=True)
    result: Array = low - np.log(np.exp(low).sum(axis=attrs.axis, keepdims=True))
    return result


def _log_gradient(call: Call, grad: Expr) -> list[Expr]:
    """d = g - sum(g) * exp(y)."""
    total = call_op("sum", grad, axis=(SoftmaxAttrs.of(call).axis,), keepdims=True)
    return [call_op("subtract", grad, call_op("multiply", total, call_op("exp", call)))]


softmax, fast_softmax = (
    register(
        name,
        doc=doc,
        inputs={"data": "A tensor of floating-point numbers."},
        attrs=SoftmaxAttrs,
        relation=_relation,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        definition=topi_softmax,
        reference=_softmax_reference,
        gradient=_softmax_gradient,
    )
    for name, doc in (
        ("nn.softmax", "Return exponentials along an axis, divided by their sum."),
        ("nn.fast_softmax", "Return the softmax by a fast exponential, which every softmax here is computed with."),
    )
)

log_softmax = register(
    "nn.log_softmax",
    doc="Return the logarithm of the softmax along an axis.",
    inputs={"data": "A tensor of floating-point numbers."},
    attrs=SoftmaxAttrs,
    relation=_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    definition=topi_log_softmax,
    reference=_log_reference,
    gradient=_log_gradient,
)
