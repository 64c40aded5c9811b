"""Tracing recorded programs: in a small size of the same loops, within bounds, whatever the text says."""

from __future__ import annotations

from base64 import b64decode
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from app.protocol import Failed, Message, Request
from app.recorder.tracing import _by_ranges, trace_program
from app.traces import MAX_EVENTS, Trace, TracedProgram
from compiler import te
from compiler.te.definition.tensor import Tensor
from compiler.te.program import write_program
from compiler.te.scheduling.schedule import Schedule


def traced(schedule: Schedule, args: list[Tensor]) -> Trace:
    """Return the trace of a schedule."""
    [message] = sent(write_program(schedule, args, "llvm", "main"))
    assert isinstance(message, TracedProgram), message
    return message.trace


def sent(program: str) -> list[Message]:
    messages: list[Message] = []
    trace_program(Request(mode="trace", program=program), messages.append)
    return messages


def doubled(extent: int) -> tuple[Schedule, list[Tensor]]:
    a = te.placeholder((extent,), name="A")
    b = te.compute((extent,), lambda i: a[i] * 2.0, name="B")
    s = te.create_schedule(b.op)
    s[b].split(b.op.axis[0], factor=32)
    return s, [a, b]


def test_a_short_program_is_traced_in_its_own_size() -> None:
    trace = traced(*doubled(64))
    assert (trace.small, trace.complete) == (False, True)
    codes = np.frombuffer(b64decode(trace.codes), "<i2")
    values = np.frombuffer(b64decode(trace.values), "<i4")
    assert len(codes) == len(values) == trace.events
    writes = [v for c, v in zip(codes, values, strict=True) if c >= 0 and trace.sites[c].write]
    assert writes == list(range(64))
    assert trace.shown == list(range(1, len(trace.lines) + 1))


def test_a_long_program_is_traced_in_a_small_size_of_the_same_loops() -> None:
    trace = traced(*doubled(1 << 20))
    assert (trace.small, trace.complete) == (True, True)
    assert [memory.original for memory in trace.memories] == [[1 << 20]] * 2
    assert trace.memories[0].shape == [16]
    assert len(trace.models) == 2
    for model in trace.models:
        assert len(b64decode(model.served)) == len(b64decode(model.kinds)) == trace.events
        assert sum(count for *_, count in model.reuse) == model.levels[0].hits + sum(
            (model.levels[0].compulsory, model.levels[0].capacity, model.levels[0].conflict)
        )


def test_what_has_no_small_size_is_cut_off() -> None:
    a = te.placeholder((1 << 16,), name="A")
    b = te.compute((1 << 16,), lambda i: a[(i * i) % 7], name="B")
    trace = traced(te.create_schedule(b.op), [a, b])
    assert (trace.small, trace.complete, trace.events) == (False, False, MAX_EVENTS)
    assert "the beginning of the program" in trace.size


@pytest.mark.parametrize("program", ["", "{}", '{"version":1}', "[" * 100_000, '{"tensorir":1}'])
def test_a_text_that_is_no_program_is_refused(program: str) -> None:
    [message] = sent(program)
    assert isinstance(message, Failed)
    assert message.problem.message


def test_arguments_that_are_too_large_are_refused() -> None:
    a = te.placeholder((1 << 26,), name="A")
    b = te.compute((1 << 26,), lambda i: a[(i * i) % 7], name="B")
    [message] = sent(write_program(te.create_schedule(b.op), [a, b], "llvm", "main"))
    assert isinstance(message, Failed)
    assert "needs a smaller computation" in message.problem.message


def reversed_in_shared_memory(extent: int) -> tuple[Schedule, list[Tensor]]:
    """Each block of 16 threads copies a row to shared memory and writes it from its end to its beginning."""
    a = te.placeholder((extent, 16), name="A")
    b = te.compute((extent, 16), lambda i, j: a[i, 15 - j], name="B")
    s = te.create_schedule(b.op)
    shared = s.cache_read(a, "shared", [b])
    thread = te.thread_axis((0, 16), "threadIdx.x")
    i, j = b.op.axis
    s[b].bind(i, te.thread_axis("blockIdx.x"))
    s[b].bind(j, thread)
    s[shared].compute_at(s[b], i)
    s[shared].bind(s[shared].op.axis[1], thread)
    return s, [a, b]


def row_sums(extent: int) -> tuple[Schedule, list[Tensor]]:
    """The threads of a block add up a row together."""
    a, k = te.placeholder((extent, 64), name="A"), te.reduce_axis((0, 64), name="k")
    b = te.compute((extent,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    s[b].bind(b.op.axis[0], te.thread_axis("blockIdx.x"))
    s[b].bind(k, te.thread_axis("threadIdx.x"))
    return s, [a, b]


@pytest.mark.parametrize("program", [reversed_in_shared_memory, row_sums])
@pytest.mark.parametrize("extent", [2, 4096])
def test_threads_that_share_memory_take_turns_at_barriers(program: Callable[..., Any], extent: int) -> None:
    [message] = sent(write_program(*program(extent), "cuda", "main"))
    assert isinstance(message, TracedProgram), message
    trace = message.trace
    assert (trace.small, trace.complete) == (extent > 2, True)
    assert "take turns at barriers" in trace.size
    assert {(loop.name, loop.kind) for loop in trace.loops} >= {("block", "parallel"), ("threadIdx_x", "thread")}
    codes = np.frombuffer(b64decode(trace.codes), "<i2")
    values = np.frombuffer(b64decode(trace.values), "<i4")
    writing = [code for code, site in enumerate(trace.sites) if site.write and site.memory == 1]
    written = values[np.isin(codes, writing)].tolist()
    assert sorted(written) == list(range(np.prod(trace.memories[1].shape)))
    assert "a CPU’s and not a GPU’s" in trace.models[0].note


def test_ranges_of_reuse_distances_end_where_a_cache_does() -> None:
    """A cache of 12 lines holds all uses of distances up to 11 and none beyond: no range is on both sides."""
    assert _by_ranges(Counter({-1: 5, 0: 1, 3: 1, 11: 2, 12: 4, 15: 1}), [12]) == [
        *((-1, -1, 5), (0, 0, 1), (2, 3, 1), (8, 11, 2), (12, 15, 5))
    ]
