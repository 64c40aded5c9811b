"""What accesses to buffers must satisfy; nodes check it where they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.ir import dtype as dt
from compiler.ir.error import DTypeError, LanesError, RankError, counted, show
from compiler.ir.expr.primexpr import PrimExpr, Range

if TYPE_CHECKING:
    from compiler.tir.statements.buffer import Buffer, BufferStore


def check_predicate(access: str, masked: tuple[str, str], predicate: PrimExpr, lanes: int) -> None:
    """Raise an error if a predicate is not a vector of as many truth values as lanes are accessed.

    ``masked`` says what has the lanes, by its part of the access and by its kind.
    """
    if not isinstance(predicate, PrimExpr):
        raise DTypeError(f"Buffer{access.title()}: predicate must be a vector of bools, got {show(predicate)}")
    given = dt.parse(predicate.dtype)
    if given.code != "bool":
        raise LanesError(
            f"Predicate mask elements must be boolean values, but got {dt.element(predicate.dtype)} in {predicate}"
        )
    if (given.lanes < 0) != (lanes < 0):
        raise LanesError(f"Predicate mask dtype and {masked[0]} must both be scalable, got {predicate.dtype}")
    if given.lanes != lanes:
        raise LanesError(
            f"Got a predicate mask with {abs(given.lanes)} lanes, but trying to {access} a {masked[1]} with "
            f"{abs(lanes)} lanes. The number of lanes must match."
        )


def index_lanes(access: str, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> int:
    """Check the indices of an access and return how many elements they name, as :mod:`~compiler.ir.expr.lanes` does."""
    check_rank(buffer, indices)
    if not indices:
        return 1
    for index in indices[:-1]:
        if dt.is_vector(index.dtype):
            raise LanesError(
                f"{access}: Only the last index of a buffer access may be a vector type, got {show(index)}"
            )
    count = dt.lanes(indices[-1].dtype)
    if count < 0 and dt.lanes(buffer.dtype) < 0:
        raise LanesError(f"{access}: index dtype and buffer dtype can't both be scalable")
    return count


def check_rank(buffer: Buffer, indices: tuple[PrimExpr | Range, ...]) -> None:
    if len(indices) != len(buffer.shape):
        raise RankError(
            f"buffer {buffer.name!r} has {counted(len(buffer.shape), 'dimension')}, "
            f"got {counted(len(indices), 'index', 'indices')}: "
            f"{', '.join(map(show, indices))}"
        )


def check_stored_value(store: BufferStore, count: int) -> None:
    """Raise an error if a value has other lanes, or another type, than the elements that it is stored to."""
    elements, value = dt.lanes(store.buffer.dtype), dt.lanes(store.value.dtype)
    if (count * elements < 0) != (value < 0):
        kinds = ("non-scalable data into scalable", "scalable data into non-scalable")
        raise LanesError(f"Can't store {kinds[value < 0]} buffer {store.buffer.name}")
    if count * elements != value:
        raise LanesError(
            f"Cannot store value with {abs(value)}, expected value with {abs(count * elements)} ({abs(count)} index "
            f"lanes * {abs(elements)} buffer element lanes)"
        )
    wanted = dt.with_lanes(store.buffer.dtype, value)
    if store.value.dtype != wanted:
        raise DTypeError(
            f"dtype mismatch on BufferStore: elements of buffer {store.buffer.name!r} are {wanted}, but the value is "
            f"{store.value.dtype}"
        )
