"""LLVM IR that a program brings itself, by the pragma ``import_llvm`` of a loop, joins what is generated."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from llvmlite import binding

from compiler.ir.error import BuildError
from compiler.target import llvm_machine
from compiler.target.codegen.llvm import pipeline
from compiler.target.target import Target

__all__ = ["with_imported"]


def with_imported(text: str, imported: Iterable[str], target: Target) -> str:
    """Return LLVM IR with the functions that a program brings.

    Each becomes private to the module: two modules of one library may bring the same one, and LLVM can inline it.

    Parameters
    ----------
    text : str
        LLVM IR as it was generated; it declares what it calls.
    imported : iterable of str
        LLVM IR, or the paths of files of it that end with ``.ll`` or ``.bc``.
    target : Target
        What all of it is compiled for.

    Returns
    -------
    str
        LLVM IR; ``text`` itself if nothing is imported.

    Raises
    ------
    BuildError
        If LLVM cannot read what is imported, or a function of it is there already.
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
    """Return the module that a text, or the file that it names, contains."""
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
