"""Sliding-window operators and matrix products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from compiler.classic.frontend.shared import tensorflow_operators as shared
from compiler.classic.frontend.shared.nhwc import (
    avg_pool,
    avg_pool3d,
    conv2d,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
    depthwise_conv2d,
    dilation2d,
    max_pool,
    max_pool3d,
)
from compiler.classic.frontend.tensorflow.node import Node
from compiler.classic.frontend.tensorflow.registry import Convert, converter, converters
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import ops
from compiler.relay.frontend.shared.tensors import static_dims, transpose

_TO_NHWC, _TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)


def _in_nhwc(node: Node, x: RelayExpr, compute: Callable[[RelayExpr], RelayExpr]) -> RelayExpr:
    """Apply a function to an NHWC image, converting from and to the layout of the node."""
    if node.attr("data_format", "NHWC") == "NCHW":
        return transpose(compute(transpose(x, _TO_NHWC)), _TO_NCHW)
    return compute(x)


def _spatial(node: Node, name: str) -> tuple[int, int]:
    numbers: Sequence[int] = node.attr(name) or [1, 1, 1, 1]
    height, width = numbers[2:4] if node.attr("data_format", "NHWC") == "NCHW" else numbers[1:3]
    return int(height), int(width)


def _padding(node: Node) -> str | list[int]:
    """Return the padding by name, or its numbers: before each axis, then after each."""
    padding: str = node.required("padding")
    if padding != "EXPLICIT":
        return padding
    numbers = [int(n) for n in node.required("explicit_paddings")]
    top, bottom, left, right = numbers[4:8] if node.attr("data_format") == "NCHW" else numbers[2:6]
    return [top, left, bottom, right]


def _convolution(apply: Callable[..., RelayExpr]) -> Convert:
    def convert(node: Node) -> RelayExpr:
        x, weight = node.inputs
        strides, dilations = _spatial(node, "strides"), _spatial(node, "dilations")
        return _in_nhwc(node, x, lambda image: apply(image, weight, strides, dilations, _padding(node)))

    return convert


converters({"Conv2D": _convolution(conv2d), "DepthwiseConv2dNative": _convolution(depthwise_conv2d)})


@converter("Conv2DBackpropInput")
def _conv2d_backprop_input(node: Node) -> RelayExpr:
    shape, weight, x = node.ints(0, "the shape"), node.inputs[1], node.inputs[2]
    if node.attr("data_format", "NHWC") == "NCHW":
        shape = [shape[i] for i in _TO_NHWC]
    padding = node.required("padding")
    return _in_nhwc(node, x, lambda image: conv2d_transpose(image, weight, shape, _spatial(node, "strides"), padding))


def _pool(pool: Callable[..., RelayExpr]) -> Convert:
    def convert(node: Node) -> RelayExpr:
        window, strides = _spatial(node, "ksize"), _spatial(node, "strides")
        return _in_nhwc(node, node.inputs[0], lambda image: pool(image, window, strides, _padding(node)))

    return convert


converters({"MaxPool": _pool(max_pool), "AvgPool": _pool(avg_pool)})


@converter("MaxPoolV2")
def _max_pool(node: Node) -> RelayExpr | Sequence[RelayExpr]:
    given = {"ksize": node.ints(1, "the window"), "strides": node.ints(2, "the strides")}
    return _pool(max_pool)(replace(node, attributes={**node.attributes, **given}))


def _volume(node: Node, name: str) -> list[int]:
    """Return the entries for the spatial axes of a volume: depth, height, width."""
    if node.attr("data_format", "NDHWC") != "NDHWC":
        raise ConversionError(f"data_format {node.attr('data_format')} is not supported, only NDHWC")
    return [int(n) for n in (node.attr(name) or [1] * 5)[1:4]]


@converter("Conv3D")
def _conv3d(node: Node) -> RelayExpr:
    x, weight = node.inputs
    return conv3d(x, weight, _volume(node, "strides"), _volume(node, "dilations"), node.required("padding"))


@converter("Conv3DBackpropInputV2")
def _conv3d_backprop_input(node: Node) -> RelayExpr:
    shape, weight, x = node.ints(0, "the shape"), node.inputs[1], node.inputs[2]
    if node.attr("data_format", "NDHWC") != "NDHWC" or any(d != 1 for d in _volume(node, "dilations")):
        raise ConversionError("volumes with their channels first and dilated kernels are not supported")
    return conv3d_transpose(x, weight, shape, _volume(node, "strides"), node.required("padding"))


@converter("MaxPool3D", "AvgPool3D")
def _pool3d(node: Node) -> RelayExpr:
    pool = max_pool3d if node.operator == "MaxPool3D" else avg_pool3d
    return pool(node.inputs[0], _volume(node, "ksize"), _volume(node, "strides"), node.required("padding"))


@converter("Dilation2D")
def _dilation2d(node: Node) -> RelayExpr:
    x, weight = node.inputs
    return dilation2d(x, weight, _spatial(node, "strides"), _spatial(node, "rates"), node.required("padding"))


@converter("MatMul")
def _matmul(node: Node) -> RelayExpr:
    a, b = node.inputs
    a = transpose(a, (1, 0)) if node.attr("transpose_a", False) else a
    b = b if node.attr("transpose_b", False) else transpose(b, (1, 0))
    return ops.nn.dense(a, b, units=static_dims(b, "the second input")[0])


@converter("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def _batch_matmul(node: Node) -> RelayExpr:
    return shared.batch_matmul(node, bool(node.attr("adj_x", False)), bool(node.attr("adj_y", False)))
