"""Dilation of tensors: ``nn.dilate``."""

from __future__ import annotations

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import FLOAT, INTS
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.common import has_any_dim
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, RelationError, Types, call_op
from compiler.relay.ty import AnyDim, TensorType
from compiler.topi.nn.pad import dilate as topi_dilate


class DilateAttrs(Attrs):
    strides: tuple[int, ...] = attr_field(INTS, "Distance of neighbouring elements in the result, for each axis.")
    dilation_value: float = attr_field(FLOAT, "What stands between them.", 0.0)


def _relation(types: Types, attrs: DilateAttrs) -> Type:
    """Along each axis ``(extent - 1) * stride + 1`` elements."""
    data = tensor(types[0], "data")
    if len(attrs.strides) != len(data.dims) or any(s < 1 for s in attrs.strides):
        raise RelationError(f"strides must have a positive number for each axis of {data}, got {attrs.strides}")
    extents = zip(data.dims, attrs.strides, strict=True)
    return TensorType(tuple([AnyDim() if has_any_dim(e) else (e - 1) * s + 1 for e, s in extents]), data.dtype)


def _reference(attrs: DilateAttrs, x: Array) -> Array:
    shape = [(e - 1) * s + 1 for e, s in zip(x.shape, attrs.strides, strict=True)]
    result = np.full(shape, attrs.dilation_value, x.dtype)
    result[tuple(slice(None, None, s) for s in attrs.strides)] = x
    return result


def _gradient(call: Call, grad: Expr) -> list[Expr]:
    """The elements between those of the data have none to give their gradients to."""
    strides = DilateAttrs.of(call).strides
    end = [int(e) for e in call.checked_type.concrete_shape]
    return [call_op("strided_slice", grad, begin=(0,) * len(end), end=end, strides=strides)]


dilate = register(
    "nn.dilate",
    doc="Pull the elements of a tensor apart, and write a number between them.",
    inputs={"data": "The tensor to dilate."},
    attrs=DilateAttrs,
    relation=_relation,
    pattern=OpPattern.INJECTIVE,
    definition=topi_dilate,
    reference=_reference,
    gradient=_gradient,
)
