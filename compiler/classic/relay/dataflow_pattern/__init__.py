"""``relay.dataflow_pattern``: matching, partitioning and rewriting graphs by patterns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compiler.classic.relay.dataflow_pattern import builders, rewriting, structures
from compiler.classic.relay.dataflow_pattern import pattern as patterns
from compiler.classic.relay.dataflow_pattern.builders import *  # noqa: F403
from compiler.classic.relay.dataflow_pattern.pattern import *  # noqa: F403
from compiler.classic.relay.dataflow_pattern.pattern import DFPattern
from compiler.classic.relay.dataflow_pattern.rewriting import *  # noqa: F403
from compiler.classic.relay.dataflow_pattern.structures import *  # noqa: F403
from compiler.relay.expr import GraphExpr

__all__ = [
    *builders.__all__, *patterns.__all__, *rewriting.__all__, *structures.__all__, "match", "partition",
]  # fmt: skip


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
