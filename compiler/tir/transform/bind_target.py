"""Naming the target of functions, and the entry of a module."""

from __future__ import annotations

from typing import Any, ClassVar

from compiler.ir.module import IRModule
from compiler.ir.transform import ModulePass, PassContext
from compiler.tir.function import PrimFunc
from compiler.tir.transform.pass_base import PrimFuncPass


class BindTarget(PrimFuncPass):
    """Say for each function which target it is for, unless it says so itself.

    For example ``BindTarget(Target("llvm"))``::

        def main(…): …     →     def main(…):
                                     T.func_attr({"target": T.target("llvm")})

    Parameters
    ----------
    target : Target
        The target.
    """

    target: Any

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        if func.attrs.get("target") is not None:
            return func
        return func.with_attr("target", self.target)


class AnnotateEntryFunc(ModulePass):
    """Mark the only function of a module that can be called from outside as its entry.

    For example::

        def main(…): …     →     def main(…):
                                     T.func_attr({"tir.is_entry_func": True})
    """

    prefix: ClassVar[str] = PrimFuncPass.prefix

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        public = {
            var: func
            for var, func in mod.items()
            if isinstance(func, PrimFunc) and (len(mod.functions) == 1 or func.attrs.get("global_symbol"))
        }
        if len(public) != 1:
            return mod
        ((entry, func),) = public.items()
        return mod.with_functions({**dict(mod.items()), entry: func.with_attr("tir.is_entry_func", True)})
