"""The convolutions of ``tvm.topi.nn``, by layout or with the layout as an argument."""

from __future__ import annotations

from compiler.ir.error import ArgumentError, show
from compiler.te.tensor import Tensor
from compiler.topi.compute import has_schedules
from compiler.topi.nn.conv import conv as convolution
from compiler.topi.nn.conv_spec import Numbers, conv_spec
from compiler.topi.nn.padding import Padding

__all__ = [
    "conv",
    "conv1d",
    "conv1d_ncw",
    "conv1d_nwc",
    "conv2d",
    "conv2d_hwcn",
    "conv2d_nchw",
    "conv2d_nhwc",
    "conv3d_ncdhw",
    "conv3d_ndhwc",
    "group_conv1d_ncw",
    "group_conv1d_nwc",
    "group_conv2d_nchw",
    "group_conv2d_nhwc",
]


_KERNEL_LAYOUTS = {
    "NCW": "OIW",
    "NWC": "WIO",
    "NCHW": "OIHW",
    "NHWC": "HWIO",
    "HWCN": "HWIO",
    "NCDHW": "OIDHW",
    "NDHWC": "DHWIO",
}
"""The usual layout of the weight by that of the data."""


def conv(
    inp: Tensor,
    filt: Tensor,
    stride: Numbers,
    padding: Padding,
    dilation: Numbers,
    groups: int,
    data_layout: str,
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """Return a convolution over as many spatial dimensions as the layout has.

    Parameters
    ----------
    inp : Tensor
        The data, in ``data_layout``.
    filt : Tensor
        The weight, in ``kernel_layout``, with the input channels of one group.
    padding : int, str or sequence of int
        Zeros around the data: one number, one a dimension, all beginnings and then all ends, ``"VALID"`` or
        ``"SAME"``.
    dilation : int or sequence of int
        Distance of neighbouring elements of the window.
    groups : int
        Groups of channels that are convolved by themselves.
    data_layout : str
        Of the data and of the result, such as ``NCHW`` or ``NWC``.
    kernel_layout : str
        Of the weight; the usual one when empty.
    out_dtype : str, optional
        Data type of the sums and of the result; that of the data by default.

    Raises
    ------
    ArgumentError
        If there are too many or too few numbers.
    """
    if not kernel_layout and data_layout not in _KERNEL_LAYOUTS:
        raise ArgumentError(f"conv: data of layout {show(data_layout)} has no default kernel_layout")
    layouts = (data_layout, kernel_layout or _KERNEL_LAYOUTS[data_layout])
    spec = conv_spec("conv", filt, (stride, padding, dilation), layouts, groups, out_dtype or inp.dtype)
    return convolution(inp, filt, spec, in_vectors=has_schedules())


def conv1d(
    data: Tensor,
    kernel: Tensor,
    strides: Numbers = 1,
    padding: Padding = "VALID",
    dilation: Numbers = 1,
    groups: int = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """Return a convolution over one spatial dimension.

    Parameters
    ----------
    data : Tensor
        The data, in ``data_layout``.
    kernel : Tensor
        The weight, in ``kernel_layout``.
    strides, padding, dilation, groups, data_layout, kernel_layout, out_dtype
        As in :func:`conv`.
    """
    return conv(data, kernel, strides, padding, dilation, groups, data_layout, kernel_layout, out_dtype)


def conv2d(
    input: Tensor,
    filter: Tensor,
    strides: Numbers,
    padding: Padding,
    dilation: Numbers,
    data_layout: str = "NCHW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """Return a convolution over two spatial dimensions.

    Parameters
    ----------
    strides, padding, dilation, out_dtype
        As in :func:`conv`.
    data_layout : str
        ``NCHW``, ``NHWC`` or ``HWCN``.
    kernel_layout : str
        Of the weight; the usual one when empty.

    Raises
    ------
    ArgumentError
        If there are too many or too few numbers, or the layout is another one.
    """
    choices = [name for name in _KERNEL_LAYOUTS if len(name) == 4]
    if data_layout not in choices:
        raise ArgumentError(f"conv2d: data_layout must be one of {', '.join(choices)}, got {show(data_layout)}")
    return conv(input, filter, strides, padding, dilation, 1, data_layout, kernel_layout, out_dtype)


def conv1d_ncw(
    data: Tensor,
    kernel: Tensor,
    strides: Numbers = 1,
    padding: Padding = "VALID",
    dilation: Numbers = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """Return a convolution of data of layout NCW.

    Parameters
    ----------
    kernel : Tensor
        The weight, of layout OIW.
    strides, padding, dilation, out_dtype
        As in :func:`conv`.
    """
    return conv(data, kernel, strides, padding, dilation, 1, "NCW", "OIW", out_dtype)


def conv1d_nwc(
    data: Tensor,
    kernel: Tensor,
    strides: Numbers = 1,
    padding: Padding = "VALID",
    dilation: Numbers = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """Return a convolution of data of layout NWC.

    Parameters
    ----------
    kernel : Tensor
        The weight, of layout WIO.
    strides, padding, dilation, out_dtype
        As in :func:`conv`.
    """
    return conv(data, kernel, strides, padding, dilation, 1, "NWC", "WIO", out_dtype)


def group_conv1d_ncw(
    data: Tensor,
    kernel: Tensor,
    strides: Numbers = 1,
    padding: Padding = "VALID",
    dilation: Numbers = 1,
    groups: int = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """Return a convolution of data of layout NCW, in groups of channels.

    Parameters
    ----------
    kernel : Tensor
        The weight, of layout OIW.
    strides, padding, dilation, groups, out_dtype
        As in :func:`conv`.
    """
    return conv(data, kernel, strides, padding, dilation, groups, "NCW", "OIW", out_dtype)


def group_conv1d_nwc(
    data: Tensor,
    kernel: Tensor,
    strides: Numbers = 1,
    padding: Padding = "VALID",
    dilation: Numbers = 1,
    groups: int = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """Return a convolution of data of layout NWC, in groups of channels.

    Parameters
    ----------
    kernel : Tensor
        The weight, of layout WIO.
    strides, padding, dilation, groups, out_dtype
        As in :func:`conv`.
    """
    return conv(data, kernel, strides, padding, dilation, groups, "NWC", "WIO", out_dtype)


def conv2d_nchw(
    Input: Tensor,
    Filter: Tensor,
    stride: Numbers,
    padding: Padding,
    dilation: Numbers,
    out_dtype: str | None = None,
) -> Tensor:
    """Return a convolution of data of layout NCHW.

    Parameters
    ----------
    Filter : Tensor
        The weight, of layout OIHW.
    stride, padding, dilation, out_dtype
        As in :func:`conv`.
    """
    return conv(Input, Filter, stride, padding, dilation, 1, "NCHW", "OIHW", out_dtype)


def conv2d_nhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Numbers,
    padding: Padding,
    dilation: Numbers,
    out_dtype: str = "float32",
) -> Tensor:
    """Return a convolution of data of layout NHWC.

    Parameters
    ----------
    Filter : Tensor
        The weight, of layout HWIO.
    stride, padding, dilation, out_dtype
        As in :func:`conv`.
    """
    return conv(Input, Filter, stride, padding, dilation, 1, "NHWC", "HWIO", out_dtype)


def conv2d_hwcn(
    Input: Tensor,
    Filter: Tensor,
    stride: Numbers,
    padding: Padding,
    dilation: Numbers,
    out_dtype: str | None = None,
) -> Tensor:
    """Return a convolution of data of layout HWCN.

    Parameters
    ----------
    Filter : Tensor
        The weight, of layout HWIO.
    stride, padding, dilation, out_dtype
        As in :func:`conv`.
    """
    return conv(Input, Filter, stride, padding, dilation, 1, "HWCN", "HWIO", out_dtype)


def group_conv2d_nchw(
    Input: Tensor,
    Filter: Tensor,
    stride: Numbers,
    padding: Padding,
    dilation: Numbers,
    groups: int,
    out_dtype: str | None = None,
) -> Tensor:
    """Return a convolution of data of layout NCHW, in groups of channels.

    Parameters
    ----------
    Filter : Tensor
        The weight, of layout OIHW.
    stride, padding, dilation, groups, out_dtype
        As in :func:`conv`.
    """
    return conv(Input, Filter, stride, padding, dilation, groups, "NCHW", "OIHW", out_dtype)


def group_conv2d_nhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Numbers,
    padding: Padding,
    dilation: Numbers,
    groups: int,
    out_dtype: str | None = None,
) -> Tensor:
    """Return a convolution of data of layout NHWC, in groups of channels.

    Parameters
    ----------
    Filter : Tensor
        The weight, of layout HWIO.
    stride, padding, dilation, groups, out_dtype
        As in :func:`conv`.
    """
    return conv(Input, Filter, stride, padding, dilation, groups, "NHWC", "HWIO", out_dtype)


def conv3d_ncdhw(
    Input: Tensor,
    Filter: Tensor,
    stride: Numbers,
    padding: Padding,
    dilation: Numbers,
    groups: int,
    out_dtype: str | None = None,
) -> Tensor:
    """Return a convolution of data of layout NCDHW.

    Parameters
    ----------
    Filter : Tensor
        The weight, of layout OIDHW.
    stride, padding, dilation, groups, out_dtype
        As in :func:`conv`.
    """
    return conv(Input, Filter, stride, padding, dilation, groups, "NCDHW", "OIDHW", out_dtype)


def conv3d_ndhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Numbers,
    padding: Padding,
    dilation: Numbers,
    groups: int,
    out_dtype: str = "float32",
) -> Tensor:
    """Return a convolution of data of layout NDHWC.

    Parameters
    ----------
    Filter : Tensor
        The weight, of layout DHWIO.
    stride, padding, dilation, groups, out_dtype
        As in :func:`conv`.
    """
    return conv(Input, Filter, stride, padding, dilation, groups, "NDHWC", "DHWIO", out_dtype)
