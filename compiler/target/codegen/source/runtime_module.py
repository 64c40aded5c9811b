"""Runtime modules of C code, which the system's C compiler compiles at the first call."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from compiler.ir.error import BuildError
from compiler.runtime.modules.library import Description, describe
from compiler.runtime.modules.linking import library_content
from compiler.runtime.modules.module import Module
from compiler.runtime.modules.native_code import NativeCode, SharedLibrary, host_triple
from compiler.target.codegen.source.c_program import c_header, c_main
from compiler.target.codegen.source.generate import SourceCode
from compiler.target.target import Target

_COMPILERS = ("cc", "gcc", "clang")
_OPTIONS = ("-std=gnu11", "-O3", "-fPIC", "-fwrapv", "-fno-strict-aliasing", "-w")
"""Compiler options for TIR's semantics: integers wrap around, and memory may be accessed as another type."""
_SECONDS = 120


def source_module(code: SourceCode, target: Target) -> Module:
    """Create the runtime module of a program."""
    suffix = code.language.name

    def native() -> NativeCode:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder, "module.so"))
            Path(path).write_bytes(_compiled(code.text, ("-shared",)))
            return SharedLibrary(path)

    def export(file_name: str, attached: bytes) -> bytes:
        if file_name.endswith(f".{suffix}"):
            return code.text.encode()
        return source_library(code, source_description(code, target), file_name, attached)

    sources = {suffix: lambda: code.text, "h": lambda: c_header(code), "main.c": lambda: c_main(code)}
    files = {name: lambda make=make: make().encode() for name, make in sources.items()}
    return Module(code.signatures, native, sources, export, target, files)


def source_library(code: SourceCode, description: Description, file_name: str, attached: bytes) -> bytes:
    """Return the content of a file with the machine code of a program."""
    described = _description(describe(description))
    return library_content(_compiled(code.text + described, ("-c",)), file_name, attached)


def source_description(code: SourceCode, target: Target) -> Description:
    """Return what there is to say of the machine code of a program."""
    return Description(triple=host_triple(), features=[], target=str(target), signatures=code.signatures)


def _description(content: bytes) -> str:
    """Return the constant with the description of the machine code, which linkers keep."""
    numbers = ",".join(map(str, content))
    return f"\n__attribute__((used)) static const unsigned char strata_description[] = {{{numbers}}};\n"


def _compiled(text: str, options: tuple[str, ...]) -> bytes:
    """Compile a program with the C compiler."""
    compiler = next((command for command in _COMPILERS if shutil.which(command)), None)
    if compiler is None:
        raise BuildError(f"build: no C compiler was found ({', '.join(_COMPILERS)}); use get_source for the program")
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, "module.c"), Path(folder, "module.out")
        source.write_text(text, encoding="utf-8")
        command = [compiler, *_OPTIONS, *options, "-o", str(result), str(source), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False)
        if done.returncode:
            raise BuildError(f"build: {compiler} rejects the program: {done.stderr.strip()[:1000]}")
        return result.read_bytes()
