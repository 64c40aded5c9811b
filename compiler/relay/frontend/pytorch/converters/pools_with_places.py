"""Max pooling with indices, and max unpooling."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.converters.windows import adaptive, in_batches, max_pool, steps_of
from compiler.relay.frontend.pytorch.registry import converter, converters
from compiler.relay.frontend.pytorch.tensors import (
    constant,
    dtype_of,
    extents,
    ops,
    repeated,
    reshape,
    scalar,
    static_shape,
)
from compiler.relay.frontend.pytorch.values import Ints, TorchValue
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.tensors import bounded, cast

_MAX_WINDOW = 256
"""The maximum number of elements of a window with indices."""


def _greatest(x: RelayExpr, windows: Sequence[Sequence[tuple[int, ...]]]) -> RelayExpr:
    """Return the index of the maximum of each window, over the flattened spatial axes.

    ``windows`` has the coordinates of each window's elements along each spatial axis, padded with -1 to equal length.
    """
    batch, channels, *spatial = static_shape(x)
    columns = [np.asarray(axis) for axis in windows]
    outer, inner = [len(axis) for axis in columns], [axis.shape[1] for axis in columns]
    if math.prod(inner) > _MAX_WINDOW:
        raise ConversionError(
            f"places in windows of {math.prod(inner)} elements are not computed, {_MAX_WINDOW} at most"
        )
    bounded(*outer, *inner)
    flat, inside, rank = np.zeros((), "int64"), np.ones((), bool), len(spatial)
    for i, axis in enumerate(columns):
        shape = [1] * (2 * rank)
        shape[i], shape[rank + i] = axis.shape
        flat = flat * spatial[i] + np.maximum(axis, 0).reshape(shape)
        inside = inside & (axis >= 0).reshape(shape)
    table = flat.reshape(math.prod(outer), math.prod(inner))
    elements = ops.take(reshape(x, [batch, channels, math.prod(spatial)]), constant(table, "int64"), axis=2)
    least = -math.inf if dtype_of(x).startswith("float") else np.iinfo(dtype_of(x)).min
    mask = constant(np.broadcast_to(inside, [*outer, *inner]).reshape(table.shape))
    best = ops.argmax(ops.where(mask, elements, scalar(least, x)), axis=[3])
    first = np.arange(len(table)) * table.shape[1]
    places = ops.take(
        constant(table.reshape(-1), "int64"), ops.add(cast(best, "int64"), constant(first, "int64")), axis=0
    )
    return reshape(places, [batch, channels, *outer])


def _of_strides(x: RelayExpr, count: int, kernel_size: Ints, stride: Ints | None, padding: Ints, dilation: Ints,
                ceil_mode: bool) -> tuple[RelayExpr, RelayExpr]:  # fmt: skip
    """Return the maxima of strided windows and their indices."""
    y = max_pool(x, count, kernel_size, stride, padding, dilation, ceil_mode)
    kernel = repeated(kernel_size, count)
    strides = steps_of(kernel, stride, count)
    around, dilations = repeated(padding, count), repeated(dilation, count)
    windows = []
    for i, (extent, many) in enumerate(zip(static_shape(x)[2:], static_shape(y)[2:], strict=True)):
        begins = [j * strides[i] - around[i] for j in range(many)]
        rows = [tuple(b + k * dilations[i] for k in range(kernel[i])) for b in begins]
        windows.append([tuple(c if 0 <= c < extent else -1 for c in row) for row in rows])
    return y, _greatest(x, windows)


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
        windows.append([(*row, *[-1] * (longest - len(row))) for row in rows])
    return y, _greatest(x, windows) if math.prod(len(axis[0]) for axis in windows) <= _MAX_WINDOW else None


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
