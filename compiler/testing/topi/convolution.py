"""Convolutions in NumPy, in the layouts of their names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.error import ArgumentError
from compiler.testing.topi.windows import Padding, around, convolved, dilated, each, transposed

__all__ = [
    "conv1d_ncw_python",
    "conv1d_transpose_ncw_python",
    "conv2d_backcward_weight_python",
    "conv2d_backward_weight_python",
    "conv2d_hwcn_python",
    "conv2d_nchw_python",
    "conv2d_nhwc_python",
    "conv2d_transpose_nchw_python",
    "conv2d_transpose_nhwc_python",
    "conv3d_ncdhw_python",
    "conv3d_ndhwc_python",
    "conv3d_transpose_ncdhw_python",
    "depthwise_conv2d_python_nchw",
    "depthwise_conv2d_python_nchwc",
    "depthwise_conv2d_python_nhwc",
    "group_conv1d_ncw_python",
    "group_conv1d_transpose_ncw_python",
]

Array = np.ndarray
Numbers = int | Sequence[int]


def _convolution(
    data: Array, weight: Array, stride: Numbers, padding: Padding, dilation: Numbers = 1, groups: int = 1
) -> Array:
    """Return the convolution of data with its channels second and a weight ``(O, I, …)``."""
    rank = data.ndim - 2
    steps, between = each(stride, rank), each(dilation, rank)
    extents = [(n - 1) * d + 1 for n, d in zip(weight.shape[2:], between, strict=True)]
    return convolved(data, weight, steps, around(padding, extents, steps), between, groups)


def _transposed(
    data: Array, weight: Array, stride: Numbers, padding: Padding, output_padding: Numbers, groups: int = 1
) -> Array:
    """Return the transposed convolution of data with its channels second and a weight ``(I, O, …)``."""
    rank = data.ndim - 2
    steps, more = each(stride, rank), each(output_padding, rank)
    if any(extra >= step for extra, step in zip(more, steps, strict=True)):
        raise ArgumentError(f"output_padding {more} must be less than the stride {steps}")
    return transposed(data, weight, steps, around(padding, weight.shape[2:], steps), more, groups)


def conv1d_ncw_python(a_np: Array, w_np: Array, stride: Numbers, padding: Padding, dilation: Numbers) -> Array:
    """Return a convolution of data of layout NCW.

    Parameters
    ----------
    w_np : numpy.ndarray
        The weight, of layout OIW.
    padding : str, int or sequence of int
        ``VALID``, ``SAME``, or numbers of zeros around the data.
    dilation : int or sequence of int
        Distance of neighbouring elements of the window.
    """
    return _convolution(a_np, w_np, stride, padding, dilation=dilation)


def group_conv1d_ncw_python(
    a_np: Array, w_np: Array, stride: Numbers, padding: Padding, dilation: Numbers, groups: int
) -> Array:
    """Return a convolution of data of layout NCW.

    Parameters
    ----------
    w_np : numpy.ndarray
        The weight, of layout OIW.
    padding : str, int or sequence of int
        ``VALID``, ``SAME``, or numbers of zeros around the data.
    dilation : int or sequence of int
        Distance of neighbouring elements of the window.
    groups : int
        How many groups of channels are convolved apart.
    """
    return _convolution(a_np, w_np, stride, padding, dilation=dilation, groups=groups)


def conv2d_nchw_python(a_np: Array, w_np: Array, stride: Numbers, padding: Padding, groups: int = 1) -> Array:
    """Return a convolution of data of layout NCHW.

    Parameters
    ----------
    w_np : numpy.ndarray
        The weight, of layout OIHW.
    padding : str, int or sequence of int
        ``VALID``, ``SAME``, or numbers of zeros around the data.
    groups : int
        How many groups of channels are convolved apart.
    """
    return _convolution(a_np, w_np, stride, padding, groups=groups)


def conv2d_nhwc_python(a_np: Array, w_np: Array, stride: Numbers, padding: Padding, groups: int = 1) -> Array:
    """Return a convolution of data of layout NHWC.

    Parameters
    ----------
    w_np : numpy.ndarray
        The weight, of layout HWIO.
    padding : str, int or sequence of int
        ``VALID``, ``SAME``, or numbers of zeros around the data.
    groups : int
        How many groups of channels are convolved apart.
    """
    result = _convolution(a_np.transpose(0, 3, 1, 2), w_np.transpose(3, 2, 0, 1), stride, padding, groups=groups)
    return result.transpose(0, 2, 3, 1)


def conv2d_hwcn_python(a_np: Array, w_np: Array, stride: Numbers, padding: Padding) -> Array:
    """Return a convolution of data of layout HWCN.

    Parameters
    ----------
    w_np : numpy.ndarray
        The weight, of layout HWIO.
    padding : str, int or sequence of int
        ``VALID``, ``SAME``, or numbers of zeros around the data.
    """
    result = _convolution(a_np.transpose(3, 2, 0, 1), w_np.transpose(3, 2, 0, 1), stride, padding)
    return result.transpose(2, 3, 1, 0)


def conv3d_ncdhw_python(a_np: Array, w_np: Array, stride: Numbers, padding: Padding, groups: int = 1) -> Array:
    """Return a convolution of data of layout NCDHW.

    Parameters
    ----------
    w_np : numpy.ndarray
        The weight, of layout OIDHW.
    padding : str, int or sequence of int
        ``VALID``, ``SAME``, or numbers of zeros around the data.
    groups : int
        How many groups of channels are convolved apart.
    """
    return _convolution(a_np, w_np, stride, padding, groups=groups)


def conv3d_ndhwc_python(a_np: Array, w_np: Array, stride: Numbers, padding: Padding, groups: int = 1) -> Array:
    """Return a convolution of data of layout NDHWC.

    Parameters
    ----------
    w_np : numpy.ndarray
        The weight, of layout DHWIO.
    padding : str, int or sequence of int
        ``VALID``, ``SAME``, or numbers of zeros around the data.
    groups : int
        How many groups of channels are convolved apart.
    """
    result = _convolution(a_np.transpose(0, 4, 1, 2, 3), w_np.transpose(4, 3, 0, 1, 2), stride, padding, groups=groups)
    return result.transpose(0, 2, 3, 4, 1)


def conv1d_transpose_ncw_python(
    a_np: Array, w_np: Array, stride: Numbers, padding: Padding, output_padding: Numbers, groups: int = 1
) -> Array:
    """Return a transposed convolution of data of layout NCW.

    Parameters
    ----------
    w_np : numpy.ndarray
        The weight, of layout IOW.
    padding : str, int or sequence of int
        ``VALID``, ``SAME``, or numbers of zeros around the data.
    groups : int
        How many groups of channels are convolved apart.
    """
    return _transposed(a_np, w_np, stride, padding, output_padding, groups)


def conv2d_transpose_nchw_python(
    a_np: Array, w_np: Array, stride: Numbers, padding: Padding, output_padding: Numbers, groups: int = 1
) -> Array:
    """Return a transposed convolution of data of layout NCHW.

    Parameters
    ----------
    w_np : numpy.ndarray
        The weight, of layout IOHW.
    padding : str, int or sequence of int
        ``VALID``, ``SAME``, or numbers of zeros around the data.
    groups : int
        How many groups of channels are convolved apart.
    """
    return _transposed(a_np, w_np, stride, padding, output_padding, groups)


def conv3d_transpose_ncdhw_python(
    a_np: Array, w_np: Array, stride: Numbers, padding: Padding, output_padding: Numbers, groups: int = 1
) -> Array:
    """Return a transposed convolution of data of layout NCDHW.

    Parameters
    ----------
    w_np : numpy.ndarray
        The weight, of layout IODHW.
    padding : str, int or sequence of int
        ``VALID``, ``SAME``, or numbers of zeros around the data.
    groups : int
        How many groups of channels are convolved apart.
    """
    return _transposed(a_np, w_np, stride, padding, output_padding, groups)


group_conv1d_transpose_ncw_python = conv1d_transpose_ncw_python


def conv2d_transpose_nhwc_python(
    a_nhwc: Array,
    weight: Array,
    weight_format: str,
    stride: Numbers,
    padding: Padding,
    output_padding: Numbers = (0, 0),
) -> Array:
    """Return a transposed convolution of data of layout NHWC.

    Parameters
    ----------
    weight_format : str
        Its layout, in which ``I`` are the channels of the data: ``HWIO``, ``HWOI``, ``OIHW`` or ``IOHW``.
    padding : str, int or sequence of int
        ``VALID``, ``SAME``, or numbers of zeros around the data.

    Raises
    ------
    ArgumentError
        If the layout of the weight is another one.
    """
    if sorted(weight_format) != sorted("HWIO"):
        raise ArgumentError(
            f"conv2d_transpose_nhwc_python: weight_format must be HWIO in some order, got {weight_format}"
        )
    kernel = weight.transpose([weight_format.index(letter) for letter in "IOHW"])
    result = _transposed(a_nhwc.transpose(0, 3, 1, 2), kernel, stride, padding, output_padding)
    return result.transpose(0, 2, 3, 1)


def _depthwise(data: Array, weight: Array, stride: Numbers, padding: Padding) -> Array:
    """Return the convolution of ``(N, C, H, W)`` with ``(C, M, H, W)``, each channel apart."""
    channels, multiplier = weight.shape[:2]
    kernel = weight.reshape(channels * multiplier, 1, *weight.shape[2:])
    steps = each(stride, 2)
    return convolved(data, kernel, steps, around(padding, weight.shape[2:], steps), (1, 1), channels)


def depthwise_conv2d_python_nchw(input_np: Array, filter_np: Array, stride: Numbers, padding: Padding) -> Array:
    """Return a convolution of each channel apart, of data of layout NCHW.

    Parameters
    ----------
    filter_np : numpy.ndarray
        The weight, ``(channels, multiplier, height, width)``.
    padding : str, int or sequence of int
        ``VALID``, ``SAME``, or numbers of zeros around the data.
    """
    return _depthwise(input_np, filter_np, stride, padding)


def depthwise_conv2d_python_nhwc(input_np: Array, filter_np: Array, stride: Numbers, padding: Padding) -> Array:
    """Return a convolution of each channel apart, of data of layout NHWC.

    Parameters
    ----------
    filter_np : numpy.ndarray
        The weight, ``(height, width, channels, multiplier)``.
    padding : str, int or sequence of int
        ``VALID``, ``SAME``, or numbers of zeros around the data.
    """
    result = _depthwise(input_np.transpose(0, 3, 1, 2), filter_np.transpose(2, 3, 0, 1), stride, padding)
    return result.transpose(0, 2, 3, 1)


def depthwise_conv2d_python_nchwc(input_np: Array, filter_np: Array, stride: Numbers, padding: Padding) -> Array:
    """Return a convolution of each channel apart, of data of layout NCHWc: channels in blocks.

    Parameters
    ----------
    filter_np : numpy.ndarray
        The weight, ``(blocks, multiplier, height, width, 1, channels of a block)``.
    padding : str, int or sequence of int
        ``VALID``, ``SAME``, or numbers of zeros around the data.
    """
    batch, blocks, height, width, inner = input_np.shape
    data = input_np.transpose(0, 1, 4, 2, 3).reshape(batch, blocks * inner, height, width)
    outer, multiplier, rows, columns, _, block = filter_np.shape
    weight = filter_np.transpose(0, 5, 1, 4, 2, 3).reshape(outer * block, multiplier, rows, columns)
    result = _depthwise(data, weight, stride, padding)
    shape = (batch, result.shape[1] // block, block, *result.shape[2:])
    return result.reshape(shape).transpose(0, 1, 3, 4, 2)


def conv2d_backward_weight_python(
    dy_np: Array,
    x_np: Array,
    kernel_size: Sequence[int],
    stride: Numbers,
    padding: Numbers,
    layout: str = "NCHW",
    groups: int = 1,
    channels: int | None = None,
) -> Array:
    """Return the gradient of a convolution with respect to its weight.

    Parameters
    ----------
    padding : int or sequence of int
        Numbers of zeros around the data.
    layout : str
        Of the data: ``NCHW``, with a weight ``OIHW``, or ``NHWC``, with a weight ``OHWI``.
    groups : int
        1 only.
    channels : int, optional
        Those of the result, which ``dy_np`` says.

    Raises
    ------
    ArgumentError
        If the layout is another one, or there are several groups.
    """
    if layout not in ("NCHW", "NHWC") or groups != 1:
        raise ArgumentError(
            f"conv2d_backward_weight_python: expected NCHW or NHWC in one group, got {layout}, {groups}"
        )
    if layout == "NHWC":
        dy_np, x_np = dy_np.transpose(0, 3, 1, 2), x_np.transpose(0, 3, 1, 2)
    steps, edges = each(stride, 2), around(padding, kernel_size, each(stride, 2))
    grad = dilated(dy_np, steps, 2).swapaxes(0, 1)
    full = convolved(x_np.swapaxes(0, 1), grad, (1, 1), edges, (1, 1)).swapaxes(0, 1)
    result = full[:, :, : kernel_size[0], : kernel_size[1]]
    return result.transpose(0, 2, 3, 1) if layout == "NHWC" else result


conv2d_backcward_weight_python = conv2d_backward_weight_python
