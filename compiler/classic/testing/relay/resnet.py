"""Residual networks, batch normalisation before each convolution: ``tvm.relay.testing.resnet``.

References
----------
K. He, X. Zhang, S. Ren and J. Sun, "Identity Mappings in Deep Residual Networks", ECCV 2016.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.classic.testing.relay.init import create_workload
from compiler.classic.testing.relay.layers import conv_kernel_layout
from compiler.classic.testing.relay.network import Workload
from compiler.classic.testing.relay.residual import Images, network, unit
from compiler.ir.error import ArgumentError, expected
from compiler.relay.expr import Expr
from compiler.relay.function import Function

__all__ = ["get_net", "get_workload", "residual_unit", "resnet"]

UNITS = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
    200: (3, 24, 36, 3),
    269: (3, 30, 48, 8),
}
"""How many units each stage has, by the number of layers: large images."""
MAX_SMALL_IMAGE = 32
"""The extent up to which an image counts as small: three stages, and no pooling before them."""


def residual_unit(
    data: Expr,
    num_filter: int,
    stride: Sequence[int],
    dim_match: bool,
    name: str,
    bottle_neck: bool = True,
    data_layout: str = "NCHW",
    kernel_layout: str = "IOHW",
) -> Expr:
    """Return a residual unit: convolutions, and what they are added to.

    That is the data itself if ``dim_match``, else a convolution of extent 1. A bottle neck has three convolutions, the
    first two of a quarter of the channels, rather than two.
    """
    images = Images(data_layout, kernel_layout)
    return unit(images, data, num_filter, tuple(stride), dim_match, name, bottle_neck)


def resnet(
    units: Sequence[int],
    num_stages: int,
    filter_list: Sequence[int],
    num_classes: int,
    data_shape: Sequence[int],
    bottle_neck: bool = True,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Function:
    """Return a residual network.

    ``filter_list`` has the channels before the first stage, and of each stage, ``units`` how many units a stage has.
    Raises ArgumentError if there are not as many stages as ``units`` and ``filter_list`` say.
    """
    if len(units) != num_stages or len(filter_list) != num_stages + 1:
        raise ArgumentError(f"resnet: {num_stages} stages need as many units and one more filter")
    images = Images(layout, conv_kernel_layout(layout))
    small = data_shape[layout.index("H")] <= MAX_SMALL_IMAGE
    return network(images, units, filter_list, num_classes, tuple(data_shape), bottle_neck, dtype, small)


def get_net(
    batch_size: int,
    num_classes: int,
    num_layers: int = 50,
    image_shape: Sequence[int] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
    **kwargs: object,
) -> Function:
    """Return a residual network of a number of layers.

    They are 18, 34, 50, 101, 152, 200 or 269 for large images; for small ones 6 n + 2, or 9 n + 2 from 164 on. Other
    options are accepted for compatibility.
    """
    if layout not in ("NCHW", "NHWC"):
        expected("resnet", "layout", "'NCHW' or 'NHWC'", layout)
    is_small = image_shape[layout.index("H") - 1] <= 28
    units, bottle_neck, filters = _small(num_layers) if is_small else large("resnet", num_layers)
    shape = (batch_size, *image_shape)
    return resnet(units, len(units), filters, num_classes, shape, bottle_neck, layout, dtype)


def large(network: str, num_layers: int) -> tuple[tuple[int, ...], bool, tuple[int, ...]]:
    """Return units, bottle neck and filters of a network for large images."""
    if num_layers not in UNITS:
        expected(network, "num_layers", f"one of {', '.join(map(str, UNITS))}", num_layers)
    bottle_neck = num_layers >= 50
    return UNITS[num_layers], bottle_neck, (64, 256, 512, 1024, 2048) if bottle_neck else (64, 64, 128, 256, 512)


def _small(num_layers: int) -> tuple[tuple[int, ...], bool, tuple[int, ...]]:
    """Return units, bottle neck and filters of a network for images of up to 28 pixels."""
    if (num_layers - 2) % 9 == 0 and num_layers >= 164:
        return ((num_layers - 2) // 9,) * 3, True, (16, 64, 128, 256)
    if (num_layers - 2) % 6 == 0 and num_layers < 164:
        return ((num_layers - 2) // 6,) * 3, False, (16, 16, 32, 64)
    return expected("resnet", "num_layers", "6 n + 2, or 9 n + 2 from 164 on, for small images", num_layers)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: Sequence[int] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
    **kwargs: object,
) -> Workload:
    """Return the network as a module, and first values of its parameters."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype, **kwargs))
