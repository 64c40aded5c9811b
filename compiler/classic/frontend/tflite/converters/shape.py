"""Converters of operators that change shapes and move elements: reshape, concatenate, slice, pad, gather, …"""

from __future__ import annotations

import numpy as np

from compiler.classic.frontend.shared import tensorflow_operators as shared
from compiler.classic.frontend.shared.nhwc import batch_to_space, mirror_pad, resize, space_to_batch, strided_slice
from compiler.classic.frontend.tflite.converters.activations import activated
from compiler.classic.frontend.tflite.node import Node
from compiler.classic.frontend.tflite.quantized import quantization_of
from compiler.classic.frontend.tflite.registry import converter, converters, quantized_converter
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dims_of, dtype_of, known, ops, rank_of
from compiler.relay.frontend.shared.tensors import bounded, pad, reshape, static_dims, transpose

converters(
    {
        "EXPAND_DIMS": shared.expand_dims,
        "TRANSPOSE": shared.transpose,
        "SPLIT_V": shared.split_sizes,
        "SLICE": shared.slice_sizes,
        "TILE": shared.tile,
        "BROADCAST_TO": shared.broadcast_to,
        "REVERSE_V2": shared.reverse,
    },
    moves=True,
)
converters({"RANK": shared.rank, "FILL": shared.fill})


@converter("RESHAPE", moves=True)
def _reshape(node: Node) -> RelayExpr:
    if node.input(1) is not None:
        return reshape(node.inputs[0], node.ints(1, "the shape"))
    options = node.operation.options
    if options is None:
        return reshape(node.inputs[0], node.outputs[0].shape)
    return reshape(node.inputs[0], [int(options.NewShape(i)) for i in range(options.NewShapeLength())])


@converter("SQUEEZE", moves=True)
def _squeeze(node: Node) -> RelayExpr:
    x, options = node.inputs[0], node.operation.options
    dims = dims_of(x)
    count = 0 if options is None else options.SqueezeDimsLength()
    gone = {int(options.SqueezeDims(i)) % len(dims) for i in range(count)} or {i for i, d in enumerate(dims) if d == 1}
    return reshape(x, [d for i, d in enumerate(dims) if i not in gone])


@converter("CONCATENATION", moves=True)
def _concatenation(node: Node) -> RelayExpr:
    axis = int(node.option("Axis")) % rank_of(node.inputs[0])
    joined = ops.concatenate(list(node.inputs), axis) if len(node.inputs) > 1 else node.inputs[0]
    return activated(node, joined)


@converter("PACK", moves=True)
def _pack(node: Node) -> RelayExpr:
    return ops.stack(list(node.inputs), int(node.option("Axis")) % (rank_of(node.inputs[0]) + 1))


@converter("UNPACK", moves=True)
def _unpack(node: Node) -> list[RelayExpr]:
    return shared.unpack(node, int(node.option("Axis")))


@converter("SPLIT", moves=True)
def _split(node: Node) -> list[RelayExpr]:
    return shared.split_evenly(node, int(node.option("NumSplits")))


_MASKS = {
    "begin": "Begin", "end": "End", "ellipsis": "Ellipsis", "new_axis": "NewAxis", "shrink_axis": "ShrinkAxis",
}  # fmt: skip


@converter("STRIDED_SLICE", moves=True)
def _strided_slice(node: Node) -> RelayExpr:
    begin, end, strides = (node.ints(i, what) for i, what in ((1, "the begin"), (2, "the end"), (3, "the strides")))
    if node.option("Offset", False):
        end = [b + e for b, e in zip(begin, end, strict=True)]
    masks = {name: int(node.option(f"{accessor}Mask")) for name, accessor in _MASKS.items()}
    return strided_slice(node.inputs[0], begin, end, strides, masks)


def _around(node: Node, index: int = 1) -> list[tuple[int, int]]:
    numbers = node.ints(index, "the padding")
    return list(zip(numbers[::2], numbers[1::2], strict=True))


@quantized_converter("PAD", "PADV2")
def _pad_quantized(node: Node) -> RelayExpr:
    """Pad a quantized tensor, by default with its zero point."""
    (source, *_), target = node.tensors, node.outputs[0]
    zero = quantization_of(source).zero_point.reshape(-1)[0]
    fill = node.input(2) if node.input(2) is not None else constant(zero, target.dtype)
    if not quantization_of(source).same_as(target.quantization):
        raise ConversionError("a result whose scale differs from its input's is not supported")
    return pad(node.inputs[0], _around(node), "constant", fill)


@converter("PAD", "PADV2")
def _pad(node: Node) -> RelayExpr:
    return pad(node.inputs[0], _around(node), "constant", node.input(2))


@converter("MIRROR_PAD", moves=True)
def _mirror_pad(node: Node) -> RelayExpr:
    return mirror_pad(node.inputs[0], _around(node), "SYMMETRIC" if node.option("Mode") else "REFLECT")


@converter("BROADCAST_ARGS")
def _broadcast_args(node: Node) -> RelayExpr:
    shape = np.broadcast_shapes(node.ints(0, "a shape"), node.ints(1, "a shape"))
    return constant(np.array(shape), dtype_of(node.inputs[0]))


@converter("REVERSE_SEQUENCE", moves=True)
def _reverse_sequence(node: Node) -> RelayExpr:
    x, lengths = node.inputs
    return ops.reverse_sequence(x, lengths, int(node.option("SeqDim")), int(node.option("BatchDim")))


@converter("SPACE_TO_DEPTH", moves=True)
def _space_to_depth(node: Node) -> RelayExpr:
    return ops.nn.space_to_depth(node.inputs[0], int(node.option("BlockSize")), layout="NHWC")


@converter("DEPTH_TO_SPACE", moves=True)
def _depth_to_space(node: Node) -> RelayExpr:
    return ops.nn.depth_to_space(node.inputs[0], int(node.option("BlockSize")), layout="NHWC", mode="DCR")


@converter("SPACE_TO_BATCH_ND")
def _space_to_batch(node: Node) -> RelayExpr:
    return space_to_batch(node.inputs[0], node.ints(1, "the block"), _around(node, 2))


@converter("BATCH_TO_SPACE_ND", moves=True)
def _batch_to_space(node: Node) -> RelayExpr:
    return batch_to_space(node.inputs[0], node.ints(1, "the block"), _around(node, 2))


@converter("RESIZE_BILINEAR")
def _resize_bilinear(node: Node) -> RelayExpr:
    return _resized(node, "linear")


@converter("RESIZE_NEAREST_NEIGHBOR", moves=True)
def _resize_nearest_neighbor(node: Node) -> RelayExpr:
    return _resized(node, "nearest_neighbor")


def _resized(node: Node, method: str) -> RelayExpr:
    corners, centres = bool(node.option("AlignCorners", False)), bool(node.option("HalfPixelCenters", False))
    return resize(node.inputs[0], node.ints(1, "the size"), method, corners, centres)


@converter("GATHER", moves=True)
def _gather(node: Node) -> RelayExpr:
    x, indices = node.inputs
    axis, batch = int(node.option("Axis")) % max(rank_of(x), 1), int(node.option("BatchDims"))
    return ops.take(x, indices, axis=axis, batch_dims=batch)


@converter("GATHER_ND", moves=True)
def _gather_nd(node: Node) -> RelayExpr:
    x, indices = node.inputs
    last = rank_of(indices) - 1
    return ops.gather_nd(x, transpose(indices, [last, *range(last)]))


@converter("EMBEDDING_LOOKUP", moves=True)
def _embedding_lookup(node: Node) -> RelayExpr:
    indices, table = node.inputs
    return ops.take(table, indices, axis=0)


@converter("ONE_HOT")
def _one_hot(node: Node) -> RelayExpr:
    indices, on_value, off_value = node.inputs[0], node.inputs[2], node.inputs[3]
    (depth,) = node.ints(1, "the depth")
    return ops.one_hot(indices, on_value, off_value, depth, int(node.option("Axis", -1)), node.outputs[0].dtype)


@converter("SHAPE")
def _shape(node: Node) -> RelayExpr:
    return constant(np.array(static_dims(node.inputs[0], "the input")), node.outputs[0].dtype)


@converter("RANGE")
def _range(node: Node) -> RelayExpr:
    start, limit, delta = (known(x) for x in node.inputs)
    if start is None or limit is None or delta is None:
        raise ConversionError("the bounds of a range must be known while importing")
    bounded((limit.item() - start.item()) / delta.item() + 1)
    return constant(np.arange(start.item(), limit.item(), delta.item()), dtype_of(node.inputs[0]))


@converter("MATRIX_DIAG")
def _matrix_diag(node: Node) -> RelayExpr:
    x = node.inputs[0]
    dims = static_dims(x, "the input")
    bounded(*dims, dims[-1])
    return ops.matrix_set_diag(ops.zeros([*dims, dims[-1]], dtype_of(x)), x)


@converter("MATRIX_SET_DIAG", moves=True)
def _matrix_set_diag(node: Node) -> RelayExpr:
    return ops.matrix_set_diag(*node.inputs)


@converter("SCATTER_ND")
def _scatter_nd(node: Node) -> RelayExpr:
    indices, updates = node.inputs[:2]
    shape, last = node.ints(2, "the shape"), rank_of(indices) - 1
    bounded(*shape)
    places = transpose(indices, [last, *range(last)])
    return ops.scatter_nd(ops.zeros(shape, dtype_of(updates)), places, updates, mode="add")


@converter("SPARSE_TO_DENSE")
def _sparse_to_dense(node: Node) -> RelayExpr:
    shape = node.ints(1, "the shape")
    return ops.sparse_to_dense(node.inputs[0], shape, node.inputs[2], node.inputs[3])
