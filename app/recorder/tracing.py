"""Traces a recorded program in the interpreter for the player, in a smaller size if possible."""

from __future__ import annotations

import math
import re
from base64 import b64encode
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np

from app.artifacts import Problem
from app.protocol import Failed, Message, Request
from app.recorder.measuring.measured_program import MeasuredProgram, only_function
from app.recorder.measuring.program_measurement import read_recorded
from app.recorder.measuring.random_inputs import random_arrays
from app.recorder.scripts.environment import CACHES
from app.traces import MAX_EVENTS, CacheModel, ModelLevel, Trace, TracedLoop, TracedMemory, TracedProgram, TracedSite
from compiler.driver.device_pipeline import split_for_device
from compiler.driver.emulate import lower_for_emulation
from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import IntImm
from compiler.ir.module import IRModule
from compiler.runtime.arrays.ndarray import numpy_dtype
from compiler.target.cpu.caches import TYPICAL
from compiler.target.target import Target
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
from compiler.tir.analysis.features import features
from compiler.tir.analysis.memory import calculate_allocated_bytes
from compiler.tir.expressions.builtin import THREAD_ALLREDUCE
from compiler.tir.printing.printer import script
from compiler.tir.statements.function import PrimFunc

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
        program, target, name = read_recorded(request.program)
        original = only_function(program.lowered())
        run = _run(program, original, target, request.seed)
        send(TracedProgram(trace=_described(name, original, target, run)))
    except TVMError as error:
        send(Failed(label="trace", problem=Problem(kind=type(error).__name__, message=str(error))))


def _run(program: MeasuredProgram, original: PrimFunc, target: str, seed: int) -> _Run:
    """Trace the program in its own size where that is short, else in the largest small one that runs to its end."""
    own, turns = _in_turns(original, target)
    if _bytes(own) <= MAX_BYTES:
        trace = _traced(own, seed, SHORT)
        if trace.complete:
            return _Run(own, trace, f"the program in its own size{turns}", False)
    reason = "no smaller size of the same loops runs to its end"
    try:
        for small in _small_sizes(program, original):
            func, _ = _in_turns(small, target)
            trace = _traced(func, seed, MAX_EVENTS)
            if trace.complete:
                return _Run(func, trace, f"a smaller computation under the same schedule: the same loops{turns}", True)
    except TVMError as error:
        reason = str(error)
    if _bytes(original) > MAX_BYTES:
        raise TVMError(
            f"the player needs a smaller computation: {reason}, and the arguments exceed {MAX_BYTES:,} bytes"
        )
    trace = _traced(own, seed, MAX_EVENTS)
    return _Run(own, trace, f"the beginning of the program in its own size: {reason}{turns}", False)


def _device(func: PrimFunc, target: str) -> Target | None:
    """Return what the threads of a function are launched on, ``cuda`` where its target has none; None of no threads."""
    if "thread_extent" not in features(func).attrs:
        return None
    own = Target(target)
    return own if "gpu" in own.keys else Target("cuda")


def _in_turns(func: PrimFunc, target: str) -> tuple[PrimFunc, str]:
    """Return a function that can run one thread after the other, and what to say of it.

    Where the threads of a block share memory or reduce together, they take turns from barrier to barrier, as emulation
    makes loops of them; any other function is as it was.  Reductions go through shared memory, where they can be seen,
    as on a device that cannot pass registers between threads.
    """
    device = _device(func, target)
    reduces = THREAD_ALLREDUCE.name in features(func).ops
    [scopes] = calculate_allocated_bytes(func).values()
    shares = any(scope.startswith(("shared", "warp")) for scope in scopes)
    if device is None or not (reduces or shares):
        return func, ""
    module = lower_for_emulation(IRModule({"main": func}), Target("opencl") if reduces else device)
    return only_function(module), "; threads take turns at barriers"


def _small_sizes(program: MeasuredProgram, original: PrimFunc) -> Iterator[PrimFunc]:
    """Yield smaller programs that have the loops of the original, the largest first."""
    structure = loop_structure(original)
    for ratio in RATIOS:
        func = only_function(program.small(ratio))
        if _bytes(func) < _bytes(original) and loop_structure(func) == structure:
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


def _described(name: str, original: PrimFunc, target: str, run: _Run) -> Trace:
    trace, shapes = run.trace, _shapes(original)
    own_lines = [line.text for line in script(_shown(original, target)).lines]
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
                kind="thread" if _THREAD.fullmatch(loop.name) else loop.kind,
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
        models=_models(trace, _bytes(run.func) / max(1, _bytes(original)), _device(original, target) is not None),
    )


def _shown(func: PrimFunc, target: str) -> IRModule:
    """Return what the page shows as the loop IR of a function: of one for a device its kernels."""
    module, device = IRModule({"main": func}), _device(func, target)
    return module if device is None else split_for_device(module, device).device


_THREAD = re.compile(r"threadIdx[._][xyz]")
"""The loops that emulation makes of a block's threads."""
_SIZED = re.compile(r"\d+|(?<=\[)[^\[\]]*(?=\])")
"""What of a line depends on the size: numbers, and indices, which common subexpressions are taken out of."""


def _aligned(small: Sequence[str], original: Sequence[str]) -> list[int]:
    """Return the line of the original, counted from 1, that each line of a small program stands for, or 0."""
    first, second = ([_SIZED.sub("#", line.strip()) for line in lines] for lines in (small, original))
    places = [0] * len(small)
    for block in SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks():
        for offset in range(block.size):
            places[block.a + offset] = block.b + offset + 1
    return places


def _models(trace: AccessTrace, share: float, on_gpu: bool) -> list[CacheModel]:
    """Return what this machine's caches make of a trace and, of a smaller computation, what smaller caches do."""
    own = CACHES or TYPICAL
    where = "as the operating system describes them" if CACHES else "of typical sizes: this machine reports none"
    where += ", a CPU’s and not a GPU’s" if on_gpu else ""
    models = [_model(trace, own, "This machine’s caches", f"{where}; empty at first, no prefetching")]
    if share < 1:
        note = f"scaled down with the data, as far as possible; lines of {SMALL_LINE} bytes"
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
        reuse=_by_ranges(reuse_distances(trace, levels[0].line), [level.lines for level in levels]),
    )


def _by_ranges(distances: Counter[int], sizes: Sequence[int]) -> list[tuple[int, int, int]]:
    """Sum up distances from each power of two, and each size of a cache, to the next; first uses and 0 stay alone."""
    top = max(distances, default=0)
    begins = sorted({-1, 0, *(1 << n for n in range(top.bit_length() + 1)), *sizes})
    summed: Counter[int] = Counter()
    for distance, count in distances.items():
        summed[bisect_right(begins, distance) - 1] += count
    return [(begins[n], begins[n + 1] - 1, count) for n, count in sorted(summed.items())]


def _packed(content: bytes) -> str:
    return b64encode(content).decode()
