"""Tensor lists, as used by loops.

A list is a tensor with the element index as its first axis.  If a graph reserves a list of unknown element shape, the
shape is that of the first stored element; until then the list has the shape ``(n, 0)``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dims_of, dtype_of, ops, type_of
from compiler.relay.frontend.shared.tensors import bounded, reshape, static_dims


def list_of(count: int, shape: Sequence[int], dtype: str) -> RelayExpr:
    """Create a list of zeros, whose elements have a shape with negative extents where they are unknown."""
    dims = (count, 0) if any(d < 0 for d in shape) else (count, *shape)
    bounded(*dims)
    return constant(np.zeros(dims), dtype)


def _is_unknown(elements: RelayExpr) -> bool:
    return dims_of(elements)[1:] == (0,)


def stored(elements: RelayExpr, index: RelayExpr, item: RelayExpr) -> RelayExpr:
    """Replace an element of a list."""
    if _is_unknown(elements):
        elements = list_of(static_dims(elements, "the list")[0], static_dims(item, "the element"), dtype_of(item))
    return ops.scatter_nd(elements, reshape(index, [1, 1]), ops.expand_dims(item, 0), mode="update")


def element(elements: RelayExpr, index: RelayExpr) -> RelayExpr:
    """Return an element of a list."""
    if _is_unknown(elements):
        raise ConversionError("it reads an empty list whose element shape is unknown")
    return ops.take(elements, index, axis=0)


def with_element_shapes(initial: Sequence[RelayExpr], after: Sequence[RelayExpr]) -> list[RelayExpr]:
    """Complete the initial values of a loop with the element shapes of lists, from its first iteration."""
    return [
        list_of(static_dims(later, "a list")[0], static_dims(later, "a list")[1:], dtype_of(later))
        if len(type_of(first).shape) == 2 and _is_unknown(first) and not _is_unknown(later)
        else first
        for first, later in zip(initial, after, strict=True)
    ]
