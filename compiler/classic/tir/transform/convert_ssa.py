"""Converts a function to SSA form: every variable is defined once."""

from __future__ import annotations

from compiler.ir.expr.primexpr import IterVar, Let, PrimExpr, Var
from compiler.ir.expr.substitute import substitute
from compiler.ir.node import N, rebuild
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, AllocateConst, AttrStmt, For, LetStmt, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.pass_base import FunctionRewrite


class ConvertSSA(FunctionRewrite):
    """Give every definition of a variable a variable of its own.

    For example::

        for i in range(4):            for i in range(4):
            A[i] = 0.0         →          A[i] = 0.0
        for i in range(4):            for i_1 in range(4):
            B[i] = A[i]                   B[i_1] = A[i_1]

    where both loops had the very same variable.  Thread axes stay: several kernels may share one.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return func.with_body(_DefineOnce(func).visit(func.body))


class _DefineOnce(StmtExprMutator):
    def __init__(self, func: PrimFunc) -> None:
        self._defined: set[Var] = {*func.params, *[buffer.data for buffer in func.buffer_map.values()]}

    def _own(self, n: N, name: str, *scopes: str) -> N:
        """Return ``n`` with a fresh variable, within the fields where that is defined, if it was defined before."""
        var = getattr(n, name)
        if var not in self._defined:
            self._defined.add(var)
            return n
        fresh = Var(var.name, var.dtype, var.type_annotation, span=var.span)
        self._defined.add(fresh)
        return rebuild(n, **{name: fresh}, **{scope: substitute(getattr(n, scope), {var: fresh}) for scope in scopes})

    def visit_For(self, n: For) -> Stmt:
        return self.visit_Node(self._own(n, "loop_var", "body"))

    def visit_LetStmt(self, n: LetStmt) -> Stmt:
        return self.visit_Node(self._own(n, "var", "body"))

    def visit_Let(self, n: Let) -> PrimExpr:
        return self.visit_Node(self._own(n, "var", "body"))

    def visit_Allocate(self, n: Allocate) -> Stmt:
        return self.visit_Node(self._own(n, "buffer_var", "body"))

    def visit_AllocateConst(self, n: AllocateConst) -> Stmt:
        return self.visit_Node(self._own(n, "buffer_var", "body"))

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if isinstance(n.node, IterVar):
            self._defined.add(n.node.var)
        return self.visit_Node(n)
