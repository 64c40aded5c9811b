"""Recognises the reducer of a store: its combiner and identity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compiler.arith import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Add, BinaryOp, Max, Min, Mul, PrimExpr, const
from compiler.ir.structural import structural_equal
from compiler.tir.expressions.reducer import max_value, min_value
from compiler.tir.statements.buffer import BufferLoad, BufferStore


@dataclass(frozen=True, slots=True)
class Reduction:
    """A store ``B[i] = combine(B[i], value)``."""

    kind: type[BinaryOp]
    value: PrimExpr

    def combined(self, element: PrimExpr, value: PrimExpr) -> PrimExpr:
        """Return an element combined with a value."""
        return self.kind(element, value)


def _zero(dtype: str) -> PrimExpr:
    return const(0, dtype)


def _one(dtype: str) -> PrimExpr:
    return const(1, dtype)


_IDENTITIES: dict[type[BinaryOp], Callable[[str], PrimExpr]] = {Add: _zero, Mul: _one, Min: max_value, Max: min_value}


def reduction_of(init: BufferStore, update: BufferStore) -> Reduction | None:
    """Return the reduction that two stores make: of the initial value, and of an element and a value combined.

    None if they make none: not the same element, another combination, or another initial value than the one that
    changes nothing.
    """
    if init.buffer is not update.buffer or not structural_equal(init.indices, update.indices):
        return None
    combination = update.value
    if not isinstance(combination, BinaryOp) or type(combination) not in _IDENTITIES:
        return None
    value = other_operand(combination, update)
    if value is None or not is_identity(init.value, type(combination), dt.element(update.buffer.dtype)):
        return None
    return Reduction(type(combination), value)


def is_identity(value: PrimExpr, kind: type[BinaryOp], dtype: str) -> bool:
    """Return whether a value changes nothing where it is combined."""
    return kind in _IDENTITIES and structural_equal(Analyzer().simplify(value), _IDENTITIES[kind](dtype))


def other_operand(combination: BinaryOp, update: BufferStore) -> PrimExpr | None:
    """Return what is combined with the element that a store changes; None if the element is not an operand."""
    for element, value in ((combination.a, combination.b), (combination.b, combination.a)):
        if (
            isinstance(element, BufferLoad)
            and element.buffer is update.buffer
            and structural_equal(element.indices, update.indices)
        ):
            return value
    return None
