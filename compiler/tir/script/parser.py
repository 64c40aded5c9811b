"""The TVMScript parser: ``tvm.script.parser``."""

from compiler.tir.script import core, ir, tir
from compiler.tir.script.functions import from_source as parse
from compiler.tir.script.functions import ir_module

__all__ = ["core", "ir", "ir_module", "parse", "tir"]

_core = core
