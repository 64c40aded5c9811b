"""Addresses of trace elements: the cache lines that accesses touch."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.ir.memory import ALIGNMENT
from compiler.tir.access_trace.recording import AccessTrace, Memory
from compiler.tir.expressions.evaluation import numpy_dtype


def addresses(memories: list[Memory]) -> list[tuple[int, int]]:
    """Place memories one after the other; return the address of each, and the bytes of one of its elements."""
    placed, end = [], 0
    for memory in memories:
        size = numpy_dtype(memory.dtype).itemsize
        placed.append((end, size))
        end += -(-memory.size * size // ALIGNMENT) * ALIGNMENT
    return placed


def lines_touched(trace: AccessTrace, line: int) -> Iterator[tuple[int, bool, list[int]]]:
    """Yield, of each access, its position among the events, whether it writes, and the lines of memory it touches."""
    placed = addresses(trace.memories)
    sites = [(s.write, *placed[s.memory], s.lanes, s.stride) for s in trace.sites]
    for position, (code, value) in enumerate(zip(trace.codes, trace.values, strict=True)):
        if code < 0:
            continue
        write, base, size, lanes, stride = sites[code]
        first = base + value * size
        if lanes == 1:
            yield position, write, [first // line]
        else:
            starts = (first + lane * stride * size for lane in range(lanes))
            yield position, write, list(dict.fromkeys(start // line for start in starts))
