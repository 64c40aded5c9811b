"""Counts the arithmetic operations of a function."""

from __future__ import annotations

from typing import Any

from compiler.arith import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, show
from compiler.ir.functor import Visitor
from compiler.ir.module import IRModule
from compiler.ir.primexpr import BinaryOp, PrimExpr, Range, Select
from compiler.tir.block import Block, BlockRealize
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import BufferStore, For, IfThenElse, LetStmt, Stmt, While

__all__ = ["estimate_tir_flops"]

ESTIMATED = "estimated_flops"


def estimate_tir_flops(stmt_or_mod: Stmt | PrimFunc | IRModule) -> float:
    """Return the number of arithmetic operations that are done for what is stored, index arithmetic left out.

    Comparisons, with what they compare, and calls count as nothing, a branch as its more expensive side, a loop of a
    varying extent as if it always had the largest.  A function, a block or a loop that says ``estimated_flops`` in its
    attributes or annotations counts as that.

    Parameters
    ----------
    stmt_or_mod : Stmt, PrimFunc or IRModule
        What is counted; the functions of a module are added up.

    Returns
    -------
    float

    Raises
    ------
    ArgumentError
        If the extent of a loop has no bound.
    """
    if isinstance(stmt_or_mod, IRModule):
        functions = [func for _, func in stmt_or_mod.items() if isinstance(func, PrimFunc)]
        return float(sum(map(estimate_tir_flops, functions)))
    if isinstance(stmt_or_mod, PrimFunc):
        said = stmt_or_mod.attrs.get(ESTIMATED)
        return estimate_tir_flops(stmt_or_mod.body) if said is None else _number(said)
    return float(_operations(stmt_or_mod, Analyzer()))


def _number(said: Any) -> float:
    return float(getattr(said, "value", said))


def _operations(n: Any, analyzer: Analyzer) -> float:
    """Return the operations of a statement; the analyzer knows the loops around it."""
    annotations = getattr(n, "annotations", None) or {}
    if ESTIMATED in annotations:
        return _number(annotations[ESTIMATED])
    if isinstance(n, For):
        return _trips(n, analyzer) * _operations(n.body, analyzer)
    if isinstance(n, IfThenElse):
        sides = [_operations(side, analyzer) for side in (n.then_case, n.else_case) if side is not None]
        return _of_value(n.condition) + max(sides)
    if isinstance(n, BufferStore):
        return _of_value(n.value)
    if isinstance(n, LetStmt):
        return _of_value(n.value) + _operations(n.body, analyzer)
    if isinstance(n, While):
        raise ArgumentError("estimate_tir_flops: the trip count of a while loop is unknown")
    if isinstance(n, BlockRealize):
        return _operations(n.block, analyzer)
    if isinstance(n, Block):
        return _operations(n.body, analyzer)
    children = [getattr(n, name) for name in n.children]
    parts = [part for child in children for part in (child if isinstance(child, tuple) else (child,))]
    return sum(_operations(part, analyzer) for part in parts if isinstance(part, Stmt))


def _trips(n: For, analyzer: Analyzer) -> int:
    """Return how often a loop runs at most, and let the analyzer know its variable."""
    bound = analyzer.const_int_bound(n.extent)
    if bound.max_value >= dt.int_range(n.extent.dtype)[1]:
        raise ArgumentError(f"estimate_tir_flops: the extent {show(n.extent)} of a loop has no bound")
    analyzer.bind(n.loop_var, Range.from_fields(n.min, n.extent))
    return max(int(bound.max_value), 0)


def _of_value(e: PrimExpr) -> float:
    counter = _Arithmetic()
    counter.visit(e)
    return counter.operations


class _Arithmetic(Visitor):
    """Counts the operations of an expression."""

    def __init__(self) -> None:
        self.operations = 0.0

    def visit_BufferLoad(self, n: PrimExpr) -> None:
        """An element, however it is indexed."""

    def visit_BinaryOp(self, n: BinaryOp) -> None:
        if dt.element(n.dtype) != "bool":
            self.operations += dt.lanes(n.dtype)
            self.visit_Node(n)

    def visit_Select(self, n: Select) -> None:
        self.visit(n.condition)
        self.operations += max(_of_value(n.true_value), _of_value(n.false_value))
