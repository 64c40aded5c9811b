"""The runtime module of generated machine code."""

from __future__ import annotations

from compiler.ir.error import BuildError
from compiler.runtime.modules.library import library_content
from compiler.runtime.modules.module import Module
from compiler.runtime.modules.native_code import NativeCode, ObjectCode
from compiler.target.codegen.llvm.generate import GeneratedModule
from compiler.target.cpu.host_check import require_host_can_run


def runtime_module(generated: GeneratedModule) -> Module:
    """Create the runtime module, which generates machine code when a function is first called."""

    def code() -> NativeCode:
        if not generated.target.is_host:
            triple = generated.target.triple
            raise BuildError(f"code for {triple} cannot run on this machine; get_source shows it")
        if not generated.target.is_native:
            require_host_can_run(generated.target, generated.assembly)
        return ObjectCode(generated.object_code)

    def export(file_name: str, attached: bytes) -> bytes:
        return library_content(generated.described_object_code(), file_name, attached)

    sources = {"ll": lambda: generated.optimised, "asm": lambda: generated.assembly}
    files = {
        "ll": lambda: str(generated.described_module()).encode(),
        "bc": lambda: bytes(generated.described_module().as_bitcode()),
        "asm": lambda: generated.assembly.encode(),
        "s": lambda: generated.assembly.encode(),
    }
    return Module(generated.signatures, code, sources, export, generated.target, files)
