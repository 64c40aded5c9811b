"""Passes from plain functions on the functions of a module."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from compiler.ir.module import IRModule
from compiler.ir.transform import ModulePass, PassContext
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform.pass_base import FunctionRewrite, PrimFuncPass


class Apply(FunctionRewrite):
    """Apply a function, ``ftransform``, to every function of the module.

    For example ``Apply(lambda f: f.with_attr("tir.noalias", True))``::

        def main(A: T.Buffer((8,)))     →     def main(A: T.Buffer((8,)))
                                                  T.func_attr({"tir.noalias": True})
    """

    ftransform: Callable[[PrimFunc], PrimFunc]

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return self.ftransform(func)


class Filter(ModulePass):
    """Keep only those functions of the module for which a condition, ``fcond``, holds.

    For example ``Filter(lambda f: "global_symbol" in f.attrs)``::

        def main(…): T.func_attr({"global_symbol": "main"})     →     def main(…): T.func_attr(…)
        def helper(…): …
    """

    prefix: ClassVar[str] = PrimFuncPass.prefix
    fcond: Callable[[PrimFunc], bool]

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        functions = {var: func for var, func in mod.items() if not isinstance(func, PrimFunc) or self.fcond(func)}
        return mod.with_functions(functions)
