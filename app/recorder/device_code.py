"""Device code of a function's kernels in the selected language, and the programs for NVIDIA's compilers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from app.artifacts import Options
from app.machine_code import MAX_SOURCE, CudaProgram
from app.recorder.subjects import FunctionSubject
from compiler.driver.build import thread_tags
from compiler.driver.device_pipeline import split_for_device
from compiler.ir.error import TVMError
from compiler.ir.instrument import uninstrumented
from compiler.ir.module import IRModule
from compiler.ir.text import TextBuilder
from compiler.runtime.device_module import DeviceModule
from compiler.target.codegen.llvm.kernels import DEVICES, kernel_code
from compiler.target.codegen.source import source_code
from compiler.target.cuda_tools.tools import knows, missing_tools
from compiler.target.device_languages import DEVICE_LANGUAGES
from compiler.target.target import Target
from compiler.tir.function import PrimFunc

DEFAULT_KIND = next(iter(DEVICE_LANGUAGES))


@dataclass(slots=True)
class DeviceCode:
    """The kernels of one function for one kind of device."""

    kind: str
    arch: str
    kernels: IRModule
    """The loop IR that the code is made of."""
    source: TextBuilder | None = None
    """The program; None if LLVM makes assembly at once."""
    assembly: str = ""
    """LLVM's, of the kinds that it has a back end for, and of CUDA where its own compilers do not work on it."""
    program: CudaProgram | None = None
    """What the server lets NVIDIA's compilers work on, in processes of their own."""
    milliseconds: dict[str, float] = field(default_factory=dict)
    """How long each text took."""


@dataclass(frozen=True, slots=True)
class RefusedCode:
    """Why a function has no kernels in a language."""

    title: str
    """The language."""
    reason: str


def launches_threads(module: IRModule | None) -> bool:
    """Return whether a lowered module has functions that launch kernels."""
    functions = [] if module is None else [func for _, func in module.items() if isinstance(func, PrimFunc)]
    return any(tag.startswith(("blockIdx", "threadIdx")) for func in functions for tag in thread_tags(func))


def device_kind(function: FunctionSubject, options: Options) -> str:
    """Return the kind of device whose code is shown: the one chosen in the page, the script's, else CUDA."""
    own = function.target.kind if function.target is not None else ""
    return options.device or (str(own) if own in DEVICE_LANGUAGES else DEFAULT_KIND)


def kernels_of(function: FunctionSubject) -> IRModule | None:
    """Return the kernels that a function was built with, where it was built for a device."""
    modules = function.built.imported_modules if function.built is not None else ()
    return next((module.kernels for module in modules if isinstance(module, DeviceModule)), None)


def make_device_code(
    function: FunctionSubject, options: Options, compiles_cuda: bool, note: Callable[[str], None]
) -> DeviceCode | RefusedCode:
    """Return the code of a function's kernels, or why there can be none, which is a remark too.

    Parameters
    ----------
    function : FunctionSubject
        Lowered, with loops that are bound to threads.
    options : Options
        Which language, and for which architecture.
    compiles_cuda : bool
        Whether the server lets NVIDIA's compilers work on CUDA C.
    note : callable
        Adds a remark to the console.
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
    """Leave CUDA C to NVIDIA's compilers where they know the architecture, else compile its loops by LLVM."""
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
    """Return why NVIDIA's compilers do not work on a program."""
    if not compiles_cuda:
        reason = missing_tools() or "this server's sandbox cannot bound which programs are started"
    elif knows(arch):
        reason = f"the program has more than {MAX_SOURCE:,} characters"
    else:
        reason = f"the installed CUDA does not support {arch}"
    return f"PTX is LLVM's, and there is no SASS: {reason}"
