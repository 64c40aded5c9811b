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


WARM_SCRIPT = """
import numpy as np
import tvm
from tvm import te

A = te.placeholder((8, 64), name="A")
k = te.reduce_axis((0, 64), name="k")
B = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="B")
s = te.create_schedule(B.op)
outer, inner = s[B].split(k, factor=16)
partial = s.rfactor(B, inner)
s[partial].vectorize(partial.op.axis[0])
s[partial].unroll(partial.op.reduce_axis[0])
rows = tvm.build(s, [A, B], target="llvm -mcpu=native", name="rows")
a, b = tvm.nd.array(np.ones((8, 64), "float32")), tvm.nd.empty((8,), "float32")
rows(a, b)
tvm.lower(s, [A, B], simple_mode=True)

n = 16
A = te.placeholder((n, n), name="A")
B = te.compute((n, n), lambda i, j: A[j, i] * 2.0, name="B")
s = te.create_schedule(B.op)
shared = s.cache_read(A, "shared", [B])
ty, tx = te.thread_axis("threadIdx.y"), te.thread_axis("threadIdx.x")
block, i = s[B].split(B.op.axis[0], factor=8)
s[B].bind(block, te.thread_axis("blockIdx.x"))
s[shared].compute_at(s[B], block)
for stage, axes in ((B, (i, B.op.axis[1])), (shared, s[shared].op.axis)):
    for axis, thread in zip(axes, (ty, tx)):
        outer, inner = s[stage].split(axis, factor=4)
        s[stage].bind(inner, thread)
tvm.build(s, [A, B], target="cuda", name="transposed")
"""


def warm_up() -> list[Problem]:
    """Serve a small request in the process from which children are forked, to fill its imports and caches.

    It uses neither parallel loops nor the watchdog, as threads do not survive a fork.
    """
    global _warm_integrity
    import_first()
    problems: list[Problem] = []

    def take(message: Message) -> None:
        if isinstance(message, Snapshot):
            problems.extend(message.answer.problems)

    Session(Request(mode="compile", script=WARM_SCRIPT), take, guarded=False).run()
    gc.set_threshold(*GC_THRESHOLDS)
    _warm_integrity = Integrity()
    return problems


def warm_up_further() -> Iterator[None]:
    """Import what few scripts need, a module at a time; until then, children import it themselves."""
    global _warm_integrity
    yield from import_others()
    _warm_integrity = Integrity()
