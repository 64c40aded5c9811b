"""The types of loop-carried values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.ty import AnyDim, TensorType, joined_dim, same_dim

MAX_ROUNDS = 8
"""How often types are widened before they must be stable."""


def stable_types(
    types: Sequence[TensorType], turn: Callable[[list[TensorType]], Sequence[TensorType]]
) -> list[TensorType]:
    """Find types of loop-carried values that are stable across iterations: extents that change become unknown."""
    before = list(types)
    for _ in range(MAX_ROUNDS):
        joined = [_joined(a, b, i) for i, (a, b) in enumerate(zip(before, turn(before), strict=True))]
        if all(_same(a, b) for a, b in zip(before, joined, strict=True)):
            return before
        before = joined
    raise ConversionError("the extents of its loop-carried values do not converge")


def _joined(before: TensorType, after: TensorType, index: int) -> TensorType:
    if before.dtype != after.dtype or len(before.dims) != len(after.dims):
        raise ConversionError(f"loop-carried value {index} is {before} before an iteration and {after} after it")
    dims = [joined_dim(a, b) for a, b in zip(before.dims, after.dims, strict=True)]
    return TensorType(tuple(dims), before.dtype)


def _same(a: TensorType, b: TensorType) -> bool:
    return all(
        same_dim(x, y) or (isinstance(x, AnyDim) and isinstance(y, AnyDim)) for x, y in zip(a.dims, b.dims, strict=True)
    )
