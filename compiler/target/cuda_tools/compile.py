"""Compilation of CUDA C to PTX and SASS, with resource usage and occupancy."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from compiler.ir.error import BuildError, expected
from compiler.target.cuda_tools.listings import PROGRAM, CodeLine, ptx_lines, sass_lines
from compiler.target.cuda_tools.nvrtc import NvrtcError, NvrtcResult, compile_program, load_nvrtc
from compiler.target.cuda_tools.occupancy import Occupancy, occupancy
from compiler.target.cuda_tools.processors import PROCESSORS
from compiler.target.cuda_tools.resources import KernelResources, parse_resources
from compiler.target.cuda_tools.tools import NVRTC, find_tool, include_folders, release, run_limited

__all__ = [
    "DEFAULT_ARCH", "DISASSEMBLER", "CodeLine", "CudaReport", "KernelReport", "Translation", "compile_cuda", "cubin_of",
    "ptx_of", "report", "sass_of", "translate",
]  # fmt: skip

DEFAULT_ARCH = "sm_90"
"""The default architecture."""
DISASSEMBLER = ("bin/nvdisasm", "-gi", "-c", "-hex")
"""The disassembler and its options: line information, including inlining, and encodings."""
_NVRTC = str(Path(__file__).with_name("nvrtc.py"))
_BOUNDS = re.compile(r"__launch_bounds__\((\d+)\) (\w+)\(")


@dataclass(frozen=True, slots=True)
class KernelReport:
    """The report on a kernel; without threads per block in the program, there is no occupancy."""

    name: str
    threads: int | None
    resources: KernelResources
    occupancy: Occupancy | None


@dataclass(frozen=True, slots=True)
class CudaReport:
    """The results of NVIDIA's compilers for a program; each line of ``ptx`` and ``sass`` has its source line."""

    arch: str
    ptx: list[CodeLine]
    sass: list[CodeLine]
    kernels: list[KernelReport]


@dataclass(frozen=True, slots=True)
class Translation:
    """The output of NVRTC."""

    ptx: str
    cubin: bytes
    log: str


def compile_cuda(source: str, arch: str = DEFAULT_ARCH) -> CudaReport:
    """Compile CUDA C with NVRTC and ptxas, and disassemble the result, in resource-limited processes.

    ``arch`` is ``sm_75`` to ``sm_120``, if the installed compilers support it.
    """
    _check_arch("compile_cuda", arch)
    with tempfile.TemporaryDirectory() as folder:
        ptx, log = _assemble(source, arch, folder)
        sass = _run([*DISASSEMBLER, "kernel.cubin"], folder)
    return report(source, arch, ptx, log, sass)


def sass_of(source: str, arch: str = DEFAULT_ARCH) -> str:
    """Compile CUDA C with ptxas, and return its disassembly by ``nvdisasm``."""
    _check_arch("sass_of", arch)
    with tempfile.TemporaryDirectory() as folder:
        _assemble(source, arch, folder)
        return _run(["bin/nvdisasm", "-c", "kernel.cubin"], folder)


def _assemble(source: str, arch: str, folder: str) -> tuple[str, str]:
    """Write ``kernel.cubin`` to a directory; return the PTX and the output of ptxas."""
    _compile_to_ptx(source, arch, folder)
    ptx = Path(folder, "kernel.ptx").read_text(encoding="utf-8", errors="replace")
    return ptx, _run(["bin/ptxas", "-v", "-lineinfo", f"-arch={arch}", "kernel.ptx", "-o", "kernel.cubin"], folder)


def report(
    source: str, arch: str, ptx: str, log: str, sass: str = "", dynamic: Mapping[str, int] | None = None
) -> CudaReport:
    """Parse the outputs of the compilers.

    ``dynamic`` are the bytes of shared memory whose size the launch of a kernel says, by its name.
    """
    resources = {
        name: replace(used, shared_bytes=used.shared_bytes + (dynamic or {}).get(name, 0))
        for name, used in parse_resources(log).items()
    }
    return CudaReport(arch, ptx_lines(ptx), sass_lines(sass), _kernels(source, arch, resources))


def _check_arch(operation: str, arch: str) -> None:
    if arch not in PROCESSORS:
        expected(operation, "arch", f"one of {', '.join(PROCESSORS)}", arch)


def translate(source: str, arch: str = DEFAULT_ARCH) -> Translation:
    """Compile CUDA C with NVRTC in this process, for sandboxes that cannot start another one.

    The log says what each kernel uses, which NVRTC leaves out where it finds the machine code in a cache.
    """
    made = _compiled("translate", source, arch, ["--ptxas-options=-v", *(["--no-cache"] if release() >= 13 else [])])
    return Translation(made.ptx.decode(errors="replace"), made.cubin, made.log)


def cubin_of(source: str, arch: str = DEFAULT_ARCH) -> bytes:
    """Compile CUDA C to machine code with NVRTC in this process, or take it from NVRTC's cache."""
    return _compiled("cubin_of", source, arch, []).cubin


def _compiled(operation: str, source: str, arch: str, options: list[str]) -> NvrtcResult:
    _check_arch(operation, arch)
    options = [f"--gpu-architecture={arch}", *options, *_options()]
    try:
        return compile_program(load_nvrtc(find_tool(NVRTC)), source.encode(), PROGRAM.encode(), options)
    except NvrtcError as error:
        raise BuildError(f"NVRTC rejects the program for {arch}: {str(error).strip()[:1000]}") from None


def ptx_of(source: str, arch: str = DEFAULT_ARCH) -> str:
    """Compile CUDA C to PTX with NVRTC."""
    with tempfile.TemporaryDirectory() as folder:
        _compile_to_ptx(source, arch, folder)
        return Path(folder, "kernel.ptx").read_text(encoding="utf-8", errors="replace")


def _compile_to_ptx(source: str, arch: str, folder: str) -> None:
    library = find_tool(NVRTC)
    Path(folder, PROGRAM).write_text(source, encoding="utf-8")
    options = [f"--gpu-architecture={arch.replace('sm', 'compute')}", *_options()]
    done = run_limited([_NVRTC, str(library), PROGRAM, "kernel.ptx", *options], folder)
    if done.returncode:
        raise BuildError(f"NVRTC rejects the program for {arch}: {_first_lines(done.stderr, folder)}")


def _options() -> list[str]:
    """Return the options of NVRTC that do not depend on the architecture."""
    return ["-lineinfo", "-default-device", *(f"--include-path={headers}" for headers in include_folders())]


def _run(command: list[str], folder: str) -> str:
    """Run a tool and return its output."""
    tool = find_tool(command[0])
    done = run_limited([str(tool), *command[1:]], folder)
    if done.returncode:
        raise BuildError(f"{tool.name} rejects the program: {_first_lines(done.stderr, folder)}")
    return done.stdout + done.stderr


def _first_lines(text: str, folder: str) -> str:
    return text.replace(folder, ".").strip()[:1000]


def _kernels(source: str, arch: str, resources: dict[str, KernelResources]) -> list[KernelReport]:
    threads = {name: int(count) for count, name in _BOUNDS.findall(source)}
    reports = []
    for name, used in resources.items():
        count = threads.get(name)
        held = None if count is None else occupancy(arch, count, used.registers, used.shared_bytes)
        reports.append(KernelReport(name, count, used, held))
    return reports
