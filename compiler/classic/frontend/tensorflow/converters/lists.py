"""Lists of tensors: see :mod:`compiler.classic.frontend.tensorflow.lists`."""

from __future__ import annotations

from compiler.classic.frontend.tensorflow.lists import element, list_of, stored
from compiler.classic.frontend.tensorflow.node import Node
from compiler.classic.frontend.tensorflow.registry import converter
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dims_of, ops
from compiler.relay.frontend.shared.tensors import static_dims


@converter("TensorListReserve")
def _reserve(node: Node) -> RelayExpr:
    (count,) = node.ints(1, "the number of elements")
    dtype = node.required("element_dtype")
    is_scalar = not dims_of(node.inputs[0])  # -1 for unknown rank
    return list_of(count, [-1] if is_scalar else node.ints(0, "the shape of an element"), dtype)


@converter("TensorListFromTensor", "TensorListStack")
def _same(node: Node) -> RelayExpr:
    if dims_of(node.inputs[0])[1:] == (0,):
        raise ConversionError("it stacks an empty list whose element shape is unknown")
    return node.inputs[0]


@converter("TensorListSetItem")
def _set_item(node: Node) -> RelayExpr:
    return stored(*node.inputs[:3])


@converter("TensorListGetItem")
def _get_item(node: Node) -> RelayExpr:
    return element(*node.inputs[:2])


@converter("TensorListGather")
def _gather(node: Node) -> RelayExpr:
    return ops.take(*node.inputs[:2], axis=0)


@converter("TensorListLength")
def _length(node: Node) -> RelayExpr:
    return constant(static_dims(node.inputs[0], "the list")[0], "int32")
