"""The units of residual networks over images, and how a network consists of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.classic.testing.relay import layers
from compiler.classic.testing.relay.network import closed, network_input
from compiler.relay.expr import Expr
from compiler.relay.function import Function
from compiler.relay.operator import call_op

EPSILON = 2e-5
"""Of the batch normalisations."""


@dataclass(frozen=True)
class Images:
    """How images, and the weights of their convolutions, lie in memory."""

    layout: str
    kernel_layout: str

    def convolution(self, data: Expr, channels: int, extent: Sequence[int], strides: Sequence[int], name: str) -> Expr:
        """Return a convolution that keeps the image's extents, but for its strides."""
        return layers.conv2d(
            data,
            channels=channels,
            kernel_size=tuple(extent),
            strides=tuple(strides),
            padding=tuple(n // 2 for n in extent),
            name=name,
            data_layout=self.layout,
            kernel_layout=self.kernel_layout,
        )

    def normed(self, data: Expr, name: str, scale: bool = True) -> Expr:
        """Return the batch normalisation of the channels."""
        return layers.batch_norm_infer(data, epsilon=EPSILON, axis=self.layout.index("C"), scale=scale, name=name)


def unit(
    images: Images, data: Expr, num_filter: int, strides: Sequence[int], dim_match: bool, name: str, bottle_neck: bool
) -> Expr:
    """Return convolutions, normalised and activated before, added to the data or to a convolution of extent 1."""
    inner = int(num_filter * 0.25) if bottle_neck else num_filter
    # channels and extent of each convolution
    convolutions = ((inner, 1), (inner, 3), (num_filter, 1)) if bottle_neck else ((inner, 3), (num_filter, 3))
    result, first = data, data
    for index, (channels, extent) in enumerate(convolutions, 1):
        active = call_op("nn.relu", images.normed(result, f"{name}_bn{index}"))
        if index == 1:
            first = active
        step = strides if index == 1 else (1, 1)
        result = images.convolution(active, channels, (extent, extent), step, f"{name}_conv{index}")
    if dim_match:
        return call_op("add", result, data)
    return call_op("add", result, images.convolution(first, num_filter, (1, 1), strides, f"{name}_sc"))


def network(
    images: Images,
    units: Sequence[int],
    filters: Sequence[int],
    num_classes: int,
    shape: tuple[int, ...],
    bottle_neck: bool,
    dtype: str,
    small: bool,
) -> Function:
    """Return a residual network; for small images its first convolution is small as well."""
    data = network_input(shape[0], shape[1:], dtype)
    body = images.normed(data, "bn_data", scale=False)
    body = _stem(images, body, filters[0], small)
    for stage, count in enumerate(units, 1):
        for index in range(1, count + 1):
            halved = index == 1 and stage > 1
            strides = (2, 2) if halved else (1, 1)
            name = f"stage{stage}_unit{index}"
            body = unit(images, body, filters[stage], strides, index > 1, name, bottle_neck)
    body = call_op("nn.relu", images.normed(body, "bn1"))
    flat = call_op("nn.batch_flatten", call_op("nn.global_avg_pool2d", body, layout=images.layout))
    result = call_op("nn.softmax", layers.dense_add_bias(flat, units=num_classes, name="fc1"))
    return closed(result)


def _stem(images: Images, body: Expr, channels: int, small: bool) -> Expr:
    if small:
        return images.convolution(body, channels, (3, 3), (1, 1), "conv0")
    body = call_op("nn.relu", images.normed(images.convolution(body, channels, (7, 7), (2, 2), "conv0"), "bn0"))
    return call_op("nn.max_pool2d", body, pool_size=(3, 3), strides=(2, 2), padding=(1, 1), layout=images.layout)
