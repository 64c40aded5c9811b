"""The runtime's module of a program of kernels."""

from __future__ import annotations

from collections.abc import Callable

from compiler.ir.module import IRModule
from compiler.runtime.device_module import DeviceModule
from compiler.target.codegen.source.generate import SourceCode
from compiler.target.cuda_tools.compile import DEFAULT_ARCH, ptx_of
from compiler.target.target import Target

__all__ = ["FORMATS", "device_module"]

FORMATS = {"cuda": "cuda", "opencl": "cl", "metal": "metal", "webgpu": "wgsl"}
"""What the source of a kind of device is called."""


def device_module(code: SourceCode, target: Target, kernels: IRModule) -> DeviceModule:
    """Return the runtime's module of a program of kernels.

    Parameters
    ----------
    code : SourceCode
    target : Target
        The kernels'.
    kernels : IRModule
        The loop IR that the program was written from.

    Returns
    -------
    DeviceModule
    """
    kind = code.language.name
    sources: dict[str, Callable[[], str]] = {FORMATS[kind]: lambda: code.text}
    if kind == "cuda":
        sources["ptx"] = lambda: ptx_of(code.text, target.arch or DEFAULT_ARCH)
    return DeviceModule(kind, code.signatures, sources, target, kernels)
