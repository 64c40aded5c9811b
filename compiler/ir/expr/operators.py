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


def _operator(name: str) -> Callable[[Any, ExprLike], PrimExpr]:
    """Return the method of an operator for the left operand."""

    def method(self: object, other: ExprLike) -> PrimExpr:
        return _BUILDERS[name](self, other)

    return method


def _reflected(name: str) -> Callable[[Any, ExprLike], PrimExpr]:
    """Return the method of an operator for the right operand, which Python asks where the left one has no answer."""

    def method(self: object, other: ExprLike) -> PrimExpr:
        return _BUILDERS[name](other, self)

    return method


class ExprOperators:
    """Python's operators, for whatever converts to an expression: expressions, axes, tensors of rank 0."""

    __slots__ = ()

    __add__, __radd__ = _operator("add"), _reflected("add")
    __sub__, __rsub__ = _operator("sub"), _reflected("sub")
    __mul__, __rmul__ = _operator("mul"), _reflected("mul")
    __truediv__, __rtruediv__ = _operator("truediv"), _reflected("truediv")
    __floordiv__, __rfloordiv__ = _operator("floordiv"), _reflected("floordiv")
    __mod__, __rmod__ = _operator("mod"), _reflected("mod")
    __and__, __rand__ = _operator("and_"), _reflected("and_")
    __or__, __ror__ = _operator("or_"), _reflected("or_")
    __xor__, __rxor__ = _operator("xor"), _reflected("xor")
    __lshift__, __rlshift__ = _operator("lshift"), _reflected("lshift")
    __rshift__, __rrshift__ = _operator("rshift"), _reflected("rshift")

    def __neg__(self) -> PrimExpr:
        return _BUILDERS["neg"](self)

    def __invert__(self) -> PrimExpr:
        return _BUILDERS["invert"](self)

    __lt__ = _operator("lt")
    __le__ = _operator("le")
    __gt__ = _operator("gt")
    __ge__ = _operator("ge")

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
