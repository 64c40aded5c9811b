"""``relay.dataflow_pattern``: matching, partitioning and rewriting graphs by patterns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compiler.classic.relay.dataflow_pattern.builders import (
    dominates,
    has_attr,
    has_dtype,
    has_shape,
    has_type,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    wildcard,
)
from compiler.classic.relay.dataflow_pattern.pattern import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    ShapePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
)
from compiler.classic.relay.dataflow_pattern.rewriting import DFPatternCallback, rewrite
from compiler.classic.relay.dataflow_pattern.structures import (
    FunctionPattern,
    IfPattern,
    LetPattern,
    TupleGetItemPattern,
    TuplePattern,
)
from compiler.relay.expr import GraphExpr

__all__ = [
    "AltPattern",
    "AttrPattern",
    "CallPattern",
    "ConstantPattern",
    "DFPattern",
    "DFPatternCallback",
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
    "dominates",
    "has_attr",
    "has_dtype",
    "has_shape",
    "has_type",
    "is_constant",
    "is_expr",
    "is_if",
    "is_let",
    "is_op",
    "is_tuple",
    "is_tuple_get_item",
    "is_var",
    "match",
    "partition",
    "rewrite",
    "wildcard",
]


def match(pattern: DFPattern, expr: GraphExpr) -> bool:
    """Return whether an expression, with inferred types where the pattern asks for types, matches."""
    return pattern.match(expr)


def partition(
    pattern: DFPattern,
    expr: GraphExpr,
    attrs: Mapping[str, object] | None = None,
    check: Callable[[GraphExpr], bool] = lambda match: True,
) -> Any:
    """Move everything that matches a pattern into functions of its own; see :meth:`DFPattern.partition`."""
    return pattern.partition(expr, attrs, check)
