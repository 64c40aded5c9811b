"""Converters of operators that change shapes and move elements: reshape, concatenate, slice, pad, gather, …"""

from __future__ import annotations

import numpy as np

from compiler.classic.frontend.shared import tensorflow_operators as shared
from compiler.classic.frontend.shared.nhwc import batch_to_space, mirror_pad, resize, space_to_batch, strided_slice
from compiler.classic.frontend.tensorflow.node import Node
from compiler.classic.frontend.tensorflow.registry import converter, converters
from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Constant
from compiler.relay.frontend.shared.folding import constant, dims_of, dtype_of, ops, rank_of
from compiler.relay.frontend.shared.tensors import bounded, pad, reshape, split, static_dims, transpose
from compiler.relay.op.type_relations import broadcast_dims

converters(
    {
        "ExpandDims": shared.expand_dims,
        "Transpose": shared.transpose,
        "SplitV": shared.split_sizes,
        "Slice": shared.slice_sizes,
        "Tile": shared.tile,
        "BroadcastTo": shared.broadcast_to,
        "ReverseV2": shared.reverse,
        "Rank": shared.rank,
        "Fill": shared.fill,
    }
)


@converter("Reshape")
def _reshape(node: Node) -> RelayExpr:
    return reshape(node.inputs[0], node.ints(1, "the shape"))


@converter("Squeeze")
def _squeeze(node: Node) -> RelayExpr:
    x, axes = node.inputs[0], node.attr("squeeze_dims") or []
    dims = dims_of(x)
    gone = {int(axis) % len(dims) for axis in axes} or {i for i, d in enumerate(dims) if d == 1}
    return reshape(x, [d for i, d in enumerate(dims) if i not in gone])


@converter("ConcatV2")
def _concat(node: Node) -> RelayExpr:
    *parts, _ = node.inputs
    (axis,) = node.ints(len(parts), "the axis")
    return ops.concatenate(parts, axis % rank_of(parts[0])) if len(parts) > 1 else parts[0]


@converter("Concat")
def _concat_first(node: Node) -> RelayExpr:
    _, *parts = node.inputs
    (axis,) = node.ints(0, "the axis")
    return ops.concatenate(parts, axis % rank_of(parts[0]))


@converter("Pack")
def _pack(node: Node) -> RelayExpr:
    return ops.stack(list(node.inputs), int(node.attr("axis", 0)) % (rank_of(node.inputs[0]) + 1))


@converter("Unpack")
def _unpack(node: Node) -> list[RelayExpr]:
    return shared.unpack(node, int(node.attr("axis", 0)))


@converter("Split")
def _split(node: Node) -> list[RelayExpr]:
    return shared.split_evenly(node, int(node.required("num_split")))


@converter("StridedSlice")
def _strided_slice(node: Node) -> RelayExpr:
    begin, end, strides = (node.ints(i, what) for i, what in ((1, "the begin"), (2, "the end"), (3, "the strides")))
    names = ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    return strided_slice(node.inputs[0], begin, end, strides, {name: node.attr(f"{name}_mask", 0) for name in names})


@converter("Pad", "PadV2")
def _pad(node: Node) -> RelayExpr:
    fill = node.inputs[2] if len(node.inputs) > 2 else None
    return pad(node.inputs[0], node.pairs(1, "the padding"), "constant", fill)


@converter("MirrorPad")
def _mirror_pad(node: Node) -> RelayExpr:
    return mirror_pad(node.inputs[0], node.pairs(1, "the padding"), node.required("mode"))


@converter("ReverseSequence")
def _reverse_sequence(node: Node) -> RelayExpr:
    axes = {"seq_axis": int(node.required("seq_dim")), "batch_axis": int(node.attr("batch_dim", 0))}
    return ops.reverse_sequence(*node.inputs, **axes)


@converter("Roll")
def _roll(node: Node) -> RelayExpr:
    """Convert ``Roll``: rotate elements along axes."""
    x = node.inputs[0]
    for shift, axis in zip(node.ints(1, "the shifts"), node.ints(2, "the axes"), strict=True):
        axis %= rank_of(x)
        extent = static_dims(x, "the input")[axis]
        if (moved := shift % max(extent, 1)) != 0:
            x = ops.concatenate(split(x, [extent - moved, moved], axis)[::-1], axis)
    return x


@converter("SpaceToDepth")
def _space_to_depth(node: Node) -> RelayExpr:
    return ops.nn.space_to_depth(
        node.inputs[0], int(node.required("block_size")), layout=node.attr("data_format", "NHWC")
    )


@converter("DepthToSpace")
def _depth_to_space(node: Node) -> RelayExpr:
    layout = node.attr("data_format", "NHWC")
    return ops.nn.depth_to_space(node.inputs[0], int(node.required("block_size")), layout=layout, mode="DCR")


@converter("SpaceToBatchND")
def _space_to_batch(node: Node) -> RelayExpr:
    return space_to_batch(node.inputs[0], node.ints(1, "the block"), node.pairs(2, "the padding"))


@converter("BatchToSpaceND")
def _batch_to_space(node: Node) -> RelayExpr:
    return batch_to_space(node.inputs[0], node.ints(1, "the block"), node.pairs(2, "the crops"))


@converter("ResizeBilinear", "ResizeNearestNeighbor")
def _resized(node: Node) -> RelayExpr:
    method = "linear" if node.operator == "ResizeBilinear" else "nearest_neighbor"
    corners, centres = bool(node.attr("align_corners", False)), bool(node.attr("half_pixel_centers", False))
    return resize(node.inputs[0], node.ints(1, "the size"), method, corners, centres)


@converter("ResizeBicubic")
def _resized_smoothly(node: Node) -> RelayExpr:
    """Keys's cubic, with a = -0.5 and without what lies outside where places are centres of pixels, else -0.75."""
    centres = bool(node.attr("half_pixel_centers", False))
    mode = "align_corners" if node.attr("align_corners", False) else "half_pixel" if centres else "asymmetric"
    return ops.image.resize2d(
        ops.cast(node.inputs[0], "float32"),
        tuple(node.ints(1, "the size")),
        layout="NHWC",
        method="cubic",
        coordinate_transformation_mode=mode,
        cubic_alpha=-0.5 if centres else -0.75,
        cubic_exclude=1 if centres else 0,
    )


@converter("GatherV2", "Gather", "ResourceGather")
def _gather(node: Node) -> RelayExpr:
    x, indices = node.inputs[:2]
    (axis,) = node.ints(2, "the axis") if len(node.inputs) > 2 else [0]
    return ops.take(x, indices, axis=axis % max(rank_of(x), 1), batch_dims=int(node.attr("batch_dims", 0)))


def _first_axis_last(indices: RelayExpr) -> RelayExpr:
    """Move the last axis of indices, the coordinates, to the front."""
    last = rank_of(indices) - 1
    return transpose(indices, [last, *range(last)])


@converter("GatherNd")
def _gather_nd(node: Node) -> RelayExpr:
    x, indices = node.inputs
    return ops.gather_nd(x, _first_axis_last(indices))


@converter("ScatterNd")
def _scatter_nd(node: Node) -> RelayExpr:
    indices, updates, _ = node.inputs
    dims = node.ints(2, "the shape")
    bounded(*dims)
    start = ops.zeros(dims, dtype_of(updates))
    return ops.scatter_nd(start, _first_axis_last(indices), updates, mode="add")


@converter("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterMax", "TensorScatterMin")
def _tensor_scatter(node: Node) -> RelayExpr:
    x, indices, updates = node.inputs
    return ops.scatter_nd(x, _first_axis_last(indices), updates, mode=node.operator[len("TensorScatter") :].lower())


@converter("TensorScatterSub")
def _tensor_scatter_sub(node: Node) -> RelayExpr:
    x, indices, updates = node.inputs
    return ops.scatter_nd(x, _first_axis_last(indices), ops.negative(updates), mode="add")


@converter("InvertPermutation")
def _invert_permutation(node: Node) -> RelayExpr:
    return ops.invert_permutation(node.inputs[0])


@converter("OneHot")
def _one_hot(node: Node) -> RelayExpr:
    indices, _, on_value, off_value = node.inputs
    (depth,) = node.ints(1, "the depth")
    return ops.one_hot(indices, on_value, off_value, depth, int(node.attr("axis", -1)), dtype_of(on_value))


@converter("Shape")
def _shape(node: Node) -> RelayExpr:
    return constant(np.array(static_dims(node.inputs[0], "the input")), node.attr("out_type", "int32"))


@converter("ShapeN")
def _shapes(node: Node) -> list[Constant]:
    dtype = node.attr("out_type", "int32")
    return [constant(np.array(static_dims(x, "an input")), dtype) for x in node.inputs]


@converter("BroadcastArgs")
def _broadcast_shapes(node: Node) -> RelayExpr:
    dims = broadcast_dims(node.ints(0, "a shape"), node.ints(1, "a shape"))
    return constant(np.array(dims), dtype_of(node.inputs[0]))


@converter("Size")
def _size(node: Node) -> RelayExpr:
    return constant(int(np.prod(static_dims(node.inputs[0], "the input"))), node.attr("out_type", "int32"))


@converter("Range")
def _range(node: Node) -> RelayExpr:
    start, limit, delta = (node.value(i, "a bound").item() for i in range(3))
    bounded((limit - start) / delta + 1)
    return constant(np.arange(start, limit, delta), dtype_of(node.inputs[0]))


@converter("LinSpace")
def _linspace(node: Node) -> RelayExpr:
    start, stop, count = (node.value(i, "a bound").item() for i in range(3))
    bounded(count)
    return constant(np.linspace(start, stop, int(count)), dtype_of(node.inputs[0]))
