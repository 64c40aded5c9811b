"""What a part of a graph can be compared with.  Two places with one pattern object must hold one expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.ir.error import ArgumentError, show
from compiler.ir.op import Op
from compiler.ir.types import Type
from compiler.relay.expr import GraphExpr
from compiler.relay.ty import TensorType


@dataclass(frozen=True, eq=False, repr=False)
class DFPattern:
    """Base of all patterns; operators and calls make larger ones."""

    def __call__(self, *args: Any) -> CallPattern:
        """Return the pattern of this applied to arguments; ``p(None)`` takes any."""
        return CallPattern(self, None if len(args) == 1 and args[0] is None else _patterns("call", args))

    def __or__(self, other: DFPattern) -> AltPattern:
        return AltPattern(self, _pattern("|", other))

    def __add__(self, other: DFPattern) -> CallPattern:
        return is_op("add")(self, other)

    def __sub__(self, other: DFPattern) -> CallPattern:
        return is_op("subtract")(self, other)

    def __mul__(self, other: DFPattern) -> CallPattern:
        return is_op("multiply")(self, other)

    def __truediv__(self, other: DFPattern) -> CallPattern:
        return is_op("divide")(self, other)

    def has_attr(self, attrs: Mapping[str, Any]) -> AttrPattern:
        """Return this pattern where attributes have these values; of an operator, facts such as ``TOpPattern``."""
        return AttrPattern(self, dict(attrs))

    def has_type(self, ttype: Type) -> TypePattern:
        """Return this pattern where the type is ``ttype``."""
        return has_type(ttype, self)

    def has_dtype(self, dtype: str) -> DataTypePattern:
        """Return this pattern where elements have a data type."""
        return has_dtype(dtype, self)

    def has_shape(self, shape: Sequence[Any]) -> ShapePattern:
        """Return this pattern where the tensor has a shape."""
        return has_shape(shape, self)

    def optional(self, option_constructor: Callable[[DFPattern], DFPattern]) -> AltPattern:
        """Return this pattern with something more around it, or without."""
        return AltPattern(option_constructor(self), self)

    def dominates(self, parent: DFPattern, path: DFPattern | None = None) -> DominatorPattern:
        """Return the pattern of this below ``parent``, with nothing but ``path`` between; see :func:`dominates`."""
        return DominatorPattern(parent, wildcard() if path is None else path, self)

    def match(self, expr: GraphExpr) -> bool:
        """Return whether an expression fits."""
        found: bool = _actions[0](self, expr)
        return found

    def partition(
        self, expr: GraphExpr, attrs: Mapping[str, Any] | None = None, check: Callable[[Any], bool] = lambda found: True
    ) -> Any:
        """Return ``expr`` with everything that fits moved into functions of its own.

        Parameters
        ----------
        expr : Expr
        attrs : mapping, optional
            Attributes of these functions.
        check : callable
            Whether a place that fits is wanted.
        """
        return _actions[1](self, expr, attrs, check)

    def __str__(self) -> str:
        return f"{type(self).__name__}({', '.join(show(value) for value in vars(self).values())})"

    __repr__ = __str__


_actions: list[Callable[..., Any]] = []


def set_actions(match: Callable[..., Any], partition: Callable[..., Any]) -> None:
    """Install what the methods of patterns do; it imports this module."""
    _actions[:] = [match, partition]


@dataclass(frozen=True, eq=False, repr=False)
class WildcardPattern(DFPattern):
    """Anything."""


@dataclass(frozen=True, eq=False, repr=False)
class ConstantPattern(DFPattern):
    """A constant."""


@dataclass(frozen=True, eq=False, repr=False)
class VarPattern(DFPattern):
    """A variable, of a name unless that is empty."""

    name: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class ExprPattern(DFPattern):
    """One expression: an operator, or what has the same structure."""

    expr: Any


@dataclass(frozen=True, eq=False, repr=False)
class AltPattern(DFPattern):
    """The first of two patterns that fits."""

    left: DFPattern
    right: DFPattern


@dataclass(frozen=True, eq=False, repr=False)
class CallPattern(DFPattern):
    """A call; ``args`` is None for any arguments."""

    op: DFPattern
    args: tuple[DFPattern, ...] | None


@dataclass(frozen=True, eq=False, repr=False)
class FunctionPattern(DFPattern):
    """A function; ``params`` is None for any parameters."""

    params: Sequence[DFPattern] | None
    body: DFPattern


@dataclass(frozen=True, eq=False, repr=False)
class IfPattern(DFPattern):
    """A branch."""

    cond: DFPattern
    true_branch: DFPattern
    false_branch: DFPattern


@dataclass(frozen=True, eq=False, repr=False)
class LetPattern(DFPattern):
    """A ``let``."""

    var: DFPattern
    value: DFPattern
    body: DFPattern


@dataclass(frozen=True, eq=False, repr=False)
class TuplePattern(DFPattern):
    """A tuple; ``fields`` is None for any."""

    fields: Sequence[DFPattern] | None


@dataclass(frozen=True, eq=False, repr=False)
class TupleGetItemPattern(DFPattern):
    """An element of a tuple; ``index`` is None for any."""

    tuple: DFPattern
    index: int | None = None


@dataclass(frozen=True, eq=False, repr=False)
class AttrPattern(DFPattern):
    """What fits a pattern and has attributes of these values."""

    pattern: DFPattern
    attrs: Mapping[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class TypePattern(DFPattern):
    """What fits a pattern and has a type."""

    pattern: DFPattern
    type: Type


@dataclass(frozen=True, eq=False, repr=False)
class DataTypePattern(DFPattern):
    """What fits a pattern and has elements of a data type."""

    pattern: DFPattern
    dtype: str


@dataclass(frozen=True, eq=False, repr=False)
class ShapePattern(DFPattern):
    """What fits a pattern and has a shape."""

    pattern: DFPattern
    shape: tuple[Any, ...]


@dataclass(frozen=True, eq=False, repr=False)
class DominatorPattern(DFPattern):
    """Everything from ``parent`` to ``child``, where all paths between them are of ``path``."""

    parent: DFPattern
    path: DFPattern
    child: DFPattern


def _pattern(what: str, value: Any) -> DFPattern:
    if not isinstance(value, DFPattern):
        raise ArgumentError(f"pattern: {what} takes patterns, got {type(value).__name__} {show(value)}")
    return value


def _patterns(what: str, values: Sequence[Any]) -> tuple[DFPattern, ...]:
    return tuple(_pattern(what, v) for v in values)


def wildcard() -> WildcardPattern:
    """Return the pattern of anything."""
    return WildcardPattern()


def is_constant() -> ConstantPattern:
    """Return the pattern of a constant."""
    return ConstantPattern()


def is_var(name: str = "") -> VarPattern:
    """Return the pattern of a variable, of that name if one is given."""
    return VarPattern(name)


def is_expr(expr: GraphExpr) -> ExprPattern:
    """Return the pattern of what has the same structure as an expression."""
    return ExprPattern(expr)


def is_op(op_name: str) -> ExprPattern:
    """Return the pattern of an operator; called with patterns, that of its call.

    Raises
    ------
    TVMError
        If there is no such operator.
    """
    return ExprPattern(Op.get(op_name))


def is_tuple(fields: Sequence[DFPattern] | None) -> TuplePattern:
    """Return the pattern of a tuple; None takes any fields."""
    return TuplePattern(None if fields is None else _patterns("is_tuple", fields))


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """Return the pattern of an element of a tuple; without an index, of any."""
    return TupleGetItemPattern(_pattern("is_tuple_get_item", tuple_value), index)


def is_if(cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> IfPattern:
    """Return the pattern of a branch."""
    return IfPattern(*_patterns("is_if", (cond, true_branch, false_branch)))


def is_let(var: DFPattern, value: DFPattern, body: DFPattern) -> LetPattern:
    """Return the pattern of a ``let``."""
    return LetPattern(*_patterns("is_let", (var, value, body)))


def has_type(ttype: Type, pattern: DFPattern | None = None) -> TypePattern:
    """Return the pattern of what has a type."""
    return TypePattern(wildcard() if pattern is None else pattern, ttype)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DataTypePattern:
    """Return the pattern of tensors with elements of a data type."""
    return DataTypePattern(wildcard() if pattern is None else pattern, dtype)


def has_shape(shape: Sequence[Any], pattern: DFPattern | None = None) -> ShapePattern:
    """Return the pattern of tensors of a shape."""
    return ShapePattern(wildcard() if pattern is None else pattern, TensorType(tuple(shape)).dims)


def has_attr(attrs: Mapping[str, Any], pattern: DFPattern | None = None) -> AttrPattern:
    """Return the pattern of what has attributes of these values."""
    return (wildcard() if pattern is None else pattern).has_attr(attrs)


def dominates(parent: DFPattern, path: DFPattern, child: DFPattern) -> DominatorPattern:
    """Return the pattern of a ``parent`` whose every use leads to ``child``, through nothing but ``path``.

    E.g. all chains of elementwise operators between a convolution and an addition.
    """
    return DominatorPattern(*_patterns("dominates", (parent, path, child)))
