"""Layers that normalise."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.relay.frontend.keras.layer import Layer
from compiler.relay.frontend.keras.registry import converter
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, ops, rank_of

_LEAST_DEVIATION = 1e-7
"""Keras's epsilon, below which it takes no standard deviation."""


def _single_axis(layer: Layer) -> int:
    axis = layer.option("axis", -1)
    if not isinstance(axis, int):
        if len(axis) != 1:
            raise ConversionError("normalization over several axes is not supported")
        (axis,) = axis
    return layer.axis(axis, rank_of(layer.x))


@converter("BatchNormalization")
def _batch_normalization(layer: Layer) -> Any:
    mean = layer.weight("moving_mean")
    gamma = layer.parameter("gamma") if layer.option("scale", True) else constant(np.ones(mean.shape, layer.dtype))
    beta = layer.parameter("beta") if layer.option("center", True) else constant(np.zeros(mean.shape, layer.dtype))
    statistics = layer.parameter("moving_mean"), layer.parameter("moving_variance")
    epsilon = float(layer.option("epsilon", 1e-3))
    return ops.nn.batch_norm(layer.x, gamma, beta, *statistics, axis=_single_axis(layer), epsilon=epsilon)[0]


@converter("LayerNormalization")
def _layer_normalization(layer: Layer) -> Any:
    if layer.option("rms_scaling", False):
        raise ConversionError("rms_scaling is not supported")
    axis, x = _single_axis(layer), layer.x
    mean = ops.mean(x, axis=[axis], keepdims=True)
    centred = ops.subtract(x, mean)
    variance = ops.mean(ops.multiply(centred, centred), axis=[axis], keepdims=True)
    y = ops.multiply(centred, ops.rsqrt(ops.add(variance, float(layer.option("epsilon", 1e-3)))))
    along = [-1 if i == axis else 1 for i in range(rank_of(x))]
    if layer.option("scale", True):
        y = ops.multiply(y, layer.parameter("gamma", layer.weight("gamma").reshape(along)))
    if layer.option("center", True):
        y = ops.add(y, layer.parameter("beta", layer.weight("beta").reshape(along)))
    return y


@converter("Rescaling")
def _rescaling(layer: Layer) -> Any:
    x = layer.x
    numbers = [np.asarray(layer.option(name, default), layer.dtype) for name, default in (("scale", 1), ("offset", 0))]
    last = layer.channels_last(ops.cast(x, layer.dtype))
    return layer.placed(ops.add(ops.multiply(last, constant(numbers[0])), constant(numbers[1])))


@converter("Normalization")
def _normalization(layer: Layer) -> Any:
    """Bring inputs to the mean 0 and the variance 1, by statistics that the layer has learned or was given."""
    mean, variance = (np.asarray(layer.held(name), layer.dtype) for name in ("mean", "variance"))
    deviation = np.maximum(np.sqrt(variance), _LEAST_DEVIATION)
    x = layer.channels_last(ops.cast(layer.x, layer.dtype))
    if layer.option("invert", False):
        return layer.placed(ops.add(ops.multiply(x, constant(deviation.astype(layer.dtype))), constant(mean)))
    return layer.placed(ops.divide(ops.subtract(x, constant(mean)), constant(deviation.astype(layer.dtype))))


@converter("LayerScale")
def _layer_scale(layer: Layer) -> Any:
    (scale,) = layer.weights.values()  # Keras gives it a number for a name
    return layer.placed(ops.multiply(layer.channels_last(layer.x), layer.parameter("gamma", scale)))
