"""``I`` of TVMScript: ``from tvm.script import ir as I``."""

from typing import Never

from compiler.ir.error import unknown_name
from compiler.tir.script.expression_words import Range
from compiler.tir.script.functions import ir_module, module_attrs

__all__ = ["Range", "ir_module", "module_attrs"]


def __getattr__(name: str) -> Never:
    raise unknown_name("I", name, __all__)
