"""Whether importers of models say on each expression which node of the model it is from."""

from __future__ import annotations

from types import TracebackType

from compiler.ir.passes.context import PassContext
from compiler.relay.frontend.span_filling import FILL_SPAN


class _SpanFilling:
    """Sets the option of the current context at once; as a ``with`` block it sets back what was there before."""

    fill: bool

    def __init__(self) -> None:
        self._config = PassContext.current().config
        self._before = self._config.get(FILL_SPAN)
        self._config[FILL_SPAN] = self.fill

    def __enter__(self) -> None:
        self._config[FILL_SPAN] = self.fill

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._before is None:
            self._config.pop(FILL_SPAN, None)
        else:
            self._config[FILL_SPAN] = self._before


class enable_span_filling(_SpanFilling):
    """Let importers name the node on what they make of it, in the current context or in a ``with`` block.

    Examples
    --------
    >>> with tvm.testing.enable_span_filling():
    ...     mod, params = relay.frontend.from_onnx(model)
    """

    fill = True


class disable_span_filling(_SpanFilling):
    """Let importers leave out the names of nodes, in the current context or in a ``with`` block."""

    fill = False
