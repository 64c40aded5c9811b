"""``tvm.relay.transform.LayoutConfig``: layers that ConvertLayout skips."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.context_stack import Entered


class LayoutConfig(Entered):
    """Within its ``with`` block, some convolutions keep their layouts.

    ``skip_layers`` counts them from 0 in the order in which they are computed.

    Examples
    --------
    ::

        with relay.transform.LayoutConfig(skip_layers=[0]):
            mod = relay.transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]})(mod)
    """

    def __init__(self, skip_layers: Sequence[int] | None = None) -> None:
        self.skip_counter = 0
        self.skip_layers = list(skip_layers or ())

    @staticmethod
    def current() -> LayoutConfig | None:
        """Return the configuration of the innermost ``with`` block; None outside of such blocks."""
        return LayoutConfig._innermost()

    def check_skip(self) -> bool:
        """Count one more layer, and return whether it keeps its layout."""
        skip = self.skip_counter in self.skip_layers
        self.skip_counter += 1
        return skip

    def reset(self) -> None:
        """Count from the beginning."""
        self.skip_counter = 0
