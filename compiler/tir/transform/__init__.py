"""TIR passes, one file each, under TVM's names."""

from compiler.ir.extension import public_module
from compiler.ir.passes.package import load_passes
from compiler.tir.transform.loops.hoist_expression import HoistedConditionals, HoistedLetBindings
from compiler.tir.transform.pass_base import PrimFuncPass, prim_func_pass

__all__ = [
    "HoistedConditionals", "HoistedLetBindings", "PrimFuncPass", "prim_func_pass", *load_passes(globals()),
]  # fmt: skip

__getattr__, __dir__ = public_module("tvm.tir.transform", __all__)
