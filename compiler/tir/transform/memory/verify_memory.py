"""Rejects functions that access memory out of their target's reach."""

from __future__ import annotations

from compiler.ir.error import LoweringError
from compiler.ir.origin import user_place
from compiler.tir.analysis.verify import host_access
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform.pass_base import FunctionRewrite


class VerifyMemory(FunctionRewrite):
    """Check that memory is touched only where the target of each function can do so; nothing changes.

    On a GPU the memory of the parameters may be read and written only under a thread axis::

        # target: cuda
        for i in range(8):            # refused: i is bound to no thread axis
            B[i] = A[i] + 1.0

    Raises LoweringError if a function touches memory outside of all thread axes.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        _check(func)
        return func


def _check(func: PrimFunc) -> None:
    access = host_access(func)
    if access is not None:
        name = func.attrs.get("global_symbol", "main")
        raise LoweringError(
            f"Memory verification failed: function {name!r} touches {access.buffer.name} from the host"
            f"{user_place(access.span)}, which its target "
            f"{str(func.attrs['target'])!r} cannot; did you forget to bind its loops to thread axes?"
        )
