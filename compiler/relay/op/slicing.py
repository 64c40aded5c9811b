"""Slicing: ``strided_slice``, ``strided_set``, ``slice_like``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compiler.ir.attrs import AttrKind, Attrs, attr_field
from compiler.ir.attrs.kinds import INTS, one_of, optional
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, Constant, Expr, array_const
from compiler.relay.op.axis_layouts import slice_like_layout, strided_slice_layout
from compiler.relay.op.common import FAR, has_any_dim, ints_of, normalize_axes
from compiler.relay.op.type_relations import same_dtype, tensor
from compiler.relay.op_registry import public_function, register
from compiler.relay.operator import Array, OpPattern, RelationError, Types, call_op
from compiler.relay.ty import AnyDim, Dim, TensorType
from compiler.te.definition.tensor import Tensor
from compiler.topi.arrays.indexing import strided_set as topi_strided_set
from compiler.topi.arrays.slicing import slice_places
from compiler.topi.operands import dims


@dataclass(frozen=True, slots=True)
class Part:
    """Along one axis: from where, in which steps, how many."""

    begin: Dim
    stride: int
    count: Dim


class _Steps(AttrKind[tuple[int, ...]]):
    """Steps for each axis; None means a step of 1 for all."""

    __slots__ = ()

    def convert(self, value: object, owner: type[Attrs]) -> tuple[int, ...]:
        return INTS.convert((1,) if value is None else value, owner)


class StridedSliceAttrs(Attrs):
    begin: tuple[int, ...] = attr_field(INTS, "First index along each of ``axes``; negative ones count from the end.")
    end: tuple[int, ...] = attr_field(
        INTS, "Index to stop before, or with ``size`` the number of elements, -1 for all."
    )
    strides: tuple[int, ...] = attr_field(
        _Steps("int or sequence of int, optional"), "Step along each of ``axes``.", None
    )
    slice_mode: str = attr_field(one_of("end", "size"), "Whether ``end`` holds ends or numbers of elements.", "end")
    axes: tuple[int, ...] | None = attr_field(optional(INTS), "Axes to slice; the first ones if it is None.", None)


class SliceLikeAttrs(Attrs):
    axes: tuple[int, ...] | None = attr_field(
        optional(INTS), "Axes to shorten; if it is None, the first ones, as many as ``shape_like`` has.", None
    )


def parts(shape: Sequence[Dim], attrs: StridedSliceAttrs) -> list[Part]:
    """Return what a slice takes along each axis of a tensor of ``shape``.

    Raises RelationError if the attributes do not fit to the shape.
    """
    begins, ends, strides = attrs.begin, attrs.end, attrs.strides
    if attrs.axes is None:
        count = max(len(begins), len(ends), len(strides))
        axes = tuple(range(count))
        ends = ends + tuple(_whole(attrs, e) for e in shape[len(ends) : count])
        begins = begins + tuple(0 for _ in axes[len(begins) :])
    else:
        axes = normalize_axes(attrs.axes, len(shape), "axes")
        count = len(axes)
    strides = strides + (1,) * (count - len(strides))
    if count > len(shape) or not len(begins) == len(ends) == len(strides) == count:
        raise RelationError(
            f"begin, end and strides must have at most an entry for each of the axes {axes} of {tuple(shape)}, "
            f"got {attrs.begin}, {attrs.end}, {attrs.strides}"
        )
    ranges = [Part(0, 1, e) for e in shape]
    for axis, begin, end, stride in zip(axes, begins, ends, strides, strict=True):
        if attrs.slice_mode == "size":
            ranges[axis] = _sized(shape[axis], begin, end)
        elif stride == 0:
            raise RelationError("strides must not be zero")
        else:
            ranges[axis] = _between(shape[axis], begin, end, stride)
    return ranges


def _whole(attrs: StridedSliceAttrs, extent: Dim) -> int:
    """Return the end of a slice that takes all from the beginning on."""
    return -1 if attrs.slice_mode == "size" else extent if isinstance(extent, int) else FAR


def _sized(extent: Dim, begin: int, size: int) -> Part:
    if size >= 0:
        return Part(begin, 1, min(size, extent - begin) if isinstance(extent, int) else size)
    if isinstance(extent, int):
        return Part(begin, 1, max(extent - begin, 0))
    return Part(begin, 1, AnyDim() if has_any_dim(extent) else extent - begin)


def _between(extent: Dim, begin: int, end: int, stride: int) -> Part:
    if isinstance(extent, int):
        places = range(*slice(begin, end, stride).indices(extent))
        return Part(places.start, stride, len(places))
    if begin == 0 and stride == 1 and end >= FAR:
        return Part(0, 1, extent)
    if has_any_dim(extent) or stride != 1:
        return Part(begin, stride, AnyDim())
    first = begin if begin >= 0 else extent + begin
    last = extent if end >= FAR else end if end >= 0 else extent + end
    return Part(first, 1, last - first)


def _slice_relation(types: Types, attrs: StridedSliceAttrs) -> Type:
    """The data with the extents of the slice."""
    data = tensor(types[0], "data")
    return TensorType(tuple(p.count for p in parts(data.dims, attrs)), data.dtype)


def _slice_compute(attrs: StridedSliceAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    ranges = parts(dims(inputs[0]), attrs)
    return [slice_places(inputs[0], [p.begin for p in ranges], [p.stride for p in ranges], [p.count for p in ranges])]


def slices(shape: Sequence[int], attrs: StridedSliceAttrs) -> tuple[slice, ...]:
    """Return the places that a slice takes along each axis as Python's slices."""
    ranges = []
    for part in parts(shape, attrs):
        begin, count = part.begin, part.count
        assert isinstance(begin, int)
        assert isinstance(count, int)
        end = begin + part.stride * count
        ranges.append(slice(begin, end if end >= 0 else None, part.stride) if count else slice(0, 0))
    return tuple(ranges)


def _slice_gradient(call: Call, grad: Expr) -> list[Expr]:
    """Zeros with the gradient put where the slice was taken."""
    data = call.args[0]
    ranges = parts(data.checked_type.concrete_shape, StridedSliceAttrs.of(call))
    begin, strides = ([getattr(p, name) for p in ranges] for name in ("begin", "stride"))
    ends = [b + s * p.count for b, s, p in zip(begin, strides, ranges, strict=True)]
    end = [e if e >= 0 else -FAR for e in ends]
    values = [array_const(np.array(v, "int64")) for v in (begin, end, strides)]
    return [call_op("strided_set", call_op("zeros_like", data), grad, *values)]


strided_slice = register(
    "strided_slice",
    doc="Take every so many elements from a begin up to an end along some axes.",
    inputs={"data": "The tensor to slice."},
    attrs=StridedSliceAttrs,
    spelt_out=("strides", "axes"),
    parameters=("data", "begin", "end", "strides", "axes", "slice_mode"),
    relation=_slice_relation,
    pattern=OpPattern.INJECTIVE,
    layout=strided_slice_layout,
    compute=_slice_compute,
    reference=lambda attrs, x: x[slices(x.shape, attrs)].copy(),
    gradient=_slice_gradient,
)


def _numbers(value: RelayExpr) -> list[int] | RelayExpr:
    return value.value.reshape(-1).tolist() if isinstance(value, Constant) else value


def _set_relation(types: Types, attrs: Attrs) -> Type:
    """The output has the type of the data."""
    data, values = tensor(types[0], "data"), tensor(types[1], "v")
    same_dtype(data, values)
    for t, name in zip(types[2:], ("begin", "end", "strides"), strict=True):
        count = tensor(t, name, 1).dims[0]
        if isinstance(count, int) and count > len(data.dims):
            raise RelationError(f"{name} must have at most an entry for each axis of {data}, got {count}")
    return data


def _set_slices(shape: Sequence[int], begin: Array, end: Array, strides: Array) -> tuple[slice, ...]:
    ranges = []
    missing = [len(shape) - len(bound) for bound in (begin, end, strides)]
    starts = begin.tolist() + [0] * missing[0]
    stops = end.tolist() + [FAR] * missing[1]
    steps = strides.tolist() + [1] * missing[2]
    for extent, b, e, s in zip(shape, starts, stops, steps, strict=True):
        places = range(*slice(b, e, s).indices(extent))
        ranges.append(slice(places.start, places.stop if places.stop >= 0 else None, s))
    return tuple(ranges)


def _set_reference(attrs: Attrs, x: Array, values: Array, begin: Array, end: Array, strides: Array) -> Array:
    result = x.copy()
    # What a slice of the shape of ``v`` covers from begin on; an end that is farther away changes nothing.
    where = _set_slices(x.shape, begin, end, strides)
    result[where] = values
    return result


def _set_gradient(call: Call, grad: Expr) -> list[Expr]:
    _, values, begin, end, strides = call.args
    bounds = [_numbers(e) for e in (begin, end, strides)]
    if any(isinstance(b, Expr) for b in bounds):
        raise RelationError("gradient of strided_set: begin, end and strides must be constants")
    cleared = call_op("strided_set", grad, call_op("zeros_like", values), begin, end, strides)
    return [
        cleared,
        call_op("strided_slice", grad, begin=bounds[0], end=bounds[1], strides=bounds[2]),
        *[call_op("zeros_like", e) for e in (begin, end, strides)],
    ]


_STRIDED_SET = register(
    "strided_set",
    doc="Replace the part of a tensor that a strided slice would take.",
    inputs={
        "data": "The tensor to write into.",
        "v": "What to write, of the shape of the slice.",
        "begin": "First index along each axis, a vector of integers.",
        "end": "Index to stop before along each axis, a vector of integers.",
        "strides": "Step along each axis, a vector of integers; 1 if it is left out.",
    },
    relation=_set_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [topi_strided_set(*inputs)],
    reference=_set_reference,
    gradient=_set_gradient,
)


def _like_axes(attrs: SliceLikeAttrs, rank: int, like: int) -> tuple[int, ...]:
    if attrs.axes:
        chosen = normalize_axes(attrs.axes, rank, "axes")
        if max(chosen) >= like:
            raise RelationError(f"axes must be below the {like} dimensions of shape_like, got {attrs.axes}")
        return chosen
    if rank < like:
        raise RelationError(f"shape_like must have at most the {rank} dimensions of data, got {like}")
    return tuple(range(like))


def _like_shape(attrs: SliceLikeAttrs, shape: Sequence[Dim], like: Sequence[Dim]) -> tuple[Dim, ...]:
    chosen = _like_axes(attrs, len(shape), len(like))
    for d in chosen:
        if isinstance(shape[d], int) and isinstance(like[d], int) and like[d] > shape[d]:
            raise RelationError(f"extent {shape[d]} along axis {d} must be at least {like[d]}")
    return tuple(like[d] if d in chosen else e for d, e in enumerate(shape))


def _like_relation(types: Types, attrs: SliceLikeAttrs) -> Type:
    """The data with some extents of ``shape_like``."""
    data, like = tensor(types[0], "data"), tensor(types[1], "shape_like")
    return TensorType(_like_shape(attrs, data.dims, like.dims), data.dtype)


def _like_compute(attrs: SliceLikeAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    data, like = inputs
    shape = _like_shape(attrs, dims(data), dims(like))
    return [slice_places(data, [0] * len(shape), [1] * len(shape), shape)]


def _like_gradient(call: Call, grad: Expr) -> list[Expr]:
    data, like = call.args
    shape = call.checked_type.concrete_shape
    start = [0] * len(shape)
    return [strided_set(call_op("zeros_like", data), grad, start, shape), call_op("zeros_like", like)]


slice_like = register(
    "slice_like",
    doc="Take the first elements along some axes, as many as another tensor has.",
    inputs={"data": "The tensor to slice.", "shape_like": "The tensor whose extents to take."},
    attrs=SliceLikeAttrs,
    spelt_out=("axes",),
    relation=_like_relation,
    pattern=OpPattern.INJECTIVE,
    layout=slice_like_layout,
    compute=_like_compute,
    reference=lambda attrs, x, like: x[tuple(slice(e) for e in _like_shape(attrs, x.shape, like.shape))].copy(),
    gradient=_like_gradient,
)


@public_function(_STRIDED_SET)
def strided_set(
    data: RelayExpr,
    v: RelayExpr,
    begin: RelayExpr | Sequence[int],
    end: RelayExpr | Sequence[int],
    strides: RelayExpr | Sequence[int] | None = None,
) -> Call:
    """Replace the part of a tensor that a strided slice would take."""
    begin, end = _vector(begin), _vector(end)
    return _STRIDED_SET(data, v, begin, end, call_op("ones_like", begin) if strides is None else _vector(strides))


def _vector(value: RelayExpr | Sequence[int]) -> RelayExpr:
    return value if isinstance(value, RelayExpr) else array_const(np.array(ints_of(value, "strided_set"), "int64"))
