"""Code generation as source code: one file for each language, over one printer."""

from compiler.target.codegen.source.generate import LANGUAGES, SourceCode, source_code
from compiler.target.codegen.source.runtime_module import source_module

__all__ = ["LANGUAGES", "SourceCode", "source_code", "source_module"]
