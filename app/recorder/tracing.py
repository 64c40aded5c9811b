"""Traces a recorded program for the player: in a small size where there is one, through the interpreter."""

from __future__ import annotations

import math
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np

from app.artifacts import Failed, Message, Problem, Request
from app.recorder.environment import CACHES
from app.recorder.measured_program import MeasuredProgram, only_function
from app.recorder.program_measurement import read_recorded
from app.recorder.random_inputs import random_arrays
from app.traces import MAX_EVENTS, CacheModel, ModelLevel, Trace, Traced, TracedLoop, TracedMemory, TracedSite
from compiler.ir.error import TVMError
from compiler.ir.module import IRModule
from compiler.ir.primexpr import IntImm
from compiler.runtime.ndarray import numpy_dtype
from compiler.target.caches import TYPICAL
from compiler.te.shrinking import NotShrinkable
from compiler.tir.access_trace import (
    AccessTrace,
    CacheLevel,
    MissKind,
    footprints,
    loop_structure,
    record_accesses,
    reuse_distances,
    simulate_caches,
)
from compiler.tir.function import PrimFunc
from compiler.tir.printer import script

SHORT = 12_000
"""Events of a program that is played in its own size."""
RATIOS = (4, 3, 2)
"""How many times as long an axis is as its parts, in the sizes that are tried."""
MAX_BYTES = 64 << 20
"""Of the arguments of a program that is played in its own size."""
SMALL_LINE = 16
"""Bytes of a line of the caches in proportion: the rows of a small computation are short."""
MIN_LINES = 8
"""Lines that the first of the caches in proportion holds at least; each further one four times as many."""


@dataclass(frozen=True, slots=True)
class _Run:
    """A program as it was traced."""

    func: PrimFunc
    trace: AccessTrace
    size: str
    small: bool


def trace_program(request: Request, send: Callable[[Message], None]) -> None:
    """Make a program of its text, run a small size of it, and send what it reads and writes.

    Parameters
    ----------
    request : Request
        With the text, which anybody may have written.
    send : callable
        Takes each message.
    """
    try:
        program, _, name = read_recorded(request.program)
        original = only_function(program.lowered())
        run = _run(program, original, request.seed)
        send(Traced(trace=_described(name, original, run)))
    except TVMError as error:
        send(Failed(label="trace", problem=Problem(kind=type(error).__name__, message=str(error))))


def _run(program: MeasuredProgram, original: PrimFunc, seed: int) -> _Run:
    """Trace the program in its own size where that is short, else in the largest small one that runs to its end."""
    if _bytes(original) <= MAX_BYTES:
        trace = _traced(original, seed, SHORT)
        if trace.complete:
            return _Run(original, trace, "the program in its own size", False)
    reason = "no smaller size of the same loops runs to its end"
    try:
        for func in _small_sizes(program, original):
            trace = _traced(func, seed, MAX_EVENTS)
            if trace.complete:
                return _Run(func, trace, "a smaller computation under the same schedule: the same loops", True)
    except NotShrinkable as error:
        reason = str(error)
    if _bytes(original) > MAX_BYTES:
        raise TVMError(
            f"the player needs a smaller computation: {reason}, and the arguments exceed {MAX_BYTES:,} bytes"
        )
    trace = _traced(original, seed, MAX_EVENTS)
    return _Run(original, trace, f"the beginning of the program in its own size: {reason}", False)


def _small_sizes(program: MeasuredProgram, original: PrimFunc) -> Iterator[PrimFunc]:
    """Yield smaller programs that have the loops of the original, the largest first."""
    structure = loop_structure(original)
    for ratio in RATIOS:
        func = only_function(program.small(ratio))
        if loop_structure(func) == structure:
            yield func


def _traced(func: PrimFunc, seed: int, limit: int) -> AccessTrace:
    shapes = _shapes(func)
    arrays = random_arrays(shapes, [func.buffer_map[p].dtype for p in func.params], seed)
    return record_accesses(func, [np.array(a) for a in arrays], limit)


def _shapes(func: PrimFunc) -> list[tuple[int, ...]]:
    buffers = [func.buffer_map[param] for param in func.params]
    return [tuple(e.value for e in b.shape if isinstance(e, IntImm)) for b in buffers]


def _bytes(func: PrimFunc) -> int:
    buffers = [func.buffer_map[param] for param in func.params]
    return sum(
        math.prod(shape) * numpy_dtype(b.dtype).itemsize for shape, b in zip(_shapes(func), buffers, strict=True)
    )


def _described(name: str, original: PrimFunc, run: _Run) -> Trace:
    trace, shapes = run.trace, _shapes(original)
    own_lines = [line.text for line in script(IRModule({"main": original})).lines]
    return Trace(
        name=name,
        lines=trace.lines,
        shown=_aligned(trace.lines, own_lines),
        shown_lines=len(own_lines),
        memories=[
            TracedMemory(
                name=m.name,
                dtype=m.dtype,
                shape=list(m.shape),
                local=m.local,
                original=[] if m.local else list(shapes[i]),
            )
            for i, m in enumerate(trace.memories)
        ],
        loops=[
            TracedLoop(
                name=loop.name,
                kind=loop.kind,
                extent=loop.extent,
                line=loop.line,
                iterations=footprint.iterations,
                bytes=footprint.bytes,
            )
            for loop, footprint in zip(trace.loops, footprints(trace), strict=True)
        ],
        sites=[TracedSite(s.memory, s.write, s.line, s.lanes, s.stride, list(s.loops)) for s in trace.sites],
        events=len(trace.codes),
        codes=_packed(trace.codes.tobytes()),
        values=_packed(trace.values.tobytes()),
        size=run.size,
        small=run.small,
        complete=trace.complete,
        models=_models(trace, _bytes(run.func) / max(1, _bytes(original))),
    )


_SIZED = re.compile(r"\d+|(?<=\[)[^\[\]]*(?=\])")
"""What of a line depends on the size: numbers, and indices, which common subexpressions are taken out of."""


def _aligned(small: Sequence[str], original: Sequence[str]) -> list[int]:
    """Return the line of the original, counted from 1, that each line of a small program stands for, or 0."""
    first, second = ([_SIZED.sub("#", line) for line in lines] for lines in (small, original))
    places = [0] * len(small)
    for block in SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks():
        for offset in range(block.size):
            places[block.a + offset] = block.b + offset + 1
    return places


def _models(trace: AccessTrace, share: float) -> list[CacheModel]:
    """Return what this machine's caches make of a trace and, of a smaller computation, what smaller caches do."""
    own = CACHES or TYPICAL
    where = "as the operating system describes them" if CACHES else "of a common size: this machine does not say"
    models = [_model(trace, own, "This machine’s caches", f"{where}; empty at first, no prefetching")]
    if share < 1:
        note = f"as small against the data as the machine’s are, as far as that goes; lines of {SMALL_LINE} bytes"
        models.append(_model(trace, _in_proportion(own, share), "Caches in proportion", note))
    return models


def _in_proportion(levels: Sequence[CacheLevel], share: float) -> list[CacheLevel]:
    """Return caches as large against the data as others are, in powers of two, but no smaller than a few lines."""
    small: list[CacheLevel] = []
    for position, level in enumerate(levels):
        lines = max(MIN_LINES * 4**position, int(level.size * share) // SMALL_LINE)
        lines = 1 << (lines.bit_length() - 1)
        small.append(CacheLevel(level.name, lines * SMALL_LINE, min(level.ways, lines, 4), SMALL_LINE))
    return small


def _model(trace: AccessTrace, levels: Sequence[CacheLevel], name: str, note: str) -> CacheModel:
    report = simulate_caches(trace, levels)
    return CacheModel(
        name=name,
        note=note,
        levels=[
            ModelLevel(
                name=r.level.name,
                size=r.level.size,
                ways=r.level.ways,
                line=r.level.line,
                hits=r.hits,
                compulsory=r.counts[MissKind.COMPULSORY],
                capacity=r.counts[MissKind.CAPACITY],
                conflict=r.counts[MissKind.CONFLICT],
            )
            for r in report.levels
        ],
        memory_bytes=report.memory_bytes,
        served=_packed(report.served.tobytes()),
        kinds=_packed(report.kinds.tobytes()),
        reuse=_by_powers(reuse_distances(trace, levels[0].line)),
    )


def _by_powers(distances: Counter[int]) -> list[tuple[int, int]]:
    """Sum up distances from each power of two to the next; zero and first uses stay."""
    summed: Counter[int] = Counter()
    for distance, count in distances.items():
        summed[distance if distance <= 0 else 1 << (distance.bit_length() - 1)] += count
    return sorted(summed.items())


def _packed(content: bytes) -> str:
    return b64encode(content).decode()
