"""Building for devices: a module of the host that imports one of kernels."""

from __future__ import annotations

from compiler.driver.device_pipeline import split_for_device
from compiler.ir.instrument import active_instruments
from compiler.ir.module import IRModule
from compiler.runtime.module import Module
from compiler.target.codegen.llvm import codegen, runtime_module
from compiler.target.codegen.source import LANGUAGES, device_module, source_code
from compiler.target.target import Target

__all__ = ["build_for_device", "is_device"]


def is_device(target: Target) -> bool:
    """Return whether a target's code is launched by a host.

    Parameters
    ----------
    target : Target

    Returns
    -------
    bool
    """
    language = LANGUAGES.get(target.kind)
    return language is not None and language.device is not None


def build_for_device(module: IRModule, target: Target, name: str) -> Module:
    """Build functions that launch threads.

    Parameters
    ----------
    module : IRModule
        What ``lower`` returns.
    target : Target
        The device's.
    name : str
        The name of the function, for instruments.

    Returns
    -------
    Module
        Of the host; ``imported_modules[0]`` has the kernels.
    """
    for instrument in active_instruments():
        instrument.build_begin(name, module, target)
    built: Module | None = None
    try:
        parts = split_for_device(module, target, packed=False)
        kernels = device_module(source_code(parts.device, target.kind), target, parts.device)
        built = runtime_module(codegen(parts.host, target.host or Target("llvm")))
        built.import_module(kernels)
    finally:
        for instrument in active_instruments():
            instrument.build_end(built)
    return built
