"""Stream compaction: moves the rows that pass a test to the front."""

from __future__ import annotations

from collections.abc import Callable

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.operands import Extent
from compiler.topi.tag import Tag

__all__ = ["compacted", "row_or"]


def compacted(batch: Extent, rows: Extent, passes: Callable[[PrimExpr, PrimExpr], PrimExpr]) -> tuple[Tensor, Tensor]:
    """Return how many rows of each batch pass a test, and which ones, in their order.

    The counts are ``(batch,)``, the sources ``(batch, rows)``, -1 behind the last row that passes.
    """

    def counted(b: PrimExpr, row: PrimExpr) -> PrimExpr:
        return passes(b, row).astype("int32")

    k = te.reduce_axis((0, rows), name="k")
    count = compute((batch,), lambda b: te.sum(counted(b, k.var), axis=k), name="count", tag=Tag.COMM_REDUCE)
    before = te.reduce_axis((0, rows), name="before")

    def place(b: Var, row: Var) -> PrimExpr:
        earlier = tir.Select(before.var < row, counted(b, before.var), tir.const(0, "int32"))
        return te.sum(earlier, axis=before)

    places = compute((batch, rows), place, name="place", tag=Tag.COMM_REDUCE)
    source = te.reduce_axis((0, rows), name="source")

    def row_at(b: Var, at: Var) -> PrimExpr:
        here = te.all(passes(b, source.var), places(b, source.var).equal(at))
        return te.max(tir.Select(here, source.var, tir.const(-1, "int32")), axis=source)

    return count, compute((batch, rows), row_at, name="source", tag=Tag.COMM_REDUCE)


def row_or(data: Tensor, sources: Tensor, missing: float, name: str) -> Tensor:
    """Return the rows that ``sources``, ``(batch, rows)``, name, and a number in place of rows of negative ones."""
    other = tir.const(missing, data.dtype)

    def element(b: Var, row: Var, column: Var) -> PrimExpr:
        source = sources(b, row)
        return te.if_then_else(source >= 0, data(b, te.max(source, 0), column), other)

    return compute(data.shape, element, name=name, tag=Tag.INJECTIVE)
