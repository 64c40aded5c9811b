"""Decoding of sparse tensors, in the format of TACO.

References
----------
tensorflow/lite/schema/schema.fbs, ``SparsityParameters``; the format is that of TACO:
Kjolstad et al., The Tensor Algebra Compiler, OOPSLA 2017
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import tflite

from compiler.relay.frontend.shared.errors import ModelError
from compiler.relay.frontend.shared.folding import Array
from compiler.relay.frontend.shared.tensors import bounded


def dense(values: Array, shape: Sequence[int], sparsity: tflite.SparsityParameters) -> Array:
    """Convert a sparse tensor of a shape to a dense array.

    The levels of its traversal are axes of the tensor, then axes within blocks.
    """
    rank, blocks = len(shape), sparsity.BlockMapLength()
    order = [int(sparsity.TraversalOrder(i)) for i in range(sparsity.TraversalOrderLength())]
    if sorted(order) != list(range(rank + blocks)) or sparsity.DimMetadataLength() != len(order):
        raise ModelError(f"a sparse tensor of {rank} axes and {blocks} in blocks has the traversal {order}")
    bounded(*shape)
    at, coordinates = np.zeros(1, "int64"), [np.zeros(1, "int64") for _ in order]
    sizes = [1] * len(order)
    for level, axis in enumerate(order):
        at, source, own, sizes[axis] = _descended(at, sparsity.DimMetadata(level), math.prod(shape))
        coordinates = [c[source] for c in coordinates]
        coordinates[axis] = own
    places = coordinates[:rank]
    for i in range(blocks):
        axis = int(sparsity.BlockMap(i))
        places[axis] = places[axis] * sizes[rank + i] + coordinates[rank + i]
    outside = [
        axis
        for axis, (p, d) in enumerate(zip(places, shape, strict=True))
        if p.size and not 0 <= p.min() <= p.max() < d
    ]
    if outside or (at.size and at.max() >= values.size):
        raise ModelError(f"a sparse tensor of shape {tuple(shape)} stores {values.size} elements, some outside of it")
    result = np.zeros(shape, values.dtype)
    result[tuple(places)] = values[at]
    return result


def _descended(at: Array, level: tflite.DimensionMetadata, most: int) -> tuple[Array, Array, Array, int]:
    """Descend a level: return the positions of nodes, their parents, their coordinates, and the extent."""
    if level.Format() == tflite.DimensionType.DENSE:
        size = int(level.DenseSize())
        bounded(at.size, size)
        own = np.tile(np.arange(size), at.size)
        source = np.repeat(np.arange(at.size), size)
        return at[source] * size + own, source, own, size
    segments, indices = (_integers(level, name) for name in ("ArraySegments", "ArrayIndices"))
    counts = segments[at + 1] - segments[at]
    if counts.size and (counts.min() < 0 or counts.sum() > most):
        raise ModelError(f"a level of a sparse tensor of {most} elements has segments that fit none: {segments[:8]}")
    source = np.repeat(np.arange(at.size), counts)
    below = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + segments[at][source]
    return below, source, indices[below], 1


_VECTORS = {
    tflite.SparseIndexVector.Int32Vector: tflite.Int32Vector,
    tflite.SparseIndexVector.Uint16Vector: tflite.Uint16Vector,
    tflite.SparseIndexVector.Uint8Vector: tflite.Uint8Vector,
}


def _integers(level: tflite.DimensionMetadata, name: str) -> Array:
    table, kind = getattr(level, name)(), getattr(level, f"{name}Type")()
    if table is None or kind not in _VECTORS:
        raise ModelError(f"a level of a sparse tensor has no {name}")
    vector = _VECTORS[kind]()
    vector.Init(table.Bytes, table.Pos)
    numbers: Array = np.asarray(vector.ValuesAsNumpy() if vector.ValuesLength() else [], "int64")
    return numbers
