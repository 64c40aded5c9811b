"""Reuse distances of cache lines, and the memory footprint of one iteration of each loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from compiler.tir.access_trace.addresses import lines_touched
from compiler.tir.access_trace.recording import AccessTrace
from compiler.tir.expressions.evaluation import numpy_dtype

COLD = -1
"""Distance of the first use of a line."""


def stack_distances(lines: Iterable[int]) -> Iterable[int]:
    """Yield, of each use of a line, how many other lines were used since the use before.

    A cache of ``n`` lines that replaces the one used least recently, and holds any line anywhere, has a line at its
    next use exactly if the distance is less than ``n``.

    References
    ----------
    R. L. Mattson, J. Gecsei, D. R. Slutz, I. L. Traiger: Evaluation techniques for storage hierarchies.  IBM Systems
    Journal 9 (2), 1970; counted by a tree of partial sums, as by B. T. Bennett and V. J. Kruskal, 1975.
    """
    uses = list(lines)
    tree = [0] * (len(uses) + 1)

    def add(place: int, value: int) -> None:
        place += 1
        while place < len(tree):
            tree[place] += value
            place += place & -place

    def before(place: int) -> int:
        total = 0
        while place:
            total += tree[place]
            place -= place & -place
        return total

    last: dict[int, int] = {}
    for now, line in enumerate(uses):
        previous = last.get(line)
        if previous is None:
            yield COLD
        else:
            yield before(now) - before(previous + 1)
            add(previous, -1)
        add(now, 1)
        last[line] = now


def reuse_distances(trace: AccessTrace, line: int) -> Counter[int]:
    """Count the reuse distances of a trace."""
    return Counter(stack_distances(touched for _, _, lines in lines_touched(trace, line) for touched in lines))


@dataclass(frozen=True, slots=True)
class Footprint:
    """What the iterations of a loop touch."""

    iterations: int  # iterations that ran, of all entries of the loop together
    elements: int  # different elements that an iteration touches, at most
    bytes: int


def footprints(trace: AccessTrace) -> list[Footprint]:
    """Return how much an iteration of each loop touches."""
    sizes = [numpy_dtype(memory.dtype).itemsize for memory in trace.memories]
    open_sets: list[set[tuple[int, int]]] = [set() for _ in trace.loops]
    iterations, largest = [0] * len(trace.loops), [(0, 0)] * len(trace.loops)

    def close(loop: int) -> None:
        touched = open_sets[loop]
        if len(touched) > largest[loop][0]:
            largest[loop] = len(touched), sum(sizes[memory] for memory, _ in touched)
        touched.clear()

    for code, value in zip(trace.codes, trace.values, strict=True):
        if code < 0:
            close(-1 - code)
            iterations[-1 - code] += 1
            continue
        site = trace.sites[code]
        elements = [(site.memory, value + lane * site.stride) for lane in range(site.lanes)]
        for loop in site.loops:
            open_sets[loop].update(elements)
    for loop in range(len(trace.loops)):
        close(loop)
    return [Footprint(n, elements, size) for n, (elements, size) in zip(iterations, largest, strict=True)]
