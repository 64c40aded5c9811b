"""Python's operators on expressions.

The class stands below the nodes that inherit from it; what an operator builds stands above them, in
:mod:`compiler.ir.expr.arithmetic`, which enters a row for each operator into the table here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from compiler.ir.error import ArgumentError

if TYPE_CHECKING:
    from compiler.ir.expr.scalars import PrimExpr

__all__ = [
    "ExprLike", "ExprOperators", "has_own_arithmetic", "leaves_arithmetic_to", "operator_builder", "register_operator",
]  # fmt: skip

ExprLike: TypeAlias = Any
"""A PrimExpr, an IterVar, a Python or NumPy number, or anything with ``asobject()``."""

_BUILDERS: dict[str, Callable[..., PrimExpr]] = {}


def register_operator(name: str, build: Callable[..., PrimExpr]) -> None:
    """Say what one of Python's operators builds of the operands, in the order in which they are written."""
    if name in _BUILDERS:
        raise ValueError(f"register_operator: {name} is registered already")
    _BUILDERS[name] = build


def operator_builder(name: str) -> Callable[..., PrimExpr]:
    """Return what was registered under a name."""
    return _BUILDERS[name]


_OWN_ARITHMETIC: set[type] = set()


def has_own_arithmetic(cls: type) -> type:
    """Let ``+``, ``-``, ``*`` and ``/`` of an expression and an object of a class be what the class says."""
    _OWN_ARITHMETIC.add(cls)
    return cls


def leaves_arithmetic_to(operand: object) -> bool:
    """Return whether an operand's class has arithmetic of its own."""
    return type(operand) in _OWN_ARITHMETIC


class ExprOperators:
    """Python's operators, for whatever converts to an expression: expressions, axes, tensors of rank 0."""

    __slots__ = ()

    def __add__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["add"](self, other)

    def __radd__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["add"](other, self)

    def __sub__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["sub"](self, other)

    def __rsub__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["sub"](other, self)

    def __mul__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["mul"](self, other)

    def __rmul__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["mul"](other, self)

    def __truediv__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["truediv"](self, other)

    def __rtruediv__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["truediv"](other, self)

    def __floordiv__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["floordiv"](self, other)

    def __rfloordiv__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["floordiv"](other, self)

    def __mod__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["mod"](self, other)

    def __rmod__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["mod"](other, self)

    def __and__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["and_"](self, other)

    def __rand__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["and_"](other, self)

    def __or__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["or_"](self, other)

    def __ror__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["or_"](other, self)

    def __xor__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["xor"](self, other)

    def __rxor__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["xor"](other, self)

    def __lshift__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["lshift"](self, other)

    def __rlshift__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["lshift"](other, self)

    def __rshift__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["rshift"](self, other)

    def __rrshift__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["rshift"](other, self)

    def __neg__(self) -> PrimExpr:
        return _BUILDERS["neg"](self)

    def __invert__(self) -> PrimExpr:
        return _BUILDERS["invert"](self)

    def __lt__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["lt"](self, other)

    def __le__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["le"](self, other)

    def __gt__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["gt"](self, other)

    def __ge__(self, other: ExprLike) -> PrimExpr:
        return _BUILDERS["ge"](self, other)

    def __eq__(self, other: object) -> PrimExpr:  # type: ignore[override]
        return _BUILDERS["eq"](self, other)

    def __ne__(self, other: object) -> PrimExpr:  # type: ignore[override]
        return _BUILDERS["ne"](self, other)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise ArgumentError(
            "a symbolic expression has no truth value while the program is being built: use tvm.tir.all,"
            " tvm.tir.any, tvm.tir.Not or tvm.tir.if_then_else instead of and, or, not, if"
        )

    def astype(self, dtype: str) -> PrimExpr:
        """Convert the value to another data type; ``int32x4`` repeats a scalar in four lanes."""
        return _BUILDERS["astype"](dtype, self)

    def equal(self, other: ExprLike) -> PrimExpr:
        """Return ``self == other``; unlike the operator, refuses what has no common type."""
        return _BUILDERS["equal"](self, other)
