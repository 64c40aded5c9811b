"""Activation functions, as layers and as options of other layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compiler.classic.frontend.keras.layer import Layer
from compiler.classic.frontend.keras.masks import as_mask
from compiler.classic.frontend.keras.registry import Convert, converter, converters, functions
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.activations import (
    SELU,
    elu,
    gelu,
    hard_sigmoid,
    hard_swish,
    log_sigmoid,
    mish,
    silu,
    softplus,
)
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import dtype_of, ops, rank_of, scalar


def _relu(x: RelayExpr, slope: float = 0.0, limit: float | None = None, threshold: float = 0.0) -> RelayExpr:
    """Compute ``min(x, limit)`` above the threshold and ``slope * (x - threshold)`` below it."""
    if not threshold:
        y = ops.nn.leaky_relu(x, alpha=slope) if slope else ops.nn.relu(x)
    else:
        below = ops.multiply(ops.subtract(x, threshold), slope)
        y = ops.where(ops.greater_equal(x, scalar(threshold, x)), x, below)
    return y if limit is None else ops.minimum(y, limit)


def _elu_of_ratio(x: RelayExpr, alpha: float) -> RelayExpr:
    """Compute ``alpha * (e^(x / alpha) - 1)`` below zero."""
    below = ops.multiply(ops.subtract(ops.exp(ops.minimum(ops.divide(x, alpha), 0.0)), 1.0), alpha)
    return ops.where(ops.greater(x, scalar(0, x)), x, below)


def _outside(x: RelayExpr, value: RelayExpr, limit: float) -> RelayExpr:
    """Return a value where ``|x|`` exceeds a limit, else 0."""
    return ops.where(ops.greater(ops.abs(x), scalar(limit, x)), value, ops.zeros_like(x))


def _soft_shrink(x: RelayExpr, limit: float = 0.5) -> RelayExpr:
    """Shrink elements towards zero by a limit."""
    return _outside(x, ops.subtract(x, ops.multiply(ops.sign(x), limit)), limit)


def _sparse_plus(x: RelayExpr) -> RelayExpr:
    bend = ops.multiply(ops.multiply(ops.add(x, 1.0), ops.add(x, 1.0)), 0.25)
    return ops.where(ops.less_equal(x, scalar(-1, x)), ops.zeros_like(x), ops.where(ops.less(x, scalar(1, x)), bend, x))


def _squareplus(x: RelayExpr, b: float = 4.0) -> RelayExpr:
    return ops.multiply(ops.add(x, ops.sqrt(ops.add(ops.multiply(x, x), b))), 0.5)


_FUNCTIONS: dict[str, Callable[[RelayExpr], RelayExpr]] = {
    "linear": lambda x: x,
    "relu": _relu,
    "relu6": lambda x: ops.clip(x, 0.0, 6.0),
    "leaky_relu": lambda x: _relu(x, 0.2),
    "elu": elu,
    "celu": elu,
    "selu": lambda x: elu(x, *SELU),
    "sigmoid": ops.sigmoid,
    "hard_sigmoid": hard_sigmoid,
    "tanh": ops.tanh,
    "hard_tanh": lambda x: ops.clip(x, -1.0, 1.0),
    "exponential": ops.exp,
    "softplus": softplus,
    "softsign": lambda x: ops.divide(x, ops.add(ops.abs(x), 1.0)),
    "log_sigmoid": log_sigmoid,
    "silu": silu,
    "hard_silu": hard_swish,
    "gelu": gelu,
    "tanh_shrink": lambda x: ops.subtract(x, ops.tanh(x)),
    "hard_shrink": lambda x: _outside(x, x, 0.5),
    "soft_shrink": _soft_shrink,
    "sparse_plus": _sparse_plus,
    "sparse_sigmoid": lambda x: ops.clip(ops.multiply(ops.add(x, 1.0), 0.5), 0.0, 1.0),
    "squareplus": _squareplus,
    "mish": mish,
}
_FUNCTIONS |= {"swish": _FUNCTIONS["silu"], "hard_swish": _FUNCTIONS["hard_silu"]}


def _glu(x: RelayExpr, axis: int = -1) -> RelayExpr:
    half, gate = ops.split(x, 2, axis=axis)
    return ops.multiply(half, ops.sigmoid(gate))


_ALONG_CHANNELS: dict[str, Callable[..., RelayExpr]] = {
    "softmax": ops.nn.softmax,
    "log_softmax": ops.nn.log_softmax,
    "glu": _glu,
}


def activation(layer: Layer, x: RelayExpr, function: str | Mapping[str, object]) -> RelayExpr:
    """Apply a function, given by its name or the configuration of an activation layer, in the layout of the module."""
    if isinstance(function, Mapping):
        return _configured(x, function)
    if function in _ALONG_CHANNELS:
        return _ALONG_CHANNELS[function](x, axis=layer.axis(-1, rank_of(x)))
    if function not in _FUNCTIONS:
        raise ConversionError(
            f"activation function {function!r} is not supported; expected one of {', '.join(_FUNCTIONS)}"
        )
    return _FUNCTIONS[function](x)


def activated(layer: Layer, x: RelayExpr) -> RelayExpr:
    """Apply the activation function of a layer to its result."""
    return activation(layer, x, layer.option("activation", "linear"))


_LAYERS: dict[str, Callable[[RelayExpr, Callable[..., Any]], RelayExpr]] = {
    "ReLU": lambda x, option: _relu(x, option("negative_slope", 0.0), option("max_value"), option("threshold", 0.0)),
    "LeakyReLU": lambda x, option: _relu(x, option("negative_slope", 0.3)),
    "ELU": lambda x, option: elu(x, option("alpha", 1.0)),
    "ThresholdedReLU": lambda x, option: ops.where(
        ops.greater(x, scalar(option("theta", 1.0), x)), x, ops.zeros_like(x)
    ),
}
"""Elementwise layers without weights, as functions of their options."""


def _configured(x: RelayExpr, function: Mapping[str, object]) -> RelayExpr:
    name, config = function.get("class_name"), function.get("config")
    if name not in _LAYERS or not isinstance(config, Mapping):
        raise ConversionError(
            f"activation {name or 'of a Python function'} is not supported; expected one of {', '.join(_LAYERS)}"
        )

    def option(key: str, default: object = None) -> object:
        return default if config.get(key) is None else config[key]

    return _LAYERS[name](x, option)


def _elementwise(compute: Callable[[RelayExpr, Callable[..., Any]], RelayExpr]) -> Convert:
    return lambda layer: compute(layer.x, layer.option)


converters({name: _elementwise(compute) for name, compute in _LAYERS.items()})
converters({"Activation": lambda layer: activated(layer, layer.x)})


@converter("Softmax", masks=True)
def _softmax(layer: Layer) -> RelayExpr:
    axis = layer.option("axis", -1)
    x, mask = layer.channels_last(layer.x), as_mask(layer.keywords.get("mask"))
    return layer.placed(masked_softmax(x, axis if isinstance(axis, (list, tuple)) else [axis], mask))


_LEAST, _LEAST_HALF = -1e9, -3e4
"""Keras's scores of masked positions in a softmax."""


def masked_softmax(x: RelayExpr, axes: Sequence[int], mask: RelayExpr | None) -> RelayExpr:
    """Compute a masked softmax, which is 0 at masked positions."""
    if mask is None:
        return softmax_over(x, axes)
    least = scalar(_LEAST_HALF if dtype_of(x) == "float16" else _LEAST, x)
    y = softmax_over(ops.where(mask, x, least), axes)
    return ops.where(mask, y, ops.zeros_like(y))


def softmax_over(x: RelayExpr, axes: Sequence[int]) -> RelayExpr:
    """Compute a softmax over several axes."""
    if len(axes) == 1:
        return ops.nn.softmax(x, axis=int(axes[0]))
    powers = ops.exp(ops.subtract(x, ops.max(x, axis=list(axes), keepdims=True)))
    return ops.divide(powers, ops.sum(powers, axis=list(axes), keepdims=True))


def _with(compute: Callable[..., RelayExpr], **names: str) -> Convert:
    """Return the converter of an elementwise function, given its parameters and their names in Keras."""

    def convert(layer: Layer) -> RelayExpr:
        return compute(layer.x, **{own: layer.option(theirs) for own, theirs in names.items()})

    return convert


def _along_axis(compute: Callable[..., RelayExpr]) -> Convert:
    """Return the converter of a function along an axis, by default the last."""

    def convert(layer: Layer) -> RelayExpr:
        x = layer.channels_last(layer.x)
        axis = layer.option("axis", -1)
        return layer.placed(compute(x, list(axis) if isinstance(axis, (list, tuple)) else [axis]))

    return convert


def _named(name: str) -> Convert:
    return lambda layer: _FUNCTIONS[name](layer.x)


functions(
    {
        name: _named(key)
        for name, key in {
            "Relu": "relu", "Relu6": "relu6", "Selu": "selu", "Sigmoid": "sigmoid", "HardSigmoid": "hard_sigmoid",
            "HardTanh": "hard_tanh", "TanhShrink": "tanh_shrink", "SparsePlus": "sparse_plus", "Tanh": "tanh",
            "SparseSigmoid": "sparse_sigmoid", "Softplus": "softplus", "Softsign": "softsign", "Mish": "mish",
            "LogSigmoid": "log_sigmoid", "Silu": "silu", "HardSilu": "hard_silu",
        }.items()
    }
)  # fmt: skip
functions(
    {
        "ReLU": _with(_relu, slope="negative_slope", limit="max_value", threshold="threshold"),
        "LeakyRelu": _with(_relu, slope="negative_slope"),
        "Elu": _with(elu, alpha="alpha"),
        "Celu": lambda layer: _elu_of_ratio(layer.x, float(layer.option("alpha", 1.0))),
        "Squareplus": _with(_squareplus, b="b"),
        "HardShrink": lambda layer: _outside(layer.x, layer.x, float(layer.option("threshold"))),
        "SoftShrink": lambda layer: _soft_shrink(layer.x, float(layer.option("threshold"))),
        "Threshold": lambda layer: ops.where(
            ops.greater(layer.x, scalar(layer.option("threshold"), layer.x)),
            layer.x,
            ops.full_like(layer.x, scalar(layer.option("default_value"), layer.x)),
        ),
        "Gelu": lambda layer: gelu(layer.x, by_tanh=bool(layer.option("approximate", True))),
        "Glu": _along_axis(lambda x, axes: _glu(x, axes[0])),
        "Softmax": _along_axis(softmax_over),
        "LogSoftmax": _along_axis(lambda x, axes: ops.nn.log_softmax(x, axis=int(axes[0]))),
    }
)


@converter("PReLU")
def _prelu(layer: Layer) -> RelayExpr:
    """Convert ``PReLU``, whose slopes have the shape of a batch element, with extent 1 for shared axes."""
    alpha = layer.weight("alpha")[None]
    if layer.is_first(alpha.ndim):
        alpha = alpha.transpose(0, 3, 1, 2)
    x = layer.x
    return ops.where(ops.greater(x, scalar(0, x)), x, ops.multiply(x, layer.parameter("alpha", alpha)))
