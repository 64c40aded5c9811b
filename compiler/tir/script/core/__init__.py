"""What programs that read Python source by themselves work with: ``tvm.script.parser.core``."""

from compiler.tir.script.core import diagnostics, doc, evaluator

__all__ = ["diagnostics", "doc", "doc_core", "evaluator"]

doc_core = doc
