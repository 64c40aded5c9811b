"""Activation functions, as layers and as what other layers end with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.keras.layer import Layer
from compiler.relay.frontend.keras.registry import Convert, converter, converters
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import ops, rank_of, scalar

__all__ = ["activated", "activation"]


def _relu(x: RelayExpr, slope: float = 0.0, limit: float | None = None, threshold: float = 0.0) -> Any:
    """min(x, limit) from the threshold on, slope * (x - threshold) below it."""
    if not threshold:
        y = ops.nn.leaky_relu(x, alpha=slope) if slope else ops.nn.relu(x)
    else:
        below = ops.multiply(ops.subtract(x, threshold), slope)
        y = ops.where(ops.greater_equal(x, scalar(threshold, x)), x, below)
    return y if limit is None else ops.minimum(y, limit)


def _elu(x: RelayExpr, alpha: float = 1.0, scale: float = 1.0) -> Any:
    below = ops.multiply(ops.subtract(ops.exp(ops.minimum(x, 0.0)), 1.0), alpha)
    y = ops.where(ops.greater(x, scalar(0, x)), x, below)
    return y if scale == 1 else ops.multiply(y, scale)


def _softplus(x: RelayExpr) -> Any:
    """log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), which does not overflow."""
    return ops.add(ops.nn.relu(x), ops.log(ops.add(ops.exp(ops.negative(ops.abs(x))), 1.0)))


def _hard_sigmoid(x: RelayExpr) -> Any:
    return ops.divide(ops.clip(ops.add(x, 3.0), 0.0, 6.0), 6.0)


def _gelu(x: RelayExpr) -> Any:
    return ops.multiply(ops.multiply(x, 0.5), ops.add(ops.erf(ops.multiply(x, math.sqrt(0.5))), 1.0))


_FUNCTIONS: dict[str, Callable[[RelayExpr], Any]] = {
    "linear": lambda x: x,
    "relu": _relu,
    "relu6": lambda x: ops.clip(x, 0.0, 6.0),
    "leaky_relu": lambda x: _relu(x, 0.2),
    "elu": _elu,
    "celu": _elu,
    "selu": lambda x: _elu(x, 1.6732632423543772, 1.0507009873554805),
    "sigmoid": ops.sigmoid,
    "hard_sigmoid": _hard_sigmoid,
    "tanh": ops.tanh,
    "hard_tanh": lambda x: ops.clip(x, -1.0, 1.0),
    "exponential": ops.exp,
    "softplus": _softplus,
    "softsign": lambda x: ops.divide(x, ops.add(ops.abs(x), 1.0)),
    "log_sigmoid": lambda x: ops.negative(_softplus(ops.negative(x))),
    "silu": lambda x: ops.multiply(x, ops.sigmoid(x)),
    "hard_silu": lambda x: ops.multiply(x, _hard_sigmoid(x)),
    "gelu": _gelu,
    "mish": lambda x: ops.multiply(x, ops.tanh(_softplus(x))),
}
_FUNCTIONS |= {"swish": _FUNCTIONS["silu"], "hard_swish": _FUNCTIONS["hard_silu"]}
_ALONG_CHANNELS = {"softmax": ops.nn.softmax, "log_softmax": ops.nn.log_softmax}


def activation(layer: Layer, x: RelayExpr, function: str | Mapping[str, Any]) -> Any:
    """Return a tensor after an activation function.

    Parameters
    ----------
    layer : Layer
        Whose function it is.
    x : Expr
        In the layout of the module.
    function : str or mapping
        Its name, or the configuration of the layer that it is.
    """
    if isinstance(function, Mapping):
        return _configured(x, function)
    if function in _ALONG_CHANNELS:
        return _ALONG_CHANNELS[function](x, axis=layer.axis(-1, rank_of(x)))
    if function not in _FUNCTIONS:
        raise ConversionError(f"activation function {function!r} is not supported; there are {', '.join(_FUNCTIONS)}")
    return _FUNCTIONS[function](x)


def activated(layer: Layer, x: RelayExpr) -> Any:
    """Return a result after the activation function that its layer ends with."""
    return activation(layer, x, layer.option("activation", "linear"))


_LAYERS: dict[str, Callable[[RelayExpr, Callable[..., Any]], Any]] = {
    "ReLU": lambda x, option: _relu(x, option("negative_slope", 0.0), option("max_value"), option("threshold", 0.0)),
    "LeakyReLU": lambda x, option: _relu(x, option("negative_slope", 0.3)),
    "ELU": lambda x, option: _elu(x, option("alpha", 1.0)),
    "ThresholdedReLU": lambda x, option: ops.where(
        ops.greater(x, scalar(option("theta", 1.0), x)), x, ops.zeros_like(x)
    ),
}
"""Layers of elements that have no weights, from their options."""


def _configured(x: RelayExpr, function: Mapping[str, Any]) -> Any:
    name, config = function.get("class_name"), function.get("config")
    if name not in _LAYERS or not isinstance(config, Mapping):
        raise ConversionError(f"activation {name or function} is not supported; there are {', '.join(_LAYERS)}")

    def option(key: str, default: object = None) -> object:
        return default if config.get(key) is None else config[key]

    return _LAYERS[name](x, option)


def _elementwise(compute: Callable[[RelayExpr, Callable[..., Any]], Any]) -> Convert:
    return lambda layer: compute(layer.x, layer.option)


converters({name: _elementwise(compute) for name, compute in _LAYERS.items()})
converters({"Activation": lambda layer: activated(layer, layer.x)})


@converter("Softmax")
def _softmax(layer: Layer) -> Any:
    axis = layer.option("axis", -1)
    if not isinstance(axis, int):
        if len(axis) != 1:
            raise ConversionError("a softmax over several axes is not supported")
        (axis,) = axis
    return ops.nn.softmax(layer.x, axis=layer.axis(axis, rank_of(layer.x)))


@converter("PReLU")
def _prelu(layer: Layer) -> Any:
    """The slopes have the axes of an element of the batch, some of them of extent 1."""
    alpha = layer.weight("alpha")[None]
    if layer.is_first(alpha.ndim):
        alpha = alpha.transpose(0, 3, 1, 2)
    x = layer.x
    return ops.where(ops.greater(x, scalar(0, x)), x, ops.multiply(x, layer.parameter("alpha", alpha)))
