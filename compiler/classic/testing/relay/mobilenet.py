"""Networks of convolutions by channel and across channels: ``tvm.relay.testing.mobilenet``.

References
----------
A. Howard et al., "MobileNets: Efficient Convolutional Neural Networks for Mobile Vision Applications", 2017.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.classic.testing.relay import layers
from compiler.classic.testing.relay.init import create_workload
from compiler.classic.testing.relay.network import Workload, closed
from compiler.relay.expr import Expr, var
from compiler.relay.function import Function
from compiler.relay.operator import call_op
from compiler.relay.ty import TensorType

_FIRST = ((64, False), (128, True), (128, False), (256, True), (256, False), (512, True))
_MIDDLE = ((512, False),) * 5
_LAST = ((1024, True), (1024, False))
"""Channels of the blocks, and whether one halves the height and width."""


def _normalized(data: Expr, name: str, epsilon: float, layout: str) -> Expr:
    data = layers.batch_norm_infer(data, epsilon=epsilon, axis=layout.index("C"), name=name)
    return call_op("nn.relu", data)


def conv_block(
    data: Expr,
    name: str,
    channels: int,
    kernel_size: tuple[int, int] = (3, 3),
    strides: tuple[int, int] = (1, 1),
    padding: tuple[int, int] = (1, 1),
    epsilon: float = 1e-5,
    layout: str = "NCHW",
) -> Expr:
    """Return a convolution with its normalisation."""
    conv = layers.conv2d(
        data,
        channels=channels,
        kernel_size=kernel_size,
        strides=strides,
        padding=padding,
        data_layout=layout,
        kernel_layout=layers.conv_kernel_layout(layout),
        name=f"{name}_conv",
    )
    return _normalized(conv, f"{name}_bn", epsilon, layout)


def separable_conv_block(
    data: Expr,
    name: str,
    depthwise_channels: int,
    pointwise_channels: int,
    kernel_size: tuple[int, int] = (3, 3),
    downsample: bool = False,
    padding: tuple[int, int] = (1, 1),
    epsilon: float = 1e-5,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Expr:
    """Return a convolution of each channel, which halves the extents if ``downsample``, then one across channels.

    Both are normalised.
    """
    shape = (depthwise_channels, 1, *kernel_size) if layout == "NCHW" else (*kernel_size, depthwise_channels, 1)
    by_channel = layers.conv2d(
        data,
        weight=var(f"{name}_weight", TensorType(shape, dtype)),
        channels=depthwise_channels,
        groups=depthwise_channels,
        kernel_size=kernel_size,
        strides=(2, 2) if downsample else (1, 1),
        padding=padding,
        data_layout=layout,
        kernel_layout=layers.conv_kernel_layout(layout, is_depthwise=True),
        name=f"{name}_depthwise_conv1",
    )
    across = layers.conv2d(
        _normalized(by_channel, f"{name}_bn1", epsilon, layout),
        channels=pointwise_channels,
        kernel_size=(1, 1),
        strides=(1, 1),
        padding=(0, 0),
        data_layout=layout,
        kernel_layout=layers.conv_kernel_layout(layout),
        name=f"{name}_conv2",
    )
    return _normalized(across, f"{name}_bn2", epsilon, layout)


def mobile_net(
    num_classes: int = 1000,
    data_shape: Sequence[int] = (1, 3, 224, 224),
    dtype: str = "float32",
    alpha: float = 1.0,
    is_shallow: bool = False,
    layout: str = "NCHW",
) -> Function:
    """Return the network.

    The numbers of channels are multiplied by ``alpha``; if ``is_shallow``, the five blocks in the middle are left out.
    """
    data = var("data", TensorType(tuple(data_shape), dtype))
    before = round(32 * alpha)
    body = conv_block(data, "conv_block_1", before, strides=(2, 2), layout=layout)
    for index, (channels, halves) in enumerate((*_FIRST, *(() if is_shallow else _MIDDLE), *_LAST), 1):
        name, after = f"separable_conv_block_{index}", round(channels * alpha)
        body = separable_conv_block(body, name, before, after, downsample=halves, layout=layout, dtype=dtype)
        before = after
    flat = call_op("nn.batch_flatten", call_op("nn.global_avg_pool2d", body, layout=layout))
    fc = call_op("nn.dense", flat, var("fc_weight"), units=num_classes)
    result = call_op("nn.softmax", call_op("nn.bias_add", fc, var("fc_bias")))
    return closed(result)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Workload:
    """Return the network as a module, and first values of its parameters."""
    return create_workload(mobile_net(num_classes, (batch_size, *image_shape), dtype, layout=layout))
