"""Traces of accesses, against what the program must touch; the cache model, against brute force and by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import compiler as tvm
from compiler import te
from compiler.ir.error import ArgumentError
from compiler.target.cpu.caches import machine_caches
from compiler.tir.access_trace import (
    AccessTrace,
    CacheLevel,
    Memory,
    MissKind,
    Site,
    footprints,
    record_accesses,
    reuse_distances,
    simulate_caches,
    stack_distances,
)
from compiler.tir.access_trace.reuse import COLD

ROOM = 100_000


def matmul_trace(n: int, tile: int = 0, vector: int = 0) -> AccessTrace:
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    if tile:
        io, jo, ii, ji = s[c].tile(*c.op.axis, tile, tile)
        ko, ki = s[c].split(k, factor=tile)
        s[c].reorder(io, jo, ko, ii, ki, ji)
    if vector:
        _, lanes = s[c].split(s[c].leaf_iter_vars[-1], factor=vector)
        s[c].vectorize(lanes)
    func = tvm.lower(s, [a, b, c])["main"]
    arrays = [np.ones((n, n), "float32") for _ in range(3)]
    trace = record_accesses(func, arrays, ROOM)
    np.testing.assert_array_equal(arrays[2], np.full((n, n), n, "float32"))
    return trace


def touched(trace: AccessTrace) -> Counter[tuple[str, bool]]:
    """Return how many elements of each memory are read and written."""
    counts: Counter[tuple[str, bool]] = Counter()
    for code in trace.codes:
        if code >= 0:
            site = trace.sites[code]
            counts[trace.memories[site.memory].name, site.write] += site.lanes
    return counts


@pytest.mark.parametrize(("tile", "vector"), [(0, 0), (4, 0), (4, 4)])
def test_a_matmul_reads_and_writes_what_its_definition_says(tile: int, vector: int) -> None:
    n = 8
    counts = touched(matmul_trace(n, tile, vector))
    reads = n**3 if not vector else n**3 // vector
    assert counts["A", False] == reads
    assert counts["B", False] == counts["C", False] == n**3
    assert counts["C", True] == n**3 + n**2
    assert counts["A", True] == counts["B", True] == 0


def test_accesses_come_in_the_order_of_the_loops() -> None:
    a = te.placeholder((2, 3), name="A")
    b = te.compute((3, 2), lambda i, j: a[j, i] * 2.0, name="B")
    func = tvm.lower(te.create_schedule(b.op), [a, b])["main"]
    trace = record_accesses(func, [np.zeros((2, 3), "float32"), np.zeros((3, 2), "float32")], ROOM)
    reads = [v for c, v in zip(trace.codes, trace.values, strict=True) if c >= 0 and not trace.sites[c].write]
    writes = [v for c, v in zip(trace.codes, trace.values, strict=True) if c >= 0 and trace.sites[c].write]
    assert reads == [0, 3, 1, 4, 2, 5]
    assert writes == [0, 1, 2, 3, 4, 5]
    assert [loop.name for loop in trace.loops] == ["i", "j"]
    store = trace.sites[-1]
    assert store.loops == (0, 1)
    assert "B_1[" in trace.lines[store.line - 1]
    assert trace.complete


def test_a_gather_is_recorded_element_by_element() -> None:
    a, index = te.placeholder((8,), name="A"), te.placeholder((4,), "int32", name="I")
    b = te.compute((4,), lambda i: a[index[i]], name="B")
    s = te.create_schedule(b.op)
    s[b].vectorize(b.op.axis[0])
    func = tvm.lower(s, [a, index, b])["main"]
    chosen = np.array([7, 0, 3, 3], "int32")
    trace = record_accesses(func, [np.arange(8, dtype="float32"), chosen, np.zeros(4, "float32")], ROOM)
    places = [v for c, v in zip(trace.codes, trace.values, strict=True) if c >= 0 and trace.sites[c].memory == 0]
    assert places == chosen.tolist()


def test_a_trace_that_is_too_long_is_broken_off() -> None:
    a = te.placeholder((1000,), name="A")
    b = te.compute((1000,), lambda i: a[i] + 1.0, name="B")
    func = tvm.lower(te.create_schedule(b.op), [a, b])["main"]
    trace = record_accesses(func, [np.zeros(1000, "float32"), np.zeros(1000, "float32")], 100)
    assert len(trace.codes) == 100
    assert not trace.complete


# caches


def trace_of(lines: list[int], line: int = 64) -> AccessTrace:
    """Return a trace that reads the first byte of each of some lines of memory."""
    trace = AccessTrace(memories=[Memory("A", "int8", (1 << 20,), False)], sites=[Site(0, False, 1, 1, 0, ())])
    for number in lines:
        trace.codes.append(0)
        trace.values.append(number * line)
    return trace


def brute_force(lines: list[int], sets: int, ways: int) -> list[int]:
    """Return the kind of each access by the definitions, looking through lists."""
    seen: list[int] = []
    kinds = []
    for now, line in enumerate(lines):
        same_set = [other for other in lines[:now] if other % sets == line % sets]
        hit = line in list(dict.fromkeys(reversed(same_set)))[:ways]
        anywhere = line in list(dict.fromkeys(reversed(lines[:now])))[: sets * ways]
        if hit:
            kinds.append(MissKind.HIT)
        elif line not in seen:
            kinds.append(MissKind.COMPULSORY)
        else:
            kinds.append(MissKind.CONFLICT if anywhere else MissKind.CAPACITY)
        seen.append(line)
    return kinds


ADDRESSES = st.lists(st.integers(0, 12), max_size=80)


@given(ADDRESSES, st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 4]))
def test_each_access_hits_or_misses_as_by_definition(lines: list[int], sets: int, ways: int) -> None:
    report = simulate_caches(trace_of(lines), [CacheLevel("L1", sets * ways * 64, ways, 64)])
    assert list(report.kinds) == brute_force(lines, sets, ways)
    assert report.levels[0].hits + report.levels[0].misses == len(lines)


@given(ADDRESSES)
def test_a_level_sees_the_misses_of_the_one_before(lines: list[int]) -> None:
    small, large = CacheLevel("L1", 2 * 64, 1, 64), CacheLevel("L2", 8 * 64, 2, 64)
    report = simulate_caches(trace_of(lines), [small, large])
    missed = [line for line, served in zip(lines, report.served, strict=True) if served > 0]
    alone = simulate_caches(trace_of(missed), [large])
    assert report.levels[1].counts == alone.levels[0].counts
    assert report.memory_bytes == alone.levels[0].misses * 64


@given(ADDRESSES)
def test_stack_distances_count_the_other_lines_between_two_uses(lines: list[int]) -> None:
    expected = []
    for now, line in enumerate(lines):
        earlier = [i for i in range(now) if lines[i] == line]
        expected.append(len(set(lines[earlier[-1] + 1 : now])) if earlier else COLD)
    assert list(stack_distances(lines)) == expected


@given(ADDRESSES, st.sampled_from([1, 2, 4, 8]))
def test_a_fully_associative_cache_hits_below_its_number_of_lines(lines: list[int], count: int) -> None:
    report = simulate_caches(trace_of(lines), [CacheLevel("L1", count * 64, count, 64)])
    assert report.levels[0].hits == sum(0 <= distance < count for distance in stack_distances(lines))
    assert report.levels[0].counts[MissKind.CONFLICT] == 0


def test_the_misses_of_a_matmul_are_those_counted_by_hand() -> None:
    """64 lines of one element hold tiles of 4×4, or a row and a column, but no matrix of 8×8 beside others.

    Naive: a row of A stays while it is used, each element of C too, and of B no element until the next row of A.
    Tiled: the three tiles of a step stay; those of A and B come anew for each of the 2×2×2 steps, those of C once.
    """
    n, tile = 8, 4
    cache = [CacheLevel("L1", 64 * 4, 64, 4)]
    naive, tiled = (simulate_caches(matmul_trace(n, size), cache).levels[0] for size in (0, tile))
    assert naive.misses == n**2 + n**3 + n**2
    assert tiled.misses == 2 * (n // tile) ** 3 * tile**2 + n**2
    assert naive.counts[MissKind.COMPULSORY] == tiled.counts[MissKind.COMPULSORY] == 3 * n**2


def test_a_column_of_a_power_of_two_conflicts() -> None:
    """Eight lines that share one set of two ways: all conflict, although the cache has room for sixteen."""
    lines = [8 * i for i in range(8)] * 2
    report = simulate_caches(trace_of(lines), [CacheLevel("L1", 16 * 64, 2, 64)])
    assert report.levels[0].counts == [0, 8, 0, 8]


def test_what_is_written_goes_back_to_memory_once_it_leaves() -> None:
    trace = trace_of([0, 1, 0])
    trace.sites[0] = Site(0, True, 1, 1, 0, ())
    report = simulate_caches(trace, [CacheLevel("L1", 64, 1, 64)])
    assert report.written_back == 3
    assert report.memory_bytes == 6 * 64


def test_levels_must_be_of_one_line_size() -> None:
    with pytest.raises(ArgumentError, match="one line size"):
        simulate_caches(trace_of([0]), [CacheLevel("L1", 64, 1, 64), CacheLevel("L2", 256, 1, 128)])


def test_an_iteration_of_each_loop_touches_what_can_be_counted_by_hand() -> None:
    """Of a naive 8×8 matmul: k touches A, B and C once, j a row of A and a column of B, i a row and all of B."""
    trace = matmul_trace(8)
    by_name = {loop.name: footprint for loop, footprint in zip(trace.loops, footprints(trace), strict=True)}
    assert {name: f.elements for name, f in by_name.items()} == {"k": 3, "j": 17, "i": 8 + 8 + 64}
    assert by_name["j"].bytes == 17 * 4
    assert by_name["k"].iterations == 8**3


def test_reuse_distances_of_a_trace_are_those_of_its_lines() -> None:
    lines = [0, 1, 2, 0, 0, 2]
    assert reuse_distances(trace_of(lines), 64) == Counter(stack_distances(lines))


def test_caches_are_read_as_linux_describes_them(tmp_path: Path) -> None:
    def describe(index: int, **texts: Any) -> None:
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        for name, text in texts.items():
            (folder / name).write_text(f"{text}\n")

    names = ("level", "type", "size", "ways_of_associativity", "coherency_line_size")
    for index, values in enumerate(
        [
            (1, "Data", "48K", 12, 64),
            (1, "Instruction", "32K", 8, 64),
            (3, "Unified", "32M", 16, 64),
            (2, "Unified", "1024K", 16, 64),
        ]
    ):
        describe(index, **dict(zip(names, values, strict=True)))
    assert machine_caches(tmp_path) == (
        CacheLevel("L1", 48 << 10, 12, 64),
        CacheLevel("L2", 1 << 20, 16, 64),
        CacheLevel("L3", 32 << 20, 16, 64),
    )
    assert machine_caches(tmp_path / "nothing") == ()
