"""The runtime module of generated machine code."""

from __future__ import annotations

from compiler.ir.error import BuildError
from compiler.runtime.modules.linking import library_content
from compiler.runtime.modules.module import Module
from compiler.runtime.modules.native_code import NativeCode, ObjectCode
from compiler.target.codegen.llvm.generate import GeneratedModule
from compiler.target.cpu.host_check import require_host_can_run


def linked(generated: GeneratedModule) -> NativeCode:
    """Link generated machine code into this process, or raise BuildError if it is for another machine."""
    if not generated.target.is_host:
        raise BuildError(f"code for {generated.target.triple} cannot run on this machine; get_source shows it")
    if not generated.target.is_native:
        require_host_can_run(generated.target, generated.assembly)
    return ObjectCode(generated.object_code)


def runtime_module(generated: GeneratedModule) -> Module:
    """Create the runtime module, which generates machine code when a function is first called."""

    def export(file_name: str, attached: bytes) -> bytes:
        return library_content(generated.described_object_code(), file_name, attached)

    sources = {"ll": lambda: generated.optimised, "asm": lambda: generated.assembly}
    files = {
        "ll": lambda: str(generated.described_module()).encode(),
        "bc": lambda: bytes(generated.described_module().as_bitcode()),
        "asm": lambda: generated.assembly.encode(),
        "s": lambda: generated.assembly.encode(),
    }
    return Module(generated.signatures, lambda: linked(generated), sources, export, generated.target, files)
