"""Source code generators: one module per language, on a common printer."""

from compiler.target.codegen.source.device_module import device_module
from compiler.target.codegen.source.generate import LANGUAGES, SourceCode, source_code
from compiler.target.codegen.source.runtime_module import source_module

__all__ = ["LANGUAGES", "SourceCode", "device_module", "source_code", "source_module"]
