"""Operators that join, split and repeat tensors: ``concatenate``, ``stack``, ``split``, ``tile``, ``repeat``, …"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import INT, INT_OR_INTS, INTS, one_of
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, Tuple, TupleWrapper
from compiler.relay.op.axis_layouts import concatenate_layout, split_layout
from compiler.relay.op.common import check_same_extent, has_any_dim, normalize_axis
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register, tuple_function
from compiler.relay.operator import Input, OpPattern, RelationError, Types, call_op, reshaped
from compiler.relay.ty import AnyDim, Dim, TensorType, TupleType
from compiler.topi.arrays import joining
from compiler.topi.arrays import transform as topi

# Joining


class ConcatenateAttrs(Attrs):
    UNWRITTEN = {"axis": 0}

    axis: int = attr_field(INT, "Axis to concatenate along; negative ones count from the end.")


class StackAttrs(Attrs):
    UNWRITTEN = {"axis": 0}

    axis: int = attr_field(INT, "Position of the new axis; negative ones count from the end.")


class SplitAttrs(Attrs):
    indices_or_sections: int | tuple[int, ...] = attr_field(
        INT_OR_INTS, "Number of equal parts, or the indices at which parts after the first begin."
    )
    axis: int = attr_field(INT, "Axis to split; negative ones count from the end.", 0)


class TileAttrs(Attrs):
    reps: tuple[int, ...] = attr_field(INTS, "Number of copies along each axis.")


class RepeatAttrs(Attrs):
    repeats: int = attr_field(INT, "How often to repeat each element.")
    axis: int = attr_field(INT, "Axis to repeat along; negative ones count from the end.")


class MeshgridAttrs(Attrs):
    indexing: str = attr_field(
        one_of("ij", "xy"), "Order of the first two axes: by matrix or by Cartesian index.", "ij"
    )


def fields(t: Type) -> list[TensorType]:
    """Return the tensors of a tuple of tensors of one rank and data type.

    Raises RelationError if it is something else.
    """
    if not isinstance(t, TupleType) or not t.fields:
        raise RelationError(f"data must be a tuple of tensors, got {t}")
    elements = [tensor(f, f"element {n} of data") for n, f in enumerate(t.fields)]
    for n, f in enumerate(elements):
        if f.dtype != elements[0].dtype or len(f.shape) != len(elements[0].shape):
            raise RelationError(f"all tensors must have one rank and data type, got {elements[0]} and, at {n}, {f}")
    return elements


def _known(extents: Sequence[Dim]) -> Dim:
    """Return the extent that several, which must be the same, have; as in TVM nobody knows it if one is ``?``."""
    free = next((e for e in extents if has_any_dim(e)), None)
    return next((e for e in extents if isinstance(e, int)), extents[0]) if free is None else free


def _static(extents: Sequence[Dim]) -> Dim:
    """Return a static one of several extents that must be the same, ``?`` where there is none."""
    return next((e for e in extents if not has_any_dim(e)), extents[0])


def concatenate_relation(types: Types, attrs: ConcatenateAttrs) -> Type:
    """One tensor whose extent along ``axis`` is the sum of those of the inputs."""
    parts = fields(types[0])
    rank = len(parts[0].shape)
    at = normalize_axis(attrs.axis, rank)
    shape: list[Dim] = []
    for d in range(rank):
        column = [p.dims[d] for p in parts]
        if d == at:
            shape.append(AnyDim() if has_any_dim(*column) else sum(column[1:], start=column[0]))
            continue
        for e in column:
            check_same_extent(column[0], e, f"extents along axis {d}, which is not the one to concatenate along")
        shape.append(_static(column) if has_any_dim(*(p.dims[at] for p in parts)) else _known(column))
    return TensorType(tuple(shape), parts[0].dtype)


def _concatenate_gradient(call: Call, grad: Expr) -> list[RelayExpr]:
    parts = call.args[0].checked_type.fields
    at = ConcatenateAttrs.of(call).axis % len(parts[0].shape)
    ends = np.cumsum([p.concrete_shape[at] for p in parts])[:-1].tolist()
    return [split(grad, tuple(ends), at).astuple()]


concatenate = register(
    "concatenate",
    doc="Concatenate tensors along an axis.",
    inputs={
        "data": Input(
            "A tuple of tensors that have the same extents along the other axes.", is_list=True, may_be_empty=False
        )
    },
    attrs=ConcatenateAttrs,
    relation=concatenate_relation,
    pattern=OpPattern.INJECTIVE,
    layout=concatenate_layout,
    definition=joining.concatenate,
    reference=lambda attrs, parts: np.concatenate(parts, attrs.axis),
    gradient=_concatenate_gradient,
)


def _stack_relation(types: Types, attrs: StackAttrs) -> Type:
    """One tensor with a new axis, whose extent is the number of inputs."""
    parts = fields(types[0])
    at = normalize_axis(attrs.axis, len(parts[0].shape) + 1)
    columns = [[p.dims[d] for p in parts] for d in range(len(parts[0].shape))]
    for d, column in enumerate(columns):
        for e in column:
            check_same_extent(column[0], e, f"extents along axis {d}")
    shape = [_known(column) for column in columns]
    return TensorType((*shape[:at], len(parts), *shape[at:]), parts[0].dtype)


def _stack_gradient(call: Call, grad: Expr) -> list[Expr]:
    count = len(call.args[0].checked_type.fields)
    at = normalize_axis(StackAttrs.of(call).axis, len(call.checked_type.shape))
    return [Tuple(tuple(call_op("squeeze", part, axis=(at,)) for part in split(grad, count, at)))]


stack = register(
    "stack",
    doc="Stack tensors of one shape along a new axis.",
    inputs={"data": Input("A tuple of tensors of one shape.", is_list=True, may_be_empty=False)},
    attrs=StackAttrs,
    relation=_stack_relation,
    pattern=OpPattern.INJECTIVE,
    definition=joining.stack,
    reference=lambda attrs, parts: np.stack(parts, attrs.axis),
    gradient=_stack_gradient,
)


# Splitting


def _points(attrs: SplitAttrs, extent: Dim) -> list[Dim]:
    parts = attrs.indices_or_sections
    if isinstance(parts, int):
        if parts < 1:
            raise RelationError(f"the number of sections must be positive, got {parts}")
        if isinstance(extent, int) and extent % parts:
            raise RelationError(f"{extent} elements along axis {attrs.axis} cannot be split into {parts} equal parts")
        return [(extent // parts) * n for n in range(parts)] + [extent]
    points = [0, *parts, extent]
    if any(isinstance(b, int) and a > b for a, b in pairwise(points)):
        raise RelationError(f"indices must grow and not go beyond the {extent} elements, got {parts}")
    return points


def _split_relation(types: Types, attrs: SplitAttrs) -> Type:
    """A tuple of the parts."""
    data = tensor(types[0], "data")
    at = normalize_axis(attrs.axis, len(data.dims))
    extent = data.dims[at]
    if has_any_dim(extent):
        sizes: list[Dim] = _unknown_parts(attrs)
    elif isinstance(attrs.indices_or_sections, int) and not isinstance(extent, int):
        sizes = [extent // attrs.indices_or_sections] * attrs.indices_or_sections
    else:
        sizes = [b - a for a, b in pairwise(_points(attrs, extent))]
    return TupleType(tuple(TensorType((*data.shape[:at], e, *data.shape[at + 1 :]), data.dtype) for e in sizes))


def _unknown_parts(attrs: SplitAttrs) -> list[Dim]:
    if isinstance(attrs.indices_or_sections, int):
        return [AnyDim()] * attrs.indices_or_sections
    return [b - a for a, b in pairwise([0, *attrs.indices_or_sections])] + [AnyDim()]


_SPLIT = register(
    "split",
    doc="Split a tensor into parts along an axis.",
    inputs={"data": "The tensor to split."},
    attrs=SplitAttrs,
    relation=_split_relation,
    pattern=OpPattern.INJECTIVE,
    layout=split_layout,
    definition=joining.split,
    reference=lambda attrs, x: tuple(
        np.ascontiguousarray(part) for part in np.split(x, attrs.indices_or_sections, attrs.axis)
    ),
    gradient=lambda call, grad: [concatenate(grad, SplitAttrs.of(call).axis)],
)


def _split_size(call: Call) -> int:
    parts = SplitAttrs.of(call).indices_or_sections
    return parts if isinstance(parts, int) else len(parts) + 1


split = tuple_function(_SPLIT, _split_size)


# Repeating


def _tile_relation(types: Types, attrs: TileAttrs) -> Type:
    """The data with each extent multiplied by its entry of ``reps``."""
    data = tensor(types[0], "data")
    if any(r < 0 for r in attrs.reps):
        raise RelationError(f"reps must not be negative, got {attrs.reps}")
    rank = max(len(data.dims), len(attrs.reps))
    old = (1,) * (rank - len(data.dims)) + data.dims
    reps = (1,) * (rank - len(attrs.reps)) + attrs.reps
    return TensorType(tuple(_times(e, r) for e, r in zip(old, reps, strict=True)), data.dtype)


def _times(extent: Dim, count: int) -> Dim:
    return extent if count == 1 or has_any_dim(extent) else extent * count


def _tile_gradient(call: Call, grad: Expr) -> list[Expr]:
    """Sum over the copies: each axis as two, the number of copies and what is copied."""
    data = call.args[0].checked_type.concrete_shape
    rank = max(len(data), len(TileAttrs.of(call).reps))
    old = (1,) * (rank - len(data)) + data
    reps = (1,) * (rank - len(TileAttrs.of(call).reps)) + TileAttrs.of(call).reps
    parts = reshaped(grad, tuple(e for pair in zip(reps, old, strict=True) for e in pair))
    return [reshaped(call_op("sum", parts, axis=tuple(range(0, 2 * rank, 2))), data)]


tile = register(
    "tile",
    doc="Repeat a tensor so many times along each axis.",
    inputs={"data": "The tensor to repeat."},
    attrs=TileAttrs,
    relation=_tile_relation,
    pattern=OpPattern.BROADCAST,
    definition=topi.tile,
    reference=lambda attrs, x: np.tile(x, attrs.reps),
    gradient=_tile_gradient,
)


def _repeat_relation(types: Types, attrs: RepeatAttrs) -> Type:
    """The data with its extent along ``axis`` multiplied by ``repeats``."""
    data = tensor(types[0], "data")
    at = normalize_axis(attrs.axis, len(data.dims))
    if attrs.repeats < 1:
        raise RelationError(f"repeats must be positive, got {attrs.repeats}")
    return TensorType(tuple(_times(e, attrs.repeats) if d == at else e for d, e in enumerate(data.dims)), data.dtype)


def _repeat_gradient(call: Call, grad: Expr) -> list[Expr]:
    data = call.args[0].checked_type.concrete_shape
    at = RepeatAttrs.of(call).axis % len(data)
    parts = reshaped(grad, (*data[: at + 1], RepeatAttrs.of(call).repeats, *data[at + 1 :]))
    return [call_op("sum", parts, axis=(at + 1,))]


repeat = register(
    "repeat",
    doc="Repeat each element so many times, one after the other.",
    inputs={"data": "The tensor whose elements to repeat."},
    attrs=RepeatAttrs,
    relation=_repeat_relation,
    pattern=OpPattern.BROADCAST,
    definition=topi.repeat,
    reference=lambda attrs, x: np.repeat(x, attrs.repeats, attrs.axis),
    gradient=_repeat_gradient,
)


def _grid_relation(types: Types, attrs: MeshgridAttrs) -> Type:
    """A tuple with a tensor for each vector, all of one shape."""
    if not isinstance(types[0], TupleType) or not types[0].fields:
        raise RelationError(f"data must be a tuple of vectors, got {types[0]}")
    parts = [tensor(t, f"element {n} of data") for n, t in enumerate(types[0].fields)]
    if any(len(p.shape) > 1 or p.dtype != parts[0].dtype for p in parts):
        raise RelationError(f"data must be vectors of one data type, got {types[0]}")
    extents: list[Any] = [p.shape[0] if p.shape else 1 for p in parts]
    places = topi.grid_axes(len(parts), attrs.indexing)
    shape = tuple(extents[places.index(d)] for d in range(len(parts)))
    return TupleType((TensorType(shape, parts[0].dtype),) * len(parts))


def _grid_gradient(call: Call, grad: Expr) -> list[Expr]:
    parts = call.args[0].checked_type.fields
    places = topi.grid_axes(len(parts), MeshgridAttrs.of(call).indexing)
    gradients = []
    for n, (part, place) in enumerate(zip(parts, places, strict=True)):
        others = tuple(d for d in range(len(parts)) if d != place)
        summed = call_op("sum", TupleWrapper(grad, len(parts))[n], axis=others)
        gradients.append(summed if part.shape else call_op("reshape", summed, newshape=()))
    return [Tuple(tuple(gradients))]


_MESHGRID = register(
    "meshgrid",
    doc="Return for each vector the grid that all of them span, with its own element at each point.",
    inputs={"data": Input("A tuple of vectors or scalars.", is_list=True)},
    attrs=MeshgridAttrs,
    relation=_grid_relation,
    pattern=OpPattern.INJECTIVE,
    definition=topi.meshgrid,
    reference=lambda attrs, parts: tuple(np.array(g) for g in np.meshgrid(*parts, indexing=attrs.indexing)),
    gradient=_grid_gradient,
)


def _grid_size(call: Call) -> int:
    data = call.args[0]
    return len(data.fields if isinstance(data, Tuple) else data.checked_type.fields)


meshgrid = tuple_function(_MESHGRID, _grid_size)
