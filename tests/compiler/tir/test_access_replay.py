"""Traces of random schedules, against their text run as plain Python; caches, against lists that are searched.

The usual few examples are the same in every run; ``STRATA_EXAMPLES=2000`` looks at that many random ones.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import compiler as tvm
from compiler import te
from compiler.ir.error import TVMError
from compiler.te.definition.numpy_reference import evaluate
from compiler.te.definition.tensor import Tensor
from compiler.te.scheduling.schedule import Schedule
from compiler.tir.access_trace import (
    AccessTrace,
    CacheLevel,
    MissKind,
    footprints,
    record_accesses,
    reuse_distances,
    simulate_caches,
)
from compiler.tir.access_trace.reuse import COLD
from tests.compiler.tir.text_replay import Access, Array, Begin, Event, plain, replay
from tests.properties.te_programs import Program
from tests.properties.te_schedules import schedules
from tests.properties.test_te_schedules import REFUSALS

EXAMPLES = os.environ.get("STRATA_EXAMPLES")
few = settings(max_examples=int(EXAMPLES or "15"), derandomize=EXAMPLES is None, deadline=None)
ROOM = 20_000


def matmul() -> Program:
    a, b = te.placeholder((3, 4), name="A"), te.placeholder((4, 6), name="B")
    k = te.reduce_axis((0, 4), name="k")
    return Program([a, b], [te.compute((3, 6), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")])


def blur() -> Program:
    image = te.placeholder((4, 8), name="image")
    across = te.compute((4, 6), lambda y, x: image[y, x] + image[y, x + 2], name="across")
    return Program([image], [across, te.compute((2, 6), lambda y, x: across[y, x] * across[y + 2, x], name="blur")])


def padded() -> Program:
    a = te.placeholder((9,), name="A")
    pad = te.compute((12,), lambda i: te.if_then_else(te.all(i >= 1, i < 10), a[i - 1], 0.0), name="pad")
    k = te.reduce_axis((0, 3), name="k")
    return Program([a], [pad, te.compute((10,), lambda i: te.sum(pad[i + k], axis=k), name="B")])


PROGRAMS = [matmul, blur, padded]


def traced(schedule: Schedule, args: Sequence[Tensor]) -> tuple[AccessTrace, list[Event]]:
    """Return the trace of a schedule and what its text does; both compute what NumPy does."""
    func = tvm.lower(schedule, list(args))["main"]
    inputs = {op.output(0): values(op.output(0), number) for number, op in enumerate(t.op for t in args[:-1])}
    runs = [[*map(np.copy, inputs.values()), np.zeros([int(e) for e in args[-1].shape], "float32")] for _ in range(2)]
    trace = record_accesses(func, runs[0], ROOM)
    assert trace.complete
    events = replay(trace.lines, runs[1]).events
    for arrays in runs:
        np.testing.assert_allclose(arrays[-1], evaluate([args[-1]], inputs)[0], rtol=1e-5)
    return trace, events


def values(tensor: Tensor, seed: int) -> Array:
    shape = [int(extent) for extent in tensor.shape]
    return np.random.default_rng(seed).integers(1, 9, shape).astype("float32")


def told(trace: AccessTrace) -> Iterator[Event]:
    """Yield what a trace says, as the replay says it."""
    for code, value in zip(trace.codes, trace.values, strict=True):
        if code < 0:
            yield Begin(plain(trace.loops[-1 - code].name), value)
        else:
            site = trace.sites[code]
            yield Access(site.memory, site.write, site.line, tuple(value + n * site.stride for n in range(site.lanes)))


def in_statements(events: Sequence[Event]) -> list[list[Event]]:
    """Return the events with the reads between two others sorted: a sum may read its terms in any order."""
    groups = groupby(events, lambda event: isinstance(event, Access) and not event.write)
    return [sorted(group, key=repr) if reads else list(group) for reads, group in groups]


@few
@given(st.data(), st.sampled_from(PROGRAMS))
def test_a_trace_is_what_the_text_does_run_as_plain_python(data: st.DataObject, program: Callable[[], Program]) -> None:
    drawn = program()
    schedule = schedules(data.draw, drawn)
    try:
        trace, events = traced(schedule, [*drawn.inputs, *drawn.outputs])
    except TVMError as error:
        if any(refusal in str(error) for refusal in REFUSALS):
            reject()
        raise
    assert in_statements(list(told(trace))) == in_statements(events)
    check_caches(trace)
    check_footprints(trace)


def tiled_on_threads() -> tuple[Schedule, list[Tensor]]:
    program = matmul()
    s = te.create_schedule(program.outputs[0].op)
    [c] = program.outputs
    local = s.cache_write(c, "local")
    by, bx, ty, tx = s[c].tile(*c.op.axis, 2, 3)
    for axis, tag in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (ty, "threadIdx.y"), (tx, "threadIdx.x")):
        s[c].bind(axis, te.thread_axis(tag))
    s[local].compute_at(s[c], tx)
    return s, [*program.inputs, c]


def test_blocks_and_threads_of_a_gpu_are_told_one_by_one() -> None:
    trace, events = traced(*tiled_on_threads())
    assert in_statements(list(told(trace))) == in_statements(events)
    assert {loop.name for loop in trace.loops if loop.kind == "thread"} == {
        *("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x")
    }
    check_caches(trace)
    check_footprints(trace)


# What caches do, looked up in lists


LEVELS = (CacheLevel("L1", 4 * 16, 2, 16), CacheLevel("L2", 12 * 16, 3, 16))


class Searched:
    """A cache of least recent use: the lines of each set, and all that were ever used, the latest last."""

    def __init__(self, level: CacheLevel) -> None:
        self.sets: list[list[int]] = [[] for _ in range(level.sets)]
        self.ways, self.lines = level.ways, level.lines
        self.used: list[int] = []
        self.counts = [0, 0, 0, 0]

    def use(self, line: int) -> tuple[MissKind, int | None]:
        """Return whether a line hits, else why it misses, and the line that makes way."""
        chosen = self.sets[line % len(self.sets)]
        if line in chosen:
            kind = MissKind.HIT
        elif line not in self.used:
            kind = MissKind.COMPULSORY
        else:
            kind = MissKind.CONFLICT if line in self.used[-self.lines :] else MissKind.CAPACITY
        for order in (chosen, self.used):
            if line in order:
                order.remove(line)
            order.append(line)
        self.counts[kind] += 1
        return kind, chosen.pop(0) if len(chosen) > self.ways else None


def lines_of(trace: AccessTrace, line: int) -> Iterator[tuple[int, bool, list[int]]]:
    """Yield, of each access, its place, whether it writes, and its lines, of arrays that begin at multiples of 64."""
    begins = np.cumsum([0, *(-(-m.size * np.dtype(m.dtype).itemsize // 64) * 64 for m in trace.memories)])
    for place, event in enumerate(told(trace)):
        if isinstance(event, Access):
            size = np.dtype(trace.memories[event.memory].dtype).itemsize
            touched = [(int(begins[event.memory]) + element * size) // line for element in event.elements]
            yield place, event.write, list(dict.fromkeys(touched))


def check_caches(trace: AccessTrace) -> None:
    report = simulate_caches(trace, LEVELS)
    caches = [Searched(level) for level in LEVELS]
    dirty: set[int] = set()
    moved = 0
    used: list[int] = []
    distances: Counter[int] = Counter()
    for place, write, lines in lines_of(trace, LEVELS[0].line):
        slowest, worst = 0, MissKind.HIT
        for line in lines:
            distances[used[::-1].index(line) if line in used else COLD] += 1
            used = [*(other for other in used if other != line), line]
            for number, cache in enumerate(caches):
                kind, leaving = cache.use(line)
                worst = max(worst, kind) if number == 0 else worst
                if kind == MissKind.HIT:
                    break
                if number == len(caches) - 1:
                    number, moved = number + 1, moved + 1
                    moved += leaving in dirty
                    dirty.discard(-1 if leaving is None else leaving)
            slowest = max(slowest, number)
        dirty.update(lines if write else ())
        assert (report.served[place], report.kinds[place]) == (slowest, worst)
    assert [level.counts for level in report.levels] == [cache.counts for cache in caches]
    assert report.memory_bytes == (moved + len(dirty)) * LEVELS[0].line
    assert reuse_distances(trace, LEVELS[0].line) == distances


def check_footprints(trace: AccessTrace) -> None:
    """Compare with the elements between the beginnings of a loop's iterations that lie inside of the loop."""
    said = list(told(trace))
    for number, (loop, footprint) in enumerate(zip(trace.loops, footprints(trace), strict=True)):
        inside = {code for code, site in enumerate(trace.sites) if number in site.loops}
        begins = [place for place, code in enumerate(trace.codes) if code == -1 - number]
        largest = 0
        for first, last in pairwise([*begins, len(said)]):
            elements = set()
            for place in range(first, last):
                event = said[place]
                if trace.codes[place] in inside and isinstance(event, Access):
                    elements |= {(event.memory, element) for element in event.elements}
            largest = max(largest, len(elements))
        assert (footprint.iterations, footprint.elements) == (len(begins), largest), loop


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_unscheduled_program_is_told_as_its_text_runs(program: Callable[[], Program]) -> None:
    made = program()
    trace, events = traced(te.create_schedule(made.outputs[0].op), [*made.inputs, *made.outputs])
    assert in_statements(list(told(trace))) == in_statements(events)
