"""Padding: ``nn.pad``, ``nn.mirror_pad``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import PAIRS, one_of
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, array_const
from compiler.relay.op.axis_layouts import pad_layout
from compiler.relay.op.common import has_any_dim
from compiler.relay.op.indexing import put_back
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, Input, OpPattern, RelationError, Types, call_op
from compiler.relay.ty import AnyDim, Dim, TensorType
from compiler.te.definition.tensor import Tensor
from compiler.topi.nn.pad import pad as topi_pad
from compiler.topi.nn.pad import pad_edge, pad_reflect, pad_wrap

Widths = Sequence[tuple[int, int]]


class PadAttrs(Attrs):
    pad_width: tuple[tuple[int, int], ...] = attr_field(PAIRS, "Elements to add before and after each axis.")
    pad_mode: str = attr_field(
        one_of("constant", "edge", "reflect", "wrap"), "Whether to add a constant, or elements of the data.", "constant"
    )


class MirrorPadAttrs(Attrs):
    mode: str = attr_field(
        one_of("SYMMETRIC", "REFLECT"), "Whether the outermost elements are repeated, or not.", "SYMMETRIC"
    )
    pad_width: tuple[tuple[int, int], ...] = attr_field(PAIRS, "Elements to add before and after each axis.")


def _padded(data: TensorType, pad_width: Widths) -> TensorType:
    if len(pad_width) != len(data.dims):
        raise RelationError(f"pad_width must have a pair for each of {len(data.dims)} axes, got {len(pad_width)}")
    shape: list[Dim] = []
    for extent, (low, high) in zip(data.dims, pad_width, strict=True):
        padded = AnyDim() if has_any_dim(extent) else extent + (low + high)
        if isinstance(padded, int) and padded < 0:
            raise RelationError(f"an extent of {extent} cannot be padded by {low} and {high}")
        shape.append(padded)
    return TensorType(tuple(shape), data.dtype)


def _mirrored(data: TensorType, pad_width: Widths, reach: int) -> TensorType:
    """Return the padded type; only what is there can be mirrored."""
    padded = _padded(data, pad_width)
    for extent, pair in zip(data.dims, pad_width, strict=True):
        if isinstance(extent, int) and max(pair) > extent - reach:
            raise RelationError(f"{max(pair)} elements cannot be mirrored from an extent of {extent}")
    return padded


def _relation(types: Types, attrs: PadAttrs) -> Type:
    """The data with its extents grown by ``pad_width``."""
    data = tensor(types[0], "data")
    return _mirrored(data, attrs.pad_width, 1) if attrs.pad_mode == "reflect" else _padded(data, attrs.pad_width)


def _sides(attrs: PadAttrs | MirrorPadAttrs) -> tuple[list[int], list[int]]:
    return [low for low, _ in attrs.pad_width], [high for _, high in attrs.pad_width]


def _compute(attrs: PadAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    data, value = inputs
    before, after = _sides(attrs)
    if attrs.pad_mode == "constant":
        fill = value(*([0] * value.ndim)).astype(data.dtype)
        padded = any(before + after)
        return [topi_pad(data, before, after, fill, "pad") if padded else pad_edge(data, before, after)]
    return [{"edge": pad_edge, "reflect": pad_reflect, "wrap": pad_wrap}[attrs.pad_mode](data, before, after)]


def cut(x: Array, pad_width: Widths) -> tuple[Array, list[tuple[int, int]]]:
    """Return an array without what negative padding takes away, and the padding that is left."""
    kept = tuple(slice(max(0, -low), n - max(0, -high)) for n, (low, high) in zip(x.shape, pad_width, strict=True))
    return x[kept], [(max(0, low), max(0, high)) for low, high in pad_width]


def _reference(attrs: PadAttrs, x: Array, value: Array) -> Array:
    x, around = cut(x, attrs.pad_width)
    if not around:
        return x
    if attrs.pad_mode == "constant":
        return np.pad(x, around, constant_values=np.asarray(value).reshape(()).astype(x.dtype))
    mode: Any = attrs.pad_mode
    return np.pad(x, around, mode=mode)


def _gradient(call: Call, grad: Expr) -> list[Expr]:
    data, value = call.args
    if PadAttrs.of(call).pad_mode != "constant":
        return [_added_up(PadAttrs.of(call), data.checked_type, grad), call_op("zeros_like", value)]
    begin = tuple(low for low, _ in PadAttrs.of(call).pad_width)
    end = tuple(low + n for low, n in zip(begin, data.checked_type.concrete_shape, strict=True))
    inner = call_op("strided_slice", grad, begin=begin, end=end, strides=(1,) * len(begin))
    rest = call_op("subtract", call_op("sum", grad), call_op("sum", inner))
    return [inner, call_op("reshape_like", rest, value)]


def _added_up(attrs: PadAttrs, data: TensorType, grad: Expr) -> Expr:
    """Return what the copies of each element add up to, along one axis after the other."""
    extents = data.concrete_shape
    shape = [extent + sum(around) for extent, around in zip(extents, attrs.pad_width, strict=True)]
    for at, around in enumerate(attrs.pad_width):
        if any(around):
            places = _reference(attrs.with_values(pad_width=(around,)), np.arange(extents[at]), np.zeros(()))
            shape[at] = extents[at]
            grad = put_back(grad, array_const(places), at, tuple(shape), 1, data.dtype)
    return grad


pad = register(
    "nn.pad",
    doc="Add elements around a tensor.",
    inputs={"data": "The tensor to pad.", "pad_value": Input("Scalar to add in mode ``constant``.", default=0)},
    attrs=PadAttrs,
    parameters=("data", "pad_width", "pad_value", "pad_mode"),
    relation=_relation,
    pattern=OpPattern.INJECTIVE,
    layout=pad_layout,
    compute=_compute,
    reference=_reference,
    gradient=_gradient,
)


def _mirror_relation(types: Types, attrs: MirrorPadAttrs) -> Type:
    """The data with its extents grown by ``pad_width``."""
    return _mirrored(tensor(types[0], "data"), attrs.pad_width, 1 if attrs.mode == "REFLECT" else 0)


def _mirror_compute(attrs: MirrorPadAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    return [pad_reflect(inputs[0], *_sides(attrs), mode=attrs.mode)]


def _mirror_reference(attrs: MirrorPadAttrs, x: Array) -> Array:
    return np.pad(x, attrs.pad_width, mode="symmetric" if attrs.mode == "SYMMETRIC" else "reflect")


mirror_pad = register(
    "nn.mirror_pad",
    doc="Add elements around a tensor that mirror its own at its ends.",
    inputs={"data": "The tensor to pad."},
    parameters=("data", "pad_width", "mode"),
    attrs=MirrorPadAttrs,
    relation=_mirror_relation,
    pattern=OpPattern.INJECTIVE,
    compute=_mirror_compute,
    reference=_mirror_reference,
    waived={"gradient": "adds up elements that were mirrored, which no operator here does"},
)
