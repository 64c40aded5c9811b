"""Helpers shared by operator families: axes, symbolic extents, calls by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.expr.primexpr import IntImm, PrimExpr
from compiler.relay.operator import RelationError, call_op
from compiler.relay.ty import AnyDim, Dim

FAR = 1 << 30
"""The end of a slice that is beyond every extent."""
NOT_SMOOTH = {"gradient": "it is constant between its jumps, so its derivative says nothing"}
"""Waives the gradient of what counts, compares or rounds."""
FIRST_ORDER = {"gradient": "it is itself made by differentiating, or by a pass after it"}
"""Waives the gradient of what only gradients and late passes make."""


def normalize_axis(axis: int, rank: int, what: str = "axis") -> int:
    """Return an axis counted from the front.

    Raises RelationError if there is no such axis.
    """
    if not -rank <= axis < rank:
        raise RelationError(f"{what} must be at least {-rank} and less than {rank}, got {axis}")
    return axis % rank


def normalize_axes(axes: Sequence[int], rank: int, what: str = "axis") -> tuple[int, ...]:
    """Return several different axes, counted from the front.

    Raises RelationError if there is no such axis, or one is given twice.
    """
    normalized = tuple(normalize_axis(a, rank, what) for a in axes)
    if len(set(normalized)) < len(normalized):
        raise RelationError(f"{what} must name each dimension once, got {tuple(axes)} of {rank} dimensions")
    return normalized


def check_same_extent(a: Dim, b: Dim, what: str) -> None:
    """Raise a RelationError if two extents are certainly different."""
    if isinstance(a, int) and isinstance(b, int) and a != b:
        raise RelationError(f"{what}: {a} and {b} differ")


def is_symbolic(dim: object) -> bool:
    """Return whether an extent is not known as a number."""
    return isinstance(dim, PrimExpr) and not isinstance(dim, IntImm)


def has_any_dim(*dims: object) -> bool:
    """Return whether one of the extents is known to nobody but the running program."""
    return any(isinstance(d, AnyDim) for d in dims)


def along_axis(vector: RelayExpr, axis: int, rank: int) -> RelayExpr:
    """Return a vector with axes of extent 1 behind it, so that it broadcasts along an axis of a tensor."""
    behind = rank - 1 - axis % rank
    return call_op("expand_dims", vector, axis=1, num_newaxis=behind) if behind else vector


def num_elements(dims: Iterable[Dim]) -> Dim:
    """Return the product of extents, 1 of none; nobody knows it where one extent is ``?``."""
    count: Dim = 1
    for d in dims:
        if isinstance(d, AnyDim):
            return d
        count = count * d
    return count


def int_of(value: Any, what: str) -> int:
    """Return an int.

    Raises ArgumentError if it is not one.
    """
    if isinstance(value, IntImm):
        return value.value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentError(f"{what} must be an int, got {show(value)}")
    return int(value)


def ints_of(values: Any, what: str) -> tuple[int, ...]:
    """Return several ints; a single one counts as a sequence of one.

    Raises ArgumentError if they are not ints.
    """
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        return (int_of(values, what),)
    return tuple(int_of(v, what) for v in values)
