"""``tvm.utils.roofline``: the loops of a build's kernels, for models of how fast they can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.ir.extension import public_module
from compiler.ir.function import GlobalVar
from compiler.ir.instrument.interface import PassInstrument
from compiler.ir.module import IRModule
from compiler.ir.passes.context import PassInfo
from compiler.tir.statements.function import PrimFunc

__all__ = ["SaveLoweredTIR"]


class SaveLoweredTIR(PassInstrument):
    """An instrument that keeps the loops of every kernel that is built in its context, in order.

    They are kept as they come into ``before_pass``.  A kernel that does not go through it, as those of a CPU do not, is
    kept as the last pass over it leaves it.

    Examples
    --------
    >>> saved = SaveLoweredTIR()
    >>> with tvm.transform.PassContext(opt_level=3, instruments=[saved]):
    ...     relay.build(mod, "llvm")
    >>> loops = list(saved.functions.values())
    """

    def __init__(self, before_pass: str = "tir.SplitHostDevice") -> None:
        self.functions: dict[GlobalVar, PrimFunc] = {}
        self.before_pass = before_pass
        self._vars: dict[str, GlobalVar] = {}
        self._reached = False

    def enter_pass_ctx(self) -> None:
        self._reached = False

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if info.name == self.before_pass:
            self._reached = True
            self._keep(mod)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        if not self._reached:
            self._keep(mod)

    def _keep(self, mod: IRModule) -> None:
        for var, func in mod.functions.items():
            if isinstance(func, PrimFunc):
                self.functions[self._vars.setdefault(var.name_hint, var)] = func


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.utils.roofline", __all__)
