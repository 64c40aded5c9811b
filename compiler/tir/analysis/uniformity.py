"""Values that are uniform across a thread block, and divergent barriers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from compiler.ir.expr.primexpr import Call, PrimExpr, StringImm, Var
from compiler.ir.functor import Visitor, nodes_of
from compiler.tir.analysis.thread_axes import is_thread, launch_of
from compiler.tir.expressions.builtin import STORAGE_SYNC
from compiler.tir.statements import stmt as tir
from compiler.tir.statements.allocations import pointer_scope
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.stmt import Stmt
from compiler.tir.statements.stmt_functor import StmtVisitor

_SHARED_SCOPES = ("shared", "shared.dyn", "warp")
"""Storage within kernels that more than one thread sees."""


def is_barrier(n: Stmt) -> bool:
    """Return whether a statement lets threads wait for each other."""
    return isinstance(n, tir.Evaluate) and isinstance(n.value, Call) and n.value.op is STORAGE_SYNC


class Uniformity(Visitor):
    """Tells which expressions have one value for all threads of a block."""

    def __init__(self, varying: Iterable[Var]) -> None:
        # the variables that differ from thread to thread, and the pointers to memory whose elements do
        self.varying = set(varying)
        self._uniform = True

    def holds(self, *values: PrimExpr) -> bool:
        """Return whether all threads agree about some values."""
        self._uniform = True
        for value in values:
            self.visit(value)
        return self._uniform

    def visit_Var(self, n: Var) -> None:
        self._uniform = self._uniform and n not in self.varying

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self._uniform = self._uniform and n.buffer.data not in self.varying
        self.visit_Node(n)


def varying_values(body: Stmt) -> set[Var]:
    """Return the variables of kernels that differ from thread to thread, and the pointers to memory whose elements do.

    A thread's own memory has the same elements in all threads while all of them store the same there; memory that a
    call gets the address of may have any.
    """
    flow = _Flow()
    size = -1
    while size < len(flow.uniformity.varying):
        size = len(flow.uniformity.varying)
        flow.visit(body)
    return flow.uniformity.varying


class _Flow(StmtVisitor):
    """Notes what depends on the position of a thread; run it until it notes nothing new."""

    def __init__(self) -> None:
        self.uniformity = Uniformity(())
        self._private: set[Var] = set()
        self._in_kernel = False
        self._diverges = False

    def _note(self, var: Var, *values: PrimExpr) -> None:
        if self._diverges or not self.uniformity.holds(*values):
            self.uniformity.varying.add(var)

    def visit_AttrStmt(self, n: tir.AttrStmt) -> None:
        if launch_of(n):
            self._launch(n)
        else:
            self.visit(n.body)

    def _launch(self, n: tir.AttrStmt | tir.For) -> None:
        launch, outer = launch_of(n), self._in_kernel
        if launch is not None and is_thread(launch.tag):
            self.uniformity.varying.update(launch.variables)
        self._in_kernel = True
        self.visit(n.body)
        self._in_kernel = outer

    def visit_Allocate(self, n: tir.Allocate) -> None:
        if self._in_kernel and pointer_scope(n.buffer_var) not in _SHARED_SCOPES:
            self._private.add(n.buffer_var)
        self.visit(n.body)

    def visit_LetStmt(self, n: tir.LetStmt) -> None:
        if not self.uniformity.holds(n.value):
            self.uniformity.varying.add(n.var)
        self.visit(n.body)

    def visit_BufferStore(self, n: tir.BufferStore) -> None:
        if n.buffer.data in self._private:
            self._note(n.buffer.data, n.value, *n.indices)

    def visit_Evaluate(self, n: tir.Evaluate) -> None:
        self.uniformity.varying |= _passed(n.value) & self._private

    def visit_For(self, n: tir.For) -> None:
        if launch_of(n):
            self._launch(n)
            return
        if not self.uniformity.holds(n.min):
            self.uniformity.varying.add(n.loop_var)
        self._under(n.body, n.min, n.extent)

    def visit_While(self, n: tir.While) -> None:
        self._under(n.body, n.condition)

    def visit_IfThenElse(self, n: tir.IfThenElse) -> None:
        for side in (n.then_case, n.else_case):
            if side is not None:
                self._under(side, n.condition)

    def _under(self, body: Stmt, *values: PrimExpr) -> None:
        outer, self._diverges = self._diverges, self._diverges or not self.uniformity.holds(*values)
        self.visit(body)
        self._diverges = outer


def _passed(e: PrimExpr) -> set[Var]:
    """Return the memory that calls are given the addresses of."""
    arguments = [argument for call in nodes_of(e, Call) for argument in call.args]
    pointers = {argument for argument in arguments if isinstance(argument, Var) and argument.dtype == "handle"}
    return pointers | {argument.buffer.data for argument in arguments if isinstance(argument, BufferLoad)}


class DivergentBarrier(NamedTuple):
    """A barrier, the loop or branch around it that not all threads take, and what decides about that."""

    barrier: tir.Evaluate
    around: tir.For | tir.While | tir.IfThenElse
    decides: PrimExpr


def divergent_barrier(body: Stmt) -> DivergentBarrier | None:
    """Return the first barrier of a block that not all of its threads come to, or come to as often."""
    search = _Search(Uniformity(varying_values(body)))
    search.visit(body)
    return search.result


class _Search(StmtVisitor):
    def __init__(self, uniformity: Uniformity) -> None:
        self.result: DivergentBarrier | None = None
        self._uniformity = uniformity
        self._around: tuple[tir.For | tir.While | tir.IfThenElse, PrimExpr] | None = None

    def visit_For(self, n: tir.For) -> None:
        self._under(n, *(() if launch_of(n) else (n.min, n.extent)))

    def visit_While(self, n: tir.While | tir.IfThenElse) -> None:
        self._under(n, n.condition)

    visit_IfThenElse = visit_While

    def _under(self, n: tir.For | tir.While | tir.IfThenElse, *values: PrimExpr) -> None:
        outer = self._around
        decides = next((value for value in values if not self._uniformity.holds(value)), None)
        if outer is None and decides is not None:
            self._around = n, decides
        self.visit_Node(n)
        self._around = outer

    def visit_Evaluate(self, n: tir.Evaluate) -> None:
        if self.result is None and self._around is not None and is_barrier(n) and not is_for_warps(n):
            self.result = DivergentBarrier(n, *self._around)


def is_for_warps(n: tir.Evaluate) -> bool:
    """Return whether a barrier is one for the threads of a warp."""
    scope = n.value.args[0] if isinstance(n.value, Call) and n.value.args else None
    return isinstance(scope, StringImm) and scope.value == "warp"
