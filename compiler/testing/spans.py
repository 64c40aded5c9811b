"""Whether importers of models say on each expression which node of the model it is from."""

from __future__ import annotations

from compiler.ir.pass_context import PassContext

__all__ = ["disable_span_filling", "enable_span_filling"]

FILL_SPAN = "relay.frontend.fill_span"


def enable_span_filling() -> None:
    """Let importers name the node on what they make of it, in the current context."""
    PassContext.current().config[FILL_SPAN] = True


def disable_span_filling() -> None:
    """Let importers leave out the names of nodes, in the current context."""
    PassContext.current().config[FILL_SPAN] = False
