"""Sliding-window layers: convolutions and pooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compiler.classic.frontend.keras.converters.activations import activated
from compiler.classic.frontend.keras.layer import Layer
from compiler.classic.frontend.keras.masks import as_mask
from compiler.classic.frontend.keras.registry import Convert, converters, functions
from compiler.classic.frontend.shared.nhwc import same_padding
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import Array, ops, rank_of
from compiler.relay.frontend.shared.tensors import cast, pad, static_dims, transpose

_SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def _padding(layer: Layer, x: RelayExpr, kernel: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """Return the padding before each axis, then after each; the kernel's extents include dilation."""
    kind = layer.option("padding", "valid")
    if kind == "valid":
        return (0,) * (2 * len(kernel))
    if kind == "causal":
        return (kernel[0] - 1, 0)
    if kind != "same":
        raise ConversionError(f"padding must be valid, same or causal, got {kind!r}")
    return same_padding(layer.spatial(x), kernel, strides)


def _biased(layer: Layer, x: RelayExpr) -> RelayExpr:
    if layer.option("use_bias", True):
        x = ops.nn.bias_add(x, layer.parameter("bias"), axis=layer.axis(-1, rank_of(x)))
    return activated(layer, x)


def convolved(
    layer: Layer,
    x: RelayExpr,
    name: str,
    weight: Array,
    groups: int,
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: Sequence[int] | None = None,
) -> RelayExpr:
    """Build a convolution; the padding is that before each spatial axis, then after each, by default the layer's."""
    *kernel, _, outputs = weight.shape
    count = len(kernel)
    letters, first = _SPATIAL[count], layer.is_first(count + 2)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    order = (count + 1, count, *range(count))
    return ops.nn[f"conv{count}d"](
        x,
        layer.parameter(name, weight.transpose(order) if first else weight),
        strides=tuple(strides),
        padding=_padding(layer, x, reach, strides) if padding is None else tuple(padding),
        dilation=tuple(dilations),
        groups=groups,
        channels=outputs,
        kernel_size=tuple(kernel),
        data_layout=f"NC{letters}" if first else f"N{letters}C",
        kernel_layout=f"OI{letters}" if first else f"{letters}IO",
    )


def _conv(count: int) -> Convert:
    def convert(layer: Layer) -> RelayExpr:
        layer.check_channels_last()
        strides, dilations = layer.numbers("strides", count), layer.numbers("dilation_rate", count)
        groups = int(layer.option("groups", 1))
        return _biased(layer, convolved(layer, layer.x, "kernel", layer.weight("kernel"), groups, strides, dilations))

    return convert


def _each_channel(weight: Array) -> Array:
    """Convert depthwise kernels (…, channel, multiplier) to those of a grouped convolution."""
    *kernel, channels, multiplier = weight.shape
    return weight.reshape(*kernel, 1, channels * multiplier)


def _depthwise(count: int) -> Convert:
    def convert(layer: Layer) -> RelayExpr:
        layer.check_channels_last()
        weight = layer.weight("kernel")
        strides, dilations = layer.numbers("strides", count), layer.numbers("dilation_rate", count)
        groups = weight.shape[-2]
        return _biased(layer, convolved(layer, layer.x, "kernel", _each_channel(weight), groups, strides, dilations))

    return convert


def _separable(count: int) -> Convert:
    def convert(layer: Layer) -> RelayExpr:
        layer.check_channels_last()
        weight = layer.weight("depthwise_kernel")
        strides, dilations = layer.numbers("strides", count), layer.numbers("dilation_rate", count)
        groups, ones = weight.shape[-2], (1,) * count
        x = convolved(layer, layer.x, "depthwise_kernel", _each_channel(weight), groups, strides, dilations)
        point = layer.weight("pointwise_kernel")
        return _biased(layer, convolved(layer, x, "pointwise_kernel", point, 1, ones, ones))

    return convert


def _conv_transpose(count: int) -> Convert:
    """Convert transposed convolutions, cropping the result to Keras's extents."""

    def convert(layer: Layer) -> RelayExpr:
        layer.check_channels_last()
        weight = layer.weight("kernel")
        strides, dilations = layer.numbers("strides", count), layer.numbers("dilation_rate", count)
        weight = _dilated(weight, dilations)
        *kernel, outputs, _ = weight.shape
        x, first = layer.x, layer.is_first(count + 2)
        last_to_first, back = (0, count + 1, *range(1, count + 1)), (0, *range(2, count + 2), 1)
        extents = layer.spatial(x)
        y = ops.nn[f"conv{count}d_transpose"](
            x if first else transpose(x, last_to_first),
            layer.parameter("kernel", weight.transpose((count + 1, count, *range(count)))),
            strides=strides,
            channels=outputs,
            kernel_size=tuple(kernel),
        )
        y = pad(y, [(0, 0), (0, 0), *_cuts(layer, extents, kernel, strides)])
        return _biased(layer, y if first else transpose(y, back))

    return convert


def _dilated(weight: Array, dilations: Sequence[int]) -> Array:
    """Dilate the spatial axes of a weight with zeros."""
    if max(dilations) == 1:
        return weight
    count = len(dilations)
    wide = np.zeros([*((k - 1) * d + 1 for k, d in zip(weight.shape, dilations, strict=False)), *weight.shape[count:]])
    wide[tuple(slice(None, None, d) for d in dilations)] = weight
    return wide


def _cuts(layer: Layer, extents: Sequence[int], kernel: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int]]:
    """Return the padding of each axis of extent ``(extent - 1) * stride + kernel``; negative values crop."""
    cuts, is_same = [], layer.option("padding", "valid") == "same"
    given = layer.option("output_padding")
    behind: Sequence[int | None] = (
        [None] * len(kernel) if given is None else layer.numbers("output_padding", len(kernel))
    )
    for extent, size, stride, more in zip(extents, kernel, strides, behind, strict=True):
        full = (extent - 1) * stride + size
        if more is None:
            wanted = extent * stride if is_same else extent * stride + max(size - stride, 0)
            before = max(full - wanted, 0) // 2 if is_same else 0
        else:
            wanted = full - 2 * (size // 2) * is_same + more
            before = size - 1 - min((size + size % 2 - 1 + more) // 2, size - 1) if is_same else 0
        cuts.append((-before, wanted - full + before))
    return cuts


for _count in (1, 2, 3):
    converters({f"Conv{_count}D": _conv(_count), f"Conv{_count}DTranspose": _conv_transpose(_count)})
for _count in (1, 2):
    converters({f"DepthwiseConv{_count}D": _depthwise(_count), f"SeparableConv{_count}D": _separable(_count)})


def _pool(name: str, count: int) -> Convert:
    def convert(layer: Layer) -> RelayExpr:
        layer.check_channels_last()
        window = layer.numbers("pool_size", count)
        strides = layer.numbers("strides", count) if layer.option("strides") is not None else window
        letters = _SPATIAL[count]
        return ops.nn[f"{name}_pool{count}d"](
            layer.x,
            window,
            strides=strides,
            padding=_padding(layer, layer.x, window, strides),
            layout=f"NC{letters}" if layer.is_first(count + 2) else f"N{letters}C",
        )

    return convert


def _global_pool(reduce: Callable[..., RelayExpr], count: int) -> Convert:
    def convert(layer: Layer) -> RelayExpr:
        layer.check_channels_last()
        axes = sorted(layer.axis(axis, count + 2) for axis in range(1, count + 1))
        return reduce(layer.x, axis=axes, keepdims=bool(layer.option("keepdims", False)))

    return convert


for _count in (1, 2, 3):
    converters(
        {
            f"MaxPooling{_count}D": _pool("max", _count),
            f"AveragePooling{_count}D": _pool("avg", _count),
            f"GlobalMaxPooling{_count}D": _global_pool(ops.max, _count),
            f"GlobalAveragePooling{_count}D": _global_pool(ops.mean, _count),
        }
    )


def _masked_mean(layer: Layer) -> RelayExpr | Sequence[RelayExpr]:
    """Average over the unmasked time steps."""
    mask = as_mask(layer.keywords.get("mask"))
    if mask is None:
        return _global_pool(ops.mean, 1)(layer)
    layer.check_channels_last()
    counts = cast(ops.expand_dims(mask, -1), layer.dtype)
    keepdims = bool(layer.option("keepdims", False))
    total = ops.sum(ops.multiply(layer.x, counts), axis=[1], keepdims=keepdims)
    return ops.divide(total, ops.sum(counts, axis=[1], keepdims=keepdims))


converters({"GlobalAveragePooling1D": _masked_mean}, masks=True)


def _adaptive_pool(name: str, count: int) -> Convert:
    def convert(layer: Layer) -> RelayExpr:
        layer.check_channels_last()
        size = layer.numbers("output_size", count)
        letters = _SPATIAL[count]
        layout = f"NC{letters}" if layer.is_first(count + 2) else f"N{letters}C"
        return ops.nn[f"adaptive_{name}_pool{count}d"](layer.x, output_size=size, layout=layout)

    return convert


for _count in (1, 2, 3):
    converters({f"AdaptiveMaxPooling{_count}D": _adaptive_pool("max", _count)})
    converters({f"AdaptiveAveragePooling{_count}D": _adaptive_pool("avg", _count)})


def _pairs(layer: Layer, name: str) -> list[tuple[int, int]]:
    """Return an option with a pair of numbers per spatial axis."""
    given = layer.option(name)
    rows = [given] if isinstance(given[0], int) else given
    return [(int(before), int(after)) for before, after in rows]


def _around(layer: Layer, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    rank = len(pairs) + 2
    around = [(0, 0)] * rank
    for axis, pair in enumerate(pairs, 1):
        around[layer.axis(axis, rank)] = pair
    return around


def _zero_padding(layer: Layer) -> RelayExpr:
    layer.check_channels_last()
    return pad(layer.x, _around(layer, _pairs(layer, "padding")))


def _cropping(layer: Layer) -> RelayExpr:
    layer.check_channels_last()
    return pad(layer.x, _around(layer, [(-before, -after) for before, after in _pairs(layer, "cropping")]))


def _up_sampling(count: int) -> Convert:
    def convert(layer: Layer) -> RelayExpr:
        layer.check_channels_last()
        x, times = layer.x, layer.numbers("size", count)
        method = layer.option("interpolation", "nearest")
        if method == "nearest":
            for axis, often in enumerate(times, 1):
                x = ops.repeat(x, often, axis=layer.axis(axis, count + 2))
            return x
        if method != "bilinear":
            raise ConversionError(f"interpolation must be nearest or bilinear, got {method!r}")
        size = tuple(extent * often for extent, often in zip(layer.spatial(x), times, strict=True))
        layout = "NCHW" if layer.is_first(rank_of(x)) else "NHWC"
        return ops.image.resize2d(x, size, layout=layout, method="linear")

    return convert


for _count in (1, 2, 3):
    converters(
        {
            f"ZeroPadding{_count}D": _zero_padding,
            f"Cropping{_count}D": _cropping,
            f"UpSampling{_count}D": _up_sampling(_count),
        }
    )


def _linear(layer: Layer) -> RelayExpr:
    """Convert ``Dense``: a product along Keras's last axis."""
    x, kernel = layer.channels_last(layer.x), layer.weight("kernel")
    dims = static_dims(x, "the input")
    rows = x if len(dims) == 2 else ops.reshape(x, [-1, dims[-1]])
    y = ops.nn.dense(rows, layer.parameter("kernel", kernel.T), units=kernel.shape[1])
    if layer.option("use_bias", True):
        y = ops.nn.bias_add(y, layer.parameter("bias"))
    y = y if len(dims) == 2 else ops.reshape(y, [*dims[:-1], kernel.shape[1]])
    return activated(layer, layer.placed(y))


converters({"Dense": _linear})


def _window_function(layer: Layer) -> RelayExpr | Sequence[RelayExpr]:
    """Convert pooling functions of ``keras.ops``, which have the options of the layers."""
    count = rank_of(layer.x) - 2
    return _pool({"MaxPool": "max", "AveragePool": "avg"}[layer.kind], count)(layer)


def _convolution_function(layer: Layer) -> RelayExpr:
    """Convert convolution functions of ``keras.ops``, whose weight is an argument."""
    layer.check_channels_last()
    weight = layer.argument(1, "kernel")
    if not isinstance(weight, np.ndarray):
        raise ConversionError("the kernel must be an array")
    count = weight.ndim - 2
    strides, dilations = layer.numbers("strides", count), layer.numbers("dilation_rate", count)
    if layer.kind == "DepthwiseConv":
        return convolved(layer, layer.x, "kernel", _each_channel(weight), weight.shape[-2], strides, dilations)
    channels = static_dims(layer.x, "the input")[layer.axis(-1, count + 2)]
    return convolved(layer, layer.x, "kernel", weight, channels // weight.shape[-2], strides, dilations)


functions(
    {
        "MaxPool": _window_function,
        "AveragePool": _window_function,
        "Conv": _convolution_function,
        "DepthwiseConv": _convolution_function,
    }
)
