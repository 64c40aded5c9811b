"""Purity of functions."""

from __future__ import annotations

from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import Call, Var
from compiler.ir.functor import Visitor
from compiler.ir.op import CallEffect, Op
from compiler.tir.expressions.builtin import RET
from compiler.tir.statements.block import Block
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, BufferStore

__all__ = ["assert_pure_function", "is_pure_function"]


def is_pure_function(func: PrimFunc) -> bool:
    """Return whether a function does nothing but computing its result.

    It may write memory that it allocates; it must not write that of its parameters, nor call what has an effect.
    """
    effects = _Effects()
    effects.visit(func.body)
    return not effects.reason


class ImpureFunctionError(ArgumentError, AssertionError):
    """A function has an effect, but is to have none."""


def assert_pure_function(func: PrimFunc) -> bool:
    """Check that a function does nothing but computing its result.

    Raises ImpureFunctionError if it has an effect; the message says which.
    """
    effects = _Effects()
    effects.visit(func.body)
    if effects.reason:
        raise ImpureFunctionError(f"assert_pure_function: the function {effects.reason}")
    return True


class _Effects(Visitor):
    """Looks for the first effect."""

    def __init__(self) -> None:
        self.reason = ""
        self._own: set[Var] = set()

    def visit_Allocate(self, n: Allocate) -> None:
        self._own.add(n.buffer_var)
        self.visit_Node(n)

    def visit_Block(self, n: Block) -> None:
        self._own.update(buffer.data for buffer in n.alloc_buffers)
        self.visit_Node(n)

    def visit_BufferStore(self, n: BufferStore) -> None:
        if n.buffer.data not in self._own:
            self.reason = self.reason or f"writes {n.buffer.name!r}, which is not its own"
        self.visit_Node(n)

    def visit_Call(self, n: Call) -> None:
        if n.op is not RET:
            effect = n.op.effect if isinstance(n.op, Op) else CallEffect.UPDATE_STATE
            if effect is CallEffect.UPDATE_STATE:
                self.reason = self.reason or f"calls {getattr(n.op, 'name', n.op)}, which has an effect"
        self.visit_Node(n)
