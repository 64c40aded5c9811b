"""Execution of the request handler, and the outcome of its process."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator

from app.sandbox import wire

Handler = Callable[[bytes, Callable[[bytes], None]], None]
"""A function of a request and a function that sends a message."""


class Execute(BaseException):
    """Raised by a handler to replace its process by another program, whose output becomes the last message.

    Parameters
    ----------
    program : str
        Absolute path, which the limits of the job must allow.
    """

    def __init__(self, program: str, *arguments: str) -> None:
        super().__init__(program, *arguments)
        self.command = (program, *arguments)


INTERRUPT = signal.SIGUSR1 if sys.platform != "win32" else signal.SIGTERM
"""Signal that asks a process to finish early with partial results."""

STATISTICS = 6
"""Descriptor of what the kernel says of a sandboxed child's main thread: how long it ran, and waited to run."""

_exit = os._exit
EXIT_RAISED = 70
EXIT_SETUP_FAILED = 71
EXIT_OUT_OF_MEMORY = 72
EXIT_DAMAGED = 73
"""Exit code if the script damaged the handler's environment, so that it could not continue."""

_TRACE_BYTES = 4000


def load(name: str) -> Handler:
    """Import the handler called ``module:function``."""
    module, _, function = name.partition(":")
    handler: Handler = getattr(importlib.import_module(module), function)
    return handler


def warm_up(name: str) -> None:
    """Call the ``warm_up`` function of the handler's module, if any, before serving many requests."""
    warm = getattr(importlib.import_module(name.partition(":")[0]), "warm_up", None)
    if warm is not None:
        warm()


def warm_up_further(name: str) -> Iterator[None]:
    """Return the short steps of the ``warm_up_further`` function of the handler's module, if any.

    Requests may be served between them, and wait for what is left themselves.
    """
    further = getattr(importlib.import_module(name.partition(":")[0]), "warm_up_further", None)
    return iter(()) if further is None else further()


def serve(handler: Handler, request: bytes, output: int) -> int:
    """Run the handler, sending its messages as frames; return the exit code of the process."""

    def emit(message: bytes) -> None:
        try:
            wire.write_all(output, wire.frame(message))
        except OSError:  # closed by a script
            _exit(EXIT_DAMAGED)

    try:
        handler(request, emit)
    except MemoryError:
        return EXIT_OUT_OF_MEMORY
    except Execute as execute:
        return _become(execute.command, output)
    except SystemExit as request_to_exit:
        code = request_to_exit.code or 0
        return code & 0xFF if isinstance(code, int) else EXIT_RAISED
    except BaseException:
        os.write(2, traceback.format_exc()[-_TRACE_BYTES:].encode(errors="replace"))
        return EXIT_RAISED
    return 0


def _become(command: tuple[str, ...], output: int) -> int:
    """Execute a program with its output redirected to the message pipe; return an exit code if that fails."""
    wire.write_all(output, wire.UNTIL_END)
    os.dup2(output, 1)
    try:
        os.execve(command[0], command, {})
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}".encode())
    return EXIT_RAISED
