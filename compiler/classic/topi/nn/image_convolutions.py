"""Deformable, packed and Winograd convolutions, and correlations, of ``tvm.topi.nn``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from compiler.classic.topi.nn.conv_spec import Numbers, conv_spec, numbers_of
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.arrays.transform import transpose
from compiler.topi.compute import compute
from compiler.topi.definitions import named
from compiler.topi.nn.convolution import deformable
from compiler.topi.nn.convolution.conv import ConvSpec, conv
from compiler.topi.nn.convolution.conv_packed import conv2d_nchwc
from compiler.topi.nn.convolution.winograd import conv2d_winograd_weight_transform, winograd_conv
from compiler.topi.nn.correlation import CorrelationSpec, correlation
from compiler.topi.nn.padding import Padding, pad_edges
from compiler.topi.operands import constant, dims
from compiler.topi.tag import Tag

__all__ = [
    "conv2d_NCHWc", "conv2d_NCHWc_int8", "conv2d_winograd_nchw", "conv2d_winograd_nchw_without_weight_transform",
    "conv2d_winograd_nhwc", "conv2d_winograd_nhwc_without_weight_transform", "correlation_nchw",
    "deformable_conv2d_nchw", "deformable_conv2d_nhwc", "unpack_NCHWc_to_nchw",
]  # fmt: skip

_TILE = 4
"""Outputs of a tile of Winograd's algorithm along each dimension."""


def conv2d_NCHWc(
    data: Tensor, kernel: Tensor, stride: Numbers, padding: Padding, dilation: Numbers, layout: str, out_layout: str,
    out_dtype: str = "float32",
) -> Tensor:  # fmt: skip
    """Return a convolution of images whose channels stand in blocks, ``(N, O / o, H, W, o)``.

    Data are ``(N, C / i, H, W, i)`` and the weight ``(O / o, C / i, H, W, i, o)``, which say the layouts too. The other
    arguments are those of :func:`~compiler.classic.topi.nn.convolutions.conv`.
    """
    *_, inner, block = dims(kernel)
    function, layouts = "conv2d_NCHWc", (f"NCHW{dims(data)[-1]}c", f"OIHW{inner}i{block}o")
    groups = constant(dims(data)[1], function) * constant(dims(data)[-1], function)
    groups //= constant(dims(kernel)[1], function) * constant(inner, function)
    spec = conv_spec(function, kernel, (stride, padding, dilation), layouts, groups, out_dtype)
    spec = replace(spec, out_layout=f"NCHW{block}c")
    return conv2d_nchwc(data, kernel, spec) if groups == 1 else conv(data, kernel, spec)


def conv2d_NCHWc_int8(
    data: Tensor, kernel: Tensor, stride: Numbers, padding: Padding, dilation: Numbers, layout: str, out_layout: str,
    out_dtype: str = "int32", n_elems: int = 4,
) -> Tensor:  # fmt: skip
    """Return :func:`conv2d_NCHWc` by a weight with groups of ``e``, or ``n_elems``, input channels last.

    The weight is ``(O / o, C / i, H, W, i / e, o, e)``. Raises ArgumentError if the weight's last extent is another
    one.
    """
    blocks, inputs, kh, kw, groups, block, together = dims(kernel)
    if together != n_elems:
        raise ArgumentError(
            f"conv2d_NCHWc_int8: the last extent of the weight must be n_elems, {n_elems}, got {together}"
        )

    def element(o: Var, i: Var, h: Var, w: Var, channel: Var, b: Var) -> PrimExpr:
        return kernel(o, i, h, w, channel // n_elems, b, channel % n_elems)

    shape = (blocks, inputs, kh, kw, groups * n_elems, block)
    weight = compute(shape, element, name="kernel_unpack", tag=Tag.INJECTIVE)
    return conv2d_NCHWc(data, weight, stride, padding, dilation, layout, out_layout, out_dtype)


def unpack_NCHWc_to_nchw(packed_out: Tensor, out_dtype: str) -> Tensor:
    """Return images whose channels stand in blocks, ``(N, C / c, H, W, c)``, as images of layout NCHW."""
    n, blocks, height, width, block = dims(packed_out)

    def element(b: Var, c: Var, y: Var, x: Var) -> PrimExpr:
        return packed_out(b, c // block, y, x, c % block).astype(out_dtype)

    return compute((n, blocks * block, height, width), element, name="output_unpack", tag=Tag.INJECTIVE)


def _deformable(name: str, layout: str, kernel_layout: str, offsets: str) -> Callable[..., Tensor]:
    def build(
        data: Tensor, offset: Tensor, kernel: Tensor, strides: Numbers, padding: Padding, dilation: Numbers,
        deformable_groups: int, groups: int, out_dtype: str | None,
    ) -> Tensor:  # fmt: skip
        """Return the convolution of data {layout} by a weight {kernel_layout}, read at places moved by offsets.

        ``offset``, {offsets}, is how far each element of each window is moved, for each group of channels. The other
        arguments are those of :func:`~compiler.classic.topi.nn.convolutions.conv`.
        """
        numbers, layouts = (strides, padding, dilation), (layout, kernel_layout)
        spec = conv_spec(name, kernel, numbers, layouts, int(groups), out_dtype or data.dtype)
        return deformable.deformable_conv2d(data, offset, kernel, spec, int(deformable_groups))

    return named(build, name, layout=layout, kernel_layout=kernel_layout, offsets=offsets)


_OFFSETS = ("``(N, 2 * deformable_groups * window, H, W)``", "``(N, H, W, 2 * deformable_groups * window)``")
deformable_conv2d_nchw = _deformable("deformable_conv2d_nchw", "NCHW", "OIHW", _OFFSETS[0])
deformable_conv2d_nhwc = _deformable("deformable_conv2d_nhwc", "NHWC", "HWIO", _OFFSETS[1])


def correlation_nchw(
    data1: Tensor, data2: Tensor, kernel_size: int, max_displacement: int, stride1: int, stride2: int,
    padding: int | Sequence[int], is_multiply: bool,
) -> Tensor:  # fmt: skip
    """Return how windows of one image go with windows around the same places of another.

    The result, ``(N, displacements, H, W)``, is the mean of products, or of absolute differences, over the window and
    the channels. Windows of the first image are ``stride1`` apart, displacements ``stride2``, up to
    ``max_displacement`` along each dimension.
    """
    around = padding if isinstance(padding, int) else int(padding[0])
    spec = CorrelationSpec(kernel_size, max_displacement, stride1, stride2, around, bool(is_multiply))
    return correlation(data1, data2, spec)


def _winograd(
    function: str, data: Tensor, weight: Tensor, numbers: tuple[Numbers, Padding, Numbers], out_dtype: str | None
) -> Tensor:
    """Return a convolution of data of layout NCHW with a transformed weight, ``(points, points, O, C)``."""
    strides, padding, dilation = numbers
    for name, value in (("strides", strides), ("dilation", dilation)):
        if set(numbers_of(function, name, value, 2)) != {1}:
            raise ArgumentError(f"{function}: {name} must be 1, got {show(value)}")
    size = constant(dims(weight)[0], function) - _TILE + 1
    before, after = pad_edges(function, padding, (size, size))
    dtype = out_dtype or data.dtype
    return winograd_conv(data, weight, ConvSpec((1, 1), (1, 1), before, after, 1, "NCHW", "OIHW", "NCHW", dtype), _TILE)


def conv2d_winograd_nchw(
    data: Tensor, weight: Tensor, strides: Numbers, padding: Padding, dilation: Numbers, out_dtype: str | None,
    pre_computed: bool = False,
) -> Tensor:  # fmt: skip
    """Return a convolution with steps of 1 by Winograd's algorithm, of data of layout NCHW.

    The weight is square, of layout OIHW, or ``(points, points, C, O)`` where ``pre_computed``.

    References
    ----------
    A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016, section 4.1.
    """
    ready = transpose(weight, (0, 1, 3, 2)) if pre_computed else conv2d_winograd_weight_transform(weight, _TILE)
    return _winograd("conv2d_winograd_nchw", data, ready, (strides, padding, dilation), out_dtype)


def conv2d_winograd_nchw_without_weight_transform(
    data: Tensor, weight: Tensor, strides: Numbers, padding: Padding, dilation: Numbers, out_dtype: str | None
) -> Tensor:
    """Return :func:`conv2d_winograd_nchw` with a weight that is transformed already, ``(points, points, C, O)``."""
    return conv2d_winograd_nchw(data, weight, strides, padding, dilation, out_dtype, pre_computed=True)


def conv2d_winograd_nhwc(
    data: Tensor, weight: Tensor, strides: Numbers, padding: Padding, dilation: Numbers, out_dtype: str | None,
    pre_computed: bool = False,
) -> Tensor:  # fmt: skip
    """Return a convolution with steps of 1 by Winograd's algorithm, of data of layout NHWC.

    The weight is square, of layout HWIO, or ``(points, points, O, C)`` where ``pre_computed``.
    """
    ready = weight
    if not pre_computed:
        ready = conv2d_winograd_weight_transform(transpose(weight, (3, 2, 0, 1)), _TILE)
    images = transpose(data, (0, 3, 1, 2))
    result = _winograd("conv2d_winograd_nhwc", images, ready, (strides, padding, dilation), out_dtype)
    return transpose(result, (0, 2, 3, 1))


def conv2d_winograd_nhwc_without_weight_transform(
    data: Tensor, weight: Tensor, strides: Numbers, padding: Padding, dilation: Numbers, out_dtype: str | None
) -> Tensor:
    """Return :func:`conv2d_winograd_nhwc` with a weight that is transformed already, ``(points, points, O, C)``."""
    return conv2d_winograd_nhwc(data, weight, strides, padding, dilation, out_dtype, pre_computed=True)
