"""Messages of the jobs that run NVIDIA's compilers on a script's kernels."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

MAX_SOURCE = 1 << 20
"""Characters of a program in CUDA C."""
MAX_CODE_BYTES = 8 << 20
"""Of PTX and machine code together, as they are sent."""
MAX_PROGRAMS = 4
"""Programs of one answer that are compiled."""

Source = Annotated[str, Meta(max_length=MAX_SOURCE)]
Architecture = Annotated[str, Meta(pattern="^sm_[0-9]{2,3}$")]


class CudaProgram(Struct, frozen=True, kw_only=True, tag="cuda"):
    """Kernels in CUDA C, sent by the process that ran the script; anybody may have written them."""

    source: Source
    arch: Architecture


class MachineCode(Struct, frozen=True, kw_only=True, tag="machine code"):
    """What NVRTC makes of a program; sent by the process that ran it."""

    ptx: str = ""
    log: str = ""
    """What ptxas says of registers, memory and spills."""
    cubin: bytes = b""
    """Machine code as an ELF file."""
    problem: Annotated[str, Meta(max_length=4_000)] = ""
    """Why there is none."""
    milliseconds: float = 0.0


class CompiledKernels(Struct, frozen=True, kw_only=True):
    """A program with what was made of it; texts are as the compilers wrote them."""

    program: CudaProgram
    code: MachineCode
    sass: str = ""
    """The disassembly, where it was asked for."""
    sass_problem: str = ""
    """Why there is none although it was asked for."""
    sass_milliseconds: float = 0.0
