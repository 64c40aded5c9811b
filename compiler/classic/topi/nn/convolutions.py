"""The convolutions of ``tvm.topi.nn``, by layout or with the layout as an argument."""

from __future__ import annotations

from collections.abc import Callable

from compiler.classic.topi.nn.conv_spec import Numbers, conv_spec
from compiler.ir.error import ArgumentError, show
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import has_schedules
from compiler.topi.definitions import named
from compiler.topi.nn.convolution.conv import conv as convolution
from compiler.topi.nn.padding import Padding

__all__ = [
    "conv", "conv1d", "conv1d_ncw", "conv1d_nwc", "conv2d", "conv2d_hwcn", "conv2d_nchw", "conv2d_nhwc", "conv3d_ncdhw",
    "conv3d_ndhwc", "group_conv1d_ncw", "group_conv1d_nwc", "group_conv2d_nchw", "group_conv2d_nhwc",
]  # fmt: skip

Convolution = Callable[..., Tensor]

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
    inp: Tensor, filt: Tensor, stride: Numbers, padding: Padding, dilation: Numbers, groups: int, data_layout: str,
    kernel_layout: str = "", out_dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """Return a convolution over as many spatial dimensions as the layout has.

    Raises ArgumentError if there are too many or too few numbers.

    Parameters
    ----------
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
    """
    if not kernel_layout and data_layout not in _KERNEL_LAYOUTS:
        raise ArgumentError(f"conv: data of layout {show(data_layout)} has no default kernel_layout")
    layouts = (data_layout, kernel_layout or _KERNEL_LAYOUTS[data_layout])
    spec = conv_spec("conv", filt, (stride, padding, dilation), layouts, groups, out_dtype or inp.dtype)
    return convolution(inp, filt, spec, in_vectors=has_schedules())


def conv1d(
    data: Tensor, kernel: Tensor, strides: Numbers = 1, padding: Padding = "VALID", dilation: Numbers = 1,
    groups: int = 1, data_layout: str = "NCW", kernel_layout: str = "", out_dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """Return a convolution over one spatial dimension; the arguments are those of :func:`conv`."""
    return conv(data, kernel, strides, padding, dilation, groups, data_layout, kernel_layout, out_dtype)


def conv2d(
    input: Tensor, filter: Tensor, strides: Numbers, padding: Padding, dilation: Numbers, data_layout: str = "NCHW",
    kernel_layout: str = "", out_dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """Return a convolution over two spatial dimensions; the arguments are those of :func:`conv`.

    Raises ArgumentError if there are too many or too few numbers, or the layout is not ``NCHW``, ``NHWC`` or ``HWCN``.
    """
    choices = [name for name in _KERNEL_LAYOUTS if len(name) == 4]
    if data_layout not in choices:
        raise ArgumentError(f"conv2d: data_layout must be one of {', '.join(choices)}, got {show(data_layout)}")
    return conv(input, filter, strides, padding, dilation, 1, data_layout, kernel_layout, out_dtype)


def _conv1d(name: str, layout: str) -> Convolution:
    def build(
        data: Tensor,
        kernel: Tensor,
        strides: Numbers = 1,
        padding: Padding = "VALID",
        dilation: Numbers = 1,
        out_dtype: str | None = None,
    ) -> Tensor:
        return conv(data, kernel, strides, padding, dilation, 1, layout, out_dtype=out_dtype)

    return _with_layout(build, name, layout)


def _group_conv1d(name: str, layout: str) -> Convolution:
    def build(
        data: Tensor, kernel: Tensor, strides: Numbers = 1, padding: Padding = "VALID", dilation: Numbers = 1,
        groups: int = 1, out_dtype: str | None = None,
    ) -> Tensor:  # fmt: skip
        return conv(data, kernel, strides, padding, dilation, groups, layout, out_dtype=out_dtype)

    return _with_layout(build, name, layout)


def _conv2d(name: str, layout: str, dtype: str | None = None) -> Convolution:
    def build(
        Input: Tensor,
        Filter: Tensor,
        stride: Numbers,
        padding: Padding,
        dilation: Numbers,
        out_dtype: str | None = dtype,
    ) -> Tensor:
        return conv(Input, Filter, stride, padding, dilation, 1, layout, out_dtype=out_dtype)

    return _with_layout(build, name, layout)


def _group_conv(name: str, layout: str, dtype: str | None = None) -> Convolution:
    def build(
        Input: Tensor, Filter: Tensor, stride: Numbers, padding: Padding, dilation: Numbers, groups: int,
        out_dtype: str | None = dtype,
    ) -> Tensor:  # fmt: skip
        return conv(Input, Filter, stride, padding, dilation, groups, layout, out_dtype=out_dtype)

    return _with_layout(build, name, layout)


def _with_layout(function: Convolution, name: str, layout: str) -> Convolution:
    function.__doc__ = """Return a convolution of data of layout {data} with a weight of layout {kernel}.

    The other arguments are those of :func:`conv`; ``out_dtype`` is that of the data where it is None.
    """
    return named(function, name, data=layout, kernel=_KERNEL_LAYOUTS[layout])


conv1d_ncw = _conv1d("conv1d_ncw", "NCW")
conv1d_nwc = _conv1d("conv1d_nwc", "NWC")
group_conv1d_ncw = _group_conv1d("group_conv1d_ncw", "NCW")
group_conv1d_nwc = _group_conv1d("group_conv1d_nwc", "NWC")
conv2d_nchw = _conv2d("conv2d_nchw", "NCHW")
conv2d_nhwc = _conv2d("conv2d_nhwc", "NHWC", "float32")
conv2d_hwcn = _conv2d("conv2d_hwcn", "HWCN")
group_conv2d_nchw = _group_conv("group_conv2d_nchw", "NCHW")
group_conv2d_nhwc = _group_conv("group_conv2d_nhwc", "NHWC")
conv3d_ncdhw = _group_conv("conv3d_ncdhw", "NCDHW")
conv3d_ndhwc = _group_conv("conv3d_ndhwc", "NDHWC", "float32")
