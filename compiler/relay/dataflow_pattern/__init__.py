"""Patterns of graphs, matching, partitioning and rewriting with them: ``relay.dataflow_pattern``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compiler.relay.dataflow_pattern.groups import Partition, groups
from compiler.relay.dataflow_pattern.matcher import Graph, Matcher
from compiler.relay.dataflow_pattern.pattern import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
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
    set_actions,
    wildcard,
)
from compiler.relay.dataflow_pattern.rewriting import DFPatternCallback, rewrite
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
    """Return whether an expression fits a pattern."""
    return Matcher(Graph(expr)).match(pattern, expr)


def partition(
    pattern: DFPattern,
    expr: GraphExpr,
    attrs: Mapping[str, Any] | None = None,
    check: Callable[[Any], bool] = lambda found: True,
) -> Any:
    """Return ``expr`` with everything that fits moved into functions of its own; see :meth:`DFPattern.partition`."""
    return Partition(groups(pattern, expr), attrs or {}, check).visit(expr)


set_actions(match, partition)
