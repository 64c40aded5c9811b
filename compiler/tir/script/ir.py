"""``I`` of TVMScript: ``from tvm.script import ir as I``."""

from compiler.tir.script.functions import ir_module

__all__ = ["ir_module"]
