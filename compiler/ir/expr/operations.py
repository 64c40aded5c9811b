"""Compound expressions: arithmetic, comparisons, vectors, calls and loads.

A constructor (``Add(a, b)``) builds exactly what it says.  What is not an expression yet, a number or a tensor of rank
0, is converted, as TVM's constructors do.
"""

from __future__ import annotations

import operator
from dataclasses import field
from typing import Any, ClassVar

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, DTypeError, show
from compiler.ir.expr.coercion import as_exprs, bound_value, check_bound_value, convert, match_types
from compiler.ir.expr.number_operations import larger, logical_and, logical_or, smaller, trunc_div, trunc_mod
from compiler.ir.expr.scalars import PrimExpr, Var
from compiler.ir.node import Node, node
from compiler.ir.op import Op

__all__ = [
    "BINARY_OPERATIONS", "EQ", "GE", "GT", "LE", "LT", "NE", "Add", "And", "BinaryOp", "Call", "CmpOp", "Div",
    "FloorDiv", "FloorMod", "Let", "Max", "Min", "Mod", "Mul", "Not", "Or", "Select", "Shuffle", "Sub",
]  # fmt: skip


@node
class BinaryOp(PrimExpr):
    """Base of arithmetic on two operands of one data type, which is the result's too; numbers take the other's."""

    children: ClassVar[tuple[str, ...]] = ("a", "b")
    symbol: ClassVar[str] = ""
    evaluate: ClassVar[staticmethod[..., Any]]
    """The operation on two Python numbers, exact for integers."""

    a: PrimExpr
    b: PrimExpr
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.a, PrimExpr) and isinstance(self.b, PrimExpr)):
            _match_operands(self)
        elif self.a.dtype != self.b.dtype:
            raise _different_types(self, self.a, self.b)
        object.__setattr__(self, "dtype", self.a.dtype)


def _match_operands(n: BinaryOp) -> None:
    """Convert what a script passes to a constructor, as TVM's take it: numbers, elements of tensors."""
    a, b = match_types(n.a, n.b, type(n).__name__)
    object.__setattr__(n, "a", a)
    object.__setattr__(n, "b", b)


def _no_condition(operation: str, e: PrimExpr) -> DTypeError:
    return DTypeError(f"{operation}: expected a condition of type bool, got {show(e)} of type {e.dtype}")


def _different_types(n: PrimExpr, a: PrimExpr, b: PrimExpr) -> DTypeError:
    types = f"{a.dtype} {show(a)} and {b.dtype} {show(b)}"
    return DTypeError(f"{type(n).__name__}: operands must be of one type, got {types}")


@node
class Add(BinaryOp):
    """Sum ``a + b``; integers wrap around."""

    symbol: ClassVar[str] = "+"
    evaluate = staticmethod(operator.add)


@node
class Sub(BinaryOp):
    """Difference ``a - b``; integers wrap around."""

    symbol: ClassVar[str] = "-"
    evaluate = staticmethod(operator.sub)


@node
class Mul(BinaryOp):
    """Product ``a * b``; integers wrap around."""

    symbol: ClassVar[str] = "*"
    evaluate = staticmethod(operator.mul)


@node
class Div(BinaryOp):
    """Quotient ``a / b``; integers round towards zero, as in C."""

    symbol: ClassVar[str] = "/"
    evaluate = staticmethod(trunc_div)


@node
class Mod(BinaryOp):
    """Remainder of :class:`Div`; it has the sign of ``a``."""

    symbol: ClassVar[str] = "truncmod"
    evaluate = staticmethod(trunc_mod)


@node
class FloorDiv(BinaryOp):
    """Quotient ``a // b``, rounded towards minus infinity."""

    symbol: ClassVar[str] = "//"
    evaluate = staticmethod(operator.floordiv)


@node
class FloorMod(BinaryOp):
    """Remainder ``a % b`` of :class:`FloorDiv`; it has the sign of ``b``."""

    symbol: ClassVar[str] = "%"
    evaluate = staticmethod(operator.mod)


@node
class Min(BinaryOp):
    """The smaller of two values, ``a < b ? a : b``: of a NaN and another value, ``b``."""

    symbol: ClassVar[str] = "min"
    evaluate = staticmethod(smaller)


@node
class Max(BinaryOp):
    """The larger of two values, ``a > b ? a : b``: of a NaN and another value, ``b``."""

    symbol: ClassVar[str] = "max"
    evaluate = staticmethod(larger)


@node
class CmpOp(BinaryOp):
    """Base of comparisons: as many truth values as the operands have lanes."""

    def __post_init__(self) -> None:
        if not (isinstance(self.a, PrimExpr) and isinstance(self.b, PrimExpr)):
            _match_operands(self)
        elif self.a.dtype != self.b.dtype:
            raise _different_types(self, self.a, self.b)
        object.__setattr__(self, "dtype", dt.with_lanes("bool", dt.lanes(self.a.dtype)))

    def asobject(self) -> PrimExpr:
        """Return the comparison: in TVM ``==`` makes something that becomes an expression only once it is asked to."""
        return self


@node
class EQ(CmpOp):
    """Comparison ``a == b``."""

    symbol: ClassVar[str] = "=="
    evaluate = staticmethod(operator.eq)

    def __bool__(self) -> bool:
        """Python's ``==`` on nodes, as used by ``in`` and by dictionaries: the same object."""
        return self.a is self.b


@node
class NE(CmpOp):
    """Comparison ``a != b``."""

    symbol: ClassVar[str] = "!="
    evaluate = staticmethod(operator.ne)

    def __bool__(self) -> bool:
        return self.a is not self.b


@node
class LT(CmpOp):
    """Comparison ``a < b``."""

    symbol: ClassVar[str] = "<"
    evaluate = staticmethod(operator.lt)


@node
class LE(CmpOp):
    """Comparison ``a <= b``."""

    symbol: ClassVar[str] = "<="
    evaluate = staticmethod(operator.le)


@node
class GT(CmpOp):
    """Comparison ``a > b``."""

    symbol: ClassVar[str] = ">"
    evaluate = staticmethod(operator.gt)


@node
class GE(CmpOp):
    """Comparison ``a >= b``."""

    symbol: ClassVar[str] = ">="
    evaluate = staticmethod(operator.ge)


@node
class And(CmpOp):
    """Logical conjunction; both operands are evaluated."""

    symbol: ClassVar[str] = "and"
    evaluate = staticmethod(logical_and)

    def __post_init__(self) -> None:
        CmpOp.__post_init__(self)
        if self.a.dtype[:4] != "bool":
            raise _no_condition("And", self.a)


@node
class Or(CmpOp):
    """Logical disjunction; both operands are evaluated."""

    symbol: ClassVar[str] = "or"
    evaluate = staticmethod(logical_or)

    def __post_init__(self) -> None:
        CmpOp.__post_init__(self)
        if self.a.dtype[:4] != "bool":
            raise _no_condition("Or", self.a)


BINARY_OPERATIONS: tuple[type[BinaryOp], ...] = (
    Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max, EQ, NE, LT, LE, GT, GE, And, Or,
)  # fmt: skip


@node
class Not(PrimExpr):
    """Logical negation, of a vector lane by lane."""

    children: ClassVar[tuple[str, ...]] = ("a",)

    a: PrimExpr
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.a, PrimExpr):
            object.__setattr__(self, "a", convert(self.a))
        if self.a.dtype[:4] != "bool":
            raise _no_condition("Not", self.a)
        object.__setattr__(self, "dtype", self.a.dtype)


@node
class Select(PrimExpr):
    """One of two values of one data type, of vectors lane by lane; both are evaluated, whatever the condition is."""

    children: ClassVar[tuple[str, ...]] = ("condition", "true_value", "false_value")

    condition: PrimExpr
    true_value: PrimExpr
    false_value: PrimExpr
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.condition, PrimExpr):
            object.__setattr__(self, "condition", convert(self.condition))
        if not (isinstance(self.true_value, PrimExpr) and isinstance(self.false_value, PrimExpr)):
            then, other = match_types(self.true_value, self.false_value, "Select")
            object.__setattr__(self, "true_value", then)
            object.__setattr__(self, "false_value", other)
        elif self.true_value.dtype != self.false_value.dtype:
            raise _different_types(self, self.true_value, self.false_value)
        if self.condition.dtype[:4] != "bool":
            raise _no_condition("Select", self.condition)
        object.__setattr__(self, "dtype", self.true_value.dtype)


@node
class Shuffle(PrimExpr):
    """The lanes of concatenated vectors that constant indices pick, in that order."""

    children: ClassVar[tuple[str, ...]] = ("vectors", "indices")

    vectors: tuple[PrimExpr, ...]
    indices: tuple[PrimExpr, ...]
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        for name in ("vectors", "indices"):
            if type(getattr(self, name)) is not tuple:
                object.__setattr__(self, name, as_exprs(getattr(self, name)))
        if not self.vectors or not self.indices:
            raise ArgumentError("Shuffle: vectors and indices must not be empty")
        object.__setattr__(self, "dtype", dt.with_lanes(self.vectors[0].dtype, len(self.indices)))


@node
class Let(PrimExpr):
    """An expression in which a variable stands for a value of its type, which is evaluated once."""

    children: ClassVar[tuple[str, ...]] = ("var", "value", "body")
    defines: ClassVar[tuple[str, ...]] = ("var",)

    var: Var
    value: PrimExpr
    body: PrimExpr
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.value, PrimExpr):
            object.__setattr__(self, "value", bound_value("Let", self.var, self.value))
        elif self.value.dtype != self.var.dtype:
            check_bound_value("Let", self.var, self.value)
        if not isinstance(self.body, PrimExpr):
            object.__setattr__(self, "body", convert(self.body))
        object.__setattr__(self, "dtype", self.body.dtype)


@node
class Call(PrimExpr):
    """A call of an operator, also by its name such as ``tir.exp``, or of a function of the module."""

    children: ClassVar[tuple[str, ...]] = ("args",)

    dtype: str
    op: Op | Node
    args: tuple[PrimExpr, ...]

    def __post_init__(self) -> None:
        if type(self.args) is not tuple:
            object.__setattr__(self, "args", as_exprs(self.args))
        if isinstance(self.op, str):
            object.__setattr__(self, "op", Op.get(self.op))
