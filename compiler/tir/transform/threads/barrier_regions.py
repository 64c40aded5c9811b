"""Splits a kernel at barriers, so that the threads of a block can run one after another in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.ir.error import LoweringError, show
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.functor import Functor
from compiler.ir.node import rebuild
from compiler.ir.origin import user_place
from compiler.tir.analysis.side_effect import is_pure
from compiler.tir.analysis.uniformity import Uniformity, is_barrier
from compiler.tir.statements import stmt as tir
from compiler.tir.statements.stmt import Stmt, is_no_op, no_op, seq
from compiler.tir.statements.stmt_functor import StmtVisitor


class Barriers(StmtVisitor):
    """Collects the statements that a barrier is in, or that are one."""

    def __init__(self, body: Stmt) -> None:
        self.around: set[Stmt] = set()
        self._path: list[Stmt] = []
        self.visit(body)

    def visit_Stmt(self, n: Stmt) -> None:
        self._path.append(n)
        self.visit_Node(n)
        self._path.pop()

    def visit_Evaluate(self, n: tir.Evaluate) -> None:
        if is_barrier(n):
            self.around.update((*self._path, n))


class BarrierRegions(Functor):
    """Splits the code of a thread at its barriers into regions, each of which all threads of a block run in turn.

    For example, for 8 threads::

        B[tx] = A[tx]                             for tx in range(8):
        T.tvm_storage_sync("shared")     →            B[tx] = A[tx]
        C[tx] = B[7 - tx]                         for tx in range(8):
                                                      C[tx] = B[7 - tx]

    ``each_thread`` returns the loops over the threads around a region. ``keep`` is called with the variable, the value
    and the body of a definition that reads memory and is used beyond a barrier; it returns the definition for each
    thread, and the body that reads it.
    """

    def __init__(
        self,
        uniformity: Uniformity,
        each_thread: Callable[[Stmt], Stmt],
        keep: Callable[[tir.LetStmt], tuple[Stmt, Stmt]],
    ) -> None:
        self._uniformity = uniformity
        self._each_thread = each_thread
        self._keep = keep
        self._around: set[Stmt] = set()
        self._definitions: list[tuple[Var, PrimExpr]] = []

    def split(self, body: Stmt) -> Stmt:
        """Return what all threads of a block do, for the code of one of them."""
        self._around = Barriers(body).around
        return self._split(body)

    def _split(self, n: Stmt) -> Stmt:
        return self.visit(n) if n in self._around else self._region([n])

    def _region(self, statements: Sequence[Stmt]) -> Stmt:
        """Return the loops over threads around some statements, with the definitions that they use."""
        region = seq(statements)
        if is_no_op(region):
            return region
        for var, value in reversed(self._definitions):
            if var in free_vars(region):
                copy = Var(var.name, var.dtype, var.type_annotation)
                region = tir.LetStmt(copy, value, substitute(region, {var: copy}))
        return self._each_thread(region)

    def visit_SeqStmt(self, n: tir.SeqStmt) -> Stmt:
        parts: list[Stmt] = []
        pending: list[Stmt] = []
        for stmt in n.seq:
            if stmt in self._around:
                parts += [self._region(pending), self.visit(stmt)]
                pending = []
            else:
                pending.append(stmt)
        return seq([*parts, self._region(pending)])

    def visit_Evaluate(self, n: tir.Evaluate) -> Stmt:
        return no_op()

    def visit_For(self, n: tir.For) -> Stmt:
        self._require(n, f"the loop over {n.loop_var.name}", n.min, n.extent)
        return rebuild(n, body=self._split(n.body))

    def visit_While(self, n: tir.While) -> Stmt:
        self._require(n, "the loop", n.condition)
        return rebuild(n, body=self._split(n.body))

    def visit_IfThenElse(self, n: tir.IfThenElse) -> Stmt:
        self._require(n, "the branch", n.condition)
        other = None if n.else_case is None else self._split(n.else_case)
        return rebuild(n, then_case=self._split(n.then_case), else_case=other)

    def _require(self, n: Stmt, what: str, *values: PrimExpr) -> None:
        if not self._uniformity.holds(*values):
            decides = next(value for value in values if not self._uniformity.holds(value))
            raise LoweringError(
                f"barrier under a condition that differs between threads: {what}{user_place(n.span)} depends on "
                f"{show(decides)}, so that not all threads of a block reach the barrier in it; move the barrier out, "
                "or let the condition depend on the block alone"
            )

    def visit_LetStmt(self, n: tir.LetStmt) -> Stmt:
        if self._uniformity.holds(n.value):
            return rebuild(n, body=self._split(n.body))
        if not is_pure(n.value):
            definition, body = self._keep(n)
            self._around |= Barriers(body).around
            return seq([self._region([definition]), self._split(body)])
        self._uniformity.varying.add(n.var)
        self._definitions.append((n.var, n.value))
        body = self._split(n.body)
        self._definitions.pop()
        return body

    def visit_AssertStmt(self, n: tir.AssertStmt) -> Stmt:
        return seq([self._region([rebuild(n, body=no_op())]), self._split(n.body)])

    def visit_AttrStmt(self, n: tir.AttrStmt | tir.DeclBuffer) -> Stmt:
        return rebuild(n, body=self._split(n.body))

    visit_DeclBuffer = visit_AttrStmt
