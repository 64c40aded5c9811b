"""Lowers addresses in special memory scopes."""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call, PrimExpr, Var, const
from compiler.tir.analysis.features import features
from compiler.tir.expressions.builtin import ACCESS_PTR, address_of
from compiler.tir.statements.allocations import pointer_scope
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.memory_info import MemoryInfo, is_tagged, memory_info
from compiler.tir.statements.stmt import Allocate, LetStmt, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.pass_base import FunctionRewrite


class LowerDeviceStorageAccessInfo(FunctionRewrite):
    """Let user-defined memory begin at its head address, and make pointers to parts of buffers addresses of elements.

    For example, where ``tvm.info.mem.global.npu`` says that the memory begins at ``base()``::

        S = T.allocate([16], "int8", "global.npu")       →     S: T.handle("int8", "global.npu") = base()
        f(T.tvm_access_ptr("int8", S, n + 4, 8, 1))            f(T.address_of(S_1[n + 4]))

    Memory without a head address is not allocated either; its elements may be used, but no pointer to them. Raises
    LoweringError if nothing is said about the memory of a tagged scope, or there is a pointer to a part of memory
    without a head address.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        used = features(func)
        if Allocate not in used.nodes and ACCESS_PTR.name not in used.ops:
            return func
        return func.with_body(_Lower().visit(func.body))


class _Lower(StmtExprMutator):
    def __init__(self) -> None:
        self._memories: dict[Var, MemoryInfo] = {}

    def visit_Allocate(self, n: Allocate) -> Stmt:
        scope = pointer_scope(n.buffer_var)
        if not is_tagged(scope):
            return self.visit_Node(n)
        info = memory_info(scope)
        if info is None:
            raise LoweringError(
                f"LowerDeviceStorageAccessInfo: buffer {n.buffer_var.name!r} is in {scope!r}: "
                f"register a function tvm.info.mem.{scope} that describes this memory"
            )
        self._memories[n.buffer_var] = info
        body = self.visit(n.body)
        return body if info.head_address is None else LetStmt(n.buffer_var, info.head_address, body)

    def visit_Call(self, n: Call) -> PrimExpr:
        new: Call = self.visit_Node(n)
        return new if n.op is not ACCESS_PTR else self._address(*new.args[:3])

    def _address(self, kind: PrimExpr, pointer: PrimExpr, offset: PrimExpr) -> PrimExpr:
        """Return the address of the element at an offset, which counts elements of a type, scalars or vectors."""
        assert isinstance(pointer, Var)
        info = self._memories.get(pointer)
        if info is not None and info.head_address is None:
            raise LoweringError(
                f"LowerDeviceStorageAccessInfo: buffer {pointer.name!r} is not addressable: "
                f"tvm.info.mem.{pointer_scope(pointer)} gives no head address"
            )
        index = offset * dt.lanes(kind.dtype)
        elements = Buffer(pointer, dt.element(kind.dtype), (index + 1,), (), const(0), pointer.name)
        return address_of(BufferLoad(elements, (index,)))
