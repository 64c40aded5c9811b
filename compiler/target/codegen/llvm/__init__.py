"""Code generation through LLVM."""

from compiler.target.assembly_summary import assembly_summary
from compiler.target.codegen.llvm.generate import Generated, codegen
from compiler.target.codegen.llvm.runtime_module import runtime_module

__all__ = ["Generated", "assembly_summary", "codegen", "runtime_module"]
