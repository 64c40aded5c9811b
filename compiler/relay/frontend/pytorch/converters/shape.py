"""Shape operators: views, concatenation, slicing, repetition."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.dtypes import promoted, tensor
from compiler.relay.frontend.pytorch.registry import converter, converters
from compiler.relay.frontend.pytorch.tensors import (
    axes_of,
    axis_of,
    constant,
    dims_of,
    dtype_of,
    extent,
    extents,
    known,
    open_extents,
    ops,
    rank_of,
    reshape,
    shape_of,
    size,
    static_extent,
    static_shape,
    told,
    transpose,
    unsqueeze,
)
from compiler.relay.frontend.pytorch.values import DType, Ints, Size, TorchValue
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.tensors import bounded, expand, slice_axis, split, static_dims
from compiler.relay.ty import Dim


@converter("view", "reshape", "_unsafe_view", "_reshape_alias", "view_copy", "reshape_copy")
def view(
    x: RelayExpr, size: Ints = (), shape: Ints | None = None, dtype: DType | None = None, **_strides: Ints
) -> RelayExpr:
    """Reshape a tensor."""
    if dtype is not None:
        raise ConversionError("a view in another data type is not supported")
    wanted = open_extents(size if shape is None else shape)
    computed = [v for v in wanted if isinstance(v, RelayExpr)]
    if not computed:
        return reshape(x, wanted)
    if len(computed) == 1 and all(isinstance(v, RelayExpr) or v > 0 for v in wanted):
        return ops.reshape(x, [-1 if isinstance(v, RelayExpr) else v for v in wanted])
    return told(ops.reshape(x, tensor(wanted, "int64")), wanted)


@converter("flatten")
def _flatten(x: RelayExpr, start_dim: int = 0, end_dim: int = -1) -> RelayExpr:
    rank, dims = rank_of(x), dims_of(x)
    first, last = axis_of(start_dim, rank), axis_of(end_dim, rank)
    if not rank:
        return reshape(x, [1])
    joined = dims[first : last + 1]
    return reshape(x, [*dims[:first], math.prod(joined) if _all_known(joined) else -1, *dims[last + 1 :]])


def _all_known(dims: Sequence[Dim]) -> bool:
    return all(isinstance(d, int) for d in dims)


@converter("unflatten")
def _unflatten(x: RelayExpr, dim: int, sizes: Ints) -> RelayExpr:
    axis, dims = axis_of(dim, rank_of(x)), dims_of(x)
    parts = extents(sizes)
    if -1 in parts and isinstance(own := dims[axis], int):
        parts[parts.index(-1)] = own // -math.prod(parts)
    return reshape(x, [*dims[:axis], *parts, *dims[axis + 1 :]])


@converter("transpose", "swapaxes", "swapdims", "transpose_copy")
def _transpose(
    x: RelayExpr, dim0: int | None = None, dim1: int | None = None, axis0: int | None = None, axis1: int | None = None
) -> RelayExpr:
    rank = rank_of(x)
    first, second = (next(v for v in pair if v is not None) for pair in ((dim0, axis0), (dim1, axis1)))
    order = list(range(rank))
    if rank:
        a, b = axis_of(first, rank), axis_of(second, rank)
        order[a], order[b] = b, a
    return transpose(x, order)


@converter("movedim", "moveaxis")
def _movedim(x: RelayExpr, source: int | Sequence[int], destination: int | Sequence[int]) -> RelayExpr:
    rank = rank_of(x)
    sources, targets = ([axis_of(d, rank) for d in ([v] if isinstance(v, int) else v)] for v in (source, destination))
    order = [i for i in range(rank) if i not in sources]
    for target, origin in sorted(zip(targets, sources, strict=True)):
        order.insert(target, origin)
    return transpose(x, order)


@converter("squeeze", "squeeze_copy")
def _squeeze(x: RelayExpr, dim: int | None = None) -> RelayExpr:
    axes = [a for a in axes_of(dim, rank_of(x)) if a < rank_of(x)]
    ones = [a for a in axes if dims_of(x)[a] == 1]
    return ops.squeeze(x, axis=ones) if ones else x


@converter("cat", "concat", "concatenate")
def _cat(tensors: Sequence[RelayExpr], dim: int = 0) -> RelayExpr:
    values = [x for x in tensors if dims_of(x) != (0,)] or list(tensors[:1])
    values = promoted(*values)
    return ops.concatenate(values, axis_of(dim, rank_of(values[0]))) if len(values) > 1 else values[0]


@converter("stack")
def stack(tensors: Sequence[RelayExpr], dim: int = 0) -> RelayExpr:
    """Join tensors along a new axis."""
    values = promoted(*tensors)
    return ops.stack(values, axis_of(dim, rank_of(values[0]) + 1))


def _at_least(x: RelayExpr, rank: int) -> RelayExpr:
    return unsqueeze(x, list(range(rank - rank_of(x)))) if rank_of(x) < rank else x


converters(
    {
        "hstack": lambda tensors: _cat([_at_least(x, 1) for x in tensors], min(rank_of(tensors[0]), 1)),
        "vstack": lambda tensors: _cat([_at_least(x, 2) for x in tensors], 0),
        "column_stack": lambda tensors: _cat([x if rank_of(x) > 1 else reshape(x, [-1, 1]) for x in tensors], 1),
        "dstack": lambda tensors: _cat([_at_least_3(x) for x in tensors], 2),
        "atleast_1d": lambda x: _at_least(x, 1),
        "atleast_2d": lambda x: _at_least(x, 2),
    }
)


def _at_least_3(x: RelayExpr) -> RelayExpr:
    return unsqueeze(_at_least(x, 2), [2]) if rank_of(x) < 3 else x


@converter("as_strided", "as_strided_copy")
def _as_strided(
    x: RelayExpr, size: Ints, stride: Ints, storage_offset: int = 0, memory: Sequence[int] | None = None
) -> RelayExpr:
    """Gather elements of the memory of a tensor, which has the strides ``memory``, by default those of its shape."""
    places = np.asarray(extent(storage_offset or 0))
    bounded(*extents(size))
    for count, step in zip(extents(size), extents(stride), strict=True):
        places = places[..., None] + np.arange(count) * step
    flat = reshape(x if memory is None else _as_in_memory(x, memory), [-1])
    if places.size and places.max() >= static_extent(flat, 0):
        raise ConversionError(f"element {places.max()} is named, but there are {static_extent(flat, 0)}")
    return ops.take(flat, constant(places, "int64"), axis=0)


def _as_in_memory(x: RelayExpr, strides: Sequence[int]) -> RelayExpr:
    """Transpose a tensor so that its elements follow each other as in memory."""
    dims = static_shape(x)
    order = sorted(range(len(dims)), key=lambda axis: -strides[axis])
    sizes = [math.prod(dims[inner] for inner in order[i + 1 :]) for i in range(len(order))]
    if any(dims[axis] != 1 and strides[axis] != size for axis, size in zip(order, sizes, strict=True)):
        raise ConversionError(f"its elements, {dims} of strides {tuple(strides)}, do not lie side by side")
    return x if order == sorted(order) else transpose(x, order)


@converter("diff")
def _diff(
    x: RelayExpr, n: int = 1, dim: int = -1, prepend: RelayExpr | None = None, append: RelayExpr | None = None
) -> RelayExpr:
    x = _cat([part for part in (prepend, x, append) if part is not None], dim)
    axis = axis_of(dim, rank_of(x))
    differ = ops.not_equal if dtype_of(x) == "bool" else ops.subtract
    for _ in range(n):
        whole = static_extent(x, axis)
        x = differ(slice_axis(x, axis, 1, whole), slice_axis(x, axis, 0, whole - 1))
    return x


@converter("split", "split_with_sizes", "tensor_split", "unsafe_split", "unsafe_split_with_sizes")
def _split(x: RelayExpr, split_size: Ints = (), split_sizes: Ints | None = None, dim: int = 0,
           sections: Size | None = None, indices: Ints | None = None) -> list[RelayExpr]:  # fmt: skip
    axis = axis_of(dim, rank_of(x))
    given = split_size if split_sizes is None else split_sizes
    if isinstance(given, Sequence) and sections is None and indices is None:
        sizes = open_extents(given)
        is_open = any(isinstance(v, RelayExpr) for v in sizes)
        return _split_at_run_time(x, sizes, axis) if is_open else split(x, extents(sizes), axis)
    whole = static_extent(x, axis)
    if indices is not None:
        ends = [0, *(min(max(i if i >= 0 else i + whole, 0), whole) for i in extents(indices)), whole]
        return [slice_axis(x, axis, a, max(a, b)) for a, b in itertools.pairwise(ends)]
    if sections is not None:
        parts = extent(sections)
        return split(x, [whole // parts + (i < whole % parts) for i in range(parts)], axis)
    (each,) = extents(given)
    return split(x, [min(each, whole - start) for start in range(0, whole, each)], axis)


def _split_at_run_time(x: RelayExpr, sizes: Sequence[Size], axis: int) -> list[RelayExpr]:
    if len(sizes) == 1:
        return [x]
    ends = itertools.accumulate((tensor(v, "int64") for v in sizes), ops.add, initial=tensor(0))
    return [_slice_at_run_time(x, axis, a, b, 1) for a, b in itertools.pairwise(ends)]


@converter("chunk", "unsafe_chunk")
def _chunk(x: RelayExpr, chunks: int, dim: int = 0) -> list[RelayExpr]:
    whole = static_extent(x, axis_of(dim, rank_of(x)))
    return _split(x, -(-whole // chunks), dim=dim)


@converter("unbind")
def _unbind(x: RelayExpr, dim: int = 0) -> list[RelayExpr]:
    axis = axis_of(dim, rank_of(x))
    return [ops.squeeze(part, axis=[axis]) for part in split(x, [1] * static_extent(x, axis), axis)]


@converter("expand", "broadcast_to", "expand_copy")
def _expand(x: RelayExpr, size: Ints, implicit: bool = False) -> RelayExpr:
    wanted = open_extents(size)
    new = len(wanted) - rank_of(x)
    if not any(isinstance(v, RelayExpr) for v in wanted):
        dims = [1] * new + list(dims_of(x))
        return expand(x, [own if v == -1 else v for own, v in zip(dims, wanted, strict=True)])
    own = [1] * new + shape_of(x)
    wanted = [v if isinstance(v, RelayExpr) or v != -1 else e for e, v in zip(own, wanted, strict=True)]
    return told(ops.broadcast_to(x, tensor(wanted, "int64")), wanted)


@converter("broadcast_tensors")
def _broadcast_tensors(tensors: Sequence[RelayExpr]) -> list[RelayExpr]:
    shape = np.broadcast_shapes(*(static_shape(x) for x in tensors))
    return [_expand(x, list(shape)) for x in tensors]


@converter("repeat", "tile")
def _repeat(x: RelayExpr, repeats: Ints | None = None, dims: Ints = ()) -> RelayExpr:
    times = extents(dims if repeats is None else repeats)
    times = [1] * (rank_of(x) - len(times)) + times
    return ops.tile(_at_least(x, len(times)), times)


@converter("repeat_interleave")
def _repeat_interleave(
    x: RelayExpr, repeats: Ints, dim: int | None = None, output_size: Ints | None = None
) -> RelayExpr:
    if dim is None:
        x, dim = reshape(x, [-1]), 0
    axis = axis_of(dim, rank_of(x))
    if isinstance(repeats, int):
        return ops.repeat(x, repeats, axis)
    counts = extents(repeats)
    counts = counts * static_extent(x, axis) if len(counts) == 1 else counts
    places = [i for i, count in enumerate(counts) for _ in range(count)]
    return ops.take(x, constant(places, "int64"), axis=axis)


@converter("flip")
def _flip(x: RelayExpr, dims: Sequence[int]) -> RelayExpr:
    for dim in dims:
        x = ops.reverse(x, axis_of(dim, rank_of(x)))
    return x


@converter("rot90")
def _rot90(x: RelayExpr, k: int = 1, dims: Sequence[int] = (0, 1)) -> RelayExpr:
    turns = k % 4
    if turns == 2:
        return _flip(x, dims)
    if turns == 0:
        return x
    return _flip(_transpose(x, *dims), [dims[0] if turns == 1 else dims[1]])


@converter("roll")
def _roll(x: RelayExpr, shifts: Ints, dims: int | Sequence[int] = ()) -> RelayExpr:
    moves = extents(shifts)
    if not len(axes := [dims] if isinstance(dims, int) else list(dims)):
        return reshape(_roll(reshape(x, [-1]), moves, [0]), dims_of(x))
    for shift, dim in zip(moves, axes, strict=True):
        axis = axis_of(dim, rank_of(x))
        whole = static_extent(x, axis)
        if cut := -shift % whole:
            x = ops.concatenate([slice_axis(x, axis, cut, whole), slice_axis(x, axis, 0, cut)], axis)
    return x


@converter("narrow", "narrow_copy")
def _narrow(x: RelayExpr, dim: int, start: Size, length: Size) -> RelayExpr:
    axis, first = axis_of(dim, rank_of(x)), extent(start)
    first += static_dims(x, "the input", [axis])[0] if first < 0 else 0
    return slice_axis(x, axis, first, first + extent(length))


@converter("slice", "slice_copy")
def _slice(x: RelayExpr | Sequence[TorchValue], dim: int = 0, start: Size | None = None, end: Size | None = None,
           step: int = 1) -> RelayExpr | Sequence[TorchValue]:  # fmt: skip
    first, last = _bound(start), _bound(end)
    if not isinstance(x, RelayExpr):
        return x[slice(dim if first is None else extent(first), None if last is None else extent(last), step)]
    axis = axis_of(dim, rank_of(x))
    whole = dims_of(x)[axis]
    if isinstance(whole, int) and not isinstance(first, RelayExpr) and not isinstance(last, RelayExpr):
        begin, stop, _ = slice(first, last, step).indices(whole)
        if (begin, stop, step) == (0, whole, 1):
            return x
        return ops.strided_slice(x, [begin], [max(begin, stop)], [step], axes=[axis])
    return _slice_at_run_time(x, axis, 0 if first is None else first, last, step)


def _bound(value: Size | None) -> Size | None:
    return extent(value) if isinstance(value, RelayExpr) and known(value) is not None else value


def _slice_at_run_time(x: RelayExpr, axis: int, first: Size, last: Size | None, step: int) -> RelayExpr:
    """Slice with bounds that are only known at run time."""
    own = size(x, axis)
    begin, end = _inside(first, own), tensor(own, "int64") if last is None else _inside(last, own)
    return ops.strided_slice(x, tensor([begin]), tensor([end]), constant([step]), axes=[axis])


def _inside(bound: Size, own: Size) -> RelayExpr:
    """Normalise a bound: resolve negative values and clamp to the extent."""
    value, whole = tensor(bound, "int64"), tensor(own, "int64")
    value = ops.where(ops.less(value, tensor(0)), ops.add(value, whole), value)
    return ops.minimum(ops.maximum(value, tensor(0)), whole)


@converter("unfold")
def _unfold(x: RelayExpr, dimension: int, size: int, step: int) -> RelayExpr:
    axis = axis_of(dimension, rank_of(x))
    starts = range(0, static_extent(x, axis) - size + 1, step)
    parts = [slice_axis(x, axis, start, start + size) for start in starts]
    order = [i for i in range(rank_of(x)) if i != axis] + [axis]
    return ops.stack([transpose(part, order) for part in parts], axis)


@converter("diagonal", "linalg_diagonal")
def _diagonal(x: RelayExpr, offset: int = 0, dim1: int = 0, dim2: int = 1) -> RelayExpr:
    rank = rank_of(x)
    a, b = axis_of(dim1, rank), axis_of(dim2, rank)
    moved = transpose(x, [*(i for i in range(rank) if i not in (a, b)), a, b])
    *others, rows, columns = static_shape(moved)
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    row, column = max(-offset, 0), max(offset, 0)
    places = [(row + i) * columns + column + i for i in range(count)]
    return ops.take(reshape(moved, [*others, rows * columns]), constant(places, "int64"), axis=rank - 2)


@converter("diag_embed")
def _diag_embed(x: RelayExpr, offset: int = 0, dim1: int = -2, dim2: int = -1) -> RelayExpr:
    if (axis_of(dim1, rank_of(x) + 1), axis_of(dim2, rank_of(x) + 1)) != (rank_of(x) - 1, rank_of(x)):
        raise ConversionError("diagonals along other than the last two dimensions are not supported")
    *others, count = static_shape(x)
    side = count + abs(offset)
    return ops.matrix_set_diag(ops.zeros([*others, side, side], dtype_of(x)), x, k=offset)


@converter("pixel_shuffle")
def _pixel_shuffle(x: RelayExpr, upscale_factor: int) -> RelayExpr:
    *others, channels, height, width = static_shape(x)
    r = upscale_factor
    split_ = reshape(x, [-1, channels // (r * r), r, r, height, width])
    moved = transpose(split_, [0, 1, 4, 2, 5, 3])
    return reshape(moved, [*others, channels // (r * r), height * r, width * r])


@converter("pixel_unshuffle")
def _pixel_unshuffle(x: RelayExpr, downscale_factor: int) -> RelayExpr:
    *others, channels, height, width = static_shape(x)
    r = downscale_factor
    split_ = reshape(x, [-1, channels, height // r, r, width // r, r])
    moved = transpose(split_, [0, 1, 3, 5, 2, 4])
    return reshape(moved, [*others, channels * r * r, height // r, width // r])


converters(
    {
        "contiguous clone detach detach_ alias lift_fresh lift_fresh_copy requires_grad_ resolve_conj resolve_neg "
        "cpu cuda pin_memory real prim::unchecked_cast": lambda x: x,
        "view_as reshape_as": lambda x, other: reshape(x, dims_of(other)),
        "ravel": lambda x: reshape(x, [-1]),
        "permute permute_copy": lambda x, dims: transpose(x, [axis_of(d, rank_of(x)) for d in dims]),
        "t numpy_T t_copy": lambda x: transpose(x, list(range(rank_of(x)))[::-1]),
        "mT adjoint": lambda x: _transpose(x, -2, -1),
        "unsqueeze unsqueeze_copy": lambda x, dim: unsqueeze(x, [axis_of(dim, rank_of(x) + 1)]),
        "hsplit": lambda x, **parts: _split(x, dim=min(rank_of(x) - 1, 1), **parts),
        "vsplit": lambda x, **parts: _split(x, dim=0, **parts),
        "dsplit": lambda x, **parts: _split(x, dim=2, **parts),
        "expand_as": lambda x, other: _expand(x, shape_of(other)),
        "diag": lambda x, diagonal=0: (_diagonal if rank_of(x) == 2 else _diag_embed)(x, diagonal),
        "fliplr": lambda x: _flip(x, [1]),
        "flipud": lambda x: _flip(x, [0]),
        "tril": lambda x, diagonal=0: ops.trilu(x, constant(diagonal, "int64"), upper=False),
        "triu": lambda x, diagonal=0: ops.trilu(x, constant(diagonal, "int64"), upper=True),
    }
)
