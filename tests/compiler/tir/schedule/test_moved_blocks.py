"""Blocks that move to those that they are read by, or that they read, however they write and read: the result stays."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from compiler.tir.schedule import Schedule, ScheduleError
from tests.compiler.tir.schedule.programs import TWO, Step, computed, kept, refused, schedule, stages

FOR_TWO = "T.reads({reads})\n        T.writes({writes})\n        for u in range({count}):\n            {store}"
PRODUCERS = {
    "each": "16: B[vi] = A[vi] * 2",
    "from behind": "16: B[15 - vi] = A[vi] * 2",
    "pairs": "8: "
    + FOR_TWO.format(reads="A[vi]", writes="B[vi * 2 : vi * 2 + 2]", count=2, store="B[vi * 2 + u] = A[vi] + u"),
    "overlapping": "15: " + FOR_TWO.format(reads="A[vi]", writes="B[vi : vi + 2]", count=2, store="B[vi + u] = vi + u"),
    "two at once": "8: B[vi * 2] = A[vi]\n        B[vi * 2 + 1] = A[vi] + 1",
    "halves": "8: B[vi] = A[vi]\n        B[vi + 8] = A[vi] + 1",
    "all": "1: " + FOR_TWO.format(reads="A[0:16]", writes="B[0:16]", count=16, store="B[u] = A[u] + vi"),
}
CONSUMERS = {
    "each": "16: C[vi] = B[vi]",
    "from behind": "16: C[vi] = B[15 - vi]",
    "every other": "8: C[vi] = B[vi * 2 + 1]",
    "twice": "16: C[vi] = B[vi // 2]",
    "neighbours": "15: C[vi] = B[vi] + B[vi + 1]",
    "the third": "16: C[vi] = B[3] + vi",
    "to the last": "16: C[vi] = B[T.min(vi + 2, 15)]",
    "fours": "4: "
    + FOR_TWO.format(reads="B[vi * 4 : vi * 4 + 4]", writes="C[vi]", count=4, store="C[vi] = B[vi * 4 + u]"),
    "mixed": "16: C[vi] = B[vi % 4 * 4 + vi // 4]",
}
MOVES: list[Step] = [
    lambda s: s.compute_at("B", s.get_loops("C")[0]),
    lambda s: s.reverse_compute_at("C", s.get_loops("B")[0]),
    lambda s: s.compute_inline("B"),
    lambda s: s.reverse_compute_inline("C"),
    lambda s: s.merge(s.get_loops("B")[0], s.get_loops("C")[0]),
]
MOVED = {
    "each": 26, "from behind": 16, "pairs": 16, "overlapping": 16, "two at once": 16, "halves": 13, "all": 19,
}  # fmt: skip
"""How many of the moves to all consumers are accepted."""


@pytest.mark.parametrize("producer", PRODUCERS)
def test_whatever_is_written_and_read_a_block_that_moves_keeps_the_result(producer: str) -> None:
    moved = 0
    for consumer in CONSUMERS.values():
        text = stages(f'{TWO}\nB = T.alloc_buffer((16,), "int32")', B=PRODUCERS[producer], C=consumer)
        func = schedule(text).mod["main"]
        expected = computed(func)
        for step in MOVES:
            s: Any = Schedule(func)
            with suppress(ScheduleError):
                step(s)
                moved += 1
            for result, value in zip(computed(s.mod["main"]), expected, strict=True):
                np.testing.assert_array_equal(result, value, str(s.mod))
    assert moved == MOVED[producer]


def test_what_a_block_computes_at_once_does_not_roll() -> None:
    text = stages(f'{TWO}\nB = T.alloc_buffer((16,), "int32")', B=PRODUCERS["overlapping"], C=CONSUMERS["from behind"])
    s: Any = Schedule(schedule(text).mod["main"])
    s.reverse_compute_at("C", s.get_loops("B")[0])
    refused(s, lambda s: s.rolling_buffer("B", 0), "has no rollable loop")


def test_a_reduction_is_not_moved_to_where_its_first_iteration_would_not_come_first() -> None:
    """There it would set the initial values late."""
    reduced = """for j, k in T.grid(2, 16):
    with T.block("C"):
        vj, vk = T.axis.remap("SR", [j, k])
        with T.init():
            C[vj] = 0
        C[vj] = C[vj] + B[vk]"""
    for producer, begins_first in (("each", True), ("from behind", False)):
        text = stages(f'{TWO}\nB = T.alloc_buffer((16,), "int32")', B=PRODUCERS[producer]) + reduced
        if begins_first:
            kept(text, lambda s: s.reverse_compute_at("C", s.get_loops("B")[0]))
        else:
            refused(schedule(text), lambda s: s.reverse_compute_at("C", s.get_loops("B")[0]), "would not begin with")


ADDED = """
A: T.Buffer((16,), "int32"), C: T.Buffer((4,), "int32")
B = T.alloc_buffer((16,), "int32")
for {loops}:
    with T.block("B"):
        vj = T.axis.spatial(16, {element})
        B[vj] = A[vj] * 2
for k, j in T.grid(4, 4):
    with T.block("C"):
        vk, vj = T.axis.remap("RS", [k, j])
        with T.init():
            C[vj] = 0
        C[vj] = C[vj] + B[vk * 4 + vj]"""


@pytest.mark.parametrize(
    ("loops", "element", "at"),
    [
        ("i, j in T.grid(4, 4)", "i * 4 + j", 0),
        ("u, i, j in T.grid(1, 2, 8)", "i * 8 + j", 1),
        ("i in range(16)", "i", 0),
    ],
)
def test_a_sum_of_parts_moves_to_where_these_are_made(loops: str, element: str, at: int) -> None:
    text = ADDED.format(loops=loops, element=element)
    kept(text, lambda s: s.reverse_compute_at("C", s.get_loops("B")[at]))


@pytest.mark.parametrize(
    ("loops", "element", "at"),
    [("i, j in T.grid(3, 8)", "i * 4 + j", 0), ("u, i, j in T.grid(2, 4, 4)", "i * 4 + j", 1)],
)
def test_a_sum_does_not_move_to_where_elements_are_made_twice(loops: str, element: str, at: int) -> None:
    s = schedule(ADDED.format(loops=loops, element=element))
    refused(s, lambda s: s.reverse_compute_at("C", s.get_loops("B")[at]), "make the same elements")


def test_under_a_loop_of_blocks_of_threads_a_consumer_reads_what_its_own_one_makes() -> None:
    """These do not wait for each other."""
    text = stages(f'{TWO}\nB = T.alloc_buffer((16,), "int32")', B=PRODUCERS["pairs"], C=CONSUMERS["each"])
    s = schedule(text)
    s.bind(s.get_loops("B")[0], "blockIdx.x")
    s.reverse_compute_at("C", s.get_loops("B")[0])
    assert int(s.get(s.get_loops("C")[1]).extent) == 2


WIDE = """
A: T.Buffer((16,), "int32"), C: T.Buffer((12,), "int32")
B = T.alloc_buffer((16,), "int32")
for i in range(4):
    with T.block("B"):
        vi = T.axis.spatial(4, i)
        T.reads(A[vi * 4 : vi * 4 + 4])
        T.writes(B[vi * 4 : vi * 4 + 4])
        for j in range(4):
            B[vi * 4 + j] = A[vi * 4 + j]
for i, j in T.grid(3, 4):
    with T.block("C"):
        vi = T.axis.spatial(12, i * 4 + j)
        C[vi] = B[vi + 1]
"""


def test_of_a_producer_whose_elements_overlap_only_those_are_computed_that_give_what_is_needed() -> None:
    text = stages(f'{TWO}\nB = T.alloc_buffer((16,), "int32")', B=PRODUCERS["overlapping"], C=CONSUMERS["each"])
    s = Schedule(schedule(text).mod["main"])
    s.compute_at("B", s.get_loops("C")[0])
    assert int(s.get(s.get_loops("B")[1]).extent) == 2, "each element is in two pairs"


def test_a_producer_of_several_elements_is_computed_as_far_as_they_are_needed() -> None:
    s = kept(WIDE, lambda s: s.compute_at("B", s.get_loops("C")[0]))
    assert int(s.get(s.get_loops("B")[1]).extent) == 2, "four elements are parts of two fours"
