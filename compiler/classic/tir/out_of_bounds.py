"""Rejects out-of-bounds accesses, showing them in the program."""

from __future__ import annotations

from typing import Never

from compiler.arith.analyzer import Analyzer
from compiler.arith.int_set import IntervalSet
from compiler.ir import dtype as dt
from compiler.ir.error import show
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Var
from compiler.ir.functor import Visitor
from compiler.ir.module import IRModule
from compiler.ir.transform import ModulePass, PassContext
from compiler.tir.expressions.builtin import IF_THEN_ELSE, is_call
from compiler.tir.schedule.error import IllegalStepError, rendered
from compiler.tir.statements.block import BlockRealize
from compiler.tir.statements.buffer import BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AttrStmt, For, IfThenElse


class OOBChecker(ModulePass):
    """Reject a module in which an access is certain to leave its buffer in some iteration.

    Loops tell the range of each index; what a condition guards is taken to be inside. ::

        for i in range(17):        →   ScheduleError: Out of bounds memory access on buffer A dimension 0.
            A[i] = 0.0                 index i with bounds [0, 16] is outside the range [0, 16].

    Raises
    ------
    ScheduleError
        With all such accesses.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        checker = _Checker()
        for _, func in mod.items():
            if isinstance(func, PrimFunc):
                checker.visit(func.body)
        if checker.reports:
            _refuse(mod, checker.reports)
        return mod


def _refuse(mod: IRModule, reports: list[tuple[PrimExpr, str]]) -> Never:
    places, messages = zip(*reports, strict=True)
    raise rendered(IllegalStepError("\n".join(messages), places), mod, "OOBChecker", "detail")


class _Checker(Visitor):
    def __init__(self) -> None:
        self.reports: list[tuple[PrimExpr, str]] = []
        self._analyzer = Analyzer()
        self._domains: dict[Var, IntervalSet] = {}
        self._guards = 0

    def visit_For(self, n: For) -> None:
        self._run_over(n.loop_var, n.min, n.min + n.extent - 1)
        self.visit_Node(n)

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        if isinstance(n.node, IterVar) and n.attr_key == "thread_extent":
            self._run_over(n.node.var, n.value - n.value, n.value - 1)
        self.visit_Node(n)

    def visit_BlockRealize(self, n: BlockRealize) -> None:
        for axis, value in zip(n.block.iter_vars, n.iter_values, strict=True):
            interval = self._analyzer.int_set(value, self._domains)
            self._run_over(axis.var, interval.min_value, interval.max_value)
        self.visit(n.block)

    def _run_over(self, var: Var, first: PrimExpr, last: PrimExpr) -> None:
        low, high = (self._analyzer.int_set(e, self._domains) for e in (first, last))
        self._domains[var] = IntervalSet(low.min_value, high.max_value)

    def visit_IfThenElse(self, n: IfThenElse) -> None:
        self.visit(n.condition)
        self._guarded(n.then_case, n.else_case)

    def visit_Call(self, n: PrimExpr) -> None:
        if is_call(n, IF_THEN_ELSE):
            self.visit(n.args[0])
            self._guarded(*n.args[1:])
        else:
            self.visit_Node(n)

    def _guarded(self, *parts: object) -> None:
        self._guards += 1
        for part in parts:
            if part is not None:
                self.visit(part)
        self._guards -= 1

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self._check(n)

    def visit_BufferStore(self, n: BufferStore) -> None:
        self._check(n)

    def _check(self, n: BufferLoad | BufferStore) -> None:
        self.visit_Node(n)
        for dimension, (index, extent) in enumerate(zip(n.indices, n.buffer.shape, strict=True)):
            if self._guards or dt.lanes(index.dtype) != 1:
                continue
            interval = self._analyzer.int_set(index, self._domains)
            low, high = interval.min_value, interval.max_value
            prove = self._analyzer.can_prove
            if (_is_number(high) and prove(high >= extent)) or (_is_number(low) and prove(low < 0)):
                bounds = f"[{show(self._analyzer.simplify(low))}, {show(self._analyzer.simplify(high))}]"
                self.reports.append(
                    (
                        index,
                        f"Out of bounds memory access on buffer {n.buffer.name} dimension {dimension}. "
                        f"index {show(index)} with bounds {bounds} is outside the range [0, {show(extent)}].",
                    )
                )


def _is_number(e: PrimExpr) -> bool:
    """Return whether an end of an interval is not infinite."""
    return dt.is_int(e.dtype)
