"""Verifies the limit of Hexagon's tightly coupled memory (VTCM)."""

from __future__ import annotations

from typing import Any

from compiler.ir.error import LoweringError
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.tir.analysis.memory import calculate_allocated_bytes
from compiler.tir.function import PrimFunc
from compiler.tir.transform.pass_base import PrimFuncPass

VTCM_SCOPE = "global.vtcm"


class VerifyVTCMLimit(PrimFuncPass):
    """Reject functions that allocate more tightly coupled memory (``global.vtcm``) than there is.

    Raises LoweringError if a function allocates more.

    Parameters
    ----------
    limit : int or Target
        In bytes; or a target, whose ``vtcm-capacity`` is the limit.  0 for no limit.
    """

    limit: Any = 0

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        _check(func, int(getattr(self.limit, "vtcm_capacity", self.limit)))
        return func


def _check(func: PrimFunc, limit: int) -> None:
    (by_scope,) = calculate_allocated_bytes(func).values()
    size = by_scope.get(VTCM_SCOPE, 0)
    if 0 < limit < size:
        name = func.attrs.get("global_symbol", "without a name")
        raise LoweringError(
            f"VerifyVTCMLimit: The global.vtcm memory allocation limit has been exceeded (allocated: "
            f"{size}, limit: {limit}) in function {name}"
        )
