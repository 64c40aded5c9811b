"""Sliding-window operators and matrix products."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tflite

from compiler.classic.frontend.shared import tensorflow_operators as shared
from compiler.classic.frontend.shared.nhwc import (
    avg_pool,
    conv2d,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
    depthwise_conv2d,
    max_pool,
)
from compiler.classic.frontend.tflite.converters.activations import activated
from compiler.classic.frontend.tflite.node import Node
from compiler.classic.frontend.tflite.registry import Convert, converter, converters
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError, ModelError
from compiler.relay.frontend.shared.folding import dims_of, ops, rank_of
from compiler.relay.frontend.shared.tensors import reshape, static_dims, transpose

_PADDINGS = {tflite.Padding.SAME: "SAME", tflite.Padding.VALID: "VALID"}


def padding_of(node: Node) -> str:
    """Return the padding of a node: ``SAME`` or ``VALID``."""
    number = node.option("Padding")
    if number not in _PADDINGS:
        raise ModelError(f"padding {number} is unknown")
    return _PADDINGS[number]


def strides_of(node: Node) -> tuple[int, int]:
    """Return the strides of a node's windows along height and width."""
    strides = int(node.option("StrideH", 1)), int(node.option("StrideW", 1))
    if min(strides) < 1:
        raise ModelError(f"strides must be positive, got {strides}")
    return strides


def dilations_of(node: Node) -> tuple[int, int]:
    """Return the dilations of a node's kernel along height and width."""
    return max(int(node.option("DilationHFactor", 1)), 1), max(int(node.option("DilationWFactor", 1)), 1)


def _biased(node: Node, x: RelayExpr, index: int = 2) -> RelayExpr:
    bias = node.input(index)
    return activated(node, x if bias is None else ops.add(x, bias))


@converter("CONV_2D")
def _conv_2d(node: Node) -> RelayExpr:
    """Convert ``CONV_2D``, whose weight is OHWI."""
    x, weight = node.inputs[:2]
    weight = transpose(weight, (1, 2, 3, 0))
    return _biased(node, conv2d(x, weight, strides_of(node), dilations_of(node), padding_of(node)))


def depthwise_weight(node: Node) -> RelayExpr:
    """Return a depthwise weight with the axes height, width, channel, multiplier."""
    x, weight = node.inputs[:2]
    channels = static_dims(x, "the input")[-1]
    one, height, width, outputs = static_dims(weight, "the weight")
    if one != 1 or outputs % channels:
        raise ModelError(f"a weight of shape {(one, height, width, outputs)} does not fit {channels} channels")
    return reshape(weight, [height, width, channels, outputs // channels])


@converter("DEPTHWISE_CONV_2D")
def _depthwise_conv_2d(node: Node) -> RelayExpr:
    """Convert ``DEPTHWISE_CONV_2D``, whose weight has the axes 1, height, width, output channel."""
    x = node.inputs[0]
    weight = depthwise_weight(node)
    return _biased(node, depthwise_conv2d(x, weight, strides_of(node), dilations_of(node), padding_of(node)))


@converter("TRANSPOSE_CONV")
def _transpose_conv(node: Node) -> RelayExpr:
    """Convert ``TRANSPOSE_CONV``, whose inputs are the shape of the result, the weight (OHWI) and the image."""
    shape, weight, x = node.ints(0, "the shape"), node.inputs[1], node.inputs[2]
    weight = transpose(weight, (1, 2, 0, 3))
    return _biased(node, conv2d_transpose(x, weight, shape, strides_of(node), padding_of(node)), 3)


def _of_volume(node: Node, name: str) -> tuple[int, ...]:
    """Return strides or dilations along depth, height and width."""
    numbers = tuple(int(node.option(name.format(axis), 1)) for axis in "DHW")
    if min(numbers) < 1:
        raise ModelError(f"strides and dilations must be positive, got {numbers}")
    return numbers


@converter("CONV_3D")
def _conv_3d(node: Node) -> RelayExpr:
    """Convert ``CONV_3D``, whose weight is DHWIO."""
    strides, dilations = _of_volume(node, "Stride{}"), _of_volume(node, "Dilation{}Factor")
    return _biased(node, conv3d(node.inputs[0], node.inputs[1], strides, dilations, padding_of(node)))


@converter("CONV_3D_TRANSPOSE")
def _conv_3d_transpose(node: Node) -> RelayExpr:
    """Convert ``CONV_3D_TRANSPOSE``, whose inputs are a shape, the weight (DHWOI) and the volume."""
    if any(d != 1 for d in _of_volume(node, "Dilation{}Factor")):
        raise ConversionError("a dilated kernel is not supported")
    shape, weight, x = node.ints(0, "the shape"), node.inputs[1], node.inputs[2]
    return _biased(node, conv3d_transpose(x, weight, shape, _of_volume(node, "Stride{}"), padding_of(node)), 3)


def _pool(pool: Callable[..., RelayExpr]) -> Convert:
    def convert(node: Node) -> RelayExpr:
        window = int(node.option("FilterHeight")), int(node.option("FilterWidth"))
        return activated(node, pool(node.inputs[0], window, strides_of(node), padding_of(node)))

    return convert


def _l2_pool(x: RelayExpr, window: Sequence[int], strides: Sequence[int], padding: str) -> RelayExpr:
    return ops.sqrt(avg_pool(ops.multiply(x, x), window, strides, padding))


converters({"AVERAGE_POOL_2D": _pool(avg_pool), "L2_POOL_2D": _pool(_l2_pool)})
converters({"MAX_POOL_2D": _pool(max_pool)}, moves=True)


@converter("FULLY_CONNECTED")
def _fully_connected(node: Node) -> RelayExpr:
    x, weight = node.inputs[:2]
    if node.option("WeightsFormat"):
        raise ConversionError("shuffled weights are not supported")
    outputs, inputs = static_dims(weight, "the weight")
    dims = dims_of(x)
    rows = reshape(x, [-1, inputs]) if rank_of(x) != 2 or dims[-1] != inputs else x
    result = ops.nn.dense(rows, weight, units=outputs)
    bias = node.input(2)
    result = result if bias is None else ops.nn.bias_add(result, reshape(bias, [outputs]))
    if node.option("KeepNumDims", False) and rank_of(x) != 2:
        result = reshape(result, [*dims[:-1], outputs])
    return activated(node, result)


@converter("BATCH_MATMUL")
def _batch_matmul(node: Node) -> RelayExpr:
    return shared.batch_matmul(node, bool(node.option("AdjX", False)), bool(node.option("AdjY", False)))
