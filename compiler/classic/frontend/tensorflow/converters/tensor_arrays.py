"""TensorArrays of TensorFlow 1, whose state is their flow value.

Here the flow value is the list itself: see :mod:`compiler.classic.frontend.tensorflow.lists`.
"""

from __future__ import annotations

import numpy as np

from compiler.classic.frontend.tensorflow.lists import element, list_of, stored
from compiler.classic.frontend.tensorflow.node import Node
from compiler.classic.frontend.tensorflow.registry import converter
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dims_of, ops
from compiler.relay.frontend.shared.tensors import reshape, static_dims


@converter("TensorArrayV3")
def _tensor_array(node: Node) -> list[RelayExpr]:
    (count,) = node.ints(0, "the number of elements")
    if count == 0 and node.attr("dynamic_size", False):
        raise ConversionError("an array that grows from no elements is not supported")
    shape = node.attr("element_shape")
    elements = list_of(count, [-1] if shape is None else shape, node.required("dtype"))
    return [elements, elements]


@converter("TensorArrayWriteV3")
def _write(node: Node) -> RelayExpr:
    _, index, item, flow = node.inputs
    return stored(flow, index, item)


@converter("TensorArrayReadV3")
def _read(node: Node) -> RelayExpr:
    _, index, flow = node.inputs
    return element(flow, index)


@converter("TensorArrayScatterV3")
def _scatter(node: Node) -> RelayExpr:
    """Scatter elements to all or to given indices."""
    _, indices, items, flow = node.inputs
    places, (count, *_) = node.ints(1, "the places"), static_dims(flow, "the array")
    if places == list(range(count)):
        return items
    dims = static_dims(items, "the elements")
    elements = flow if dims_of(flow)[1:] == dims[1:] else list_of(count, dims[1:], node.required("T"))
    return ops.scatter_nd(elements, reshape(indices, [1, len(places)]), items, mode="update")


@converter("TensorArrayGatherV3")
def _gather(node: Node) -> RelayExpr:
    _, indices, flow = node.inputs
    if dims_of(flow)[1:] == (0,):
        raise ConversionError("it reads an array in which nothing was stored, and whose elements' shape is unknown")
    return ops.take(flow, indices, axis=0)


@converter("TensorArraySizeV3")
def _size(node: Node) -> RelayExpr:
    return constant(static_dims(node.inputs[1], "the array")[0], "int32")


@converter("TensorArrayConcatV3")
def _concat(node: Node) -> list[RelayExpr]:
    """Concatenate the elements, and return their lengths."""
    count, length, *rest = static_dims(node.inputs[1], "the array")
    return [reshape(node.inputs[1], [count * length, *rest]), constant(np.full(count, length), "int64")]


@converter("TensorArraySplitV3")
def _split(node: Node) -> RelayExpr:
    """Split a tensor into elements of equal length."""
    lengths = node.ints(2, "the lengths")
    if len(set(lengths)) != 1:
        raise ConversionError(f"elements of different lengths are not supported, got {lengths}")
    return reshape(node.inputs[1], [len(lengths), lengths[0], *static_dims(node.inputs[1], "the input")[1:]])
