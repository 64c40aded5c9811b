"""Side effects of evaluating an expression."""

from __future__ import annotations

from compiler.ir.expr.primexpr import Call, PrimExpr
from compiler.ir.functor import nodes_of
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
    effects = map(_own_effect, nodes_of(e, BufferLoad, Call))
    return max(effects, key=lambda effect: effect.value, default=CallEffect.EXPR_ANNOTATION)


def _own_effect(n: BufferLoad | Call) -> CallEffect:
    if isinstance(n, BufferLoad):
        return CallEffect.READ_STATE
    return n.op.effect if isinstance(n.op, Op) else CallEffect.UPDATE_STATE
