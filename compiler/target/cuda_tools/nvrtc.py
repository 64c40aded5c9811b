"""Compilation of CUDA C with NVRTC.

The module is also a script, so that the library can be loaded in a resource-limited process.  Its arguments are the
library, the source file, the PTX file to write, and the compiler options.  It imports nothing from this package.
"""

import ctypes
import sys
from pathlib import Path
from typing import NamedTuple


class NvrtcError(Exception):
    """A compilation error, with the log of the compiler as its message."""


class NvrtcResult(NamedTuple):
    """What NVRTC makes of a program.

    ``cubin`` is empty if the options name no real architecture, such as ``sm_90``; the log is that of ptxas, too, if
    requested by options.
    """

    ptx: bytes
    cubin: bytes
    log: str


def load_nvrtc(library: Path) -> ctypes.CDLL:
    """Load NVRTC, after the built-ins beside it, which CUDA 13.0 looks for on the system's search path alone."""
    for builtins in library.parent.glob("libnvrtc-builtins.so.*"):
        ctypes.CDLL(str(builtins))
    return ctypes.CDLL(str(library))


def compile_program(library: ctypes.CDLL, source: bytes, name: bytes, options: list[str]) -> NvrtcResult:
    """Compile CUDA C."""
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), source, name, 0, None, None)
    try:
        given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        status = library.nvrtcCompileProgram(program, len(options), given)
        log = _read(library, program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
        if status:
            raise NvrtcError(log or f"NVRTC failed with status {status}")
        ptx, cubin = (_read(library, program, what) for what in ("PTX", "CUBIN"))
        return NvrtcResult(ptx.rstrip(b"\0"), cubin, log)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _read(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    content = ctypes.create_string_buffer(max(size.value, 1))
    getattr(library, f"nvrtcGet{what}")(program, content)
    return content.raw[: size.value]


def _main(library_path: str, source: str, result: str, *options: str) -> None:
    try:
        made = compile_program(
            load_nvrtc(Path(library_path)), Path(source).read_bytes(), Path(source).name.encode(), list(options)
        )
    except NvrtcError as error:
        sys.exit(str(error))
    Path(result).write_bytes(made.ptx)


if __name__ == "__main__":
    _main(*sys.argv[1:])
