"""Counts the arithmetic operations of a function."""

from __future__ import annotations

from typing import Any

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import BinaryOp, IntImm, PrimExpr, Select
from compiler.ir.functor import Visitor
from compiler.ir.module import IRModule
from compiler.ir.node import Node
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import BufferStore, For, IfThenElse, LetStmt, Stmt, While

__all__ = ["estimate_tir_flops"]

ESTIMATED = "estimated_flops"


def estimate_tir_flops(stmt_or_mod: Stmt | PrimFunc | IRModule) -> float:
    """Return the number of arithmetic operations that are done for what is stored, index arithmetic left out.

    Comparisons and calls count as nothing, a branch as its more expensive side.  A function, a block or a loop that
    says ``estimated_flops`` in its attributes or annotations counts as that. Raises ArgumentError if the extent of a
    loop is not constant.
    """
    if isinstance(stmt_or_mod, IRModule):
        functions = [func for _, func in stmt_or_mod.items() if isinstance(func, PrimFunc)]
        return float(sum(map(estimate_tir_flops, functions)))
    if isinstance(stmt_or_mod, PrimFunc):
        estimate = stmt_or_mod.attrs.get(ESTIMATED)
        return estimate_tir_flops(stmt_or_mod.body) if estimate is None else _number(estimate)
    return float(_operations(stmt_or_mod))


def _number(estimate: Any) -> float:
    return float(getattr(estimate, "value", estimate))


def _operations(n: Node) -> float:
    annotations = getattr(n, "annotations", None) or {}
    if ESTIMATED in annotations:
        return _number(annotations[ESTIMATED])
    if isinstance(n, For):
        if not isinstance(n.extent, IntImm):
            raise ArgumentError(f"estimate_tir_flops: the extent of a loop must be constant, got {show(n.extent)}")
        return n.extent.value * _operations(n.body)
    if isinstance(n, IfThenElse):
        sides = [_operations(side) for side in (n.then_case, n.else_case) if side is not None]
        return _of_value(n.condition) + max(sides)
    if isinstance(n, BufferStore):
        return _of_value(n.value)
    if isinstance(n, LetStmt):
        return _of_value(n.value) + _operations(n.body)
    if isinstance(n, While):
        raise ArgumentError("estimate_tir_flops: the trip count of a while loop is unknown")
    if isinstance(n, BlockRealize):
        return _operations(n.block)
    if isinstance(n, Block):
        return _operations(n.body)
    children = [getattr(n, name) for name in n.children]
    parts = [part for child in children for part in (child if isinstance(child, tuple) else (child,))]
    return sum(_operations(part) for part in parts if isinstance(part, Stmt))


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
