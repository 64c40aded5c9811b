"""Keys under which expressions that differ only in the order of their operands are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.ir.primexpr import Add, And, BinaryOp, Max, Min, Mul, Or, PrimExpr

_COMMUTATIVE = (Add, Mul, Min, Max, And, Or)


def normal_key(e: BinaryOp, number: Callable[[PrimExpr], int]) -> tuple[Any, ...]:
    """Return a key that does not depend on the order, or on the brackets, of a commutative operation.

    Parameters
    ----------
    e : BinaryOp
    number : callable
        The key of an operand.
    """
    kind = type(e)
    if kind not in _COMMUTATIVE:
        return (kind, e.dtype, number(e.a), number(e.b))
    terms: list[int] = []
    todo: list[PrimExpr] = [e.b, e.a]
    while todo:
        part = todo.pop()
        if type(part) is kind:
            todo.extend((part.b, part.a))
        else:
            terms.append(number(part))
    return (kind, e.dtype, *sorted(terms))
