"""What evaluating an expression may do besides giving a value."""

from __future__ import annotations

from typing import Any

from compiler.ir.node import Node
from compiler.ir.op import CallEffect, Op
from compiler.ir.primexpr import Call
from compiler.tir.buffer import BufferLoad


def has_effect(e: Any) -> bool:
    """Return whether evaluating ``e`` may change something."""
    return _effect(e).value >= CallEffect.UPDATE_STATE.value


def is_pure(e: Any) -> bool:
    """Return whether the value of ``e`` depends on its variables alone: it reads no memory and changes none."""
    return _effect(e).value <= CallEffect.PURE.value


def _effect(e: Any) -> CallEffect:
    worst = CallEffect.EXPR_ANNOTATION
    todo = [e]
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


def _own_effect(n: Any) -> CallEffect:
    if isinstance(n, BufferLoad):
        return CallEffect.READ_STATE
    if isinstance(n, Call):
        return n.op.effect if isinstance(n.op, Op) else CallEffect.UPDATE_STATE
    return CallEffect.EXPR_ANNOTATION
