"""Depthwise convolutions of ``tvm.topi.nn``, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence

from compiler import te
from compiler.classic.topi.nn.conv_spec import Numbers, conv_spec, numbers_of
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.arrays.transform import reshape
from compiler.topi.compute import compute, has_schedules
from compiler.topi.nn.convolution.conv import conv
from compiler.topi.nn.convolution.conv_packed import depthwise_conv2d_nchwc
from compiler.topi.nn.pad import dilate, pad
from compiler.topi.nn.padding import Padding, pad_edges
from compiler.topi.operands import constant, dims
from compiler.topi.tag import Tag

__all__ = [
    "depthwise_conv2d_NCHWc", "depthwise_conv2d_backward_input_nhwc", "depthwise_conv2d_backward_weight_nhwc",
    "depthwise_conv2d_nchw", "depthwise_conv2d_nhwc",
]  # fmt: skip


def depthwise_conv2d_nchw(
    Input: Tensor, Filter: Tensor, stride: Numbers, padding: Padding, dilation: Numbers, out_dtype: str | None = None
) -> Tensor:
    """Return the convolution of each channel of data of layout NCHW with its own kernels.

    The weight is ``(C, multiplier, H, W)``: several kernels for each channel.  The other arguments are those of
    :func:`~compiler.classic.topi.nn.convolutions.conv`.
    """
    channels, multiplier, *window = dims(Filter)
    flat = Filter if multiplier == 1 else reshape(Filter, (channels * multiplier, 1, *window))
    numbers, groups = (stride, padding, dilation), constant(channels, "depthwise_conv2d_nchw")
    layouts = ("NCHW", "OIHW")
    spec = conv_spec("depthwise_conv2d_nchw", flat, numbers, layouts, groups, out_dtype or Input.dtype)
    return conv(Input, flat, spec, in_vectors=has_schedules())


def depthwise_conv2d_nhwc(
    Input: Tensor, Filter: Tensor, stride: Numbers, padding: Padding, dilation: Numbers, kernel_layout: str = "HWOI",
    out_dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """Return the convolution of each channel of data of layout NHWC with its own kernels.

    The weight is ``(H, W, C, multiplier)``, or ``(H, W, multiplier, C)`` where ``kernel_layout`` is ``HWIO``; a data
    type in its place is taken as ``out_dtype``, which was the sixth argument up to TVM 0.12. The other arguments are
    those of :func:`~compiler.classic.topi.nn.convolutions.conv`.
    """
    if kernel_layout not in ("HWOI", "HWIO"):
        kernel_layout, out_dtype = "HWOI", out_dtype or dt.canonical(kernel_layout)
    height, width, *ends = dims(Filter)
    channels, multiplier = ends if kernel_layout == "HWOI" else reversed(ends)
    flat = reshape(Filter, (height, width, channels * multiplier, 1)) if multiplier != 1 else Filter
    numbers, groups = (stride, padding, dilation), constant(channels, "depthwise_conv2d_nhwc")
    layouts = ("NHWC", "HWOI" if multiplier != 1 else kernel_layout)
    spec = conv_spec("depthwise_conv2d_nhwc", flat, numbers, layouts, groups, out_dtype or Input.dtype)
    return conv(Input, flat, spec)


def depthwise_conv2d_NCHWc(
    Input: Tensor, Filter: Tensor, stride: Numbers, padding: Padding, dilation: Numbers, layout: str, out_layout: str,
    out_dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """Return the convolution of each channel with its own kernel; channels stand in blocks.

    Data are ``(N, C / c, H, W, c)`` and the weight ``(C / c, 1, H, W, 1, c)``.  The other arguments are those of
    :func:`~compiler.classic.topi.nn.convolutions.conv`.
    """
    blocks, *_, block = dims(Filter)
    layouts = (layout, f"OIHW1i{block}o")
    groups = constant(blocks, "depthwise_conv2d_NCHWc") * constant(block, "depthwise_conv2d_NCHWc")
    numbers = (stride, padding, dilation)
    spec = conv_spec("depthwise_conv2d_NCHWc", Filter, numbers, layouts, groups, out_dtype or Input.dtype)
    return depthwise_conv2d_nchwc(Input, Filter, spec)


def depthwise_conv2d_backward_input_nhwc(
    Filter: Tensor, Out_grad: Tensor, oshape: Sequence[int], ishape: Sequence[int], stride: Numbers, padding: Padding
) -> Tensor:
    """Return the gradient of a depthwise convolution's data, of the shape ``ishape``.

    The weight is ``(H, W, C, multiplier)``, the gradient of the result ``(N, H, W, C * multiplier)``.
    """
    function = "depthwise_conv2d_backward_input_nhwc"
    height, width, _, multiplier = dims(Filter)
    steps = numbers_of(function, "stride", stride, 2)
    before, _ = pad_edges(function, padding, (height, width))
    spread = dilate(Out_grad, [1, *steps, 1], name="grad_dilated")
    low = [constant(k, function) - 1 - b for k, b in zip((height, width), before, strict=True)]
    high = [int(ishape[1 + d]) + before[d] - constant(dims(spread)[1 + d], function) for d in range(2)]
    # Where windows do not reach the data's edge, the gradient's edge is cut off: zeros stand for what is missing.
    padded = pad(spread, [0, *[max(n, 0) for n in low], 0], [0, *[max(n, 0) for n in high], 0], name="grad_padded")
    window = [te.reduce_axis((0, k), name=n) for k, n in ((height, "rh"), (width, "rw"))]
    each = te.reduce_axis((0, multiplier), name="rm")

    def element(n: Var, y: Var, x: Var, c: Var) -> PrimExpr:
        at = [i + axis.var - min(start, 0) for i, axis, start in zip((y, x), window, low, strict=True)]
        taps = [k - 1 - axis.var for k, axis in zip((height, width), window, strict=True)]
        return te.sum(padded(n, *at, c * multiplier + each.var) * Filter(*taps, c, each.var), axis=[*window, each])

    return compute(tuple(int(e) for e in ishape), element, name="depthwise_grad_input", tag=Tag.COMM_REDUCE)


def depthwise_conv2d_backward_weight_nhwc(
    Input: Tensor, Out_grad: Tensor, oshape: Sequence[int], fshape: Sequence[int], stride: Numbers, padding: Padding
) -> Tensor:
    """Return the gradient of a depthwise convolution's weight, of the shape ``fshape``, ``(H, W, C, multiplier)``.

    The data are ``(N, H, W, C)``, the gradient of the result is ``(N, H, W, C * multiplier)``.
    """
    function = "depthwise_conv2d_backward_weight_nhwc"
    height, width, channels, multiplier = (int(e) for e in fshape)
    steps = numbers_of(function, "stride", stride, 2)
    before, after = pad_edges(function, padding, (height, width))
    padded = pad(Input, [0, *before, 0], [0, *after, 0], name="data_pad")
    batch = te.reduce_axis((0, dims(Input)[0]), name="rn")
    places = [te.reduce_axis((0, int(oshape[1 + d])), name=n) for d, n in enumerate(("ry", "rx"))]

    def element(i: Var, j: Var, c: Var, m: Var) -> PrimExpr:
        at = [place.var * step + tap for place, step, tap in zip(places, steps, (i, j), strict=True)]
        gradient = Out_grad(batch.var, *[place.var for place in places], c * multiplier + m)
        return te.sum(gradient * padded(batch.var, *at, c), axis=[batch, *places])

    return compute((height, width, channels, multiplier), element, name="depthwise_grad_weight", tag=Tag.COMM_REDUCE)
