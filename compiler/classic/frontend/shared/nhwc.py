"""Operators in the conventions of TensorFlow and TensorFlow Lite: NHWC, ``SAME`` and ``VALID`` padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import TypeAlias

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dims_of, dtype_of, ops, rank_of, scalar
from compiler.relay.frontend.shared.tensors import pad, reshape, static_dims, transpose


def same_padding(extents: Sequence[int], kernel: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """Return ``SAME`` padding: the padding before each axis, followed by that after each."""
    total = [max((-(-e // s) - 1) * s + k - e, 0) for e, k, s in zip(extents, kernel, strides, strict=True)]
    return (*(t // 2 for t in total), *(t - t // 2 for t in total))


def _padding(
    x: RelayExpr, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], padding: str | Sequence[int]
) -> tuple[int, ...]:
    if not isinstance(padding, str):
        return tuple(padding)
    if padding == "VALID":
        return (0,) * (2 * len(kernel))
    if padding != "SAME":
        raise ConversionError(f"padding must be SAME or VALID, got {padding!r}")
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    return same_padding(static_dims(x, "the input")[1:-1], reach, strides)


def conv2d(
    x: RelayExpr,
    weight: RelayExpr,
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: str | Sequence[int],
    operator: Callable[..., RelayExpr] = ops.nn.conv2d,
    spatial: str = "HW",
) -> RelayExpr:
    """Build a convolution, e.g. ``nn.conv2d`` or its quantized counterpart, of an NHWC image with HWIO weights."""
    *kernel, inputs, outputs = static_dims(weight, "the weight")
    return operator(
        x,
        weight,
        strides=tuple(strides),
        padding=_padding(x, kernel, strides, dilations, padding),
        dilation=tuple(dilations),
        groups=static_dims(x, "the input")[-1] // inputs,
        channels=outputs,
        kernel_size=tuple(kernel),
        data_layout=f"N{spatial}C",
        kernel_layout=f"{spatial}IO",
    )


def conv3d(
    x: RelayExpr, weight: RelayExpr, strides: Sequence[int], dilations: Sequence[int], padding: str
) -> RelayExpr:
    """Build a convolution of an NDHWC volume with DHWIO weights."""
    return conv2d(x, weight, strides, dilations, padding, ops.nn.conv3d, "DHW")


def depthwise_conv2d(
    x: RelayExpr,
    weight: RelayExpr,
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: str | Sequence[int],
    operator: Callable[..., RelayExpr] = ops.nn.conv2d,
) -> RelayExpr:
    """Build a depthwise convolution; the weight has the axes height, width, channel, channel multiplier."""
    *kernel, channels, multiplier = static_dims(weight, "the weight")
    return conv2d(x, reshape(weight, [*kernel, 1, channels * multiplier]), strides, dilations, padding, operator)


def conv2d_transpose(
    x: RelayExpr, weight: RelayExpr, shape: Sequence[int], strides: Sequence[int], padding: str
) -> RelayExpr:
    """Build a transposed convolution, the gradient of a convolution with respect to its input of that shape."""
    return _transposed(x, weight, shape, strides, padding, ops.nn.conv2d_transpose)


def conv3d_transpose(
    x: RelayExpr, weight: RelayExpr, shape: Sequence[int], strides: Sequence[int], padding: str
) -> RelayExpr:
    """Build a transposed convolution of an NDHWC volume."""
    return _transposed(x, weight, shape, strides, padding, ops.nn.conv3d_transpose)


def _transposed(
    x: RelayExpr,
    weight: RelayExpr,
    shape: Sequence[int],
    strides: Sequence[int],
    padding: str,
    operator: Callable[..., RelayExpr],
) -> RelayExpr:
    *kernel, outputs, _ = static_dims(weight, "the weight")
    count = len(kernel)
    extents, wanted = static_dims(x, "the input")[1:-1], shape[1:-1]
    full = [(e - 1) * s + k for e, s, k in zip(extents, strides, kernel, strict=True)]
    spare = [f - w for f, w in zip(full, wanted, strict=True)]
    before = [max(s, 0) // 2 if padding == "SAME" else 0 for s in spare]
    channels_first = operator(
        transpose(x, (0, count + 1, *range(1, count + 1))),
        transpose(weight, (count + 1, count, *range(count))),
        strides=tuple(strides),
        channels=outputs,
        kernel_size=tuple(kernel),
    )
    result = transpose(channels_first, (0, *range(2, count + 2), 1))
    around = [(0, 0), *((-b, b - s) for b, s in zip(before, spare, strict=True)), (0, 0)]
    return pad(result, around)


def max_pool(x: RelayExpr, window: Sequence[int], strides: Sequence[int], padding: str) -> RelayExpr:
    """Max pooling of an image."""
    around = _padding(x, window, strides, (1, 1), padding)
    return ops.nn.max_pool2d(x, tuple(window), strides=tuple(strides), padding=around, layout="NHWC")


def avg_pool(x: RelayExpr, window: Sequence[int], strides: Sequence[int], padding: str) -> RelayExpr:
    """Average pooling of an image, excluding padding."""
    around = _padding(x, window, strides, (1, 1), padding)
    return ops.nn.avg_pool2d(x, tuple(window), strides=tuple(strides), padding=around, layout="NHWC")


def max_pool3d(x: RelayExpr, window: Sequence[int], strides: Sequence[int], padding: str) -> RelayExpr:
    """Max pooling of a volume."""
    around = _padding(x, window, strides, (1, 1, 1), padding)
    return ops.nn.max_pool3d(x, tuple(window), strides=tuple(strides), padding=around, layout="NDHWC")


def avg_pool3d(x: RelayExpr, window: Sequence[int], strides: Sequence[int], padding: str) -> RelayExpr:
    """Average pooling of a volume, excluding padding."""
    around = _padding(x, window, strides, (1, 1, 1), padding)
    return ops.nn.avg_pool3d(x, tuple(window), strides=tuple(strides), padding=around, layout="NDHWC")


def dilation2d(
    x: RelayExpr, weight: RelayExpr, strides: Sequence[int], dilations: Sequence[int], padding: str
) -> RelayExpr:
    """Grey-scale dilation of an image; the weight has the axes height, width, channel.

    Padding never contributes to the maximum.
    """
    around = _padding(x, static_dims(weight, "the weight")[:2], strides, dilations, padding)
    if any(around):
        lowest = np.finfo(dtype_of(x)).min if dtype_of(x).startswith("float") else np.iinfo(dtype_of(x)).min
        x = pad(x, [(0, 0), *zip(around[:2], around[2:], strict=True), (0, 0)], "constant", scalar(lowest, x))
    return ops.image.dilation2d(
        x, weight, strides=tuple(strides), dilations=tuple(dilations), data_layout="NHWC", kernel_layout="HWI"
    )


def mirror_pad(x: RelayExpr, around: Sequence[Sequence[int]], mode: str) -> RelayExpr:
    """Pad by reflection, including the border (``SYMMETRIC``) or excluding it (``REFLECT``)."""
    return ops.nn.mirror_pad(x, tuple((int(b), int(a)) for b, a in around), mode=mode)


def resize(x: RelayExpr, size: Sequence[int], method: str, align_corners: bool, half_pixel: bool) -> RelayExpr:
    """Resize an image to a height and a width; corner pixels that are aligned stay in the corners."""
    mode = "align_corners" if align_corners else "half_pixel" if half_pixel else "asymmetric"
    rounding = ""
    if method == "nearest_neighbor":
        rounding = "round" if align_corners else "floor"
        mode = "tf_half_pixel_for_nn" if half_pixel and not align_corners else mode
    return ops.image.resize2d(
        x,
        tuple(int(s) for s in size),
        layout="NHWC",
        method=method,
        coordinate_transformation_mode=mode,
        rounding_method=rounding,
    )


def space_to_batch(x: RelayExpr, block: Sequence[int], around: Sequence[Sequence[int]]) -> RelayExpr:
    """Move blocks of the spatial axes into the batch."""
    return ops.nn.space_to_batch_nd(x, [int(b) for b in block], [[int(b), int(a)] for b, a in around])


def batch_to_space(x: RelayExpr, block: Sequence[int], crops: Sequence[Sequence[int]]) -> RelayExpr:
    """Move parts of the batch into the spatial axes, and crop."""
    return ops.nn.batch_to_space_nd(x, [int(b) for b in block], [[int(b), int(a)] for b, a in crops])


def strided_slice(
    x: RelayExpr, begin: Sequence[int], end: Sequence[int], strides: Sequence[int], masks: dict[str, int]
) -> RelayExpr:
    """Index as NumPy does, with TensorFlow's bit masks for special entries.

    ``begin`` and ``end``: the bound is omitted; ``ellipsis``: all remaining axes; ``new_axis``: a new axis of extent 1;
    ``shrink_axis``: a single index, whose axis is removed.
    """
    indices = [_index(i, begin, end, strides, masks) for i in range(len(begin))]
    if Ellipsis in indices:
        at = indices.index(Ellipsis)
        rest = rank_of(x) - sum(isinstance(i, (slice, int)) for i in indices)
        indices[at : at + 1] = [slice(None, None, 1)] * rest
    dims = static_dims(x, "the input")
    bounds: list[tuple[int, int, int]] = []
    shape: list[int] = []
    for index in indices:
        if index is None or isinstance(index, EllipsisType):
            shape.append(1)
            continue
        bounds.append(_bounds(index, dims[len(bounds)]))
        shape += [len(range(*bounds[-1]))] if isinstance(index, slice) else []
    if 0 in shape:
        raise ConversionError("the part that is taken has no elements")
    return reshape(_cut(x, bounds), [*shape, *dims[len(bounds) :]])


_Index: TypeAlias = "int | slice[int | None, int | None, int] | EllipsisType | None"


def _index(i: int, begin: Sequence[int], end: Sequence[int], strides: Sequence[int], masks: dict[str, int]) -> _Index:
    if masks.get("ellipsis", 0) >> i & 1:
        return Ellipsis
    if masks.get("new_axis", 0) >> i & 1:
        return None
    if masks.get("shrink_axis", 0) >> i & 1:
        return int(begin[i])
    first = None if masks.get("begin", 0) >> i & 1 else int(begin[i])
    last = None if masks.get("end", 0) >> i & 1 else int(end[i])
    return slice(first, last, int(strides[i]))


def _bounds(index: slice | int, extent: int) -> tuple[int, int, int]:
    if isinstance(index, slice):
        return index.indices(extent)
    if not -extent <= index < extent:
        raise ConversionError(f"index {index} is out of range for an axis of extent {extent}")
    return index % extent, index % extent + 1, 1


def _cut(x: RelayExpr, bounds: Sequence[tuple[int, int, int]]) -> RelayExpr:
    for axis, (start, stop, step) in enumerate(bounds):
        extent = dims_of(x)[axis]
        if (start, stop, step) == (0, extent, 1):
            continue
        if step > 0:
            x = ops.strided_slice(x, [start], [stop], [step], axes=[axis])
        else:
            x = ops.take(x, constant(np.arange(start, stop, step), "int64"), axis=axis)
    return x
