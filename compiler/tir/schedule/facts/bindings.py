"""Bindings of block axes, rewritten and simplified when loops change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from compiler.arith import iter_map_simplify
from compiler.ir.expr.primexpr import And, PrimExpr, Range, Var, is_const_int
from compiler.ir.node import rebuild
from compiler.tir.schedule.tree import loop_range
from compiler.tir.statements.block import BlockRealize
from compiler.tir.statements.stmt import For, Stmt
from compiler.tir.statements.stmt_functor import StmtMutator

S = TypeVar("S", bound=Stmt)


def conjunction(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """Return that two conditions hold; what always holds is left out."""
    if is_const_int(a, 1):
        return b
    return a if is_const_int(b, 1) else And(a, b)


def conjuncts(condition: PrimExpr) -> Iterator[PrimExpr]:
    """Yield the conditions that hold where a condition does, none for one that always holds."""
    if isinstance(condition, And):
        yield from conjuncts(condition.a)
        yield from conjuncts(condition.b)
    elif not is_const_int(condition, 1):
        yield condition


def simplified_bindings(stmt: S, outer_loops: Mapping[Var, Range], preserve_unit_iters: bool = True) -> S:
    """Return a statement with the values of its blocks' axes simplified as sums of parts of loops.

    For example ``(i * 128 + j) // 128`` becomes ``i`` where ``j`` runs over 128 values.
    """
    new = _Simplify(outer_loops, preserve_unit_iters).visit(stmt)
    assert isinstance(new, type(stmt))
    return new


class _Simplify(StmtMutator):
    def __init__(self, loops: Mapping[Var, Range], preserve_unit_iters: bool) -> None:
        self._loops = dict(loops)
        self._preserve = preserve_unit_iters

    def visit_For(self, n: For) -> Stmt:
        self._loops[n.loop_var] = loop_range(n)
        body = self.visit(n.body)
        del self._loops[n.loop_var]
        return rebuild(n, body=body)

    def visit_BlockRealize(self, n: BlockRealize) -> Stmt:
        """Blocks without axes are looked into: they stand in the loops around them."""
        if not n.block.iter_vars:
            return rebuild(n, block=rebuild(n.block, body=self.visit(n.block.body)))
        values = iter_map_simplify(
            n.iter_values, self._loops, n.predicate, simplify_trivial_iterators=not self._preserve
        )
        return rebuild(n, iter_values=tuple(values))


def with_predicate(stmt: S, condition: PrimExpr) -> S:
    """Return a statement whose outermost blocks run where a condition holds, besides where they did."""
    new = _Guard(condition).visit(stmt)
    assert isinstance(new, type(stmt))
    return new


class _Guard(StmtMutator):
    def __init__(self, condition: PrimExpr) -> None:
        self._condition = condition

    def visit_BlockRealize(self, n: BlockRealize) -> Stmt:
        return rebuild(n, predicate=conjunction(n.predicate, self._condition))
