"""ConvolveImages: turns convolutions of volumes, of wide signals and transposed ones into convolutions of images."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Call, Constant, Tuple, array_const
from compiler.relay.op.nn.conv_attrs import (
    Conv1DAttrs,
    Conv1DTransposeAttrs,
    Conv2DTransposeAttrs,
    Conv3DAttrs,
    ConvolutionAttrs,
    ConvTransposeAttrs,
)
from compiler.relay.operator import call_op
from compiler.relay.transform.rewriter import GraphMutator, RewritePass, op_name, tensor_type, type_of
from compiler.target.target import Target

_FEW_RESULTS, _FEW_CHANNELS = 8, 16
"""Channels of the result that are not worth a copy of the volume for each step of the window's depth, and channels of
images that fill no vector."""
_LONG_SUM, _MANY_SAMPLES = 768, 1 << 18
"""Steps of a sum from which on a signal is worth its copy with channels in blocks, and elements from which on it is for
any sum: its schedule reads the signal from the second cache for every few channels of the result."""


class ConvolveImages(RewritePass, opt_level=3, required=("InferType",)):
    """Compute other convolutions as those of images, which AlterOpLayout and Winograd make faster.

    Level 3; requires InferType.  The slices of a volume are images, and what a window reads of its slices are their
    channels.  Where the window is a column of the volume, rows and columns of a slice are one axis instead, and nothing
    is moved.  A signal is a row, where its sums are long or it leaves the second cache.  What the same taps of a
    transposed convolution reach are channels, whose elements are put side by side.  The convolutions are those on CPUs
    in float32 without groups whose weight is known, in the usual layouts.

    Examples
    --------
    ``ConvolveImages()``, for a window of 3 x 3 x 3::

        def @main(%x: Tensor[(1, 16, 8, 14, 14), float32]) {
          nn.conv3d(%x, w, padding=[1, 1, 1, 1, 1, 1], kernel_size=[3, 3, 3])
        }
        ->
        def @main(%x: Tensor[(1, 16, 8, 14, 14), float32]) {
          %0 = nn.pad(%x, …);                          // 10 slices
          %1, %2, %3 = strided_slice(%0, …), …;        // each of the window's slices, for 8 positions
          %4 = concatenate((%1, %2, %3), axis=1);      // 48 channels
          %5 = reshape(transpose(%4, …), newshape=[8, 48, 14, 14]);
          %6 = nn.conv2d(%5, w as 48 channels, padding=[1, 1, 1, 1], kernel_size=[3, 3]);
          transpose(reshape(%6, newshape=[1, 8, 16, 14, 14]), axes=[0, 2, 1, 3, 4])
        }
    """

    def mutator(self) -> GraphMutator:
        target = Target.current() or Target("llvm -mcpu=native")
        return _Flattener() if target.kind == "llvm" else GraphMutator()


_KINDS: dict[str, type[ConvolutionAttrs]] = {
    "nn.conv1d": Conv1DAttrs,
    "nn.conv3d": Conv3DAttrs,
    "nn.conv1d_transpose": Conv1DTransposeAttrs,
    "nn.conv2d_transpose": Conv2DTransposeAttrs,
}
Shape: TypeAlias = tuple[int, ...]


class _Flattener(GraphMutator):
    def visit_call(self, call: Call) -> RelayExpr:
        new = self.rebuilt_call(call)
        kind = _KINDS.get(op_name(new))
        if kind is None or not isinstance(weight := new.args[1], Constant):
            return new
        data, result, attrs = tensor_type(call.args[0]), tensor_type(call), kind.of(new)
        if data is None or result is None or {data.dtype, result.dtype} != {"float32"}:
            return new
        layouts = (attrs.data_layout, attrs.kernel_layout)
        if layouts != kind.plain_layouts() or attrs.out_layout not in ("", layouts[0]) or attrs.groups != 1:
            return new
        outputs, channels, depth = weight.value.shape[:3]
        if isinstance(attrs, ConvTransposeAttrs):
            is_one_tap = all(k <= s for k, s in zip(weight.value.shape[2:], attrs.strides, strict=True))
            is_narrow = is_one_tap and channels * math.prod(attrs.strides) < _FEW_CHANNELS
            if not data.is_static or {*attrs.dilation} != {1} or is_narrow:
                return new
            made = _in_place(new.args[0], weight.value, data.concrete_shape, result.concrete_shape, attrs)
        elif kind is Conv1DAttrs:
            is_large = data.is_static and math.prod(data.concrete_shape) > _MANY_SAMPLES
            if min(outputs, channels) < _FEW_CHANNELS or not (is_large or channels * depth >= _LONG_SUM):
                return new
            made = _by_row(new.args[0], weight.value, attrs)
        elif not data.is_static or outputs < _FEW_RESULTS or channels * depth < _FEW_CHANNELS:
            return new
        else:
            is_column = {*weight.value.shape[3:], *attrs.strides[1:]} == {1} and not any(_of_images(attrs.padding))
            flat = _by_columns if is_column else _by_slices
            made = flat(new.args[0], weight.value, data.concrete_shape, result.concrete_shape, attrs)
        type_of(made)
        return made


def _of_images(padding: tuple[int, ...]) -> tuple[int, ...]:
    """Return the padding of rows and columns, before and after, of that of all three axes."""
    return (*padding[1:3], *padding[4:])


def _by_row(x: RelayExpr, weight: np.ndarray, attrs: ConvolutionAttrs) -> RelayExpr:
    """Convolve images of one row."""
    before, after = attrs.padding
    out = call_op(
        "nn.conv2d", call_op("expand_dims", x, axis=2), array_const(weight[:, :, None]), strides=(1, *attrs.strides),
        padding=(0, before, 0, after), dilation=(1, *attrs.dilation), channels=len(weight),
        kernel_size=(1, weight.shape[2]),
    )  # fmt: skip
    return call_op("squeeze", out, axis=(2,))


def _in_place(x: RelayExpr, weight: np.ndarray, shape: Shape, result: Shape, attrs: ConvTransposeAttrs) -> RelayExpr:
    """Compute a transposed convolution of images, or of signals as images of one row."""
    strides, before, out = attrs.strides, attrs.padding[: attrs.RANK], result[2:]
    if attrs.RANK == 2:
        return _by_phases(x, weight, shape, strides, before, out)
    row = call_op("expand_dims", x, axis=2), weight[:, :, None], (*shape[:2], 1, shape[2])
    return call_op("squeeze", _by_phases(*row, (1, *strides), (0, *before), (1, *out)), axis=(2,))


def _by_phases(x: RelayExpr, weight: np.ndarray, shape: Shape, strides: Shape, before: Shape, out: Shape) -> RelayExpr:
    """Convolve images to the elements that the same taps reach, as channels, and put these side by side.

    With a stride of ``s``, element ``q`` of the result, before some are cut off, sums the taps ``q % s + s * t`` times
    the elements ``q // s - t`` of the data, as in :mod:`compiler.topi.nn.convolution.conv_transpose`.  Those from
    ``first * s`` on are computed.
    """
    inputs, outputs, *taps = weight.shape
    steps = [-(-k // s) for k, s in zip(taps, strides, strict=True)]
    first = [min(b // s, n - 1) for b, s, n in zip(before, strides, steps, strict=True)]
    low = [n - 1 - f for n, f in zip(steps, first, strict=True)]
    ends = [-(-(b + o) // s) for b, o, s in zip(before, out, strides, strict=True)]
    high = [max(end - e, 0) for end, e in zip(ends, shape[2:], strict=True)]
    more = [(0, n * s - k) for n, s, k in zip(steps, strides, taps, strict=True)]
    parts = np.pad(weight, [(0, 0), (0, 0), *more]).reshape(inputs, outputs, steps[0], strides[0], steps[1], strides[1])
    kernel = parts[:, :, ::-1, :, ::-1].transpose(1, 3, 5, 0, 2, 4).reshape(-1, inputs, *steps)
    images = call_op(
        "nn.conv2d", x, array_const(kernel), padding=(*low, *high), channels=len(kernel), kernel_size=steps
    )
    if max(strides) > 1:
        rows, columns = (e - f + h for e, f, h in zip(shape[2:], first, high, strict=True))
        split = call_op("reshape", images, newshape=(shape[0], outputs, *strides, rows, columns))
        moved = call_op("transpose", split, axes=(0, 1, 4, 2, 5, 3))
        images = call_op("reshape", moved, newshape=(shape[0], outputs, rows * strides[0], columns * strides[1]))
    begin = [b - f * s for b, f, s in zip(before, first, strides, strict=True)]
    return call_op(
        "strided_slice", images, begin=begin, end=[b + o for b, o in zip(begin, out, strict=True)], axes=(2, 3)
    )


def _by_columns(x: RelayExpr, weight: np.ndarray, shape: Shape, result: Shape, attrs: ConvolutionAttrs) -> RelayExpr:
    """Convolve images whose rows are the slices of a volume."""
    images = call_op("reshape", x, newshape=(*shape[:3], math.prod(shape[3:])))
    out = call_op(
        "nn.conv2d", images, array_const(weight[..., 0]), strides=(attrs.strides[0], 1), channels=result[1],
        padding=(attrs.padding[0], 0, attrs.padding[3], 0), dilation=(attrs.dilation[0], 1),
        kernel_size=weight.shape[2:4],
    )  # fmt: skip
    return call_op("reshape", out, newshape=result)


def _by_slices(x: RelayExpr, weight: np.ndarray, shape: Shape, result: Shape, attrs: ConvolutionAttrs) -> RelayExpr:
    """Convolve images whose channels are those of all slices that a window reads."""
    batch, channels, _, height, width = shape
    _, outputs, depth, *size = result
    (step, *strides), (apart, *dilation) = attrs.strides, attrs.dilation
    before, after = attrs.padding[0], attrs.padding[3]
    if before or after:
        x = call_op(
            "nn.pad",
            x,
            array_const(np.zeros((), "float32")),
            pad_width=((0, 0), (0, 0), (before, after), (0, 0), (0, 0)),
        )
    slices = []
    for first in range(0, apart * weight.shape[2], apart):
        end = first + step * (depth - 1) + 1
        slices.append(call_op("strided_slice", x, begin=(first,), end=(end,), strides=(step,), axes=(2,)))
    stacked = call_op("concatenate", Tuple(tuple(slices)), axis=1) if len(slices) > 1 else slices[0]
    moved = call_op("transpose", stacked, axes=(0, 2, 1, 3, 4))
    images = call_op("reshape", moved, newshape=(batch * depth, len(slices) * channels, height, width))
    out = call_op(
        "nn.conv2d", images, array_const(weight.swapaxes(1, 2).reshape(outputs, -1, *weight.shape[3:])),
        strides=strides, padding=_of_images(attrs.padding), dilation=dilation, channels=outputs,
        kernel_size=weight.shape[3:],
    )  # fmt: skip
    return call_op("transpose", call_op("reshape", out, newshape=(batch, depth, outputs, *size)), axes=(0, 2, 1, 3, 4))
