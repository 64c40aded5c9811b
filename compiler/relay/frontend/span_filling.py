"""The option that makes importers record the nodes of a model as the spans of expressions."""

from __future__ import annotations

from compiler.ir.origin import Span, mint, record_for_good
from compiler.ir.transform import PassContext, register_config_option

__all__ = ["FILL_SPAN", "begin_import", "mint_layer"]

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

    Returns
    -------
    Span
    """
    named = PassContext.current().config.get(FILL_SPAN, True)
    return mint("graph", label, parents, name if named else "")
