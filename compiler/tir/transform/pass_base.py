"""Passes over single functions of loop IR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.ir.transform import Pass, PassContext, PassInfo, pass_decorator
from compiler.tir.function import PrimFunc

PrimFuncTransform = Callable[[PrimFunc, IRModule, PassContext], PrimFunc]


class PrimFuncPass(Pass):
    """A pass made of a function ``f(func, mod, ctx) -> func``, applied to every PrimFunc of the module."""

    def __init__(self, transform: PrimFuncTransform, info: PassInfo) -> None:
        self.transform = transform
        self.info = info

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        changed: dict[Any, Any] = {}
        for var, func in mod.items():
            changed[var] = self._apply(func, mod, ctx) if isinstance(func, PrimFunc) else func
        return mod.with_functions(changed)

    def _apply(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        result = self.transform(func, mod, ctx)
        if not isinstance(result, PrimFunc):
            raise ArgumentError(f"pass {self.info.name}: must return a PrimFunc, returned {type(result).__name__}")
        return result


prim_func_pass = pass_decorator(PrimFuncPass, "transform_function")
"""Make a pass of a function ``f(func, mod, ctx) -> func`` or of a class with ``transform_function``."""


def simple_pass(name: str, transform: Callable[[PrimFunc], PrimFunc], opt_level: int = 0) -> PrimFuncPass:
    """Return a pass that needs neither the module nor the context."""
    return PrimFuncPass(lambda func, mod, ctx: transform(func), PassInfo(opt_level, name))
