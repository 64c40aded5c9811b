"""Serves a request: what the sandbox calls in a child, and in the process from which children are forked."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator

import msgspec

from app.artifacts import Mode, Problem
from app.protocol import Message, Request, Snapshot
from app.recorder.gpus.cuda_jobs import compile_kernels, disassemble
from app.recorder.gpus.webgpu import prepare_for_webgpu
from app.recorder.measuring.batch import measure_batch
from app.recorder.measuring.integrity import Integrity
from app.recorder.measuring.model_searching import search, show
from app.recorder.measuring.program_measurement import define_program, measure_program
from app.recorder.measuring.searching import measure_pair
from app.recorder.scripts.modules import import_first, import_others
from app.recorder.session import Session
from app.recorder.tracing import trace_program
from app.recorder.warm_scripts import KERNELS, MODEL
from app.sandbox.handler import EXIT_DAMAGED

Emit = Callable[[bytes], None]
WITHOUT_SCRIPT: dict[Mode, Callable[[Request, Callable[[Message], None]], None]] = {
    "measure": measure_program,
    "trace": trace_program,
    "webgpu": prepare_for_webgpu,
    "define": define_program,
    "cuda": compile_kernels,
    "sass": disassemble,
    "search": search,
    "candidate": show,
    "batch": measure_batch,
    "pair": measure_pair,
}
"""The handlers of modes that run a program recorded by another child instead of a script."""
GC_THRESHOLDS = (50_000, 20, 100)
"""Garbage collection thresholds for short-lived children that keep most of their nodes."""

MAX_FRAMES = 4_000
"""The maximum number of Python frames per thread of a script.  Deeper traversals continue in further threads, of which
a run may only have a few."""

_warm_integrity: Integrity | None = None
"""The integrity record of the process from which children are forked."""


def handle(request: bytes, emit: Emit) -> None:
    """Serve one request.

    Parameters
    ----------
    request : bytes
        A :class:`~app.protocol.Request` as JSON.
    emit : callable
        Takes each :data:`~app.protocol.Message`, encoded as JSON, and each part of a file, as soon as it is available.
    """
    sys.setrecursionlimit(MAX_FRAMES)
    encoder = msgspec.json.Encoder()

    def send(message: Message) -> None:
        emit(encoder.encode(message))

    asked = msgspec.json.decode(request, type=Request)
    if asked.mode in WITHOUT_SCRIPT:
        WITHOUT_SCRIPT[asked.mode](asked, send)
        return
    integrity = _warm_integrity or Integrity()
    try:
        Session(asked, send, emit).run()
    except BaseException:
        if integrity.violated():
            raise SystemExit(EXIT_DAMAGED) from None
        raise


def warm_up() -> list[Problem]:
    """Serve a small request in the process from which children are forked, to fill its imports and caches.

    It uses neither parallel loops nor the watchdog, as threads do not survive a fork.
    """
    global _warm_integrity
    import_first()
    problems = rehearse(KERNELS)
    gc.set_threshold(*GC_THRESHOLDS)
    _warm_integrity = Integrity()
    return problems


def warm_up_further() -> Iterator[None]:
    """Import what few scripts need, a module at a time, and build a model; until then, children do so themselves."""
    global _warm_integrity
    yield from import_others()
    rehearse(MODEL)
    _warm_integrity = Integrity()


def rehearse(script: str) -> list[Problem]:
    """Serve a script in this process, and return its problems."""
    problems: list[Problem] = []

    def take(message: Message) -> None:
        if isinstance(message, Snapshot):
            problems.extend(message.answer.problems)

    Session(Request(mode="compile", script=script), take, guarded=False).run()
    return problems
