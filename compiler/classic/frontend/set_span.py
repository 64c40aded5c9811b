"""Source spans of converted expressions: ``tvm.relay.frontend.set_span``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from compiler.ir.error import expected
from compiler.ir.expr import RelayExpr, set_checked_type
from compiler.ir.function import GlobalVar
from compiler.ir.node import duplicate
from compiler.ir.op import Op
from compiler.ir.origin import derived_from
from compiler.ir.source_span import SequentialSpan, SourceName, Span
from compiler.ir.transform import PassContext
from compiler.relay.adt import Constructor
from compiler.relay.expr import GraphExpr, TupleWrapper, Var
from compiler.relay.frontend.span_filling import FILL_SPAN
from compiler.relay.transform.rewriter import GraphMutator

Graphs: TypeAlias = "GraphExpr | TupleWrapper | Sequence[Graphs]"


def set_span(sym: Graphs, span: Span | SequentialSpan | str) -> Any:
    """Set the span of all expressions of a graph that have none.

    Raises ArgumentError if ``sym`` is not a graph.

    Parameters
    ----------
    sym : Expr, TupleWrapper, or list or tuple of such
        One or several graphs.
    span : Span or str
        A span, or the name of the source, such as a node of a model.

    Returns
    -------
    same class as ``sym``
        The graph itself if the option ``relay.frontend.fill_span`` is off.

    Examples
    --------
    >>> layer = set_span(relay.nn.relu(relay.nn.dense(x, w)), "encoder/dense")
    """
    if not PassContext.current().config.get(FILL_SPAN, True):
        return sym
    where = Span(SourceName(span), 0, 0, 0, 0) if isinstance(span, str) else span
    if isinstance(sym, (list, tuple)):
        return type(sym)([set_span(each, where) for each in sym])
    if isinstance(sym, TupleWrapper):
        return TupleWrapper(_FillSpans(where).rewrite(sym.astuple()), sym.size)
    if not isinstance(sym, RelayExpr):
        expected("set_span", "sym", "an expression, or a list or tuple of expressions", type(sym).__name__)
    return _FillSpans(where).rewrite(sym)


class _FillSpans(GraphMutator):
    def __init__(self, span: Span | SequentialSpan) -> None:
        super().__init__()
        self._span = span

    def visit(self, expr: GraphExpr) -> Any:
        if expr in self.memo_map:
            return self.memo_map[expr]
        result = super().visit(expr)
        if not isinstance(result, (Op, GlobalVar, Constructor)) and not isinstance(result.span, Span | SequentialSpan):
            result = self.memo_map[expr] = self._copy(result)
        return result

    def _copy(self, expr: RelayExpr) -> RelayExpr:
        if isinstance(expr, Var):  # a copy of a variable would keep its span
            copied: RelayExpr = Var(expr.name_hint, expr.type_annotation, span=self._span)
        else:
            with derived_from(self._span):
                copied = duplicate(expr, {})
        set_checked_type(copied, expr.checked_type_)
        return copied
