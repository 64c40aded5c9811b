"""Messages of the jobs that run NVIDIA's compilers on a script's kernels."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

CUBIN = "kernels.cubin"
"""The file in the working directory that a job disassembles."""
MAX_SOURCE = 1 << 20
"""Maximum length of a CUDA C program, in characters."""
MAX_CODE_BYTES = 8 << 20
"""Maximum total size of PTX and machine code, as sent."""
MAX_PROGRAMS = 4
"""Maximum number of programs compiled for an answer."""

Source = Annotated[str, Meta(max_length=MAX_SOURCE)]
Architecture = Annotated[str, Meta(pattern=r"^sm_[0-9]{2,3}\Z")]


class CudaProgram(Struct, frozen=True, kw_only=True, tag="cuda"):
    """CUDA C kernels, sent by the process that ran the script; untrusted."""

    source: Source
    arch: Architecture


class MachineCode(Struct, frozen=True, kw_only=True, tag="machine code"):
    """The output of NVRTC for a program, sent by the process that ran it."""

    ptx: str = ""
    log: str = ""
    """The report of ptxas on registers, memory and spills."""
    cubin: bytes = b""
    """Machine code as an ELF file."""
    problem: Annotated[str, Meta(max_length=4_000)] = ""
    """Why there is no machine code; empty on success."""
    milliseconds: float = 0.0


class CompiledKernels(Struct, frozen=True, kw_only=True):
    """A program with its compiled code, in the format of the compilers."""

    program: CudaProgram
    code: MachineCode
    sass: str = ""
    """The disassembly, if requested."""
    sass_problem: str = ""
    """Why there is no disassembly although it was requested."""
    sass_milliseconds: float = 0.0
