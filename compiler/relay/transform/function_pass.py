"""Passes over single functions of graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.origin import derived_from
from compiler.ir.transform import Pass, PassContext, PassInfo, pass_decorator
from compiler.relay.expr import Function
from compiler.relay.inference import infer_module

FunctionTransform = Callable[[Function, IRModule, PassContext], Function]


class FunctionPass(Pass):
    """A pass made of a function ``f(func, mod, ctx) -> func``, applied to every Function of the module.

    Functions with the attribute ``SkipOptimization`` stay as they are, and so do those that an external compiler gets
    (attribute ``Compiler``).  What was changed has types again afterwards, as after ``InferType``.
    """

    def __init__(self, transform: FunctionTransform, info: PassInfo) -> None:
        self.transform = transform
        self.info = info

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        result = mod.with_functions({var: self._apply(func, mod, ctx) for var, func in mod.items()})
        return mod if result is mod else infer_module(result)

    def _apply(self, func: RelayExpr, mod: IRModule, ctx: PassContext) -> Any:
        if not isinstance(func, Function) or func.attrs.get("SkipOptimization") or func.attrs.get("Compiler"):
            return func
        with derived_from(func.span):
            result = self.transform(func, mod, ctx)
        if not isinstance(result, Function):
            raise ArgumentError(f"pass {self.info.name}: must return a Function, returned {type(result).__name__}")
        return result


function_pass = pass_decorator(FunctionPass, "transform_function")
"""Make a pass of a function ``f(func, mod, ctx) -> func`` or of a class with ``transform_function``."""
