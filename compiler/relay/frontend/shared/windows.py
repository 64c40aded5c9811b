"""Windows that are put back into the image they were taken from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import Array, constant, ops
from compiler.relay.frontend.shared.tensors import bounded, pad, static_dims


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of an image, with the window along it and the padding before and after."""

    extent: int
    kernel: int
    stride: int
    dilation: int
    before: int
    after: int

    @property
    def count(self) -> int:
        """The number of windows."""
        return (self.extent + self.before + self.after - (self.kernel - 1) * self.dilation - 1) // self.stride + 1

    def contributors(self) -> Array:
        """Return, for each place of the image, the flat indices ``offset * count + window`` of what is put there.

        Places that get less than others have the index past the end instead.
        """
        starts = np.arange(self.count) * self.stride - self.before
        places = (np.arange(self.kernel)[:, None] * self.dilation + starts).ravel()
        found = [np.flatnonzero(places == place) for place in range(self.extent)]
        most = max(1, *map(len, found))
        return np.stack([np.pad(each, (0, most - len(each)), constant_values=places.size) for each in found])


def sum_of_windows(x: RelayExpr, image: Sequence[Axis]) -> RelayExpr:
    """Sum windows ``(batch, channels * offsets, windows)`` where they overlap in an image ``(batch, channels, …)``.

    Each element gathers what is put there, so that the sum is one kernel, with no race between windows.
    """
    batch, rows, count = static_dims(x, "the input")
    kernel, counts = [axis.kernel for axis in image], [axis.count for axis in image]
    channels = rows // int(np.prod(kernel))
    if int(np.prod(counts)) != count:
        extents = tuple(axis.extent for axis in image)
        raise ConversionError(f"an image of {extents} has {int(np.prod(counts))} blocks, the input {count}")
    bounded(batch, channels, *(axis.extent for axis in image), *kernel)
    rank = len(image)
    split = ops.reshape(x, (batch, channels, *kernel, *counts))
    beside = ops.transpose(split, axes=[0, 1, *(2 + i + part for i in range(rank) for part in (0, rank))])
    flat = ops.reshape(beside, (batch, channels, *(axis.kernel * axis.count for axis in image)))
    summed = pad(flat, [(0, 0), (0, 0), *[(0, 1)] * rank])
    for at, axis in reversed(list(enumerate(image, 2))):
        summed = ops.take(summed, constant(axis.contributors(), "int64"), axis=at)
    return ops.sum(summed, axis=[3 + 2 * i for i in range(rank)])
