"""Marks the body of a function as device code."""

from __future__ import annotations

from compiler.ir.expr.primexpr import const
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AttrStmt
from compiler.tir.transform.pass_base import FunctionRewrite


class DecorateDeviceScope(FunctionRewrite):
    """Put the whole body of a function under the attribute ``device_scope``.

    For example::

        B[0] = A[0]     →     with T.attr(0, "device_scope", 0):
                                  B[0] = A[0]
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return func.with_body(AttrStmt(const(0), "device_scope", const(0), func.body))
