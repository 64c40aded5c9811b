"""Indexing: gathering elements, and functional updates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.dtypes import cast, promoted, tensor, truth
from compiler.relay.frontend.pytorch.registry import converter, converters
from compiler.relay.frontend.pytorch.tensors import (
    axis_of,
    constant,
    dims_of,
    dtype_of,
    known,
    ops,
    rank_of,
    reshape,
    scalar,
    size,
    static_extent,
    static_shape,
    transpose,
)
from compiler.relay.frontend.pytorch.values import Scalar, Size, TorchValue
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.tensors import expand


def _from_front(index: RelayExpr, whole: Size) -> RelayExpr:
    """Normalise negative indices, which count from the end."""
    array = known(index)
    if array is not None and (array >= 0).all():
        return index
    own = tensor(whole, dtype_of(index))
    return ops.where(ops.less(index, scalar(0, index)), ops.add(index, own), index)


@converter("select", "select_copy")
def select(x: RelayExpr, dim: int, index: RelayExpr) -> RelayExpr:
    """Select one index along an axis, and remove the axis."""
    axis = axis_of(dim, rank_of(x))
    whole = size(x, axis)
    if not isinstance(index, RelayExpr) and isinstance(whole, int):
        if not -whole <= index < whole:
            raise ConversionError(f"index {index} is out of range for an axis of extent {whole}")
        index = index % whole
    return ops.take(x, _from_front(tensor(index, "int64"), whole), axis=axis)


@converter("take")
def _take(x: RelayExpr, index: RelayExpr) -> RelayExpr:
    flat = reshape(x, [-1])
    return ops.take(flat, _from_front(index, size(flat, 0)), axis=0)


@converter("gather")
def _gather(x: RelayExpr, dim: int, index: RelayExpr, sparse_grad: bool = False) -> RelayExpr:
    axis = axis_of(dim, rank_of(x))
    return ops.gather(_cut_to(x, index, [i for i in range(rank_of(x)) if i != axis]), axis, index)


def _cut_to(x: RelayExpr, other: RelayExpr, axes: Sequence[int]) -> RelayExpr:
    """Slice as many of the first elements along some axes as another tensor has."""
    have, need = dims_of(x), dims_of(other)
    if axes := [i for i in axes if have[i] is not need[i] and have[i] != need[i]]:
        ends = [size(other, i) for i in axes]
        first, last, step = (tensor(v, "int64") for v in ([0] * len(axes), ends, [1] * len(axes)))
        return ops.strided_slice(x, first, last, step, axes=axes)
    return x


@converter("take_along_dim")
def _take_along_dim(x: RelayExpr, indices: RelayExpr, dim: int | None = None) -> RelayExpr:
    if dim is None:
        return _take(x, reshape(indices, [-1]))
    axis = axis_of(dim, rank_of(x))
    shapes = [[1 if i == axis else d for i, d in enumerate(static_shape(v))] for v in (x, indices)]
    joint = np.broadcast_shapes(*shapes)
    left, right = (
        expand(v, [static_extent(v, axis) if i == axis else d for i, d in enumerate(joint)]) for v in (x, indices)
    )
    return ops.gather(left, axis, right)


@converter("embedding")
def _embedding(weight: RelayExpr, indices: RelayExpr, padding_idx: int = -1, scale_grad_by_freq: bool = False,
               sparse: bool = False) -> RelayExpr:  # fmt: skip
    return ops.take(weight, indices, axis=0)


@converter("index", "_unsafe_index")
def _index(x: RelayExpr, indices: Sequence[RelayExpr | None]) -> RelayExpr:
    spelled = _spelled_out(x, indices)
    if not spelled:
        return x
    axes = list(spelled)
    arrays = [_from_front(spelled[a], size(x, a)) for a in axes]
    others = [i for i in range(rank_of(x)) if i not in axes]
    moved = transpose(x, [*axes, *others])
    taken = ops.take(moved, arrays[0], axis=0) if len(axes) == 1 else ops.adv_index([moved, *arrays])
    if axes != list(range(axes[0], axes[0] + len(axes))):
        return taken
    count = rank_of(taken) - len(others)
    order = [count + i for i in range(axes[0])] + list(range(count))
    return transpose(taken, [*order, *range(len(order), rank_of(taken))])


def _spelled_out(x: RelayExpr, indices: Sequence[RelayExpr | None]) -> dict[int, RelayExpr]:
    """Return one index tensor per indexed axis; boolean masks become coordinates."""
    spelled: dict[int, RelayExpr] = {}
    axis = 0
    for index in indices:
        if index is None:
            axis += 1
        elif dtype_of(index) in ("bool", "uint8"):
            for column in _places(cast(index, "bool")):
                spelled[axis] = column
                axis += 1
        else:
            spelled[axis] = index
            axis += 1
    return spelled


def _places(mask: RelayExpr) -> list[RelayExpr]:
    """Return the coordinates of the true elements of a mask, one tensor per axis."""
    array = known(mask)
    if array is not None:
        return [constant(places, "int64") for places in np.nonzero(array)]
    points = ops.argwhere(mask)
    return [ops.take(points, constant(i, "int64"), axis=1) for i in range(rank_of(mask))]


@converter("nonzero_numpy")
def places_of(x: RelayExpr) -> list[RelayExpr]:
    """Return the coordinates of the nonzero elements, one tensor per axis."""
    return [cast(places, "int64") for places in _places(truth(x))]


@converter("masked_select")
def _masked_select(x: RelayExpr, mask: RelayExpr) -> RelayExpr:
    shape = list(np.broadcast_shapes(static_shape(x), static_shape(mask)))
    return _index(expand(x, shape), [expand(mask, shape)])


@converter("index_fill")
def _index_fill(x: RelayExpr, dim: int, index: RelayExpr, value: Scalar) -> RelayExpr:
    axis = axis_of(dim, rank_of(x))
    extent = static_extent(x, axis)
    rows = reshape(constant(np.arange(extent)), [extent, 1])
    hit = ops.any(ops.equal(rows, reshape(_from_front(index, extent), [1, -1])), axis=[1])
    mask = reshape(hit, [extent if i == axis else 1 for i in range(rank_of(x))])
    return ops.where(mask, tensor(value, dtype_of(x)), x)


@converter("index_put", "_unsafe_index_put", "_index_put_impl")
def _index_put(
    x: RelayExpr, indices: Sequence[RelayExpr | None], values: Scalar, accumulate: bool = False, unsafe: bool = False
) -> RelayExpr:
    given = [i for i in indices if i is not None]
    new = tensor(values, dtype_of(x))
    if len(given) == 1 and dtype_of(given[0]) == "bool" and dims_of(new) in ((), (1,)):
        mask = reshape(given[0], [*dims_of(given[0]), *([1] * (rank_of(x) - rank_of(given[0])))])
        return ops.where(mask, ops.add(x, new) if accumulate else new, x)
    spelled = _spelled_out(x, indices)
    axes = list(spelled)
    others = [i for i in range(rank_of(x)) if i not in axes]
    moved = transpose(x, [*axes, *others])
    shape = np.broadcast_shapes(*(static_shape(spelled[a]) for a in axes))
    points = [expand(cast(_from_front(spelled[a], size(x, a)), "int64"), list(shape)) for a in axes]
    rest = [static_extent(x, i) for i in others]
    updates = expand(_in_front(new, axes, others, len(shape)), [*shape, *rest])
    stacked = ops.stack(points, 0)
    written = ops.scatter_nd(moved, stacked, updates, mode="add" if accumulate else "update")
    order = [*axes, *others]
    return transpose(written, [order.index(i) for i in range(rank_of(x))])


def _in_front(values: RelayExpr, axes: list[int], others: list[int], count: int) -> RelayExpr:
    """Move the axes of the indices, which PyTorch puts at the indexed axes, to the front."""
    before = sum(o < axes[0] for o in others)
    if axes != list(range(axes[0], axes[0] + len(axes))) or not before:
        return values
    rank = count + len(others)
    spread = reshape(values, [*([1] * (rank - rank_of(values))), *dims_of(values)])
    return transpose(spread, [*range(before, before + count), *range(before), *range(before + count, rank)])


_REDUCTIONS = {None: "update", "add": "add", "sum": "add", "multiply": "mul", "prod": "mul", "mean": "mean",
               "amax": "max", "amin": "min"}  # fmt: skip


@converter("scatter", "scatter_reduce")
def _scatter(x: RelayExpr, dim: int, index: RelayExpr, src: RelayExpr | None = None, value: Scalar | None = None,
             reduce: str | None = None, include_self: bool = True) -> RelayExpr:  # fmt: skip
    updates = tensor(value, dtype_of(x)) if src is None else cast(src, dtype_of(x))
    if not include_self:
        x = _without_self(x, dim, index, _REDUCTIONS[reduce])
    axis = axis_of(dim, rank_of(x))
    if rank_of(updates):
        updates = _cut_to(updates, index, range(rank_of(x)))
    else:
        updates = ops.full_like(cast(index, dtype_of(x)), updates)
    return ops.scatter_elements(x, index, updates, axis=axis, reduction=_REDUCTIONS[reduce])


def _without_self(x: RelayExpr, dim: int, index: RelayExpr, reduction: str) -> RelayExpr:
    """Replace the elements that are reduced into by the neutral element (``include_self=False``)."""
    if reduction == "mean":
        raise ConversionError("means with include_self=False are not supported")
    is_float, limits = "float" in dtype_of(x), np.finfo if "float" in dtype_of(x) else np.iinfo
    neutral = {"add": 0, "mul": 1, "max": -np.inf if is_float else limits(dtype_of(x)).min,
               "min": np.inf if is_float else limits(dtype_of(x)).max}.get(reduction, 0)  # fmt: skip
    ones = constant(np.full(static_shape(index), neutral), dtype_of(x))
    return ops.scatter_elements(x, index, ones, axis=axis_of(dim, rank_of(x)), reduction="update")


def _spread(x: RelayExpr, axis: int, index: RelayExpr) -> RelayExpr:
    """Expand the indices of an axis to all elements of the selected slices."""
    shape = [static_extent(index, 0) if i == axis else d for i, d in enumerate(static_shape(x))]
    return expand(reshape(index, [-1 if i == axis else 1 for i in range(rank_of(x))]), shape)


@converter("index_add")
def _index_add(x: RelayExpr, dim: int, index: RelayExpr, source: RelayExpr, alpha: Scalar = 1) -> RelayExpr:
    axis = axis_of(dim, rank_of(x))
    left, right = promoted(x, source)
    scaled = right if alpha == 1 else ops.multiply(right, alpha)
    return ops.scatter_elements(left, _spread(x, axis, index), scaled, axis=axis, reduction="add")


@converter("index_copy")
def _index_copy(x: RelayExpr, dim: int, index: RelayExpr, source: RelayExpr) -> RelayExpr:
    axis = axis_of(dim, rank_of(x))
    return ops.scatter_elements(x, _spread(x, axis, index), source, axis=axis)


@converter("copy")
def _copy(x: RelayExpr | list[TorchValue], src: Scalar | None = None) -> RelayExpr | list[TorchValue]:
    if isinstance(x, list):
        return list(x)
    return expand(tensor(src, dtype_of(x)), list(static_shape(x)))


@converter("select_scatter")
def _select_scatter(x: RelayExpr, src: RelayExpr, dim: int, index: int) -> RelayExpr:
    axis = axis_of(dim, rank_of(x))
    return _slice_scatter(x, ops.expand_dims(src, axis), dim, index, None if index == -1 else index + 1)


@converter("slice_scatter")
def _slice_scatter(
    x: RelayExpr, src: RelayExpr, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> RelayExpr:
    axis = axis_of(dim, rank_of(x))
    places = range(static_extent(x, axis))[start:end:step]
    return _index_copy(x, dim, constant(np.array(places, "int64")), expand(src, [
        len(places) if i == axis else d for i, d in enumerate(static_shape(x))
    ]))  # fmt: skip


converters(
    {
        "index_select": lambda x, dim, index: ops.take(x, index, axis=axis_of(dim, rank_of(x))),
        "nonzero argwhere": lambda x: cast(ops.argwhere(x), "int64"),
        "masked_fill": lambda x, mask, value: ops.where(cast(mask, "bool"), tensor(value, dtype_of(x)), x),
        "scatter_add": lambda x, dim, index, src: _scatter(x, dim, index, src, reduce="add"),
    }
)
