"""The external compiler ``ccompiler``, which generates C."""

from __future__ import annotations

from compiler.driver.relay.build import build
from compiler.driver.relay.external import compiled_here
from compiler.ir.module import IRModule
from compiler.relay.function import Function
from compiler.runtime.modules.module import Module
from compiler.runtime.modules.packed_func import register_func


def ccompiler(func: Function) -> Module:
    """Return the machine code of a function that compiler ``ccompiler`` gets."""
    return build(IRModule.from_expr(compiled_here(func))).lib


register_func("relay.ext.ccompiler", ccompiler)
