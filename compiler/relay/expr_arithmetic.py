"""Python operators on Relay expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compiler.ir.op import Op

if TYPE_CHECKING:
    from compiler.relay.expr import Expr, ExprLike


def apply(name: str, *args: object, **attrs: object) -> Expr:
    """Return the call of an operator by name, as operators are registered in a higher layer."""
    operator: Any = Op.get(name)
    call: Expr = operator(*args, **attrs)
    return call


class ExprArithmetic:
    """``+ - * / < <= > >=`` and unary ``-``; one operand may be a number, which becomes a constant."""

    __slots__ = ()

    def __neg__(self) -> Expr:
        return apply("negative", self)

    def __add__(self, other: ExprLike) -> Expr:
        return apply("add", self, other)

    def __radd__(self, other: ExprLike) -> Expr:
        return apply("add", other, self)

    def __sub__(self, other: ExprLike) -> Expr:
        return apply("subtract", self, other)

    def __rsub__(self, other: ExprLike) -> Expr:
        return apply("subtract", other, self)

    def __mul__(self, other: ExprLike) -> Expr:
        return apply("multiply", self, other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return apply("multiply", other, self)

    def __truediv__(self, other: ExprLike) -> Expr:
        return apply("divide", self, other)

    def __rtruediv__(self, other: ExprLike) -> Expr:
        return apply("divide", other, self)

    def __lt__(self, other: ExprLike) -> Expr:
        return apply("less", self, other)

    def __le__(self, other: ExprLike) -> Expr:
        return apply("less_equal", self, other)

    def __gt__(self, other: ExprLike) -> Expr:
        return apply("greater", self, other)

    def __ge__(self, other: ExprLike) -> Expr:
        return apply("greater_equal", self, other)
