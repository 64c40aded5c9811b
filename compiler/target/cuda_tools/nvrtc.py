"""CUDA C to PTX by NVRTC: a script, so that the library is loaded in a process with limits.

Its arguments are the library, the source file, the file to write, and the compiler's options.
"""

import ctypes
import sys
from pathlib import Path

__all__: list[str] = []


def _check(library: ctypes.CDLL, program: ctypes.c_void_p, status: int) -> None:
    if status == 0:
        return
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(max(size.value, 1))
    library.nvrtcGetProgramLog(program, log)
    sys.exit(log.value.decode(errors="replace") or f"NVRTC failed with status {status}")


def _main(library_path: str, source: str, result: str, *options: str) -> None:
    library = ctypes.CDLL(library_path)
    program = ctypes.c_void_p()
    text, name = Path(source).read_bytes(), Path(source).name.encode()
    library.nvrtcCreateProgram(ctypes.byref(program), text, name, 0, None, None)
    given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    _check(library, program, library.nvrtcCompileProgram(program, len(options), given))
    size = ctypes.c_size_t()
    library.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    _check(library, program, library.nvrtcGetPTX(program, ptx))
    Path(result).write_bytes(ptx.value)


if __name__ == "__main__":
    _main(*sys.argv[1:])
