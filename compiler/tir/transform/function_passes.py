"""Passes made of a plain function over the functions of a module."""

from __future__ import annotations

from collections.abc import Callable

from compiler.ir.error import ArgumentError, show
from compiler.ir.module import IRModule
from compiler.ir.transform import ModulePass, PassContext, PassInfo
from compiler.tir.function import PrimFunc
from compiler.tir.transform.pass_base import PrimFuncPass


def Apply(ftransform: Callable[[PrimFunc], PrimFunc]) -> PrimFuncPass:
    """Apply a function to every function of the module.

    Parameters
    ----------
    ftransform : callable
        From PrimFunc to PrimFunc, e.g. ``lambda f: f.with_attr("global_symbol", "main")``.
    """
    if not callable(ftransform):
        raise ArgumentError(f"Apply: ftransform must be callable, got {show(ftransform)}")
    return PrimFuncPass(lambda func, mod, ctx: ftransform(func), PassInfo(0, "tir.Apply"))


def Filter(fcond: Callable[[PrimFunc], bool]) -> ModulePass:
    """Keep only those functions of the module for which a condition holds.

    Parameters
    ----------
    fcond : callable
        From PrimFunc to bool.
    """
    if not callable(fcond):
        raise ArgumentError(f"Filter: fcond must be callable, got {show(fcond)}")

    def keep(mod: IRModule, ctx: PassContext) -> IRModule:
        kept = {var: func for var, func in mod.items() if not isinstance(func, PrimFunc) or fcond(func)}
        return mod.with_functions(kept)

    return ModulePass(keep, PassInfo(0, "tir.Filter"))
