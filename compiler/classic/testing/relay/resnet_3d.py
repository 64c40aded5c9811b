"""Residual networks over videos: ``tvm.relay.testing.resnet_3d``.

References
----------
D. Tran et al., "A Closer Look at Spatiotemporal Convolutions for Action Recognition", CVPR 2018.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.classic.testing.relay import resnet as images
from compiler.classic.testing.relay.init import create_workload
from compiler.classic.testing.relay.network import Workload
from compiler.relay.expr import Expr
from compiler.relay.function import Function


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
    return images.residual_unit(data, num_filter, stride, dim_match, name, bottle_neck, data_layout, kernel_layout)


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
    """Return a residual network over videos of layout NCDHW, as the one for images is."""
    return images.resnet(units, num_stages, filter_list, num_classes, data_shape, bottle_neck, layout, dtype)


def get_net(
    batch_size: int,
    num_classes: int,
    num_layers: int = 50,
    image_shape: Sequence[int] = (3, 16, 112, 112),
    layout: str = "NCDHW",
    dtype: str = "float32",
    **kwargs: object,
) -> Function:
    """Return a residual network of 18, 34, 50, 101, 152, 200 or 269 layers over videos."""
    units, bottle_neck, filters = images.large("resnet_3d", num_layers)
    return resnet(units, 4, filters, num_classes, (batch_size, *image_shape), bottle_neck, layout, dtype)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: Sequence[int] = (3, 16, 112, 112),
    layout: str = "NCDHW",
    dtype: str = "float32",
    **kwargs: object,
) -> Workload:
    """Return the network as a module, and first values of its parameters."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype, **kwargs))
