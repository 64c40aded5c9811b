"""Activation functions, including those fused into other operators."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import tflite

from compiler.classic.frontend.tflite.node import Node
from compiler.classic.frontend.tflite.quantized import quantization_of
from compiler.classic.frontend.tflite.registry import converter, converters
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.activations import elu, gelu, hard_swish
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import dims_of, ops, rank_of, scalar

_FUSED: dict[int, Callable[[RelayExpr], RelayExpr]] = {
    tflite.ActivationFunctionType.NONE: lambda x: x,
    tflite.ActivationFunctionType.RELU: ops.nn.relu,
    tflite.ActivationFunctionType.RELU6: lambda x: ops.clip(x, 0.0, 6.0),
    tflite.ActivationFunctionType.RELU_N1_TO_1: lambda x: ops.clip(x, -1.0, 1.0),
    tflite.ActivationFunctionType.TANH: ops.tanh,
}


def activated(node: Node, x: RelayExpr) -> RelayExpr:
    """Apply the fused activation function of a node."""
    kind = node.option("FusedActivationFunction", tflite.ActivationFunctionType.NONE)
    if kind not in _FUSED:
        raise ConversionError(f"fused activation function {kind} is not supported")
    return _FUSED[kind](x)


def has_activation(node: Node) -> bool:
    """Return whether a node has a fused activation function."""
    options = node.operation.options
    return hasattr(options, "FusedActivationFunction") and bool(options.FusedActivationFunction())


_BOUNDS: dict[int, tuple[float, float]] = {
    tflite.ActivationFunctionType.RELU: (0.0, math.inf),
    tflite.ActivationFunctionType.RELU6: (0.0, 6.0),
    tflite.ActivationFunctionType.RELU_N1_TO_1: (-1.0, 1.0),
}


def clipped(node: Node, x: RelayExpr) -> RelayExpr:
    """Apply the fused activation function of a node to a quantized result."""
    if not has_activation(node):
        return x
    kind = node.option("FusedActivationFunction")
    if kind not in _BOUNDS:
        raise ConversionError(f"fused activation function {kind} is not supported on quantized tensors")
    return clip_integers(node, x, *_BOUNDS[kind])


def clip_integers(node: Node, x: RelayExpr, low: float, high: float) -> RelayExpr:
    """Clip a quantized result to real bounds."""
    q, limits = quantization_of(node.outputs[0]), np.iinfo(node.outputs[0].dtype)
    scale, zero = float(q.scale.reshape(-1)[0]), int(q.zero_point.reshape(-1)[0])

    def integer(value: float) -> int:
        return limits.max if math.isinf(value) else round(value / scale) + zero

    least, most = (min(max(integer(v), limits.min), limits.max) for v in (low, high))
    return x if (least, most) == (limits.min, limits.max) else ops.clip(x, least, most)


converters(
    {
        "RELU": lambda node: ops.nn.relu(node.inputs[0]),
        "RELU6": lambda node: ops.clip(node.inputs[0], 0.0, 6.0),
        "RELU_N1_TO_1": lambda node: ops.clip(node.inputs[0], -1.0, 1.0),
        "RELU_0_TO_1": lambda node: ops.clip(node.inputs[0], 0.0, 1.0),
        "LOGISTIC": lambda node: ops.sigmoid(node.inputs[0]),
        "TANH": lambda node: ops.tanh(node.inputs[0]),
        "ELU": lambda node: elu(node.inputs[0]),
        "GELU": lambda node: gelu(node.inputs[0], by_tanh=bool(node.option("Approximate", False))),
        "HARD_SWISH": lambda node: hard_swish(node.inputs[0]),
        "LEAKY_RELU": lambda node: ops.nn.leaky_relu(node.inputs[0], alpha=float(node.option("Alpha"))),
        "LOG_SOFTMAX": lambda node: ops.nn.log_softmax(node.inputs[0], axis=-1),
    }
)


@converter("PRELU")
def _prelu(node: Node) -> RelayExpr:
    x, slope = node.inputs
    return ops.where(ops.greater(x, 0.0), x, ops.multiply(x, slope))


@converter("SOFTMAX")
def _softmax(node: Node) -> RelayExpr:
    x, beta = node.inputs[0], float(node.option("Beta", 1.0))
    return ops.nn.softmax(x if beta == 1 else ops.multiply(x, beta), axis=-1)


@converter("L2_NORMALIZATION")
def _l2_normalization(node: Node) -> RelayExpr:
    x = node.inputs[0]
    squares = ops.sum(ops.multiply(x, x), axis=[rank_of(x) - 1], keepdims=True)
    return activated(node, ops.divide(x, ops.sqrt(ops.maximum(squares, scalar(1e-12, x)))))


@converter("LOCAL_RESPONSE_NORMALIZATION")
def _local_response_normalization(node: Node) -> RelayExpr:
    """Convert local response normalization; Relay's operator divides ``alpha`` by the number of channels."""
    x, size = node.inputs[0], 2 * int(node.option("Radius")) + 1
    if not isinstance(dims_of(x)[-1], int):
        raise ConversionError("the number of channels must be known while importing")
    alpha, beta, bias = (float(node.option(name)) for name in ("Alpha", "Beta", "Bias"))
    return ops.nn.lrn(x, size=size, axis=rank_of(x) - 1, bias=bias, alpha=alpha * size, beta=beta)
