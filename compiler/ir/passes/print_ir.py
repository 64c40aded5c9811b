"""PrintIR: prints the module between two passes of a sequence."""

from __future__ import annotations

import sys

from compiler.ir.module import IRModule
from compiler.ir.passes.base import Pass
from compiler.ir.passes.context import PassContext


class PrintIR(Pass):
    """Write the module to the standard error stream, after a header, and leave it as it is; level 0.

    Constants too large for the text are written behind it with ``show_meta_data``.
    """

    header: str = ""
    show_meta_data: bool = False

    def apply(self, mod: IRModule, ctx: PassContext) -> IRModule:
        print(f"PrintIR({self.header}):\n{mod.astext(self.show_meta_data)}", file=sys.stderr)
        return mod
