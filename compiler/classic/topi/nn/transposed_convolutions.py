"""Transposed convolutions of ``tvm.topi.nn``."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from compiler.classic.topi.nn.conv_spec import Numbers, conv_spec, numbers_of
from compiler.te.definition.tensor import Tensor
from compiler.topi.definitions import named
from compiler.topi.nn.convolution.conv_transpose import conv_transpose
from compiler.topi.nn.padding import Padding
from compiler.topi.operands import dims

__all__ = [
    "conv1d_transpose_ncw", "conv2d_transpose_nchw", "conv3d_transpose_ncdhw", "group_conv1d_transpose_ncw",
    "group_conv2d_transpose_nchw", "group_conv3d_transpose_ncdhw",
]  # fmt: skip

Convolution = Callable[..., Tensor]

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


def _named(function: Convolution, name: str, rank: int) -> Convolution:
    function.__doc__ = """Return a transposed convolution of data of layout {data} with a weight of layout {kernel}.

    Parameters
    ----------
    {steps} : int or sequence of int
        Distance of the windows in the result.
    padding : int, str or sequence of int
        What is cut off the result, given as the zeros around the data of a convolution are.
    out_dtype : str
        Data type of the sums and of the result; that of the data where it is empty.
    output_padding : int or sequence of int
        Elements more at the ends of the result, as steps leave its extents open.
    """
    data, kernel = _LAYOUTS[rank]
    return named(function, name, data=data, kernel=kernel, steps=list(inspect.signature(function).parameters)[2])


def _transposed1d(name: str) -> Convolution:
    def build(
        data: Tensor, kernel: Tensor, stride: Numbers, padding: Padding, out_dtype: str, output_padding: Numbers
    ) -> Tensor:
        return _transposed(name, (data, kernel), (stride, padding, output_padding), 1, out_dtype)

    return _named(build, name, 3)


def _transposed_nd(name: str, rank: int) -> Convolution:
    def build(
        Input: Tensor, Filter: Tensor, strides: Numbers, padding: Padding, out_dtype: str, output_padding: Numbers
    ) -> Tensor:
        return _transposed(name, (Input, Filter), (strides, padding, output_padding), 1, out_dtype)

    return _named(build, name, rank)


def _grouped(name: str, rank: int) -> Convolution:
    def build(
        data: Tensor, kernel: Tensor, stride: Numbers, padding: Padding, out_dtype: str, output_padding: Numbers,
        groups: int,
    ) -> Tensor:  # fmt: skip
        return _transposed(name, (data, kernel), (stride, padding, output_padding), groups, out_dtype)

    return _named(build, name, rank)


def _grouped3d(name: str) -> Convolution:
    def build(
        data: Tensor, kernel: Tensor, strides: Numbers, padding: Padding, out_dtype: str, output_padding: Numbers,
        groups: int,
    ) -> Tensor:  # fmt: skip
        return _transposed(name, (data, kernel), (strides, padding, output_padding), groups, out_dtype)

    return _named(build, name, 5)


conv1d_transpose_ncw = _transposed1d("conv1d_transpose_ncw")
conv2d_transpose_nchw = _transposed_nd("conv2d_transpose_nchw", 4)
conv3d_transpose_ncdhw = _transposed_nd("conv3d_transpose_ncdhw", 5)
group_conv1d_transpose_ncw = _grouped("group_conv1d_transpose_ncw", 3)
group_conv2d_transpose_nchw = _grouped("group_conv2d_transpose_nchw", 4)
group_conv3d_transpose_ncdhw = _grouped3d("group_conv3d_transpose_ncdhw")
