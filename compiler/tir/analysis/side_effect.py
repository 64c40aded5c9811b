"""Side effects of evaluating an expression."""

from __future__ import annotations

from compiler.ir.expr.primexpr import Call, PrimExpr
from compiler.ir.node import Node
from compiler.ir.op import CallEffect, Op
from compiler.tir.statements.buffer import BufferLoad


def has_effect(e: PrimExpr) -> bool:
    """Return whether evaluating an expression may change something."""
    return _effect(e).value >= CallEffect.UPDATE_STATE.value


def is_pure(e: PrimExpr) -> bool:
    """Return whether the value of an expression depends on its variables alone: it reads no memory and changes none."""
    return _effect(e).value <= CallEffect.PURE.value


def reads_memory(e: PrimExpr) -> bool:
    """Return whether the value of an expression depends on memory."""
    return not is_pure(e)


def _effect(e: PrimExpr) -> CallEffect:
    worst = CallEffect.EXPR_ANNOTATION
    todo: list[Node] = [e]
    while todo:
        n = todo.pop()
        own = _own_effect(n)
        if own.value > worst.value:
            worst = own
        for name in type(n).children:
            child = getattr(n, name)
            if isinstance(child, Node):
                todo.append(child)
            elif child is not None:
                todo.extend(child)
    return worst


def _own_effect(n: Node) -> CallEffect:
    if isinstance(n, BufferLoad):
        return CallEffect.READ_STATE
    if isinstance(n, Call):
        return n.op.effect if isinstance(n.op, Op) else CallEffect.UPDATE_STATE
    return CallEffect.EXPR_ANNOTATION
