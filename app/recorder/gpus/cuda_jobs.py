"""Jobs that run NVIDIA's compilers on programs from other processes; no script runs in them."""

from __future__ import annotations

import time
from collections.abc import Callable

from app.machine_code import CUBIN, MachineCode
from app.protocol import Message, Request
from app.recorder.scripts.failures import clean
from app.sandbox.handler import Execute
from compiler.ir.error import TVMError
from compiler.target.cuda_tools import DISASSEMBLER, translate
from compiler.target.cuda_tools.tools import find_tool

MAX_CHARACTERS = 4_000


def compile_kernels(request: Request, send: Callable[[Message], None]) -> None:
    """Compile CUDA C with NVRTC.

    Parameters
    ----------
    request : Request
        The request with the program.
    send : callable
        Takes the message.
    """
    started = time.perf_counter()
    try:
        made = translate(request.program, request.options.arch)
    except (TVMError, OSError) as error:
        send(MachineCode(problem=clean(str(error))[:MAX_CHARACTERS]))
        return
    took = (time.perf_counter() - started) * 1e3
    send(MachineCode(ptx=made.ptx, log=made.log, cubin=made.cubin, milliseconds=took))


def disassemble(request: Request, send: Callable[[Message], None]) -> None:
    """Replace the process by nvdisasm on the file :data:`CUBIN`.

    Parameters
    ----------
    send : callable
        Unused, as the output of nvdisasm is the message.
    """
    tool, *options = DISASSEMBLER
    raise Execute(str(find_tool(tool)), *options, CUBIN)
