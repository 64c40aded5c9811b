"""The option that makes importers record the nodes of a model as the spans of expressions."""

from __future__ import annotations

from typing import Any

from compiler.ir.origin import Span, mint, record_for_good
from compiler.ir.source_span import SourceName
from compiler.ir.source_span import Span as SourceSpan
from compiler.ir.transform import PassContext, register_config_option
from compiler.relay.expr import Constant, Var

__all__ = ["FILL_SPAN", "begin_import", "mint_layer", "name_parameter"]

FILL_SPAN = "relay.frontend.fill_span"
register_config_option(FILL_SPAN, (bool, int))


def begin_import() -> None:
    """Start recording origins if the option is on and they are not recorded yet."""
    if PassContext.current().config.get(FILL_SPAN):
        record_for_good()


def mint_layer(label: str, name: str, parents: Span) -> Span:
    """Create the origin of the expressions converted from a node of a model.

    Parameters
    ----------
    label : str
        E.g. ``Conv layer1/conv``.
    name : str
        The name of the node, which is printed unless the option is off.
    parents : Span
        The origin of the import, or of the node whose function contains this node.
    """
    named = PassContext.current().config.get(FILL_SPAN, True)
    rows = mint("graph", label, parents, name if named else "")
    return SourceSpan.of_rows(rows, name) if name and _fills_spans() else rows


def _fills_spans() -> bool:
    return bool(PassContext.current().config.get(FILL_SPAN))


def name_parameter(expr: object, source: str) -> None:
    """Give an input or a constant of a model a span.

    Nothing happens unless ``expr`` is a variable or a constant, has no such span yet, and the option is on.
    """
    if _fills_spans() and isinstance(expr, (Var, Constant)) and not isinstance(expr.span, SourceSpan):
        unfrozen: Any = expr
        unfrozen.span = SourceSpan(SourceName(source), 0, 0, 0, 0)
