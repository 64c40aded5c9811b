"""The generic Python parsing layer: ``tvm.script.parser.core``."""

from typing import TYPE_CHECKING

from compiler.ir.extension import public_module
from compiler.tir.script.core import diagnostics, doc, evaluator

__all__ = ["diagnostics", "doc", "doc_core", "evaluator"]

doc_core = doc

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.script.parser.core", __all__)
