"""Narrows all index arithmetic to 32 bits."""

from __future__ import annotations

from typing import Any

from compiler.ir import dtype as dt
from compiler.ir.error import LoweringError, show
from compiler.ir.expr.primexpr import BinaryOp, Call, Cast, IntImm, PrimExpr, Var, cast
from compiler.ir.functor import AnyNode
from compiler.ir.node import Node, duplicate, rebuild, structure
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.pass_base import FunctionRewrite


class ForceNarrowIndexToInt32(FunctionRewrite):
    """Make all integers of 64 bits ones of 32: variables, parameters, constants, shapes.

    Whether the values fit is not asked; :class:`NarrowDataType` does. ::

        def main(A: T.Buffer((T.int64(8),)), n: T.int64):     →     def main(A: T.Buffer((8,)), n: T.int32):
            for i in range(T.int64(8)):                                 for i in range(8):
                A[i] = T.Cast("float32", i + n)                             A[i] = T.Cast("float32", i + n)

    Raises LoweringError if a constant does not fit, or a buffer has elements of 64-bit integers, which are not indices.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        narrow = _Narrow()
        params = tuple(narrow.visit(param) for param in func.params)
        places = dict(zip(func.params, params, strict=True))
        buffers = {places[param]: narrow.visit(buffer) for param, buffer in func.buffer_map.items()}
        return rebuild(func, params=params, buffer_map=buffers, body=narrow.visit(func.body))


class _Narrow(StmtExprMutator):
    def __init__(self) -> None:
        self._things: dict[Node, Node] = {}

    def visit(self, n: Any, *args: object) -> Any:
        """Return what stands for a node: one thing for each variable, axis and buffer."""
        if not n.unique_instance:
            return super().visit(n, *args)
        if n not in self._things:
            self._things[n] = super().visit(n, *args)
        return self._things[n]

    def visit_Node(self, n: AnyNode) -> AnyNode:
        changes = {}
        for name in structure(type(n))[0]:
            old = getattr(n, name)
            if isinstance(old, Node):
                changes[name] = self.visit(old)
            elif isinstance(old, tuple):
                changes[name] = tuple(self.visit(item) if isinstance(item, Node) else item for item in old)
        changes = {name: new for name, new in changes.items() if new is not getattr(n, name)}
        return duplicate(n, changes) if changes else n

    def visit_Var(self, n: Var) -> PrimExpr:
        return rebuild(n, dtype="int32", type_annotation=None) if _is_wide(n.dtype) else n

    def visit_IntImm(self, n: IntImm) -> PrimExpr:
        if not _is_wide(n.dtype):
            return n
        low, high = dt.int_range("int32")
        if not low <= n.value <= high:
            raise LoweringError(f"ForceNarrowIndexToInt32: the constant {n.value} does not fit into int32")
        return IntImm("int32", n.value)

    def visit_BinaryOp(self, n: BinaryOp) -> PrimExpr:
        return type(n)(self.visit(n.a), self.visit(n.b))

    def visit_Cast(self, n: Cast) -> PrimExpr:
        return cast(_narrow(n.dtype), self.visit(n.value))

    def visit_Call(self, n: Call) -> PrimExpr:
        return rebuild(n, args=self._visit_tuple(n.args), dtype=_narrow(n.dtype))

    def visit_Buffer(self, n: Buffer) -> Buffer:
        if _is_wide(n.dtype):
            raise LoweringError(
                f"ForceNarrowIndexToInt32: the elements of buffer {show(n.name)} are {n.dtype}, which are not indices"
            )
        return self.visit_Node(n)


def _is_wide(dtype: str) -> bool:
    return dt.is_int(dtype) and dt.bits(dtype) == 64


def _narrow(dtype: str) -> str:
    return dt.with_lanes("int32", dt.lanes(dtype)) if _is_wide(dt.element(dtype)) else dtype
