"""Normalization layers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.classic.frontend.keras.layer import Layer
from compiler.classic.frontend.keras.registry import converter
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, ops, rank_of
from compiler.relay.frontend.shared.tensors import reshape, static_dims

_LEAST_DEVIATION = 1e-7
"""Keras's lower bound of standard deviations."""


def _single_axis(layer: Layer) -> int:
    axis = layer.option("axis", -1)
    if not isinstance(axis, int):
        if len(axis) != 1:
            raise ConversionError("normalization over several axes is not supported")
        (axis,) = axis
    return layer.axis(axis, rank_of(layer.x))


@converter("BatchNormalization", masks=True)
def _batch_normalization(layer: Layer) -> RelayExpr:
    mean = layer.weight("moving_mean")
    gamma = layer.parameter("gamma") if layer.option("scale", True) else constant(np.ones(mean.shape, layer.dtype))
    beta = layer.parameter("beta") if layer.option("center", True) else constant(np.zeros(mean.shape, layer.dtype))
    statistics = layer.parameter("moving_mean"), layer.parameter("moving_variance")
    epsilon = float(layer.option("epsilon", 1e-3))
    return ops.nn.batch_norm(layer.x, gamma, beta, *statistics, axis=_single_axis(layer), epsilon=epsilon)[0]


def _axes(layer: Layer) -> list[int]:
    """Return the normalized axes of a layer, in Keras's axis order."""
    axis = layer.option("axis", -1)
    rank = rank_of(layer.x)
    return sorted(int(a) % rank for a in (axis if isinstance(axis, (list, tuple)) else [axis]))


def _scaled(layer: Layer, x: RelayExpr, axes: Sequence[int], **weights: str) -> RelayExpr:
    """Scale and shift a tensor by weights along some of its axes."""
    dims = static_dims(x, "the input")
    along = [d if i in axes else 1 for i, d in enumerate(dims)]
    for operator, name in weights.items():
        x = ops[operator](x, layer.parameter(name, layer.weight(name).reshape(along)))
    return x


@converter("LayerNormalization")
def _layer_normalization(layer: Layer) -> RelayExpr:
    axes, x = _axes(layer), layer.channels_last(layer.x)
    centred = ops.subtract(x, ops.mean(x, axis=axes, keepdims=True))
    variance = ops.mean(ops.multiply(centred, centred), axis=axes, keepdims=True)
    factor = ops.rsqrt(ops.add(variance, float(layer.option("epsilon", 1e-3))))
    if layer.option("rms_scaling", False):
        return layer.placed(_scaled(layer, ops.multiply(x, factor), axes, multiply="gamma"))
    weights = {"multiply": "gamma"} if layer.option("scale", True) else {}
    weights |= {"add": "beta"} if layer.option("center", True) else {}
    return layer.placed(_scaled(layer, ops.multiply(centred, factor), axes, **weights))


@converter("RMSNormalization")
def _rms_normalization(layer: Layer) -> RelayExpr:
    axes, x = _axes(layer), layer.channels_last(layer.x)
    squares = ops.mean(ops.multiply(x, x), axis=axes, keepdims=True)
    y = ops.multiply(x, ops.rsqrt(ops.add(squares, float(layer.option("epsilon", 1e-6)))))
    return layer.placed(_scaled(layer, y, axes, multiply="scale"))


@converter("GroupNormalization")
def _group_normalization(layer: Layer) -> RelayExpr:
    """Convert ``GroupNormalization``."""
    (axis,), x = _axes(layer), layer.channels_last(layer.x)
    dims = static_dims(x, "the input")
    groups = int(layer.option("groups", 32))
    groups = dims[axis] if groups == -1 else groups
    grouped = reshape(x, [*dims[:axis], groups, dims[axis] // groups, *dims[axis + 1 :]])
    others = [i for i in range(1, len(dims) + 1) if i != axis]
    centred = ops.subtract(grouped, ops.mean(grouped, axis=others, keepdims=True))
    variance = ops.mean(ops.multiply(centred, centred), axis=others, keepdims=True)
    y = ops.multiply(centred, ops.rsqrt(ops.add(variance, float(layer.option("epsilon", 1e-3)))))
    weights = {"multiply": "gamma"} if layer.option("scale", True) else {}
    weights |= {"add": "beta"} if layer.option("center", True) else {}
    return layer.placed(_scaled(layer, reshape(y, dims), [axis], **weights))


@converter("UnitNormalization")
def _unit_normalization(layer: Layer) -> RelayExpr:
    """Convert ``UnitNormalization``: divide by the L2 norm along axes."""
    x = layer.channels_last(layer.x)
    squares = ops.sum(ops.multiply(x, x), axis=_axes(layer), keepdims=True)
    return layer.placed(ops.multiply(x, ops.rsqrt(ops.maximum(squares, 1e-12))))


@converter("SpectralNormalization")
def _spectral_normalization(layer: Layer) -> Sequence[RelayExpr]:
    """Convert ``SpectralNormalization``, which has no effect at inference."""
    return layer.apply(layer.held("layer"), layer.inputs)


@converter("Rescaling")
def _rescaling(layer: Layer) -> RelayExpr:
    x = layer.x
    numbers = [np.asarray(layer.option(name, default), layer.dtype) for name, default in (("scale", 1), ("offset", 0))]
    last = layer.channels_last(ops.cast(x, layer.dtype))
    return layer.placed(ops.add(ops.multiply(last, constant(numbers[0])), constant(numbers[1])))


@converter("Normalization")
def _normalization(layer: Layer) -> RelayExpr:
    """Convert ``Normalization``: standardize by stored statistics."""
    mean, variance = (np.asarray(layer.held(name), layer.dtype) for name in ("mean", "variance"))
    deviation = np.maximum(np.sqrt(variance), _LEAST_DEVIATION)
    x = layer.channels_last(ops.cast(layer.x, layer.dtype))
    if layer.option("invert", False):
        return layer.placed(ops.add(ops.multiply(x, constant(deviation.astype(layer.dtype))), constant(mean)))
    return layer.placed(ops.divide(ops.subtract(x, constant(mean)), constant(deviation.astype(layer.dtype))))


@converter("LayerScale")
def _layer_scale(layer: Layer) -> RelayExpr:
    (scale,) = layer.weights.values()  # its name in Keras is a number
    return layer.placed(ops.multiply(layer.channels_last(layer.x), layer.parameter("gamma", scale)))
