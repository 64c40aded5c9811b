"""Handlers that the children of these tests run."""

from __future__ import annotations

import contextlib
import ctypes
import errno
from collections.abc import Callable
from functools import cache

import msgspec
from threadpoolctl import ThreadpoolController

from app.sandbox import syscalls

Emit = Callable[[bytes], None]


def warm_up() -> None:
    """Load the OpenMP runtime, without starting any of its threads, and find the BLAS libraries."""
    with contextlib.suppress(OSError):  # a minimal system has none
        ctypes.CDLL("libgomp.so.1", mode=ctypes.RTLD_GLOBAL)
    blas()


@cache
def blas() -> ThreadpoolController:
    """The BLAS libraries of this process, found while it may still look for them."""
    return ThreadpoolController().select(user_api="blas")


class Errand(msgspec.Struct, frozen=True):
    """A script, and what it may know about the world outside."""

    script: str
    facts: dict[str, str | int] = {}


def run_script(request: bytes, emit: Emit) -> None:
    """Execute the request as a Python script that may call ``emit``."""
    exec(compile(request.decode(), "script.py", "exec"), {"emit": emit, "__name__": "__main__"})


def run_errand(request: bytes, emit: Emit) -> None:
    """Execute the script and tell what it got: ``reached`` and its ``result``, or the name of the errno it met."""
    errand = msgspec.json.decode(request, type=Errand)
    scope = {"emit": emit, "call": syscalls.call, "result": "", **errand.facts, "__name__": "__main__"}
    try:
        exec(compile(errand.script, "script.py", "exec"), scope)
    except OSError as problem:
        emit((errno.errorcode[problem.errno] if problem.errno else str(problem)).encode())
    else:
        emit(f"reached {scope['result']}".strip().encode())
