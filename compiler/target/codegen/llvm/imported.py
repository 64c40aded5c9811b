"""Linking of LLVM IR that a program imports by the pragma ``import_llvm``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from compiler.ir.error import BuildError
from compiler.runtime.llvm import binding
from compiler.target import llvm_machine
from compiler.target.codegen.llvm import pipeline
from compiler.target.target import Target


def with_imported(text: str, imported: Iterable[str], target: Target) -> str:
    """Link imported functions into generated LLVM IR.

    They become private to the module, so that LLVM can inline them and two modules of a library may import the same.
    """
    parts = list(dict.fromkeys(imported))
    if not parts:
        return text
    module = pipeline.parse(text)
    names = []
    for part in parts:
        library = _read(part)
        library.triple, library.data_layout = target.triple, pipeline.data_layout(target)
        names += [function.name for function in library.functions if not function.is_declaration]
        try:
            module.link_in(library)
        except RuntimeError as exc:
            raise BuildError(f"build: import_llvm: {exc}") from None
    for name in names:
        module.get_function(name).linkage = "internal"
    return str(module)


def _read(part: str) -> binding.ModuleRef:
    """Parse LLVM IR, given as a string or by a path."""
    llvm_machine.initialize()
    try:
        if part.endswith(".bc"):
            module = binding.parse_bitcode(Path(part).read_bytes())
        else:
            module = binding.parse_assembly(Path(part).read_text() if part.endswith(".ll") else part)
        module.verify()
    except (OSError, RuntimeError) as exc:
        raise BuildError(f"build: import_llvm: what is imported is not LLVM IR: {exc}") from None
    return module
