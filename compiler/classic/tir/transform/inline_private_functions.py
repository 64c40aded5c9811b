"""Inlines the private functions of a module."""

from __future__ import annotations

from typing import ClassVar

from compiler.ir.expr.primexpr import Call, PrimExpr, Var
from compiler.ir.expr.substitute import substitute
from compiler.ir.function import GlobalVar
from compiler.ir.functor import nodes_of
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import ModulePass, PassContext
from compiler.tir.expressions.builtin import RET
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.renewal import RenewDefs
from compiler.tir.statements.stmt import DeclBuffer, Evaluate, LetStmt, Stmt
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import PrimFuncPass


class InlinePrivateFunctions(ModulePass):
    """Replace calls of private functions by their bodies, and remove those functions.

    For example::

        def main(A):                                            def main(A):
            for i in range(4):                                      for i in range(4):
                helper(A.data, i)                         →             B = T.decl_buffer((4,), data=A.data)
                                                                        B[i] = 0.0
        @T.prim_func(private=True)
        def helper(p: T.handle("float32"), i: T.int32):
            B = T.decl_buffer((4,), data=p)
            B[i] = 0.0

    A function is inlined if it has no ``global_symbol``, takes pointers and numbers only, returns no value, and does
    not call itself, over others neither.
    """

    prefix: ClassVar[str] = PrimFuncPass.prefix

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        functions = {var.name_hint: func for var, func in mod.items() if isinstance(func, PrimFunc)}
        calls = {name: _calls(func) for name, func in functions.items()}
        inlined = {
            name: func for name, func in functions.items() if _is_inlinable(func) and name not in _reached(calls, name)
        }
        if not inlined:
            return mod
        inline = _Inline(inlined)
        return mod.with_functions(
            {
                var: func.with_body(inline.visit(func.body)) if isinstance(func, PrimFunc) else func
                for var, func in mod.items()
                if var.name_hint not in inlined
            }
        )


def _is_inlinable(func: PrimFunc) -> bool:
    returns = any(n.op is RET for n in nodes_of(func.body, Call))
    return "global_symbol" not in func.attrs and not func.buffer_map and not returns


def _calls(func: PrimFunc) -> set[str]:
    """Return the functions of the module that a function calls."""
    return {n.op.name_hint for n in nodes_of(func.body, Call) if isinstance(n.op, GlobalVar)}


def _reached(calls: dict[str, set[str]], name: str) -> set[str]:
    """Return the functions that a function calls, over others as well."""
    reached: set[str] = set()
    todo = [name]
    while todo:
        fresh = calls.get(todo.pop(), set()) - reached
        reached |= fresh
        todo += fresh
    return reached


class _Inline(StmtMutator):
    def __init__(self, functions: dict[str, PrimFunc]) -> None:
        self._functions = functions

    def visit_Evaluate(self, n: Evaluate) -> Stmt:
        call = n.value
        if not isinstance(call, Call) or not isinstance(call.op, GlobalVar):
            return n
        callee = self._functions.get(call.op.name_hint)
        if callee is None or len(callee.params) != len(call.args):
            return n
        given = list(zip(callee.params, call.args, strict=True))
        computed = [(param, arg) for param, arg in given if param.dtype == "handle" and not isinstance(arg, Var)]
        body = substitute(callee.body, {param: arg for param, arg in given if (param, arg) not in computed})
        for param, arg in reversed(computed):  # memory is accessed by pointers that have names
            body = _bound_where_declared(param, arg, body)
        inlined: Stmt = self.visit(RenewDefs().visit(body))
        return inlined


def _bound_where_declared(pointer: Var, value: PrimExpr, body: Stmt) -> Stmt:
    """Bind a pointer in front of the buffer that is declared at it, as in TVM; else in front of everything."""
    before: list[DeclBuffer] = []
    inner = body
    while isinstance(inner, DeclBuffer):
        if inner.buffer.data is pointer:
            bound: Stmt = LetStmt(pointer, value, inner)
            for declared in reversed(before):
                bound = rebuild(declared, body=bound)
            return bound
        before.append(inner)
        inner = inner.body
    return LetStmt(pointer, value, body)
