"""Max pooling with indices, and max unpooling."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.converters.windows import adaptive, in_batches, max_pool, steps_of
from compiler.relay.frontend.pytorch.registry import converter, converters
from compiler.relay.frontend.pytorch.tensors import constant, dtype_of, extents, ops, repeated, reshape, static_shape
from compiler.relay.frontend.pytorch.values import Ints, TorchValue
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import Array
from compiler.relay.frontend.shared.tensors import bounded
from compiler.relay.frontend.shared.windows import greatest, places_in

_MAX_WINDOW = 256
"""The maximum number of elements of a window with indices."""


def _places(x: RelayExpr, windows: Sequence[Array]) -> RelayExpr:
    """Return the index of the maximum of each window, over the flattened spatial axes.

    ``windows`` has the coordinates of their elements along each axis; those outside of the image make all as long.
    """
    batch, channels, *spatial = static_shape(x)
    if (size := math.prod(axis.shape[1] for axis in windows)) > _MAX_WINDOW:
        raise ConversionError(f"places in windows of {size} elements are not computed, {_MAX_WINDOW} at most")
    places = places_in(windows, spatial)
    return reshape(greatest(x, places, places)[1], [batch, channels, *map(len, windows)])


def _of_strides(x: RelayExpr, count: int, kernel_size: Ints, stride: Ints | None, padding: Ints, dilation: Ints,
                ceil_mode: bool) -> tuple[RelayExpr, RelayExpr]:  # fmt: skip
    """Return the maxima of strided windows and their indices."""
    y = max_pool(x, count, kernel_size, stride, padding, dilation, ceil_mode)
    kernel = repeated(kernel_size, count)
    rest = (static_shape(y)[2:], kernel, steps_of(kernel, stride, count), repeated(padding, count))
    windows = [
        np.arange(many)[:, None] * step - around + np.arange(size) * apart
        for many, size, step, around, apart in zip(*rest, repeated(dilation, count), strict=True)
    ]
    return y, _places(x, windows)


@converter("max_pool2d_with_indices", "max_pool1d_with_indices", "max_pool3d_with_indices")
def _max_pool_with_places(x: RelayExpr, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
                          dilation: Ints = 1, ceil_mode: bool = False) -> TorchValue:  # fmt: skip
    count = len(extents(kernel_size))
    return in_batches(_of_strides, count)(
        x, kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode
    )


def _adaptive_max(x: RelayExpr, count: int, output_size: Ints) -> tuple[RelayExpr, RelayExpr | None]:
    """Return the maxima of adaptive windows and their indices."""
    y = adaptive("max")(x, count, output_size)
    windows = []
    for extent, many in zip(static_shape(x)[2:], static_shape(y)[2:], strict=True):
        rows = [range(i * extent // many, -(-(i + 1) * extent // many)) for i in range(many)]
        longest = max(map(len, rows))
        windows.append(np.array([(*row, *[-1] * (longest - len(row))) for row in rows]))
    return y, _places(x, windows) if math.prod(axis.shape[1] for axis in windows) <= _MAX_WINDOW else None


for _count in (1, 2, 3):
    converters({f"adaptive_max_pool{_count}d": in_batches(_adaptive_max, _count)})


@converter("max_unpool2d", "max_unpool3d")
def _max_unpool(
    x: RelayExpr, indices: RelayExpr, output_size: Ints, stride: Ints | None = None, padding: Ints | None = None
) -> RelayExpr:
    """Scatter elements to their indices in a tensor of zeros."""
    size = extents(output_size)
    front = list(static_shape(x)[: -len(size)])
    rows = [math.prod(front), math.prod(static_shape(x)[-len(size) :])]
    empty = constant(np.zeros([rows[0], math.prod(size)]), dtype_of(x))
    bounded(rows[0], *size)
    filled = ops.scatter_elements(empty, reshape(indices, rows), reshape(x, rows), axis=1)
    return reshape(filled, [*front, *size])
