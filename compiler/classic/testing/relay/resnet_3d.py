"""Residual networks over videos: ``tvm.relay.testing.resnet_3d``.

References
----------
D. Tran et al., "A Closer Look at Spatiotemporal Convolutions for Action Recognition", CVPR 2018.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.classic.testing.relay.init import create_workload
from compiler.classic.testing.relay.residual import Images, network, unit
from compiler.classic.testing.relay.resnet import UNITS
from compiler.ir.error import ArgumentError, expected
from compiler.ir.module import IRModule
from compiler.relay.expr import Expr
from compiler.relay.function import Function
from compiler.runtime.ndarray import NDArray

__all__ = ["get_net", "get_workload", "residual_unit", "resnet"]

MAX_SMALL_IMAGE = 32
"""The extent up to which an image counts as small: no large convolution before the stages."""


def residual_unit(
    data: Expr,
    num_filter: int,
    stride: Sequence[int],
    dim_match: bool,
    name: str,
    bottle_neck: bool = True,
    data_layout: str = "NCDHW",
    kernel_layout: str = "OIDHW",
) -> Expr:
    """Return a residual unit: convolutions, and what they are added to, as of the network for images."""
    images = Images(3, data_layout, kernel_layout)
    return unit(images, data, num_filter, tuple(stride), dim_match, name, bottle_neck)


def resnet(
    units: Sequence[int],
    num_stages: int,
    filter_list: Sequence[int],
    num_classes: int,
    data_shape: Sequence[int],
    bottle_neck: bool = True,
    layout: str = "NCDHW",
    dtype: str = "float32",
) -> Function:
    """Return a residual network over videos of layout NCDHW, as the one for images is.

    Raises
    ------
    ArgumentError
        If there are not as many stages as ``units`` and ``filter_list`` say.
    """
    if len(units) != num_stages or len(filter_list) != num_stages + 1:
        raise ArgumentError(f"resnet: {num_stages} stages need as many units and one more filter")
    images = Images.of_layout(layout)
    small = data_shape[layout.index("H")] <= MAX_SMALL_IMAGE
    return network(images, units, filter_list, num_classes, tuple(data_shape), bottle_neck, dtype, small)


def get_net(
    batch_size: int,
    num_classes: int,
    num_layers: int = 50,
    image_shape: Sequence[int] = (3, 16, 112, 112),
    layout: str = "NCDHW",
    dtype: str = "float32",
    **kwargs: object,
) -> Function:
    """Return a residual network of 18, 34, 50, 101, 152, 200 or 269 layers over videos.

    Raises
    ------
    ArgumentError
        If there is no such network.
    """
    if num_layers not in UNITS:
        expected("resnet_3d", "num_layers", f"one of {', '.join(map(str, UNITS))}", num_layers)
    bottle_neck = num_layers >= 50
    filters = (64, 256, 512, 1024, 2048) if bottle_neck else (64, 64, 128, 256, 512)
    shape = (batch_size, *image_shape)
    return resnet(UNITS[num_layers], 4, filters, num_classes, shape, bottle_neck, layout, dtype)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: Sequence[int] = (3, 16, 112, 112),
    layout: str = "NCDHW",
    dtype: str = "float32",
    **kwargs: object,
) -> tuple[IRModule, dict[str, NDArray]]:
    """Return the network as a module, and first values of its parameters."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype, **kwargs))
