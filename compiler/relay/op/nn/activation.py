"""Activations: ``nn.relu``, ``nn.leaky_relu``, ``nn.prelu``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import FLOAT, INT
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, const
from compiler.relay.op.common import check_same_extent, normalize_axis
from compiler.relay.op.layout_rules import same_layout
from compiler.relay.op.nn.spatial import broadcast_along
from compiler.relay.op.type_relations import identity, tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, PartialTypes, Types, call_op
from compiler.relay.ty import TensorType
from compiler.topi import extrema
from compiler.topi.nn import elementwise as topi


class LeakyReluAttrs(Attrs):
    UNWRITTEN = {"alpha": 0.25}

    alpha: float = attr_field(FLOAT, "Slope for negative elements.", 0.01)


class PReluAttrs(Attrs):
    axis: int = attr_field(INT, "Axis of the channels.", 1)


def _where_positive(call: Call, then: Expr, other: Expr) -> Expr:
    x = call.args[0]
    return call_op("where", call_op("greater", x, call_op("zeros_like", x)), then, other)


relu = register(
    "nn.relu",
    doc="Return the positive part: max(x, 0); NaN stays NaN.",
    inputs={"data": "The tensor to apply it to."},
    onnx="Relu",
    relation=identity,
    pattern=OpPattern.ELEMWISE,
    definition=extrema.relu,
    reference=lambda attrs, x: np.maximum(x, np.zeros((), x.dtype)),
    gradient=lambda call, grad: [_where_positive(call, grad, call_op("zeros_like", grad))],
    layout=same_layout,
)


def _leaky_gradient(call: Call, grad: Expr) -> list[Expr]:
    slope = const(LeakyReluAttrs.of(call).alpha, call.args[0].checked_type.dtype)
    return [_where_positive(call, grad, call_op("multiply", grad, slope))]


leaky_relu = register(
    "nn.leaky_relu",
    doc="Return x where it is positive, alpha * x elsewhere.",
    inputs={"data": "The tensor to apply it to."},
    attrs=LeakyReluAttrs,
    onnx="LeakyRelu",
    relation=identity,
    pattern=OpPattern.ELEMWISE,
    definition=topi.leaky_relu,
    reference=lambda attrs, x: np.where(x > 0, x, x * x.dtype.type(attrs.alpha)),
    gradient=_leaky_gradient,
    layout=same_layout,
)


def _prelu_relation(types: Types, attrs: PReluAttrs) -> Type:
    """The output has the type of the data."""
    data, alpha = tensor(types[0], "data"), tensor(types[1], "alpha", 1)
    check_same_extent(
        data.dims[normalize_axis(attrs.axis, len(data.dims))], alpha.dims[0], f"data along axis {attrs.axis} and alpha"
    )
    return data


class HasAxis(Protocol):
    """Attributes that name an axis."""

    @property
    def axis(self) -> int:
        """The axis."""


def vector_along_axis(types: PartialTypes, attrs: HasAxis) -> Sequence[Type | None]:
    """The second input is a vector along an axis of the first."""
    data, vector = types
    if data is None or vector is not None:
        return types
    tensor_type = tensor(data, "data")
    return (data, TensorType((tensor_type.dims[normalize_axis(attrs.axis, len(tensor_type.dims))],), tensor_type.dtype))


def _prelu_reference(attrs: PReluAttrs, x: Array, alpha: Array) -> Array:
    return np.where(x > 0, x, x * broadcast_along(alpha, normalize_axis(attrs.axis, x.ndim), x.ndim))


def _prelu_gradient(call: Call, grad: Expr) -> list[Expr]:
    x, alpha = call.args
    rank = len(x.checked_type.dims)
    axis = normalize_axis(PReluAttrs.of(call).axis, rank)
    shape = tuple(-1 if d == axis else 1 for d in range(rank))
    slopes = call_op("reshape", alpha, newshape=shape)
    to_data = _where_positive(call, grad, call_op("multiply", grad, slopes))
    others = tuple(d for d in range(rank) if d != axis)
    parts = _where_positive(call, call_op("zeros_like", grad), call_op("multiply", grad, x))
    return [to_data, call_op("sum", parts, axis=others)]


prelu = register(
    "nn.prelu",
    doc="Return x where it is positive, elsewhere x times a learned slope for each channel.",
    inputs={"data": "The tensor to apply it to.", "alpha": "Slope of each channel, a vector."},
    attrs=PReluAttrs,
    relation=_prelu_relation,
    complete=vector_along_axis,
    pattern=OpPattern.BROADCAST,
    definition=topi.prelu,
    reference=_prelu_reference,
    gradient=_prelu_gradient,
)
