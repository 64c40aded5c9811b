"""``unique``: the distinct elements of a vector.

The vector is sorted; each of its runs of equal elements is one result.  The places where runs begin are found by
counting, so every result is read, none is written by another's index.
"""

from __future__ import annotations

from compiler import te, tir
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.arrays.scatter import invert_permutation
from compiler.topi.arrays.sorting import argsort, searchsorted
from compiler.topi.compute import compute
from compiler.topi.device import precedes
from compiler.topi.operands import dims, number
from compiler.topi.scan import cumsum
from compiler.topi.tag import Tag

__all__ = ["unique"]


def unique(data: Tensor, is_sorted: bool = True, return_counts: bool = False) -> list[Tensor]:
    """Return the different elements of a vector, with where each first stands; NaN equals NaN.

    They stand in order if ``is_sorted``, else in that of their first occurrences. The results are, with zeros after the
    last different element: the elements; the indices of their first occurrences; for each element of ``data`` the place
    of its value among the first; how many there are, ``(1,)``; and with ``return_counts`` the numbers of occurrences.
    All but the first are int32. Raises ArgumentError if ``data`` is not a vector.
    """
    if data.ndim != 1:
        raise ArgumentError(f"unique: data must have one dimension, got {data.ndim}")
    order = argsort(data, None, 0, True, "int32")
    run, count = _runs(data, order)
    begins = _run_begins(run)

    def of_run(r: PrimExpr, value: PrimExpr) -> PrimExpr:
        return tir.if_then_else(r < count(0), value, tir.const(0, value.dtype))

    shape = dims(data)
    values = compute(shape, lambda r: of_run(r, data(order(begins(r)))), name="unique_elements", tag=Tag.INJECTIVE)
    first = compute(shape, lambda r: of_run(r, order(begins(r))), name="unique_indices", tag=Tag.INJECTIVE)
    times = compute(shape, lambda r: begins(r + 1) - begins(r), name="unique_counts", tag=Tag.INJECTIVE)
    place = invert_permutation(order)
    inverse = compute(shape, lambda i: run(place(i)) - 1, name="unique_inverse", tag=Tag.INJECTIVE)
    if not is_sorted:
        behind = compute(
            shape,
            lambda r: tir.Select(r < count(0), first(r), number(shape[0], "int32")),
            name="occurrence",
            tag=Tag.INJECTIVE,
        )
        by_first = argsort(behind, None, 0, True, "int32")
        moved = invert_permutation(by_first)
        values, first, times = (_read(t, by_first) for t in (values, first, times))
        inverse = _read(moved, inverse)
    return [values, first, inverse, count, *([times] if return_counts else [])]


def _runs(data: Tensor, order: Tensor) -> tuple[Tensor, Tensor]:
    """Return the number of the run, from one on, that each sorted element is in, and how many runs there are."""

    def begins(i: Var) -> PrimExpr:
        differs = precedes(data(order(te.max(i - 1, 0))), data(order(i)), True)
        return tir.any(i.equal(0), differs).astype("int32")

    run = cumsum(compute(dims(data), begins, name="begins_run", tag=Tag.INJECTIVE), 0)
    (extent,) = dims(data)
    if isinstance(extent, int):
        total = run(extent - 1) if extent else tir.const(0, "int32")
    else:
        total = tir.if_then_else(extent > 0, run(te.max(extent - 1, 0)), tir.const(0, "int32"))
    return run, compute((1,), lambda _: total, name="num_unique", tag=Tag.INJECTIVE)


def _run_begins(run: Tensor) -> Tensor:
    """Return where each run begins among the sorted elements; those after the last begin at the end."""
    (extent,) = dims(run)
    numbers = compute((extent + 1,), lambda r: r.astype("int32"), name="run_number", tag=Tag.INJECTIVE)
    return searchsorted(run, numbers, True, "int32")


def _read(data: Tensor, places: Tensor) -> Tensor:
    return compute(dims(places), lambda i: data(places(i)), name=f"{data.op.name}_moved", tag=Tag.INJECTIVE)
