"""The runtime module of a device program."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from compiler.ir.module import IRModule
from compiler.runtime.modules.device_module import DeviceModule
from compiler.runtime.modules.launches import FunctionLaunches
from compiler.target.codegen import llvm
from compiler.target.codegen.source.generate import SourceCode
from compiler.target.cuda_tools.compile import DEFAULT_ARCH, cubin_of, ptx_of, sass_of
from compiler.target.cuda_tools.tools import NVRTC, knows, missing_tools
from compiler.target.target import Target

FORMATS = {"cuda": "cuda", "opencl": "cl", "metal": "metal", "webgpu": "wgsl"}
"""The names of source formats, by target kind."""


def device_module(
    code: SourceCode, target: Target, kernels: IRModule, launches: Callable[[], FunctionLaunches] | None = None
) -> DeviceModule:
    """Create the runtime module of a device program."""
    kind = code.language.name
    sources: dict[str, Callable[[], str]] = {FORMATS[kind]: lambda: code.text}
    files: dict[str, Callable[[], bytes]] = {}
    if kind == "cuda":
        arch = target.arch or DEFAULT_ARCH
        sources["ptx"] = lambda: _ptx(code.text, target, kernels)
        sources["sass"] = lambda: sass_of(code.text, arch)
        files["cu"] = lambda: code.text.encode()
        files["cubin"] = lambda: cubin_of(code.text, arch)
        machine_code = partial(_machine_code, code.text, kernels)
        return DeviceModule(kind, code.signatures, sources, target, kernels, files, launches, machine_code, arch)
    return DeviceModule(kind, code.signatures, sources, target, kernels, files, launches)


def _ptx(text: str, target: Target, kernels: IRModule) -> str:
    """Return the PTX of NVRTC, or of LLVM if NVRTC is not installed."""
    if missing_tools(NVRTC):
        return _llvm_ptx(kernels, target.arch)
    return ptx_of(text, target.arch or DEFAULT_ARCH)


def _llvm_ptx(kernels: IRModule, arch: str) -> str:
    return llvm.kernel_code(kernels, Target("nvptx" + (f" -arch={arch}" if arch else ""))).assembly


def _machine_code(text: str, kernels: IRModule, arch: str) -> bytes:
    """Return machine code of NVRTC, or PTX of LLVM for the driver to compile if NVRTC is not installed."""
    if knows(arch):
        return cubin_of(text, arch)
    return _llvm_ptx(kernels, arch).encode() + b"\0"
