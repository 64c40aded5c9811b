"""TVMScript functions that create scopes, variables and statements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.ir.expr.primexpr import ExprLike, IterVar, Let, PrimExpr, StringImm, Var, const, convert
from compiler.ir.expr.primexpr import Range as RangeNode
from compiler.tir.script.definitions import (
    Branch,
    Declaration,
    FunctionAttributes,
    Scope,
    Wrap,
    declared,
    declared_variable,
    unwrapped,
)
from compiler.tir.statements.stmt import AssertStmt, AttrStmt, Evaluate, Stmt
from compiler.tir.statements.stmt import LetStmt as LetStmtNode
from compiler.tir.statements.stmt import While as WhileNode

__all__ = [
    "Assert", "Else", "If", "LetStmt", "Then", "While", "attr", "env_thread", "evaluate", "func_attr", "launch_thread",
    "let", "var",
]  # fmt: skip


def attr(node: object, attr_key: str, value: ExprLike) -> Scope:
    """State a fact about the rest of the block: ``T.attr(A.data, "storage_alignment", 128)``."""
    subject = StringImm(node) if isinstance(node, str) else unwrapped(node)
    return Scope.unnamed(lambda body: AttrStmt(subject, attr_key, convert(value), body))


def env_thread(thread_tag: str, dtype: str = "int32") -> Declaration:
    """Declare the axis of threads that :func:`launch_thread` begins: ``tx = T.env_thread("threadIdx.x")``.

    The tag of a virtual thread begins with ``vthread``.
    """
    return Declaration(lambda name: IterVar(None, Var(name, dtype), IterVar.ThreadIndex, thread_tag))


def launch_thread(thread: str | IterVar, extent: ExprLike) -> Scope:
    """Begin a thread axis: ``tx = T.launch_thread("threadIdx.x", 32)``.

    The thread is a tag, of a virtual thread one that begins with ``vthread``, or what :func:`env_thread` declared.
    """
    tag = thread.thread_tag if isinstance(thread, IterVar) else thread
    key = "virtual_thread" if tag.startswith("vthread") else "thread_extent"

    def enter(name: str) -> tuple[object, Wrap]:
        count = convert(extent)
        dom = RangeNode.from_fields(const(0, count.dtype), count)
        var = thread.var if isinstance(thread, IterVar) else Var(name or tag, count.dtype)
        axis = IterVar(dom, var, IterVar.ThreadIndex, tag)
        return axis.var, lambda body: AttrStmt(axis, key, count, body)

    return Scope(enter)


def While(condition: ExprLike) -> Scope:
    """Run a block as long as a condition holds: ``with T.While(i[0] < n):``."""
    return Scope.unnamed(lambda body: WhileNode(convert(condition), body))


def If(condition: ExprLike) -> Branch:
    """Begin a branch, whose ``with T.Then():`` and ``with T.Else():`` stand inside."""
    return Branch("If", const(condition, "bool") if isinstance(condition, (bool, int)) else convert(condition))


def Then() -> Branch:
    """Begin what runs where the condition of the ``T.If`` around it holds."""
    return Branch("Then")


def Else() -> Branch:
    """Begin what runs where the condition of the ``T.If`` around it does not hold."""
    return Branch("Else")


def Assert(condition: ExprLike, message: str) -> Scope:
    """Fail with ``message`` unless ``condition`` holds; ``with T.Assert(n < 64, "n is too large"):``."""
    return Scope.unnamed(lambda body: AssertStmt(convert(condition), convert(message), body))


def LetStmt(value: ExprLike, type: object = None, *, var: Var | None = None) -> Scope:
    """Bind a variable for a block: ``with T.LetStmt(n * 4) as m:``; elsewhere write ``m: T.int32 = n * 4``.

    The variable may have been declared before; its type is that of the value where left out.
    """
    bound = convert(value)

    def enter(name: str) -> tuple[object, Wrap]:
        variable = var
        if variable is None:
            variable = Var(name or "v", bound.dtype) if type is None else declared_variable(name or "v", type)
        return variable, lambda body: LetStmtNode(variable, bound, body)

    return Scope(enter)


def let(var: Var, value: ExprLike, body: ExprLike = None) -> Scope | PrimExpr:
    """Bind a declared variable, as older releases write it: ``with T.let(p, T.call_extern(…)):``.

    It was declared by ``T.var`` or ``T.buffer_var``; with ``body`` it stands for the value in that expression.
    """
    bound = convert(value)
    if body is not None:
        return Let(var, bound, convert(body))
    return Scope.unnamed(lambda inner: LetStmtNode(var, bound, inner))


def func_attr(attrs: Mapping[str, object]) -> FunctionAttributes:
    """State facts about the function: ``T.func_attr({"tir.noalias": True})``."""
    return FunctionAttributes(unwrapped(attrs))


def evaluate(value: ExprLike) -> Stmt:
    """Evaluate an expression for its effect; ``T.evaluate(0)`` does nothing."""
    return Evaluate(convert(value))


def var(dtype: str) -> Any:
    """Declare a free variable, as older releases write ``T.int32()``."""
    return declared(Declaration(lambda name: Var(name, dtype)), "v")
