"""Operators on quantized tensors, as ``qnn`` operators; others are computed in floating point."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compiler.classic.frontend.shared.nhwc import avg_pool, conv2d, depthwise_conv2d
from compiler.classic.frontend.tflite.converters.activations import clip_integers, clipped
from compiler.classic.frontend.tflite.converters.windows import depthwise_weight, dilations_of, padding_of, strides_of
from compiler.classic.frontend.tflite.node import Node
from compiler.classic.frontend.tflite.quantized import parameters_of, quantization_of, requantized
from compiler.classic.frontend.tflite.reader import TensorInfo
from compiler.classic.frontend.tflite.registry import Convert, quantized_converter
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ModelError
from compiler.relay.frontend.shared.folding import constant, ops, rank_of
from compiler.relay.frontend.shared.tensors import cast, reshape, static_dims, transpose
from compiler.relay.op.qnn.arithmetic import fixed_point


def _product(node: Node, operator: Callable[..., RelayExpr]) -> Callable[..., RelayExpr]:
    """Build a quantized product of a node's input and weight, with 32-bit accumulators."""
    (scale, zero), (weight_scale, weight_zero) = parameters_of(node.tensors[0]), parameters_of(node.tensors[1])

    def apply(x: RelayExpr, weight: RelayExpr, **attrs: object) -> RelayExpr:
        return operator(x, weight, zero, weight_zero, scale, weight_scale, out_dtype="int32", **attrs)

    return apply


def _rescaled(node: Node, x: RelayExpr) -> RelayExpr:
    """Add the bias to accumulators, and requantize them."""
    bias = node.input(2)
    if bias is not None:
        x = ops.nn.bias_add(x, reshape(bias, [-1]), axis=rank_of(x) - 1)
    scale = quantization_of(node.tensors[0]).scale * quantization_of(node.tensors[1]).scale
    return clipped(node, requantized(x, scale, constant(0, "int32"), node.outputs[0]))


@quantized_converter("CONV_2D")
def _conv_2d(node: Node) -> RelayExpr:
    weight = transpose(node.inputs[1], (1, 2, 3, 0))
    apply = _product(node, ops.qnn.conv2d)
    y = conv2d(node.inputs[0], weight, strides_of(node), dilations_of(node), padding_of(node), apply)
    return _rescaled(node, y)


@quantized_converter("DEPTHWISE_CONV_2D")
def _depthwise_conv_2d(node: Node) -> RelayExpr:
    apply, weight = _product(node, ops.qnn.conv2d), depthwise_weight(node)
    y = depthwise_conv2d(node.inputs[0], weight, strides_of(node), dilations_of(node), padding_of(node), apply)
    return _rescaled(node, y)


@quantized_converter("FULLY_CONNECTED")
def _fully_connected(node: Node) -> RelayExpr:
    x, weight = node.inputs[:2]
    outputs, inputs = static_dims(weight, "the weight")
    dims = static_dims(x, "the input")
    y = _rescaled(node, _product(node, ops.qnn.dense)(reshape(x, [-1, inputs]), weight, units=outputs))
    return reshape(y, [*dims[:-1], outputs]) if node.option("KeepNumDims", False) else y


_HEADROOM = 20
"""Fractional bits of the terms of a sum of 8-bit integers, as in TensorFlow Lite."""


def _sum(operator: Callable[..., RelayExpr]) -> Convert:
    """Return a converter of sums and differences that rounds once, unlike ``qnn.add``, which rounds each term."""

    def convert(node: Node) -> RelayExpr:
        scales = [float(quantization_of(t).scale.reshape(-1)[0]) for t in (*node.tensors, *node.outputs)]
        unit = 2 * max(scales[:2])
        terms = [
            _scaled(ops.left_shift(_centred(x, tensor), constant(_HEADROOM, "int32")), scale / unit)
            for x, tensor, scale in zip(node.inputs, node.tensors, scales, strict=False)
        ]
        total = _scaled(operator(*terms), unit / scales[2] / 2**_HEADROOM)
        target = node.outputs[0]
        shifted = ops.add(total, cast(parameters_of(target)[1], "int32"))
        limits = np.iinfo(target.dtype)
        return clipped(node, cast(ops.clip(shifted, limits.min, limits.max), target.dtype))

    return convert


def _centred(x: RelayExpr, tensor: TensorInfo | None) -> RelayExpr:
    return ops.subtract(cast(x, "int32"), cast(parameters_of(tensor)[1], "int32"))


def _scaled(x: RelayExpr, ratio: float) -> RelayExpr:
    multiplier, shift = fixed_point(ratio)
    return ops.fixed_point_multiply(x, multiplier=multiplier, shift=shift)


def _product_of_elements(node: Node) -> RelayExpr:
    lhs, rhs, result = (parameters_of(tensor) for tensor in (*node.tensors, *node.outputs))
    return clipped(node, ops.qnn.mul(*node.inputs, *lhs, *rhs, *result))


quantized_converter("ADD")(_sum(ops.add))
quantized_converter("SUB")(_sum(ops.subtract))
quantized_converter("MUL")(_product_of_elements)


@quantized_converter("AVERAGE_POOL_2D")
def _average_pool(node: Node) -> RelayExpr:
    """Convert quantized average pooling; halves are rounded away from zero before the zero point is subtracted."""
    source, target = quantization_of(node.tensors[0]), node.outputs[0]
    if not source.same_as(target.quantization):
        raise ModelError("the input and the mean of its windows must have the same scale and zero point")
    window = int(node.option("FilterHeight")), int(node.option("FilterWidth"))
    mean = avg_pool(cast(node.inputs[0], "float32"), window, strides_of(node), padding_of(node))
    return clipped(node, cast(ops.round(mean), target.dtype))


@quantized_converter("CONCATENATION")
def _concatenation(node: Node) -> RelayExpr:
    scales, zeros = zip(*(parameters_of(tensor) for tensor in node.tensors), strict=True)
    axis = int(node.option("Axis")) % rank_of(node.inputs[0])
    joined = ops.qnn.concatenate(list(node.inputs), list(scales), list(zeros), *parameters_of(node.outputs[0]), axis)
    return clipped(node, joined)


def _between(low: float, high: float) -> Convert:
    def convert(node: Node) -> RelayExpr:
        return clip_integers(node, _rescale_input(node), low, high)

    return convert


def _rescale_input(node: Node) -> RelayExpr:
    source, target = quantization_of(node.tensors[0]), node.outputs[0]
    if source.same_as(target.quantization):
        return node.inputs[0]
    return requantized(node.inputs[0], source.scale, parameters_of(node.tensors[0])[1], target)


quantized_converter("RELU")(_between(0.0, np.inf))
quantized_converter("RELU6")(_between(0.0, 6.0))
quantized_converter("RELU_N1_TO_1")(_between(-1.0, 1.0))
quantized_converter("RELU_0_TO_1")(_between(0.0, 1.0))
quantized_converter("QUANTIZE")(_rescale_input)


@quantized_converter("LEAKY_RELU")
def _leaky_relu(node: Node) -> RelayExpr:
    alpha = float(node.option("Alpha"))
    return ops.qnn.leaky_relu(node.inputs[0], alpha, *parameters_of(node.tensors[0]), *parameters_of(node.outputs[0]))
