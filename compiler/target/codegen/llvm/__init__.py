"""Code generation through LLVM."""

from compiler.target.codegen.llvm.generate import Generated, codegen
from compiler.target.codegen.llvm.runtime_module import runtime_module
from compiler.target.codegen.llvm.summary import assembly_summary

__all__ = ["Generated", "assembly_summary", "codegen", "runtime_module"]
