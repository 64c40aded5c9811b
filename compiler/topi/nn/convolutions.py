"""Convolutions under the names of ``tvm.topi.nn``: a layout each, or the layout as an argument."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.error import ArgumentError, show
from compiler.te.tensor import Tensor
from compiler.topi.nn.conv import ConvSpec, conv, spatial_letters

__all__ = ["conv2d", "conv2d_nchw", "conv2d_nhwc"]

Numbers = int | Sequence[int]

_KERNEL_LAYOUTS = {"NCHW": "OIHW", "NHWC": "HWIO", "HWCN": "HWIO"}


def _numbers(operation: str, name: str, value: Numbers, counts: tuple[int, ...]) -> tuple[int, ...]:
    numbers = (value,) * counts[0] if isinstance(value, int) else tuple(int(n) for n in value)
    if len(numbers) not in counts:
        raise ArgumentError(
            f"{operation}: {name} must be a number or {' or '.join(map(str, counts))}, got {show(value)}"
        )
    return numbers


def conv2d(
    input: Tensor,
    filter: Tensor,
    strides: Numbers,
    padding: Numbers,
    dilation: Numbers,
    data_layout: str = "NCHW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """Return a convolution over two spatial dimensions.

    Parameters
    ----------
    input : Tensor
        The data.
    filter : Tensor
        The weight.
    strides : int or sequence of int
        Step of the window.
    padding : int or sequence of int
        Zeros around the data: one number, one a dimension, or all beginnings and then all ends.
    dilation : int or sequence of int
        Distance of neighbouring elements of the window.
    data_layout : str
        ``NCHW``, ``NHWC`` or ``HWCN``.
    kernel_layout : str
        Of the weight; the usual one when empty.
    out_dtype : str, optional
        Data type of the sums and of the result; that of the data when left out.

    Returns
    -------
    Tensor

    Raises
    ------
    ArgumentError
        If there are too many or too few numbers, or the layout is another one.
    """
    if data_layout not in _KERNEL_LAYOUTS:
        raise ArgumentError(f"conv2d: data_layout must be one of {', '.join(_KERNEL_LAYOUTS)}, got {show(data_layout)}")
    rank = len(spatial_letters(data_layout))
    edges = _numbers("conv2d", "padding", padding, (rank, 2 * rank))
    spec = ConvSpec(
        strides=_numbers("conv2d", "strides", strides, (rank,)),
        dilation=_numbers("conv2d", "dilation", dilation, (rank,)),
        before=edges[:rank],
        after=edges[-rank:],
        groups=1,
        data_layout=data_layout,
        kernel_layout=kernel_layout or _KERNEL_LAYOUTS[data_layout],
        out_layout=data_layout,
        out_dtype=out_dtype or input.dtype,
    )
    return conv(input, filter, spec)


def conv2d_nchw(
    Input: Tensor,
    Filter: Tensor,
    stride: Numbers,
    padding: Numbers,
    dilation: Numbers,
    out_dtype: str | None = None,
) -> Tensor:
    """Return a convolution of data of layout NCHW.

    Parameters
    ----------
    Input : Tensor
        The data.
    Filter : Tensor
        The weight, of layout OIHW.
    stride, padding, dilation, out_dtype
        As of :func:`conv2d`.

    Returns
    -------
    Tensor
    """
    return conv2d(Input, Filter, stride, padding, dilation, "NCHW", "OIHW", out_dtype)


def conv2d_nhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Numbers,
    padding: Numbers,
    dilation: Numbers,
    out_dtype: str | None = None,
) -> Tensor:
    """Return a convolution of data of layout NHWC.

    Parameters
    ----------
    Input : Tensor
        The data.
    Filter : Tensor
        The weight, of layout HWIO.
    stride, padding, dilation, out_dtype
        As of :func:`conv2d`.

    Returns
    -------
    Tensor
    """
    return conv2d(Input, Filter, stride, padding, dilation, "NHWC", "HWIO", out_dtype)
