"""Builds for devices: a host module that imports a module of kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from compiler.driver.device_pipeline import SplitModule, split_for_device
from compiler.driver.launch_plan import host_launches
from compiler.ir.instrument import active_instruments
from compiler.ir.module import IRModule
from compiler.runtime.cuda.execution import launch_on_cuda
from compiler.runtime.llvm import has_llvm
from compiler.runtime.modules.device_module import DeviceModule
from compiler.runtime.modules.module import Module
from compiler.target.codegen import llvm
from compiler.target.codegen.llvm.gpus import DEVICES
from compiler.target.codegen.source import LANGUAGES, device_module, source_code, source_module
from compiler.target.target import Target


def is_device(target: Target) -> bool:
    """Return whether a target's code is launched by a host."""
    language = LANGUAGES.get(target.kind)
    if target.kind in DEVICES:
        return True
    return language is not None and language.device is not None


def build_for_device(module: IRModule, target: Target, name: str) -> Module:
    """Build functions that launch threads."""
    for instrument in active_instruments():
        instrument.build_begin(name, module, target, module)
    built: Module | None = None
    try:
        parts = split_for_device(module, target, packed=False)
        kernels = kernel_module(parts, target)
        host = target.host or Target("llvm" if has_llvm() else "c")
        if host.kind == "c":
            built = source_module(source_code(parts.host, host.kind), host)
        else:
            built = llvm.runtime_module(llvm.codegen(parts.host, host))
        built.import_module(kernels)
        launch_on_cuda(built, kernels)
    finally:
        for instrument in active_instruments():
            instrument.build_end(built)
    return built


_ASSEMBLY = {"nvptx": ("cuda", "ptx"), "rocm": ("hip", "asm")}
"""How TVM calls the modules of targets that LLVM compiles, and what their assembly."""


def kernel_module(parts: SplitModule, target: Target) -> DeviceModule:
    """Return the module of kernels: of source code, or of assembly where LLVM has a back end for the device."""
    module, launches = parts.device, partial(host_launches, *parts)
    if target.kind not in DEVICES:
        return device_module(source_code(module, target.kind), target, module, launches)
    kind, form = _ASSEMBLY[target.kind]
    code = llvm.kernel_code(module, target)
    for instrument in active_instruments():
        instrument.code_generated("optimised", "llvm", code.optimised, 0.0)
        instrument.code_generated("assembly", "gas", code.assembly, 0.0)
    sources: dict[str, Callable[[], str]] = {form: lambda: code.assembly, "ll": lambda: code.optimised}
    files = {"s": lambda: code.assembly.encode()}
    return DeviceModule(kind, code.signatures, sources, target, module, files, launches)
