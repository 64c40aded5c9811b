"""PrintIR: prints the module between two passes of a sequence."""

from __future__ import annotations

import sys

from compiler.ir.module import IRModule
from compiler.ir.pass_base import Pass
from compiler.ir.pass_context import PassContext

__all__ = ["PrintIR"]


class PrintIR(Pass):
    """Write the module to the standard error stream, and leave it as it is.

    Level 0.

    Parameters
    ----------
    header : str
        Written before it.
    show_meta_data : bool
        Whether constants too large for the text are written behind it.

    Examples
    --------
    >>> tvm.transform.Sequential([relay.transform.FoldConstant(), tvm.transform.PrintIR("folded")])(mod)
    """

    header: str = ""
    show_meta_data: bool = False

    def apply(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Write the module.

        Parameters
        ----------
        ctx : PassContext
            The context that the pass runs in.

        Returns
        -------
        IRModule
            ``mod`` itself.
        """
        print(f"PrintIR({self.header}):\n{mod.astext(self.show_meta_data)}", file=sys.stderr)
        return mod
