"""The passes over loop IR, a file each, under TVM's names."""

from typing import Any

from compiler.ir.error import unknown_name
from compiler.ir.pass_package import load_passes
from compiler.tir.transform.hoist_expression import HoistedConditionals, HoistedLetBindings
from compiler.tir.transform.pass_base import PrimFuncPass, prim_func_pass

__all__ = [
    "HoistedConditionals",
    "HoistedLetBindings",
    "PrimFuncPass",
    "prim_func_pass",
    *load_passes(globals()),
]


def __getattr__(name: str) -> Any:
    raise unknown_name("tvm.tir.transform", name, __all__)
