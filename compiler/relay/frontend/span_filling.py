"""The option that says whether importers name the nodes of a model on the expressions that they make of them."""

from __future__ import annotations

from compiler.ir.origin import Span, mint, record_for_good
from compiler.ir.transform import PassContext, register_config_option

__all__ = ["FILL_SPAN", "begin_import", "mint_layer"]

FILL_SPAN = "relay.frontend.fill_span"
register_config_option(FILL_SPAN, (bool, int))


def begin_import() -> None:
    """Record origins from now on if the option asks for names and nothing records yet."""
    if PassContext.current().config.get(FILL_SPAN):
        record_for_good()


def mint_layer(label: str, name: str, parents: Span) -> Span:
    """Return the origin of what is made of one node of a model.

    Parameters
    ----------
    label : str
        E.g. ``Conv layer1/conv``.
    name : str
        The node's own, which texts show unless the option is off.
    parents : Span
        Where the import was asked for, or the node whose function this node is in.

    Returns
    -------
    Span
    """
    named = PassContext.current().config.get(FILL_SPAN, True)
    return mint("graph", label, parents, name if named else "")
