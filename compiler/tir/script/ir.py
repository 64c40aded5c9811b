"""``I`` of TVMScript: ``from tvm.script import ir as I``."""

from compiler.tir.script.expression_words import Range
from compiler.tir.script.functions import ir_module, module_attrs

__all__ = ["Range", "ir_module", "module_attrs"]
