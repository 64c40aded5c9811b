"""Preprocessing layers for images and categories, and the functions of ``keras.ops`` that they use."""

from __future__ import annotations

import numpy as np

from compiler.classic.frontend.keras.layer import Layer
from compiler.classic.frontend.keras.registry import converter, converters, functions
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError, ModelError
from compiler.relay.frontend.shared.folding import constant, dtype_of, ops, rank_of
from compiler.relay.frontend.shared.tensors import cast, pad, slice_axis, static_dims, unsqueeze

_METHODS = {"bilinear": "linear", "nearest": "nearest_neighbor"}


def _resized(x: RelayExpr, size: tuple[int, int], interpolation: str, antialias: bool) -> RelayExpr:
    """Resize an NHWC image, with half-pixel centres."""
    if interpolation not in _METHODS:
        raise ConversionError(f"interpolation {interpolation!r} is not supported, {', '.join(_METHODS)} are")
    height, width = static_dims(x, "the image")[1:3]
    if antialias and (size[0] < height or size[1] < width):
        raise ConversionError("antialias is not supported where an image becomes smaller")
    if (height, width) == size:
        return x
    coordinates = {} if interpolation == "bilinear" else {
        "coordinate_transformation_mode": "half_pixel", "rounding_method": "round_prefer_ceil"
    }  # fmt: skip
    return ops.image.resize2d(x, size, layout="NHWC", method=_METHODS[interpolation], **coordinates)


def _cropped(x: RelayExpr, size: tuple[int, int]) -> RelayExpr:
    """Crop the largest central part of an image with the aspect ratio of a size."""
    height, width = static_dims(x, "the image")[1:3]
    rows = max(min(height, int(width * size[0] / size[1])), 1)
    columns = max(min(width, int(height * size[1] / size[0])), 1)
    top, left = int((height - rows) / 2), int((width - columns) / 2)
    return slice_axis(slice_axis(x, 1, top, top + rows), 2, left, left + columns)


def _padded(x: RelayExpr, size: tuple[int, int], fill: float) -> RelayExpr:
    """Pad an image symmetrically to the aspect ratio of a size."""
    height, width = static_dims(x, "the image")[1:3]
    rows = max(height, int(width * size[0] / size[1]))
    columns = max(width, int(height * size[1] / size[0]))
    top, left = int((rows - height) / 2), int((columns - width) / 2)
    return pad(x, [(0, 0), (top, top), (left, left), (0, 0)], "constant", fill)


def _resize(layer: Layer, size: tuple[int, int]) -> RelayExpr:
    layer.check_channels_last()
    x = layer.channels_last(layer.x)
    if rank_of(x) != 4:
        raise ConversionError(f"images must have 4 dimensions, got {rank_of(x)}")
    if layer.option("crop_to_aspect_ratio", False):
        x = _cropped(x, size)
    elif layer.option("pad_to_aspect_ratio", False):
        if layer.option("fill_mode", "constant") != "constant":
            raise ConversionError(f"fill_mode {layer.option('fill_mode')!r} is not supported, 'constant' is")
        x = _padded(x, size, float(layer.option("fill_value", 0.0)))
    antialias = bool(layer.option("antialias", False))
    return layer.placed(_resized(x, size, str(layer.option("interpolation", "bilinear")), antialias))


@converter("Resizing")
def _resizing(layer: Layer) -> RelayExpr:
    return _resize(layer, (int(layer.option("height")), int(layer.option("width"))))


def _resize_function(layer: Layer) -> RelayExpr:
    height, width = layer.option("size")
    return _resize(layer, (int(height), int(width)))


@converter("CenterCrop")
def _center_crop(layer: Layer) -> RelayExpr:
    """Convert ``CenterCrop``, which resizes images that are too small."""
    layer.check_channels_last()
    x, size = layer.channels_last(layer.x), (int(layer.option("height")), int(layer.option("width")))
    rows, columns = (have - want for have, want in zip(static_dims(x, "the image")[1:3], size, strict=True))
    if min(rows, columns) < 0:
        return layer.placed(_resized(_cropped(x, size), size, "bilinear", False))
    top, left = rows // 2, columns // 2
    return layer.placed(slice_axis(slice_axis(x, 1, top, top + size[0]), 2, left, left + size[1]))


_RANDOM = (
    *("Brightness", "ColorDegeneration", "ColorJitter", "Contrast", "Crop", "ElasticTransform", "Erasing", "Flip"),
    *("GaussianBlur", "Grayscale", "Hue", "Invert", "Perspective", "Posterization", "Rotation", "Saturation"),
    *("Sharpness", "Shear", "Translation", "Zoom"),
)
converters(
    {name: (lambda layer: layer.x) for name in (*(f"Random{what}" for what in _RANDOM), "MixUp", "CutMix", "AugMix")}
)
converters({"RandAugment": lambda layer: layer.x})


def _gray(layer: Layer) -> RelayExpr:
    layer.check_channels_last()
    x = layer.channels_last(layer.x)
    weights = constant(np.asarray([0.2989, 0.587, 0.114], dtype_of(x)))
    return layer.placed(ops.sum(ops.multiply(x, weights), axis=[rank_of(x) - 1], keepdims=True))


functions({"Resize": _resize_function, "RGBToGrayscale": _gray})


def _encoded(layer: Layer, indices: RelayExpr, depth: int) -> RelayExpr:
    """Encode categories as integers, one-hot, multi-hot or counts."""
    mode, dtype = layer.option("output_mode", "int"), layer.dtype
    if mode == "int":
        return indices
    if layer.option("sparse", False):
        raise ConversionError("sparse results are not supported")
    dims = static_dims(indices, "the input")
    if mode == "one_hot":
        if dims[-1:] != (1,):
            indices = unsqueeze(indices, [-1])
        indices = ops.squeeze(indices, axis=[rank_of(indices) - 1])
    on, off = constant(np.ones((), dtype)), constant(np.zeros((), dtype))
    rows = ops.one_hot(cast(indices, "int32"), on, off, depth, -1, dtype)
    if mode == "one_hot":
        return rows
    if mode not in ("multi_hot", "count"):
        raise ConversionError(f"output_mode {mode!r} is not supported")
    if len(dims) < 2:
        raise ModelError(f"a list of categories for each element of the batch is needed, got the shape {dims}")
    return (ops.max if mode == "multi_hot" else ops.sum)(rows, axis=[rank_of(rows) - 2])


@converter("Discretization")
def _discretization(layer: Layer) -> RelayExpr:
    """Convert ``Discretization``: count the bounds that an element reaches."""
    bounds = np.asarray(layer.option("bin_boundaries"), "float32")
    reached = ops.greater_equal(ops.expand_dims(cast(layer.x, "float32"), -1), constant(bounds))
    indices = ops.sum(cast(reached, "int32"), axis=[-1])
    return _encoded(layer, indices, len(bounds) + 1)


@converter("CategoryEncoding")
def _category_encoding(layer: Layer) -> RelayExpr:
    if len(layer.inputs) > 1:
        raise ConversionError("weights of counts are not supported")
    return _encoded(layer, layer.x, int(layer.option("num_tokens")))
