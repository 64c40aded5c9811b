"""Device code of a function's kernels in the selected language, and the programs for NVIDIA's compilers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from app.artifacts import Options
from app.device_languages import DEVICE_LANGUAGES
from app.machine_code import MAX_SOURCE, CudaProgram
from app.recorder.units.subjects import FunctionSubject
from compiler.driver.build import thread_tags
from compiler.driver.device_pipeline import split_for_device
from compiler.ir.error import TVMError
from compiler.ir.instrument import uninstrumented
from compiler.ir.module import IRModule
from compiler.ir.printing.text import TextBuilder
from compiler.runtime.modules.device_module import DeviceModule
from compiler.target.codegen.llvm import kernel_code
from compiler.target.codegen.llvm.gpus import DEVICES
from compiler.target.codegen.source import source_code
from compiler.target.cuda_tools.tools import knows, missing_tools
from compiler.target.target import Target
from compiler.tir.statements.function import PrimFunc

DEFAULT_KIND = next(iter(DEVICE_LANGUAGES))


@dataclass(slots=True)
class DeviceCode:
    """The kernels of a function for one kind of device."""

    kind: str
    arch: str
    kernels: IRModule
    """The lowered kernels."""
    source: TextBuilder | None = None
    """The source code; None for kinds that LLVM compiles to assembly."""
    assembly: str = ""
    """LLVM's assembly, for kinds with an LLVM back end, and for CUDA without NVIDIA's compilers."""
    program: CudaProgram | None = None
    """The program that NVIDIA's compilers compile in separate processes."""
    milliseconds: dict[str, float] = field(default_factory=dict)
    """The time that each text took, in milliseconds."""


@dataclass(frozen=True, slots=True)
class RefusedCode:
    """The reason why a function has no kernels in a language."""

    title: str
    """The language."""
    reason: str


def launches_threads(module: IRModule | None) -> bool:
    """Return whether a lowered module launches kernels."""
    functions = [] if module is None else [func for _, func in module.items() if isinstance(func, PrimFunc)]
    return any(tag.startswith(("blockIdx", "threadIdx")) for func in functions for tag in thread_tags(func))


def device_kind(function: FunctionSubject, options: Options) -> str:
    """Return the kind of device whose code is shown: the selected one, that of the script, or CUDA."""
    own = function.target.kind if function.target is not None else ""
    return options.device or (str(own) if own in DEVICE_LANGUAGES else DEFAULT_KIND)


def kernels_of(function: FunctionSubject) -> IRModule | None:
    """Return the kernels of a function that was built for a device."""
    modules = function.built.imported_modules if function.built is not None else ()
    return next((module.kernels for module in modules if isinstance(module, DeviceModule)), None)


def make_device_code(
    function: FunctionSubject, options: Options, compiles_cuda: bool, note: Callable[[str], None]
) -> DeviceCode | RefusedCode:
    """Generate the device code of a function, or return and note why that is impossible.

    Parameters
    ----------
    function : FunctionSubject
        A lowered function with thread bindings.
    options : Options
        The language and the architecture.
    compiles_cuda : bool
        Whether the server compiles CUDA C with NVIDIA's compilers.
    note : callable
        Adds a note to the console.
    """
    kind = device_kind(function, options)
    target = Target(f"{kind} -arch={options.arch}" if kind in ("cuda", "nvptx") else kind)
    try:
        with uninstrumented():
            return _made(function, target, options.arch, compiles_cuda, note)
    except TVMError as error:
        note(f"no {DEVICE_LANGUAGES[kind]} is shown: {error}")
        return RefusedCode(DEVICE_LANGUAGES[kind], str(error))


def _made(
    function: FunctionSubject, target: Target, arch: str, compiles_cuda: bool, note: Callable[[str], None]
) -> DeviceCode:
    kernels = kernels_of(function) if function.target is not None and function.target.kind == target.kind else None
    if kernels is None:
        assert function.lowered is not None
        kernels = split_for_device(function.lowered, target, packed=False).device
    code = DeviceCode(str(target.kind), arch, kernels)
    started = time.perf_counter()
    if target.kind in DEVICES:
        code.assembly = kernel_code(kernels, target, with_locations=True).assembly
    else:
        code.source = source_code(kernels, target.kind).listing
    code.milliseconds["kernel"] = (time.perf_counter() - started) * 1e3
    if target.kind == "cuda":
        _compile(code, compiles_cuda, note)
    return code


def _compile(code: DeviceCode, compiles_cuda: bool, note: Callable[[str], None]) -> None:
    """Leave CUDA C to NVIDIA's compilers if they support the architecture; otherwise compile with LLVM."""
    assert code.source is not None
    source = code.source.text() + "\n"
    if compiles_cuda and knows(code.arch) and len(source) <= MAX_SOURCE:
        code.program = CudaProgram(source=source, arch=code.arch)
        return
    note(_why_llvm(code.arch, compiles_cuda))
    started = time.perf_counter()
    try:
        code.assembly = kernel_code(code.kernels, Target(f"nvptx -arch={code.arch}"), with_locations=True).assembly
    except TVMError as error:
        note(f"no PTX is shown: {error}")
    code.milliseconds["ptx"] = (time.perf_counter() - started) * 1e3


def _why_llvm(arch: str, compiles_cuda: bool) -> str:
    """Return why NVIDIA's compilers are not used."""
    if not compiles_cuda:
        reason = missing_tools() or "this server's sandbox cannot bound which programs are started"
    elif knows(arch):
        reason = f"the program has more than {MAX_SOURCE:,} characters"
    else:
        reason = f"the installed CUDA does not support {arch}"
    return f"PTX is LLVM's, and there is no SASS: {reason}"
