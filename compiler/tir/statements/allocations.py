"""Queries on allocations: scope, size, and the allocating statements."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.ir.expr.primexpr import IntImm, PrimExpr, Var, const
from compiler.ir.types import PointerType
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.statement import Stmt
from compiler.tir.statements.stmt import Allocate, DeclBuffer


def pointer_scope(pointer: Var) -> str:
    """Return the storage scope of what a variable points to; ``global`` where its type does not say."""
    kind = pointer.type_annotation
    return (kind.storage_scope if isinstance(kind, PointerType) else "") or "global"


def element_count(extents: Iterable[PrimExpr]) -> PrimExpr:
    """Return how many elements memory of these extents has."""
    count: PrimExpr = const(1)
    for extent in extents:
        count = count * extent
    return count


def constant_count(extents: Iterable[PrimExpr]) -> int | None:
    """Return how many elements memory of these extents has, None if that is not constant."""
    count = 1
    for extent in extents:
        if not isinstance(extent, IntImm):
            return None
        count *= extent.value
    return count


def allocated(buffer: Buffer, body: Stmt) -> Stmt:
    """Return statements within the allocation of a buffer that they use."""
    return Allocate(buffer.data, buffer.dtype, buffer.shape, const(True), DeclBuffer(buffer, body))
