"""Makes shared memory sizes static, for languages without dynamic shared memory."""

from __future__ import annotations

from compiler.ir.expr.primexpr import Var
from compiler.ir.expr.substitute import substitute
from compiler.ir.node import rebuild
from compiler.ir.types import PointerType
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, Stmt
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.memory.merge_shared_memory_allocations import DYNAMIC
from compiler.tir.transform.pass_base import FunctionRewrite


class StaticSharedMemory(FunctionRewrite):
    """Make allocations of the scope ``shared.dyn`` such of the scope ``shared``.

    For example::

        S = T.allocate([256], "float32", "shared.dyn")     →     S = T.allocate([256], "float32", "shared")

    Languages without pointers, like WGSL, cannot say that one memory holds elements of several types, so that
    MergeSharedMemoryAllocations is no way for them.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return func.with_body(_MakeStatic().visit(func.body))


class _MakeStatic(StmtMutator):
    def visit_Allocate(self, n: Allocate) -> Stmt:
        kind = n.buffer_var.type_annotation
        if not isinstance(kind, PointerType) or kind.storage_scope != DYNAMIC:
            return self.visit_Node(n)
        pointer = Var(n.buffer_var.name, n.buffer_var.dtype, PointerType(kind.element_type, "shared"))
        return rebuild(n, buffer_var=pointer, body=self.visit(substitute(n.body, {n.buffer_var: pointer})))
