"""Bias, flattening and dropout: ``nn.bias_add``, ``nn.batch_flatten``, ``nn.dropout``."""

from __future__ import annotations

from math import prod

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import FLOAT, INT
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, TupleGetItem, TupleWrapper
from compiler.relay.op.common import check_same_extent, has_any_dim, normalize_axis
from compiler.relay.op.layout_rules import same_layout
from compiler.relay.op.nn.activation import vector_along_axis
from compiler.relay.op.nn.spatial import broadcast_along
from compiler.relay.op.type_relations import same_dtype, tensor
from compiler.relay.op_registry import composite, public_function, register, tuple_function
from compiler.relay.operator import (
    Array,
    InferCorrectLayoutOutput,
    InLayouts,
    LayoutAnswer,
    OpPattern,
    RelationError,
    Types,
    call_op,
)
from compiler.relay.ty import AnyDim, TensorType, TupleType
from compiler.te.definition.tensor import Tensor
from compiler.topi.nn import elementwise as topi


class BiasAddAttrs(Attrs):
    axis: int = attr_field(INT, "Axis that the bias belongs to.", 1)


class DropoutAttrs(Attrs):
    rate: float = attr_field(FLOAT, "Share of elements that training drops.", 0.5)


def _bias_relation(types: Types, attrs: BiasAddAttrs) -> Type:
    """The output has the type of the data."""
    data, bias = tensor(types[0], "data"), tensor(types[1], "bias", 1)
    same_dtype(data, bias)
    check_same_extent(
        data.dims[normalize_axis(attrs.axis, len(data.dims))],
        bias.dims[0],
        f"data along axis {attrs.axis} and the bias",
    )
    return data


def _bias_gradient(call: Call, grad: Expr) -> list[Expr]:
    rank = len(call.args[0].checked_type.dims)
    others = tuple(d for d in range(rank) if d != normalize_axis(BiasAddAttrs.of(call).axis, rank))
    return [grad, call_op("sum", grad, axis=others)]


bias_add = register(
    "nn.bias_add",
    doc="Add a vector along one axis.",
    inputs={"data": "The tensor to add to.", "bias": "A vector."},
    attrs=BiasAddAttrs,
    relation=_bias_relation,
    complete=vector_along_axis,
    pattern=OpPattern.BROADCAST,
    definition=topi.bias_add,
    reference=lambda attrs, x, bias: x + broadcast_along(bias, normalize_axis(attrs.axis, x.ndim), x.ndim),
    gradient=_bias_gradient,
)


def _flatten_relation(types: Types, attrs: Attrs) -> Type:
    """A matrix with as many rows as the data has batches."""
    data = tensor(types[0], "data")
    if not data.dims:
        raise RelationError("data must have at least one dimension, got a scalar")
    batch, *rest = data.dims
    return TensorType((batch, AnyDim() if has_any_dim(*rest) else prod(rest, start=1)), data.dtype)


batch_flatten = register(
    "nn.batch_flatten",
    doc="Flatten all axes after the first one.",
    inputs={"data": "``(N, …)``."},
    relation=_flatten_relation,
    pattern=OpPattern.INJECTIVE,
    definition=topi.flatten,
    reference=lambda attrs, x: x.reshape(x.shape[0], prod(x.shape[1:])),
    gradient=lambda call, grad: [call_op("reshape_like", grad, call.args[0])],
)


def _dropout_relation(types: Types, attrs: Attrs) -> Type:
    """A tuple of the data and the mask, both of the type of the data."""
    data = tensor(types[0], "data")
    return TupleType((data, data))


def _dropout_reference(attrs: DropoutAttrs, x: Array) -> tuple[Array, ...]:
    return x.copy(), np.ones_like(x)


def _dropout_compute(attrs: DropoutAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    return [topi.identity(inputs[0]), topi.ones_like(inputs[0])]


def _dropout_layout(attrs: DropoutAttrs, new_in: InLayouts | None, old_in: InLayouts, types: Types) -> LayoutAnswer:
    made = same_layout(attrs, new_in, old_in, types)
    return (
        None
        if made is None
        else InferCorrectLayoutOutput(made.input_layouts, [*made.output_layouts, *made.output_layouts], attrs)
    )


def _dropout_gradient(call: Call, grad: Expr) -> list[Expr]:
    return [TupleGetItem(grad, 0)]


_DROPOUT = register(
    "nn.dropout",
    doc="Return the data unchanged, as outside of training nothing is dropped, and the mask of what remains.",
    inputs={"data": "The tensor to apply it to."},
    attrs=DropoutAttrs,
    relation=_dropout_relation,
    layout=_dropout_layout,
    compute=_dropout_compute,
    reference=_dropout_reference,
    gradient=_dropout_gradient,
)


_DROPOUT_PAIR = tuple_function(_DROPOUT, 2)


@composite
def dropout_raw(data: RelayExpr, rate: float = 0.5) -> TupleWrapper:
    """Return the data unchanged, as outside of training no elements are dropped, and the mask of those that remain."""
    return _DROPOUT_PAIR(data, rate=rate)


@public_function(_DROPOUT)
def dropout(data: RelayExpr, rate: float = 0.5) -> TupleGetItem:
    """Return the data unchanged, as outside of training no elements are dropped."""
    return _DROPOUT_PAIR(data, rate=rate)[0]
