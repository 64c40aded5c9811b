"""Shape operators: reshape, slice, concatenate, pad, …"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.partial import partial_of, remember
from compiler.relay.frontend.onnx.registry import converter
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dims_of, dtype_of, known, ops, rank_of
from compiler.relay.frontend.shared.open_dims import told_open
from compiler.relay.frontend.shared.tensors import (
    Extent,
    cast,
    count_of,
    expand,
    is_copied,
    merged,
    pad,
    pad_at_run_time,
    reshape,
    slice_axis,
    split,
    static_dims,
    told,
    transpose,
    unsqueeze,
)
from compiler.relay.op.type_relations import broadcast_dims
from compiler.relay.ty import AnyDim, Dim


@converter("Shape")
def _shape(node: Node) -> RelayExpr:
    dims = dims_of(node.inputs[0])[slice(node.attr("start", 0), node.attr("end"))]
    if all(isinstance(d, int) for d in dims):
        return constant(np.array(dims, np.int64))
    whole = ops.shape_of(node.inputs[0], dtype="int64")
    rank = rank_of(node.inputs[0])
    start, stop, _ = slice(node.attr("start", 0), node.attr("end")).indices(rank)
    if (start, stop) != (0, rank):
        whole = ops.strided_slice(whole, (start,), (stop,))
    return remember(whole, dims)


@converter("Size")
def _size(node: Node) -> RelayExpr:
    if (count := count_of(dims_of(node.inputs[0]))) >= 0:
        return constant(np.int64(count))
    return ops.prod(ops.shape_of(node.inputs[0], dtype="int64"))


@converter("Reshape")
def _reshape(node: Node) -> RelayExpr:
    x = node.inputs[0]
    wanted = node.attributes["shape"] if "shape" in node.attributes else partial_of(node.inputs[1])
    dims = dims_of(x)
    if wanted is not None and not node.attr("allowzero", 0):
        wanted = _without_rest(dims, [dims[i] if isinstance(w, int) and w == 0 else w for i, w in enumerate(wanted)])
    if wanted is None or not _is_determined(dims, wanted):
        return told(ops.reshape(x, node.inputs[1], allowzero=bool(node.attr("allowzero", 0))), wanted or [])
    return reshape(x, wanted)


def _without_rest(dims: Sequence[Dim], wanted: list[Extent]) -> list[Extent]:
    """Replace a -1 by its extent where all unknown extents of the tensor are among the others."""
    others = [w for w in wanted if not (isinstance(w, int) and w == -1)]
    whole, part = (math.prod(e for e in each if isinstance(e, int)) for each in (dims, others))
    own, kept = (sorted(id(e) for e in each if not isinstance(e, int)) for each in (dims, others))
    if len(others) != len(wanted) - 1 or own != kept or not part or whole % part:
        return wanted
    return [whole // part if isinstance(w, int) and w == -1 else w for w in wanted]


def _is_determined(dims: Sequence[Dim], wanted: Sequence[Extent]) -> bool:
    """Return whether all but one of the extents are known, or copied from the same place."""
    return sum(not _is_plain(w) and not is_copied(dims, wanted, i) for i, w in enumerate(wanted)) <= 1


def _is_plain(extent: Extent) -> bool:
    return isinstance(extent, (int, np.integer)) and bool(extent >= 0)


@converter("Flatten")
def _flatten(node: Node) -> RelayExpr:
    x, axis = node.inputs[0], node.attr("axis", 1)
    if not -rank_of(x) <= axis <= rank_of(x):
        raise ConversionError(f"axis must be from {-rank_of(x)} to {rank_of(x)}, got {axis}")
    axis += rank_of(x) if axis < 0 else 0
    dims = dims_of(x)
    left, right = dims[:axis], dims[axis:]
    if axis == 1 and rank_of(x) > 1 and all(isinstance(d, int) for d in right):
        return ops.nn.batch_flatten(x) if rank_of(x) > 2 else x
    both = [count_of(left), count_of(right)]
    return merged(merged(x, axis, len(right)), 0, axis) if both == [-1, -1] else reshape(x, both)


@converter("Transpose")
def _transpose(node: Node) -> RelayExpr:
    x = node.inputs[0]
    return transpose(x, node.attr("perm", list(range(rank_of(x)))[::-1]))


@converter("Squeeze")
def _squeeze(node: Node) -> RelayExpr:
    x, axes = node.inputs[0], node.ints_or_attr(1, "axes")
    if axes is None:
        axes = [i for i, d in enumerate(dims_of(x)) if isinstance(d, int) and d == 1]
    return remember(ops.squeeze(x, axis=axes) if axes else x, _kept(x))


@converter("Unsqueeze")
def _unsqueeze(node: Node) -> RelayExpr:
    axes = node.ints_or_attr(1, "axes") or []
    return remember(unsqueeze(node.inputs[0], axes), _kept(node.inputs[0]))


def _kept(x: RelayExpr) -> list[Extent] | None:
    return partial_of(x) if rank_of(x) <= 1 else None


@converter("Concat")
def _concat(node: Node) -> RelayExpr:
    axis = node.attr("axis", 1) if node.opset < 4 else node.required("axis")
    parts = [x for x in node.inputs if dims_of(x)[axis] != 0] or node.inputs[:1]
    pieces = [partial_of(x) if rank_of(x) == 1 else None for x in parts]
    joined = ops.concatenate(list(parts), axis) if len(parts) > 1 else parts[0]
    if any(piece is None for piece in pieces):
        return joined
    return remember(joined, [item for piece in pieces for item in piece or []])


@converter("Split")
def _split(node: Node) -> list[RelayExpr]:
    x, axis = node.inputs[0], node.attr("axis", 0)
    sizes = node.ints_or_attr(1, "split")
    if sizes is None:
        sizes = _equal_parts(static_dims(x, "the input", [axis])[0], len(node.outputs))
    return split(x, sizes, axis)


def _equal_parts(extent: int, count: int) -> list[int]:
    each = -(-extent // count)
    return [min(each, max(extent - i * each, 0)) for i in range(count)]


@converter("Slice")
def _slice(node: Node) -> RelayExpr:
    x = node.inputs[0]
    if any(each is not None and known(each) is None for each in node.take(5)[1:]):
        return _dynamic_slice(node)
    starts, ends = node.ints_or_attr(1, "starts") or [], node.ints_or_attr(2, "ends") or []
    axes = node.ints_or_attr(3, "axes")
    axes = list(range(len(starts))) if axes is None else axes
    steps = node.ints(4, "steps") or [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        x = _cut(x, axis % max(rank_of(x), 1), start, end, step)
    return x


def _dynamic_slice(node: Node) -> RelayExpr:
    """Slice where only the running program knows from where to where; how much it is, it alone knows too."""
    x, starts, ends = node.inputs[:3]
    axes = node.ints(3, "axes")
    steps = node.ints(4, "steps")
    count = static_dims(starts, "the starts")[0]
    axes = list(range(count)) if axes is None else [a % rank_of(x) for a in axes]
    strides = constant(np.array(steps or [1] * count, np.int64))
    begin, end = (ops.cast(v, "int64") if dtype_of(v) != "int64" else v for v in (starts, ends))
    return ops.strided_slice(x, begin, end, strides, axes=axes)


def _cut(x: RelayExpr, axis: int, start: int, end: int, step: int) -> RelayExpr:
    extent, values = dims_of(x)[axis], partial_of(x) if rank_of(x) == 1 else None
    if not isinstance(extent, int):
        return ops.strided_slice(x, [start], [min(end, 2**31 - 1)], strides=[step], axes=[axis])
    taken = range(extent)[start:end:step]
    rest = None if values is None else values[start:end:step]
    if len(taken) == 0:
        return slice_axis(x, axis, 0, 0)
    if step > 0:
        return remember(slice_axis(x, axis, taken.start, min(taken.stop, extent), step), rest)
    return remember(ops.take(x, constant(np.array(taken, np.int64)), axis=axis), rest)


@converter("Expand")
def _expand(node: Node) -> RelayExpr:
    x, shape = node.inputs
    wanted = partial_of(shape)
    if wanted is not None and _is_settled(dims_of(x), wanted):
        return expand(x, wanted)
    spread = ops.broadcast_to(x, joint_shape(x, shape))
    extents = broadcast_dims(dims_of(x), [_extent_or_any(w) for w in wanted or [None] * rank_of(spread)])
    spread = told(spread, extents)
    for axis, extent in enumerate(extents):
        spread = told_open(spread, axis, extent)
    return spread


def _extent_or_any(extent: Extent) -> Dim:
    return extent if isinstance(extent, AnyDim) or (isinstance(extent, int) and extent > 0) else AnyDim()


def _is_settled(dims: Sequence[Dim], wanted: Sequence[Extent]) -> bool:
    """Return whether it is known which extents are repeated: one that only a run knows may be 1."""
    shared = min(len(dims), len(wanted))
    pairs = zip(dims[len(dims) - shared :], wanted[len(wanted) - shared :], strict=True)
    added = wanted[: len(wanted) - shared]
    return all(isinstance(w, int) for w in added) and all(
        d is w or (isinstance(w, int) and (w == 1 or isinstance(d, int))) for d, w in pairs
    )


def joint_shape(x: RelayExpr, shape: RelayExpr) -> RelayExpr:
    """Return the shape that a tensor and a shape broadcast to, as a value."""
    own, missing = ops.shape_of(x, dtype="int64"), static_dims(shape, "the shape")[0] - rank_of(x)
    ones = constant(np.ones(abs(missing), np.int64))
    if missing > 0:
        own = ops.concatenate([ones, own], 0)
    elif missing < 0:
        shape = ops.concatenate([ones, shape], 0)
    return ops.maximum(own, shape)


@converter("Tile")
def _tile_one_axis(node: Node) -> RelayExpr:
    """Before operator set 6, one axis and how often it is repeated are inputs."""
    if len(node.inputs) == 2:  # what later sets have; files that state the wrong set are common
        return _tile(node)
    (tiles,), (axis,) = node.ints(1, "tiles") or [1], node.ints(2, "axis") or [0]
    return ops.tile(node.inputs[0], [tiles if d == axis else 1 for d in range(rank_of(node.inputs[0]))])


@converter("Tile", since=6)
def _tile(node: Node) -> RelayExpr:
    return ops.tile(*node.inputs)


@converter("Pad")
def _pad(node: Node) -> RelayExpr:
    x, mode = node.inputs[0], node.attr("mode", "constant")
    fill = node.attributes.get("value") if "value" in node.attributes else node.input(2)
    axes = node.ints(3, "axes")
    rank = rank_of(x)
    axes = list(range(rank)) if axes is None else [a % rank for a in axes]
    computed = node.input(1)
    if computed is not None and known(computed) is None:
        return pad_at_run_time(x, _for_all_axes(computed, axes, rank), mode, fill)
    pads = node.attr("paddings") or node.ints_or_attr(1, "pads") or []
    around = [(0, 0)] * rank
    for axis, before, after in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        around[axis] = (before, after)
    return pad(x, around, mode, fill)


def _for_all_axes(pads: RelayExpr, axes: Sequence[int], rank: int) -> RelayExpr:
    """Return what is added before each axis, and after each, of what is added before and after some."""
    rows = ops.reshape(cast(pads, "int64"), (2, len(axes)))
    if list(axes) == list(range(rank)):
        return rows
    places = [axes.index(axis) if axis in axes else len(axes) for axis in range(rank)]
    return ops.take(ops.concatenate([rows, constant(np.zeros((2, 1), np.int64))], 1), constant(places), axis=1)


@converter("CenterCropPad")
def _center_crop_pad(node: Node) -> RelayExpr:
    x = node.inputs[0]
    target = node.ints(1, "shape") or []
    axes = [a % rank_of(x) for a in node.attr("axes", list(range(rank_of(x))))]
    around = [(0, 0)] * rank_of(x)
    for axis, extent in zip(axes, target, strict=True):
        missing = extent - static_dims(x, "the input", [axis])[0]
        before = missing // 2 if missing >= 0 else -(-missing // 2)
        around[axis] = (before, missing - before)
    return pad(x, around)


@converter("DepthToSpace")
def _depth_to_space(node: Node) -> RelayExpr:
    x, block = node.inputs[0], node.required("blocksize")
    return ops.nn.depth_to_space(x, block, layout="NCHW", mode=node.attr("mode", "DCR"))


@converter("SpaceToDepth")
def _space_to_depth(node: Node) -> RelayExpr:
    x, block = node.inputs[0], node.required("blocksize")
    if node.attr("mode", "DCR") != "CRD":
        return ops.nn.space_to_depth(x, block, layout="NCHW")
    n, c, h, w = static_dims(x, "the input")
    apart = ops.reshape(x, (n, c, h // block, block, w // block, block))
    return ops.reshape(ops.transpose(apart, axes=(0, 1, 3, 5, 2, 4)), (n, c * block * block, h // block, w // block))
