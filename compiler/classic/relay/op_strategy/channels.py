"""Channel queries of convolutions in any layout, for strategies: ``tvm.relay.op.strategy.generic``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from compiler.ir.error import expected

_DATA = re.compile(r"NC?HWC?|HWCN|NCHW\d+c")
_KERNEL = re.compile(r"OIHW(\d+i)?(\d+o)?(\d+i)?|[HWIO]{4}")


def _channels(shape: Sequence[int], layout: str, axis: str) -> int:
    """Return the extent of an axis, its inner part included."""
    axes = re.findall(r"[A-Za-z]", layout)
    inner = axes.index(axis.lower()) if axis.lower() in axes else None
    return int(shape[axes.index(axis)]) * (1 if inner is None else int(shape[inner]))


def get_conv2d_in_channels(data_shape: Sequence[int], data_layout: str) -> int:
    """Return the number of channels of the data in a layout such as ``NCHW``, ``NHWC`` or ``NCHW8c``.

    Raises ArgumentError if it is not a layout of data.
    """
    if not _DATA.fullmatch(data_layout):
        expected("get_conv2d_in_channels", "data_layout", "a layout such as 'NCHW', 'NHWC' or 'NCHW8c'", data_layout)
    return _channels(data_shape, data_layout, "C")


def get_conv2d_out_channels(kernel_shape: Sequence[int], kernel_layout: str) -> int:
    """Return the number of channels for each group that a kernel in a layout such as ``OIHW`` or ``OIHW1i8o`` produces.

    Raises ArgumentError if it is not a layout of kernels.
    """
    if not _KERNEL.fullmatch(kernel_layout):
        expected("get_conv2d_out_channels", "kernel_layout", "a layout such as 'OIHW' or 'OIHW1i8o'", kernel_layout)
    return _channels(kernel_shape, kernel_layout, "O")


def is_depthwise_conv2d(
    data_shape: Sequence[int], data_layout: str, kernel_shape: Sequence[int], kernel_layout: str, groups: int
) -> bool:
    """Tell whether each channel of a convolution is a group of its own, with one result."""
    channels = get_conv2d_in_channels(data_shape, data_layout)
    return channels == get_conv2d_out_channels(kernel_shape, kernel_layout) == groups
