"""Shape layers, and layers without effect at inference."""

from __future__ import annotations

import numpy as np

from compiler.classic.frontend.keras.layer import Layer
from compiler.classic.frontend.keras.registry import converter, converters
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import ops, rank_of, scalar
from compiler.relay.frontend.shared.tensors import reshape, static_dims, transpose, unsqueeze

converters(
    {
        name: (lambda layer: layer.x)
        for name in (
            *("ActivityRegularization", "AlphaDropout", "Dropout", "GaussianDropout", "GaussianNoise", "Identity"),
            *("SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D"),
        )
    }
)


@converter("Flatten")
def _flatten(layer: Layer) -> RelayExpr:
    layer.check_channels_last()
    x = layer.channels_last(layer.x)
    batch, *rest = static_dims(x, "the input")
    return reshape(x, [batch, int(np.prod(rest))])


@converter("Reshape")
def _reshape(layer: Layer) -> RelayExpr:
    x = layer.channels_last(layer.x)
    batch = static_dims(x, "the input")[0]
    return layer.placed(reshape(x, [batch, *(int(d) for d in layer.option("target_shape"))]))


@converter("Permute")
def _permute(layer: Layer) -> RelayExpr:
    return layer.placed(transpose(layer.channels_last(layer.x), [0, *(int(d) for d in layer.option("dims"))]))


@converter("RepeatVector")
def _repeat_vector(layer: Layer) -> RelayExpr:
    return ops.repeat(unsqueeze(layer.x, [1]), int(layer.option("n")), axis=1)


@converter("Embedding")
def _embedding(layer: Layer) -> RelayExpr:
    """Convert ``Embedding``; the masks of ``mask_zero`` are computed by functions of Keras."""
    indices = layer.x if rank_of(layer.x) != 4 else layer.channels_last(layer.x)
    return layer.placed(ops.take(layer.parameter("embeddings"), ops.cast(indices, "int32"), axis=0))


@converter("Masking")
def _masking(layer: Layer) -> RelayExpr:
    """Convert ``Masking``: zero the steps that consist of the mask value."""
    x = layer.channels_last(layer.x)
    counts = ops.any(
        ops.not_equal(x, scalar(float(layer.option("mask_value", 0.0)), x)), axis=[rank_of(x) - 1], keepdims=True
    )
    return layer.placed(ops.where(counts, x, ops.zeros_like(x)))


@converter("TimeDistributed", masks=True)
def _time_distributed(layer: Layer) -> RelayExpr:
    """Convert ``TimeDistributed``, folding time steps into the batch."""
    held = layer.held("layer")
    if layer.keywords.get("mask") is not None and "mask" in getattr(held, "call_signature_parameters", ()):
        raise ConversionError("it is called with 'mask', and masks of the layer within are not supported")
    x = layer.channels_last(layer.x)
    batch, time, *rest = static_dims(x, "the input")
    (y,) = layer.apply(held, [layer.placed(reshape(x, [batch * time, *rest]))])
    y = layer.channels_last(y)
    return layer.placed(reshape(y, [batch, time, *static_dims(y, "a step")[1:]]))
