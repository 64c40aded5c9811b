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

__all__ = [
    "AltPattern",
    "AttrPattern",
    "CallPattern",
    "ConstantPattern",
    "DFPattern",
    "DataTypePattern",
    "DominatorPattern",
    "ExprPattern",
    "FunctionPattern",
    "IfPattern",
    "LetPattern",
    "ShapePattern",
    "TupleGetItemPattern",
    "TuplePattern",
    "TypePattern",
    "VarPattern",
    "WildcardPattern",
]


@dataclass(frozen=True, eq=False, repr=False)
class DFPattern:
    """Base of all patterns.

    Called with patterns it is the pattern of a call; ``+ - * /`` are the patterns of the calls of these operators, and
    ``a | b`` takes either.  A pattern object that occurs twice must match one expression in both places.
    """

    def __call__(self, *args: Any) -> CallPattern:
        """Return the pattern of this applied to arguments; ``p(None)`` takes any.

        Parameters
        ----------
        *args : DFPattern

        Returns
        -------
        CallPattern
        """
        return CallPattern(self, None if len(args) == 1 and args[0] is None else checked_all("call", args))

    def __or__(self, other: DFPattern) -> AltPattern:
        return AltPattern(self, checked("|", other))

    def __add__(self, other: DFPattern) -> CallPattern:
        return ExprPattern(Op.get("add"))(self, other)

    def __sub__(self, other: DFPattern) -> CallPattern:
        return ExprPattern(Op.get("subtract"))(self, other)

    def __mul__(self, other: DFPattern) -> CallPattern:
        return ExprPattern(Op.get("multiply"))(self, other)

    def __truediv__(self, other: DFPattern) -> CallPattern:
        return ExprPattern(Op.get("divide"))(self, other)

    def has_attr(self, attrs: Mapping[str, Any]) -> AttrPattern:
        """Return this pattern where attributes have given values.

        Parameters
        ----------
        attrs : mapping of str to object
            Of a call or function its attributes; of an operator facts such as ``TOpPattern``.

        Returns
        -------
        AttrPattern
        """
        return AttrPattern(self, dict(attrs))

    def has_type(self, ttype: Type) -> TypePattern:
        """Return this pattern where the expression is of a type.

        Parameters
        ----------
        ttype : Type

        Returns
        -------
        TypePattern
        """
        return TypePattern(self, ttype)

    def has_dtype(self, dtype: str) -> DataTypePattern:
        """Return this pattern where the elements are of a data type.

        Parameters
        ----------
        dtype : str

        Returns
        -------
        DataTypePattern
        """
        return DataTypePattern(self, dtype)

    def has_shape(self, shape: Sequence[Any]) -> ShapePattern:
        """Return this pattern where the tensor is of a shape.

        Parameters
        ----------
        shape : sequence of int or PrimExpr

        Returns
        -------
        ShapePattern
        """
        return ShapePattern(self, TensorType(tuple(shape)).dims)

    def optional(self, option_constructor: Callable[[DFPattern], DFPattern]) -> AltPattern:
        """Return this pattern with something more around it, or without.

        Parameters
        ----------
        option_constructor : callable
            From this pattern to the larger one, e.g. ``lambda x: is_op("nn.relu")(x)``.

        Returns
        -------
        AltPattern
        """
        return AltPattern(option_constructor(self), self)

    def dominates(self, parent: DFPattern, path: DFPattern | None = None) -> DominatorPattern:
        """Return the pattern of an expression that this pattern matches and that a parent dominates; see
        :func:`dominates`.

        Parameters
        ----------
        parent : DFPattern
            What everything comes from.
        path : DFPattern, optional
            What may be between; anything when left out.

        Returns
        -------
        DominatorPattern
        """
        return DominatorPattern(parent, WildcardPattern() if path is None else path, self)

    def match(self, expr: GraphExpr) -> bool:
        """Return whether an expression matches this pattern.

        Parameters
        ----------
        expr : Expr

        Returns
        -------
        bool
        """
        matches: bool = _actions[0](self, expr)
        return matches

    def partition(
        self, expr: GraphExpr, attrs: Mapping[str, Any] | None = None, check: Callable[[Any], bool] = lambda match: True
    ) -> Any:
        """Move everything that matches into functions of its own.

        Parameters
        ----------
        expr : Expr
        attrs : mapping of str to object, optional
            Attributes of these functions, besides ``PartitionedFromPattern``.
        check : callable
            From an expression that matches to whether it is moved; all are when left out.

        Returns
        -------
        Expr
            Where the pattern matches, the call of a function with the match as its body::

                nn.relu(nn.conv2d(%x, %w))
                fn (%a, %b, PartitionedFromPattern="nn.conv2d_nn.relu_") { nn.relu(nn.conv2d(%a, %b)) }(%x, %w)
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
    """A variable.

    Parameters
    ----------
    name : str
        Its name; empty for any.
    """

    name: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class ExprPattern(DFPattern):
    """One expression.

    Parameters
    ----------
    expr : Expr or Op
        An operator, or an expression: what has the same structure matches.
    """

    expr: Any


@dataclass(frozen=True, eq=False, repr=False)
class AltPattern(DFPattern):
    """Either of two patterns.

    Parameters
    ----------
    left, right : DFPattern
        Tried in this order.
    """

    left: DFPattern
    right: DFPattern


@dataclass(frozen=True, eq=False, repr=False)
class CallPattern(DFPattern):
    """A call.

    Parameters
    ----------
    op : DFPattern
        What is called.
    args : tuple of DFPattern or None
        The arguments, in either order for commutative operators; None for any.
    """

    op: DFPattern
    args: tuple[DFPattern, ...] | None


@dataclass(frozen=True, eq=False, repr=False)
class FunctionPattern(DFPattern):
    """A function.

    Parameters
    ----------
    params : sequence of DFPattern or None
        The parameters; None for any.
    body : DFPattern
    """

    params: Sequence[DFPattern] | None
    body: DFPattern


@dataclass(frozen=True, eq=False, repr=False)
class IfPattern(DFPattern):
    """A branch.

    Parameters
    ----------
    cond, true_branch, false_branch : DFPattern
    """

    cond: DFPattern
    true_branch: DFPattern
    false_branch: DFPattern


@dataclass(frozen=True, eq=False, repr=False)
class LetPattern(DFPattern):
    """A ``let``.

    Parameters
    ----------
    var, value, body : DFPattern
    """

    var: DFPattern
    value: DFPattern
    body: DFPattern


@dataclass(frozen=True, eq=False, repr=False)
class TuplePattern(DFPattern):
    """A tuple.

    Parameters
    ----------
    fields : sequence of DFPattern or None
        The fields; None for any.
    """

    fields: Sequence[DFPattern] | None


@dataclass(frozen=True, eq=False, repr=False)
class TupleGetItemPattern(DFPattern):
    """A field of a tuple.

    Parameters
    ----------
    tuple : DFPattern
    index : int, optional
        Which field; any when left out.
    """

    tuple: DFPattern
    index: int | None = None


@dataclass(frozen=True, eq=False, repr=False)
class AttrPattern(DFPattern):
    """What matches a pattern and has attributes of given values.

    Parameters
    ----------
    pattern : DFPattern
    attrs : mapping of str to object
    """

    pattern: DFPattern
    attrs: Mapping[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class TypePattern(DFPattern):
    """What matches a pattern and is of a type.

    Parameters
    ----------
    pattern : DFPattern
    type : Type
    """

    pattern: DFPattern
    type: Type


@dataclass(frozen=True, eq=False, repr=False)
class DataTypePattern(DFPattern):
    """What matches a pattern and has elements of a data type.

    Parameters
    ----------
    pattern : DFPattern
    dtype : str
    """

    pattern: DFPattern
    dtype: str


@dataclass(frozen=True, eq=False, repr=False)
class ShapePattern(DFPattern):
    """What matches a pattern and is a tensor of a shape.

    Parameters
    ----------
    pattern : DFPattern
    shape : tuple of int or PrimExpr
    """

    pattern: DFPattern
    shape: tuple[Any, ...]


@dataclass(frozen=True, eq=False, repr=False)
class DominatorPattern(DFPattern):
    """Everything from a parent to a child that it leads to, on all paths between them; see :func:`dominates`.

    Parameters
    ----------
    parent, path, child : DFPattern
    """

    parent: DFPattern
    path: DFPattern
    child: DFPattern


def checked(what: str, value: Any) -> DFPattern:
    if not isinstance(value, DFPattern):
        raise ArgumentError(f"pattern: {what} takes patterns, got {type(value).__name__} {show(value)}")
    return value


def checked_all(what: str, values: Sequence[Any]) -> tuple[DFPattern, ...]:
    return tuple(checked(what, v) for v in values)
