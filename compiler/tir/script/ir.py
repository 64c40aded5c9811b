"""``I`` of TVMScript: ``from tvm.script import ir as I``."""

from compiler.tir.script.functions import ir_module, module_attrs

__all__ = ["ir_module", "module_attrs"]
