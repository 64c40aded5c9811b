"""Removes stores of undefined values."""

from __future__ import annotations

from compiler.ir.error import LoweringError, show
from compiler.ir.expr.primexpr import Call, Let, Var
from compiler.ir.expr.substitute import uses_var
from compiler.ir.functor import Visitor
from compiler.tir.analysis.features import features
from compiler.tir.expressions.builtin import UNDEF
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import BufferStore, LetStmt, Stmt, no_op
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import FunctionRewrite
from compiler.tir.transform.remove_no_op import without_empty_parts


class RemoveStoreUndef(FunctionRewrite):
    """Remove the stores of values that are made of ``T.undef()``: any value may stand there, the old one too.

    For example::

        A[0] = T.undef()     →     B[0] = 1.0
        B[0] = 1.0

    Raises LoweringError if an undefined value decides which element is stored, or is used anywhere else.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if UNDEF.name not in features(func).ops:
            return func
        undefined = _UndefinedStores()
        undefined.visit(func.body)
        body = without_empty_parts(_Remove(undefined.stores, undefined.variables).visit(func.body))
        _check_defined(body)
        return func.with_body(body)


def _check_defined(body: Stmt) -> None:
    rest = _UndefinedStores()
    rest.visit(body)
    if rest.used:
        raise LoweringError("RemoveStoreUndef: an undefined value may only be stored, but is used in another way")


class _UndefinedStores(Visitor):
    """Collects the stores of undefined values, and the variables that stand for one."""

    def __init__(self) -> None:
        self.stores: set[BufferStore] = set()
        self.variables: set[Var] = set()
        self.used = False

    def _is_undefined(self, e: object) -> bool:
        used, self.used = self.used, False
        self.visit(e)
        result, self.used = self.used, used
        return result or uses_var(e, self.variables.__contains__)

    def visit_Call(self, n: Call) -> None:
        self.used |= n.op is UNDEF
        self.visit_Node(n)

    def visit_Let(self, n: Let) -> None:
        if self._is_undefined(n.value):
            self.variables.add(n.var)
        self.visit_Node(n)

    def visit_LetStmt(self, n: LetStmt) -> None:
        if self._is_undefined(n.value):
            self.variables.add(n.var)
        self.visit_Node(n)

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self._check_indices(n)
        self.visit_Node(n)

    def _check_indices(self, n: BufferLoad | BufferStore) -> None:
        if any(self._is_undefined(index) for index in n.indices):
            raise LoweringError(f"RemoveStoreUndef: an index of {n.buffer.name!r} is undefined in {show(n)}")

    def visit_BufferStore(self, n: BufferStore) -> None:
        self._check_indices(n)
        if self._is_undefined(n.value):
            self.stores.add(n)
        self.visit_Node(n)


class _Remove(StmtMutator):
    def __init__(self, stores: set[BufferStore], variables: set[Var]) -> None:
        self._stores = stores
        self._variables = variables

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        return no_op() if n in self._stores else n

    def visit_LetStmt(self, n: LetStmt) -> Stmt:
        body = self.visit(n.body)
        if n.var in self._variables:
            return body
        return LetStmt(n.var, n.value, body)
