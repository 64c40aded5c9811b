"""Operators that slide windows over images, and products of matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import ops
from compiler.relay.frontend.shared.nhwc import avg_pool, conv2d, conv2d_transpose, depthwise_conv2d, max_pool
from compiler.relay.frontend.shared.tensors import expand, reshape, static_dims, transpose
from compiler.relay.frontend.tensorflow.node import Node
from compiler.relay.frontend.tensorflow.registry import Convert, converter, converters

_TO_NHWC, _TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)


def _in_nhwc(node: Node, x: RelayExpr, compute: Callable[[RelayExpr], Any]) -> Any:
    """Compute on an image with channels last, whatever the node has."""
    if node.attr("data_format", "NHWC") == "NCHW":
        return transpose(compute(transpose(x, _TO_NHWC)), _TO_NCHW)
    return compute(x)


def _spatial(node: Node, name: str) -> tuple[int, int]:
    numbers: Sequence[int] = node.attr(name) or [1, 1, 1, 1]
    height, width = numbers[2:4] if node.attr("data_format", "NHWC") == "NCHW" else numbers[1:3]
    return int(height), int(width)


def _padding(node: Node) -> str | list[int]:
    """Return the padding by name, or its numbers: in front of each axis, then behind each."""
    padding: str = node.required("padding")
    if padding != "EXPLICIT":
        return padding
    numbers = [int(n) for n in node.required("explicit_paddings")]
    top, bottom, left, right = numbers[4:8] if node.attr("data_format") == "NCHW" else numbers[2:6]
    return [top, left, bottom, right]


def _convolution(apply: Callable[..., Any]) -> Convert:
    def convert(node: Node) -> Any:
        x, weight = node.inputs
        strides, dilations = _spatial(node, "strides"), _spatial(node, "dilations")
        return _in_nhwc(node, x, lambda image: apply(image, weight, strides, dilations, _padding(node)))

    return convert


converters({"Conv2D": _convolution(conv2d), "DepthwiseConv2dNative": _convolution(depthwise_conv2d)})


@converter("Conv2DBackpropInput")
def _conv2d_backprop_input(node: Node) -> Any:
    shape, weight, x = node.ints(0, "the shape"), node.inputs[1], node.inputs[2]
    if node.attr("data_format", "NHWC") == "NCHW":
        shape = [shape[i] for i in _TO_NHWC]
    padding = node.required("padding")
    return _in_nhwc(node, x, lambda image: conv2d_transpose(image, weight, shape, _spatial(node, "strides"), padding))


def _pool(pool: Callable[..., Any]) -> Convert:
    def convert(node: Node) -> Any:
        window, strides = _spatial(node, "ksize"), _spatial(node, "strides")
        return _in_nhwc(node, node.inputs[0], lambda image: pool(image, window, strides, _padding(node)))

    return convert


converters({"MaxPool": _pool(max_pool), "AvgPool": _pool(avg_pool)})


@converter("MatMul")
def _matmul(node: Node) -> Any:
    a, b = node.inputs
    a = transpose(a, (1, 0)) if node.attr("transpose_a", False) else a
    b = b if node.attr("transpose_b", False) else transpose(b, (1, 0))
    return ops.nn.dense(a, b, units=static_dims(b, "the second input")[0])


@converter("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def _batch_matmul(node: Node) -> Any:
    a, b = node.inputs
    *left, _, _ = static_dims(a, "the first input")
    *right, _, _ = static_dims(b, "the second input")
    if len(left) != len(right):
        raise ConversionError(f"batches of {len(left)} and of {len(right)} dimensions are not supported")
    batch = [max(m, n) for m, n in zip(left, right, strict=True)]
    flat = []
    for x in (a, b):
        matrix = static_dims(x, "an input")[-2:]
        flat.append(reshape(expand(x, [*batch, *matrix]), [-1, *matrix]))
    transposed = bool(node.attr("adj_x", False)), bool(node.attr("adj_y", False))
    result = ops.nn.batch_matmul(*flat, transpose_a=transposed[0], transpose_b=transposed[1])
    return reshape(result, [*batch, *static_dims(result, "the result")[-2:]])
