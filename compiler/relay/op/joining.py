"""Several tensors as one, one as several, and one several times: ``concatenate``, ``stack``, ``split``, ``tile``, …"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from compiler.ir.attrs import REQUIRED, Attrs
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, Constant, Expr, Tuple, TupleWrapper, as_expr
from compiler.relay.op.common import agree, axis_of, int_of, ints_of, unknown
from compiler.relay.op.relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types, call_op
from compiler.relay.ty import AnyDim, Dim, TensorType, TupleType
from compiler.topi import transform as topi

# several as one


def fields(t: Type) -> list[TensorType]:
    """Return the tensors of a tuple of tensors of one rank and data type.

    Raises
    ------
    RelationError
        If it is something else.
    """
    if not isinstance(t, TupleType) or not t.fields:
        raise RelationError(f"data must be a tuple of tensors, got {t}")
    found = [tensor(f, f"element {n} of data") for n, f in enumerate(t.fields)]
    for n, f in enumerate(found):
        if f.dtype != found[0].dtype or len(f.shape) != len(found[0].shape):
            raise RelationError(f"all tensors must have one rank and data type, got {found[0]} and, at {n}, {f}")
    return found


def _known(extents: Sequence[Dim]) -> Dim:
    """Return the extent that several, which must be the same, have; one that is known says more."""
    return next((e for e in extents if isinstance(e, int)), next((e for e in extents if not unknown(e)), extents[0]))


def _concatenate_relation(types: Types, attrs: Attrs) -> Type:
    parts = fields(types[0])
    rank = len(parts[0].shape)
    at = axis_of(attrs.axis, rank)
    shape: list[Dim] = []
    for d in range(rank):
        column = [p.dims[d] for p in parts]
        if d == at:
            shape.append(AnyDim() if unknown(*column) else sum(column[1:], start=column[0]))
            continue
        for e in column:
            agree(column[0], e, f"extents along axis {d}, which is not the one to concatenate along")
        shape.append(_known(column))
    return TensorType(tuple(shape), parts[0].dtype)


def _concatenate_gradient(call: Call, grad: Expr) -> list[RelayExpr]:
    parts = call.args[0].checked_type.fields
    at = call.attrs.axis % len(parts[0].shape)
    ends = np.cumsum([p.concrete_shape[at] for p in parts])[:-1].tolist()
    return [split(grad, tuple(ends), at).astuple()]


_CONCATENATE = register(
    "concatenate",
    doc="Tensors one after the other along an axis.",
    inputs=("data",),
    attributes={"axis": REQUIRED},
    relation=_concatenate_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [topi.concatenate(inputs, attrs.axis)],
    reference=lambda attrs, parts: np.concatenate(parts, attrs.axis),
    gradient=_concatenate_gradient,
)


def _as_tuple(data: Any) -> Any:
    value = as_expr(data)
    return value if isinstance(value, Expr) else Tuple(tuple(value))


def concatenate(data: Any, axis: int) -> Call:
    """Return the tensors of a tuple, or of a list, one after the other along ``axis``."""
    return _CONCATENATE(_as_tuple(data), axis=int_of(axis, "axis"))


def _stack_relation(types: Types, attrs: Attrs) -> Type:
    parts = fields(types[0])
    at = axis_of(attrs.axis, len(parts[0].shape) + 1)
    columns = [[p.dims[d] for p in parts] for d in range(len(parts[0].shape))]
    for d, column in enumerate(columns):
        for e in column:
            agree(column[0], e, f"extents along axis {d}")
    shape = [_known(column) for column in columns]
    return TensorType((*shape[:at], len(parts), *shape[at:]), parts[0].dtype)


def _stack_gradient(call: Call, grad: Expr) -> list[Expr]:
    count = len(call.args[0].checked_type.fields)
    at = axis_of(call.attrs.axis, len(call.checked_type.shape))
    return [Tuple(tuple(call_op("squeeze", part, axis=(at,)) for part in split(grad, count, at)))]


_STACK = register(
    "stack",
    doc="Tensors of one shape along a new axis.",
    inputs=("data",),
    attributes={"axis": REQUIRED},
    relation=_stack_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [topi.stack(inputs, attrs.axis)],
    reference=lambda attrs, parts: np.stack(parts, attrs.axis),
    gradient=_stack_gradient,
)


def stack(data: Any, axis: int) -> Call:
    """Return the tensors of a tuple, or of a list, along a new axis before ``axis``."""
    return _STACK(_as_tuple(data), axis=int_of(axis, "axis"))


# one as several


def _points(attrs: Attrs, extent: Dim) -> list[Dim]:
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


def _split_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    at = axis_of(attrs.axis, len(data.dims))
    extent = data.dims[at]
    if unknown(extent):
        sizes: list[Dim] = _unknown_parts(attrs)
    elif isinstance(attrs.indices_or_sections, int) and not isinstance(extent, int):
        sizes = [extent // attrs.indices_or_sections] * attrs.indices_or_sections
    else:
        sizes = [b - a for a, b in pairwise(_points(attrs, extent))]
    return TupleType(tuple(TensorType((*data.shape[:at], e, *data.shape[at + 1 :]), data.dtype) for e in sizes))


def _unknown_parts(attrs: Attrs) -> list[Dim]:
    if isinstance(attrs.indices_or_sections, int):
        return [AnyDim()] * attrs.indices_or_sections
    return [b - a for a, b in pairwise([0, *attrs.indices_or_sections])] + [AnyDim()]


_SPLIT = register(
    "split",
    doc="Parts along an axis.",
    inputs=("data",),
    attributes={"indices_or_sections": REQUIRED, "axis": 0},
    relation=_split_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: topi.split(inputs[0], attrs.indices_or_sections, attrs.axis),
    reference=lambda attrs, x: tuple(
        np.ascontiguousarray(part) for part in np.split(x, attrs.indices_or_sections, attrs.axis)
    ),
    gradient=lambda call, grad: [concatenate(grad, call.attrs.axis)],
)


def split(data: Expr, indices_or_sections: int | Sequence[int], axis: int = 0) -> TupleWrapper:
    """Return parts of ``data`` along ``axis``: so many equal ones, or those that begin at the given indices."""
    if isinstance(indices_or_sections, (tuple, list)):
        where: Any = ints_of(indices_or_sections, "indices_or_sections")
        count = len(where) + 1
    else:
        where = count = int_of(indices_or_sections, "indices_or_sections")
    return TupleWrapper(_SPLIT(data, indices_or_sections=where, axis=int_of(axis, "axis")), count)


# one several times


def _tile_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    if any(r < 0 for r in attrs.reps):
        raise RelationError(f"reps must not be negative, got {attrs.reps}")
    rank = max(len(data.dims), len(attrs.reps))
    old = (1,) * (rank - len(data.dims)) + data.dims
    reps = (1,) * (rank - len(attrs.reps)) + attrs.reps
    return TensorType(tuple(_times(e, r) for e, r in zip(old, reps, strict=True)), data.dtype)


def _times(extent: Dim, count: int) -> Dim:
    return extent if count == 1 or unknown(extent) else extent * count


def _tile_gradient(call: Call, grad: Expr) -> list[Expr]:
    """Sum over the copies: each axis as two, the number of copies and what is copied."""
    data = call.args[0].checked_type.concrete_shape
    rank = max(len(data), len(call.attrs.reps))
    old = (1,) * (rank - len(data)) + data
    reps = (1,) * (rank - len(call.attrs.reps)) + call.attrs.reps
    parts = call_op("reshape", grad, newshape=tuple(e for pair in zip(reps, old, strict=True) for e in pair))
    return [call_op("reshape", call_op("sum", parts, axis=tuple(range(0, 2 * rank, 2))), newshape=data)]


_TILE = register(
    "tile",
    doc="So many copies along each axis.",
    inputs=("data",),
    attributes={"reps": REQUIRED},
    relation=_tile_relation,
    pattern=OpPattern.BROADCAST,
    compute=lambda attrs, inputs, out_type: [topi.tile(inputs[0], attrs.reps)],
    reference=lambda attrs, x: np.tile(x, attrs.reps),
    gradient=_tile_gradient,
)


def tile(data: Expr, reps: Any) -> Call:
    """Return ``data`` ``reps[d]`` times along each axis."""
    if isinstance(reps, Constant):
        reps = reps.value.reshape(-1).tolist()
    if isinstance(reps, Expr):
        return call_op("dyn.tile", data, reps)
    return _TILE(data, reps=ints_of(reps, "reps"))


def _repeat_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    at = axis_of(attrs.axis, len(data.dims))
    if attrs.repeats < 1:
        raise RelationError(f"repeats must be positive, got {attrs.repeats}")
    return TensorType(tuple(_times(e, attrs.repeats) if d == at else e for d, e in enumerate(data.dims)), data.dtype)


def _repeat_gradient(call: Call, grad: Expr) -> list[Expr]:
    data = call.args[0].checked_type.concrete_shape
    at = call.attrs.axis % len(data)
    parts = call_op("reshape", grad, newshape=(*data[: at + 1], call.attrs.repeats, *data[at + 1 :]))
    return [call_op("sum", parts, axis=(at + 1,))]


_REPEAT = register(
    "repeat",
    doc="Each element so often, one after the other.",
    inputs=("data",),
    attributes={"repeats": REQUIRED, "axis": REQUIRED},
    relation=_repeat_relation,
    pattern=OpPattern.BROADCAST,
    compute=lambda attrs, inputs, out_type: [topi.repeat(inputs[0], attrs.repeats, attrs.axis)],
    reference=lambda attrs, x: np.repeat(x, attrs.repeats, attrs.axis),
    gradient=_repeat_gradient,
)


def repeat(data: Expr, repeats: int, axis: int) -> Call:
    """Return ``data`` with each element ``repeats`` times one after the other along ``axis``."""
    return _REPEAT(data, repeats=int_of(repeats, "repeats"), axis=int_of(axis, "axis"))


def _grid_relation(types: Types, attrs: Attrs) -> Type:
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
    places = topi.grid_axes(len(parts), call.attrs.indexing)
    found = []
    for n, (part, place) in enumerate(zip(parts, places, strict=True)):
        others = tuple(d for d in range(len(parts)) if d != place)
        summed = call_op("sum", TupleWrapper(grad, len(parts))[n], axis=others)
        found.append(summed if part.shape else call_op("reshape", summed, newshape=()))
    return [Tuple(tuple(found))]


_MESHGRID = register(
    "meshgrid",
    doc="The grid that vectors span: for each vector its element at each point.",
    inputs=("data",),
    attributes={"indexing": "ij"},
    relation=_grid_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: topi.meshgrid(inputs, attrs.indexing),
    reference=lambda attrs, parts: tuple(np.array(g) for g in np.meshgrid(*parts, indexing=attrs.indexing)),
    gradient=_grid_gradient,
)


def meshgrid(data: Any, indexing: str = "ij") -> TupleWrapper:
    """Return for each vector of a list the grid that all span, with its own element at each point."""
    if indexing not in ("ij", "xy"):
        raise RelationError(f"meshgrid: indexing must be 'ij' or 'xy', got {indexing!r}")
    vectors = _as_tuple(data)
    return TupleWrapper(_MESHGRID(vectors, indexing=indexing), len(vectors.fields))
