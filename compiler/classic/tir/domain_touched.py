"""The regions of buffers that statements touch."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.arith.int_set import IntervalSet, union
from compiler.arith.interval_arithmetic import eval_set
from compiler.ir.expr.primexpr import PrimExpr, Range, Var
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import BufferStore, For, LetStmt, Stmt
from compiler.tir.statements.stmt_functor import StmtExprVisitor

__all__ = ["domain_touched", "domain_touched_access_map"]

Touched = tuple[IntervalSet, ...]
"""What one access touches: a set for each dimension."""


class _Accesses(StmtExprVisitor):
    """Collects what each access touches while the loops around it run."""

    def __init__(self) -> None:
        self.loads: dict[Buffer, list[Touched]] = {}
        self.stores: dict[Buffer, list[Touched]] = {}
        self._domains: dict[Var, Range | IntervalSet] = {}

    def visit_For(self, n: For) -> None:
        self._domains[n.loop_var] = Range.from_min_extent(n.min, n.extent)
        self.visit_Node(n)
        del self._domains[n.loop_var]

    def visit_LetStmt(self, n: LetStmt) -> None:
        self._domains[n.var] = self._set(n.value)
        self.visit_Node(n)
        del self._domains[n.var]

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self._note(self.loads, n.buffer, n.indices)
        self.visit_Node(n)

    def visit_BufferStore(self, n: BufferStore) -> None:
        self._note(self.stores, n.buffer, n.indices)
        self.visit_Node(n)

    def _note(self, accesses: dict[Buffer, list[Touched]], buffer: Buffer, indices: Iterable[PrimExpr]) -> None:
        accesses.setdefault(buffer, []).append(tuple(self._set(index) for index in indices))

    def _set(self, e: PrimExpr) -> IntervalSet:
        result = eval_set(e, dict(self._domains))
        for _ in self._domains:  # the ends of inner loops depend on the variables of outer ones
            result = eval_set(result, dict(self._domains))
        return result


def domain_touched(stmt: Stmt, buffer: Buffer, consider_loads: bool, consider_stores: bool) -> list[Range]:
    """Return a box around the elements of a buffer that a statement reads or writes."""
    accesses = _Accesses()
    accesses.visit(stmt)
    touched = [
        *(accesses.loads.get(buffer, []) if consider_loads else []),
        *(accesses.stores.get(buffer, []) if consider_stores else []),
    ]
    sets = [union(dimension) for dimension in zip(*touched, strict=True)]
    full = [Range.from_min_extent(dim * 0, dim) for dim in buffer.shape]
    return [_range(s, r) for s, r in zip(sets, full, strict=False)]


def _range(touched: IntervalSet, full: Range) -> Range:
    """Return a set as a range; one without ends is the whole dimension."""
    return touched.cover_range(full)


def domain_touched_access_map(func: PrimFunc) -> dict[Buffer, list[list[list[IntervalSet]]]]:
    """Return what each access of a function's buffers touches.

    Each buffer has three lists: of its loads, of its stores, and of both; an access is a list of one set for each
    dimension.
    """
    accesses = _Accesses()
    accesses.visit(func.body)
    result = {}
    for buffer in dict.fromkeys([*accesses.loads, *accesses.stores]):
        loads = [list(access) for access in accesses.loads.get(buffer, [])]
        stores = [list(access) for access in accesses.stores.get(buffer, [])]
        result[buffer] = [loads, stores, loads + stores]
    return result
