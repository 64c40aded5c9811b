"""Python operators on Relay expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from compiler.ir.op import Op

if TYPE_CHECKING:
    from compiler.relay.expr import Expr, ExprLike


def apply(name: str, *args: object, **attrs: object) -> Expr:
    """Return the call of an operator by name, as operators are registered in a higher layer."""
    operator: Any = Op.get(name)
    call: Expr = operator(*args, **attrs)
    return call


def _operator(name: str) -> Callable[[Any, ExprLike], Expr]:
    """Return the method of an operator for the left operand."""
    return lambda self, other: apply(name, self, other)


def _reflected(name: str) -> Callable[[Any, ExprLike], Expr]:
    """Return the method of an operator for the right operand, the left one being a number."""
    return lambda self, other: apply(name, other, self)


class ExprArithmetic:
    """``+ - * / < <= > >=`` and unary ``-``; one operand may be a number, which becomes a constant."""

    __slots__ = ()

    def __neg__(self) -> Expr:
        return apply("negative", self)

    __add__, __radd__ = _operator("add"), _reflected("add")
    __sub__, __rsub__ = _operator("subtract"), _reflected("subtract")
    __mul__, __rmul__ = _operator("multiply"), _reflected("multiply")
    __truediv__, __rtruediv__ = _operator("divide"), _reflected("divide")
    __lt__ = _operator("less")
    __le__ = _operator("less_equal")
    __gt__ = _operator("greater")
    __ge__ = _operator("greater_equal")
