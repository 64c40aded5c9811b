"""Functions that build patterns: ``is_op("nn.relu")(wildcard())``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.classic.relay.dataflow_pattern.pattern import (
    AttrPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    ShapePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
    checked,
    checked_all,
)
from compiler.classic.relay.dataflow_pattern.structures import IfPattern, LetPattern, TupleGetItemPattern, TuplePattern
from compiler.ir.op import Op
from compiler.ir.types import Type
from compiler.relay.expr import GraphExpr
from compiler.relay.ty import Dim, TensorType

__all__ = [
    "dominates", "has_attr", "has_dtype", "has_shape", "has_type", "is_constant", "is_expr", "is_if", "is_let", "is_op",
    "is_tuple", "is_tuple_get_item", "is_var", "wildcard",
]  # fmt: skip


def wildcard() -> WildcardPattern:
    """Return the pattern of anything."""
    return WildcardPattern()


def is_constant() -> ConstantPattern:
    """Return the pattern of a constant."""
    return ConstantPattern()


def is_var(name: str = "") -> VarPattern:
    """Return the pattern of a variable."""
    return VarPattern(name)


def is_expr(expr: GraphExpr) -> ExprPattern:
    """Return the pattern of what has the same structure as an expression."""
    return ExprPattern(expr)


def is_op(op_name: str) -> ExprPattern:
    """Return the pattern of an operator, such as ``nn.conv2d``; called with patterns, that of its call.

    Examples
    --------
    >>> conv = is_op("nn.conv2d")(wildcard(), is_constant())
    >>> conv_relu = is_op("nn.relu")(conv)
    """
    return ExprPattern(Op.get(op_name))


def is_tuple(fields: Sequence[DFPattern] | None) -> TuplePattern:
    """Return the pattern of a tuple; its fields may be any if they are None."""
    return TuplePattern(None if fields is None else checked_all("is_tuple", fields))


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """Return the pattern of a field of a tuple, by default of any."""
    return TupleGetItemPattern(checked("is_tuple_get_item", tuple_value), index)


def is_if(cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> IfPattern:
    """Return the pattern of a branch."""
    return IfPattern(*checked_all("is_if", (cond, true_branch, false_branch)))


def is_let(var: DFPattern, value: DFPattern, body: DFPattern) -> LetPattern:
    """Return the pattern of a ``let``."""
    return LetPattern(*checked_all("is_let", (var, value, body)))


def has_type(ttype: Type, pattern: DFPattern | None = None) -> TypePattern:
    """Return the pattern of what is of a type."""
    return TypePattern(wildcard() if pattern is None else pattern, ttype)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DataTypePattern:
    """Return the pattern of tensors with elements of a data type."""
    return DataTypePattern(wildcard() if pattern is None else pattern, dtype)


def has_shape(shape: Sequence[Dim], pattern: DFPattern | None = None) -> ShapePattern:
    """Return the pattern of tensors of a shape."""
    return ShapePattern(wildcard() if pattern is None else pattern, TensorType(tuple(shape)).dims)


def has_attr(attrs: Mapping[str, object], pattern: DFPattern | None = None) -> AttrPattern:
    """Return the pattern of what has attributes of given values."""
    return (wildcard() if pattern is None else pattern).has_attr(attrs)


def dominates(parent: DFPattern, path: DFPattern, child: DFPattern) -> DominatorPattern:
    """Return the pattern of a parent of which every path leads into one child, through nothing but ``path``.

    ``parent`` is the nearest expression above the child that matches, such as a convolution; each expression in between
    must match ``path``, such as any elementwise operator, and ``child`` is where the paths come together.
    """
    return DominatorPattern(*checked_all("dominates", (parent, path, child)))
