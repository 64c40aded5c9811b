"""Transposed convolutions of ``tvm.topi.nn``."""

from __future__ import annotations

from compiler.te.tensor import Tensor
from compiler.topi.nn.conv_spec import Numbers, conv_spec, numbers_of
from compiler.topi.nn.conv_transpose import conv_transpose
from compiler.topi.nn.padding import Padding
from compiler.topi.operands import dims

__all__ = [
    "conv1d_transpose_ncw",
    "conv2d_transpose_nchw",
    "conv3d_transpose_ncdhw",
    "group_conv1d_transpose_ncw",
    "group_conv2d_transpose_nchw",
    "group_conv3d_transpose_ncdhw",
]

_LAYOUTS = {3: ("NCW", "IOW"), 4: ("NCHW", "IOHW"), 5: ("NCDHW", "IODHW")}
"""Layouts of data and weight by their rank."""


def _transposed(
    function: str,
    tensors: tuple[Tensor, Tensor],
    numbers: tuple[Numbers, Padding, Numbers],
    groups: int,
    out_dtype: str,
) -> Tensor:
    data, kernel = tensors
    strides, padding, output_padding = numbers
    rank = len(dims(data))
    spec = conv_spec(function, kernel, (strides, padding, 1), _LAYOUTS[rank], groups, out_dtype or data.dtype)
    return conv_transpose(data, kernel, spec, numbers_of(function, "output_padding", output_padding, rank - 2))


def conv1d_transpose_ncw(
    data: Tensor,
    kernel: Tensor,
    stride: Numbers,
    padding: Padding,
    out_dtype: str,
    output_padding: Numbers,
) -> Tensor:
    """Return a transposed convolution over one spatial dimension.

    Parameters
    ----------
    data : Tensor
        The data, of layout NCW.
    kernel : Tensor
        The weight, of layout IOW.
    stride : int or sequence of int
        Distance of the windows in the result.
    padding : int, str or sequence of int
        What is cut off the result, given as the zeros around the data of a convolution are.
    out_dtype : str
        Data type of the sums and of the result.
    output_padding : int or sequence of int
        Elements more at the ends of the result, as steps leave its extents open.
    """
    numbers = (stride, padding, output_padding)
    return _transposed("conv1d_transpose_ncw", (data, kernel), numbers, 1, out_dtype)


def group_conv1d_transpose_ncw(
    data: Tensor,
    kernel: Tensor,
    stride: Numbers,
    padding: Padding,
    out_dtype: str,
    output_padding: Numbers,
    groups: int,
) -> Tensor:
    """Return a transposed convolution over one spatial dimension, in groups of channels.

    Parameters
    ----------
    data : Tensor
        The data, of layout NCW.
    kernel : Tensor
        The weight, of layout IOW.
    stride : int or sequence of int
        Distance of the windows in the result.
    padding : int, str or sequence of int
        What is cut off the result, given as the zeros around the data of a convolution are.
    out_dtype : str
        Data type of the sums and of the result.
    output_padding : int or sequence of int
        Elements more at the ends of the result, as steps leave its extents open.
    groups : int
        Groups of channels that are convolved by themselves.
    """
    numbers = (stride, padding, output_padding)
    return _transposed("group_conv1d_transpose_ncw", (data, kernel), numbers, groups, out_dtype)


def conv2d_transpose_nchw(
    Input: Tensor,
    Filter: Tensor,
    strides: Numbers,
    padding: Padding,
    out_dtype: str,
    output_padding: Numbers,
) -> Tensor:
    """Return a transposed convolution over two spatial dimensions.

    Parameters
    ----------
    Input : Tensor
        The data, of layout NCHW.
    Filter : Tensor
        The weight, of layout IOHW.
    strides : int or sequence of int
        Distance of the windows in the result.
    padding : int, str or sequence of int
        What is cut off the result, given as the zeros around the data of a convolution are.
    out_dtype : str
        Data type of the sums and of the result.
    output_padding : int or sequence of int
        Elements more at the ends of the result, as steps leave its extents open.
    """
    numbers = (strides, padding, output_padding)
    return _transposed("conv2d_transpose_nchw", (Input, Filter), numbers, 1, out_dtype)


def group_conv2d_transpose_nchw(
    data: Tensor,
    kernel: Tensor,
    stride: Numbers,
    padding: Padding,
    out_dtype: str,
    output_padding: Numbers,
    groups: int,
) -> Tensor:
    """Return a transposed convolution over two spatial dimensions, in groups of channels.

    Parameters
    ----------
    data : Tensor
        The data, of layout NCHW.
    kernel : Tensor
        The weight, of layout IOHW.
    stride : int or sequence of int
        Distance of the windows in the result.
    padding : int, str or sequence of int
        What is cut off the result, given as the zeros around the data of a convolution are.
    out_dtype : str
        Data type of the sums and of the result.
    output_padding : int or sequence of int
        Elements more at the ends of the result, as steps leave its extents open.
    groups : int
        Groups of channels that are convolved by themselves.
    """
    numbers = (stride, padding, output_padding)
    return _transposed("group_conv2d_transpose_nchw", (data, kernel), numbers, groups, out_dtype)


def conv3d_transpose_ncdhw(
    Input: Tensor,
    Filter: Tensor,
    strides: Numbers,
    padding: Padding,
    out_dtype: str,
    output_padding: Numbers,
) -> Tensor:
    """Return a transposed convolution over three spatial dimensions.

    Parameters
    ----------
    Input : Tensor
        The data, of layout NCDHW.
    Filter : Tensor
        The weight, of layout IODHW.
    strides : int or sequence of int
        Distance of the windows in the result.
    padding : int, str or sequence of int
        What is cut off the result, given as the zeros around the data of a convolution are.
    out_dtype : str
        Data type of the sums and of the result.
    output_padding : int or sequence of int
        Elements more at the ends of the result, as steps leave its extents open.
    """
    numbers = (strides, padding, output_padding)
    return _transposed("conv3d_transpose_ncdhw", (Input, Filter), numbers, 1, out_dtype)


def group_conv3d_transpose_ncdhw(
    data: Tensor,
    kernel: Tensor,
    strides: Numbers,
    padding: Padding,
    out_dtype: str,
    output_padding: Numbers,
    groups: int,
) -> Tensor:
    """Return a transposed convolution over three spatial dimensions, in groups of channels.

    Parameters
    ----------
    data : Tensor
        The data, of layout NCDHW.
    kernel : Tensor
        The weight, of layout IODHW.
    strides : int or sequence of int
        Distance of the windows in the result.
    padding : int, str or sequence of int
        What is cut off the result, given as the zeros around the data of a convolution are.
    out_dtype : str
        Data type of the sums and of the result.
    output_padding : int or sequence of int
        Elements more at the ends of the result, as steps leave its extents open.
    groups : int
        Groups of channels that are convolved by themselves.
    """
    numbers = (strides, padding, output_padding)
    return _transposed("group_conv3d_transpose_ncdhw", (data, kernel), numbers, groups, out_dtype)
