"""Around the layers: ``nn.bias_add``, ``nn.batch_flatten``, ``nn.dropout``."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, TupleGetItem, TupleWrapper
from compiler.relay.op.common import agree, axis_of, unknown
from compiler.relay.op.nn.activation import along_axis
from compiler.relay.op.nn.common import along
from compiler.relay.op.relations import same_dtype, tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types, call_op
from compiler.relay.ty import AnyDim, TensorType, TupleType
from compiler.topi.nn import elementwise as topi


def _bias_relation(types: Types, attrs: Attrs) -> Type:
    data, bias = tensor(types[0], "data"), tensor(types[1], "bias", 1)
    same_dtype(data, bias)
    agree(data.dims[axis_of(attrs.axis, len(data.dims))], bias.dims[0], f"data along axis {attrs.axis} and the bias")
    return data


def _bias_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    return [topi.bias_add(inputs[0], inputs[1], axis_of(attrs.axis, inputs[0].ndim))]


def _bias_gradient(call: Call, grad: Expr) -> list[Expr]:
    rank = len(call.args[0].checked_type.dims)
    others = tuple(d for d in range(rank) if d != axis_of(call.attrs.axis, rank))
    return [grad, call_op("sum", grad, axis=others)]


_BIAS_ADD = register(
    "nn.bias_add",
    doc="Adds a vector along one axis.",
    inputs=("data", "bias"),
    attributes={"axis": 1},
    relation=_bias_relation,
    complete=along_axis,
    pattern=OpPattern.BROADCAST,
    compute=_bias_compute,
    reference=lambda attrs, x, bias: x + along(bias, axis_of(attrs.axis, x.ndim), x.ndim),
    gradient=_bias_gradient,
)


def _flatten_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    if not data.dims:
        raise RelationError("data must have at least one dimension, got a scalar")
    batch, *rest = data.dims
    return TensorType((batch, AnyDim() if unknown(*rest) else prod(rest, start=1)), data.dtype)


_BATCH_FLATTEN = register(
    "nn.batch_flatten",
    doc="All axes after the first as one.",
    inputs=("data",),
    relation=_flatten_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [topi.flatten(inputs[0])],
    reference=lambda attrs, x: x.reshape(x.shape[0], -1),
    gradient=lambda call, grad: [call_op("reshape_like", grad, call.args[0])],
)


def _dropout_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    return TupleType((data, data))


def _dropout_reference(attrs: Attrs, x: Any) -> Any:
    return x.copy(), np.ones_like(x)


def _dropout_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    return [topi.identity(inputs[0]), topi.ones_like(inputs[0])]


def _dropout_gradient(call: Call, grad: Expr) -> list[Expr]:
    return [TupleGetItem(grad, 0)]


_DROPOUT = register(
    "nn.dropout",
    doc="Drops elements while training; running models keep all of them. Also returns the mask of those kept.",
    inputs=("data",),
    attributes={"rate": 0.5},
    relation=_dropout_relation,
    pattern=OpPattern.OPAQUE,
    compute=_dropout_compute,
    reference=_dropout_reference,
    gradient=_dropout_gradient,
)


def bias_add(data: Expr, bias: Expr, axis: int = 1) -> Call:
    """Return ``data`` plus the vector ``bias`` along ``axis``."""
    return _BIAS_ADD(data, bias, axis=axis)


def batch_flatten(data: Expr) -> Call:
    """Return ``data`` ``(N, …)`` as a matrix with ``N`` rows."""
    return _BATCH_FLATTEN(data)


def dropout(data: Expr, rate: float = 0.5) -> TupleGetItem:
    """Return ``data`` as it is: elements are only dropped while training."""
    return dropout_raw(data, rate)[0]


def dropout_raw(data: Expr, rate: float = 0.5) -> TupleWrapper:
    """Return ``data`` as it is, and the mask of the elements kept."""
    return TupleWrapper(_DROPOUT(data, rate=float(rate)), 2)
