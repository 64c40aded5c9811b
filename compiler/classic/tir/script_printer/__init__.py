"""Docs, the syntax trees of printed scripts: ``tvm.script.printer``."""

from compiler.classic.tir.script_printer import doc, doc_printer
from compiler.classic.tir.script_printer.doc_printer import to_python_script

__all__ = ["doc", "doc_printer", "to_python_script"]
