"""Attaches the target to functions, and marks the entry function of a module."""

from __future__ import annotations

from typing import Any, ClassVar

from compiler.ir.module import IRModule
from compiler.ir.transform import ModulePass, PassContext
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform.pass_base import FunctionRewrite, PrimFuncPass


class BindTarget(FunctionRewrite):
    """Say for each function which target it is for, unless it says so itself.

    For example ``BindTarget(Target("llvm"))``::

        def main(…): …     →     def main(…):
                                     T.func_attr({"target": T.target("llvm")})

    Only functions that can be called from outside have a host; those with ``tir.is_host_func``, which
    is taken away, are for the host.
    """

    target: Any

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        own, host = func.attrs.get("target"), self.target.host
        is_public = func.attrs.get("global_symbol") is not None
        if own is not None:
            has_host = own.host is not None or host is None or not is_public
            return func if has_host else func.with_attr("target", own.with_host(host))
        if func.attrs.get("tir.is_host_func"):
            alone = type(self.target)("llvm") if host is None else host
            return func.without_attr("tir.is_host_func").with_attr("target", alone.with_host(alone))
        return func.with_attr("target", self.target if is_public else self.target.without_host())


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
