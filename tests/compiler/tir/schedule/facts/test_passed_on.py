"""Iterations that run together do not read what others of them write in other blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.tir.schedule import Schedule, ScheduleError
from compiler.tir.script import from_source
from tests.properties.races import RaceError, run_in_any_order

HOW: dict[str, Any] = {
    "parallel": lambda s, loop: s.parallel(loop),
    "vectorized": lambda s, loop: s.vectorize(loop),
    "blocks": lambda s, loop: s.bind(loop, "blockIdx.x"),
    "threads": lambda s, loop: s.bind(loop, "threadIdx.x"),
}
REFUSED = "may read elements of B that block .* writes in other iterations"


def source(*blocks: tuple[str, str, str, str], buffer: str = "") -> str:
    """Return a loop around blocks: each the loops around it, the value of its axis, a condition, and what it does."""
    text = f"""@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32"){"" if buffer else ', B: T.Buffer((10,), "int32")'}):
{f'    B = T.alloc_buffer((10,), "int32", scope="{buffer}")' if buffer else ""}
    for i in range(8):
"""
    for loops, value, condition, does in blocks:
        name = does[0]
        pad = " " * 8
        if loops:
            text += f"{pad}for {loops}:\n"
            pad += " " * 4
        text += f'{pad}with T.block("{name}"):\n{pad}    vi = T.axis.spatial({10 if name == "B" else 8}, {value})\n'
        if condition:
            text += f"{pad}    T.where({condition})\n"
        text += f"{pad}    {does}\n"
    return text


MADE = ("", "i", "", "B[vi] = A[vi]")
HALO = ("j in range(3)", "i + j", "", "B[vi] = A[T.min(vi, 7)]")
SUMMED = ("", "i", "", "C[vi] = B[vi] + B[vi + 1] + B[vi + 2]")
DEPENDENT = {
    "of the iteration before": source(MADE, ("", "i", "", "C[vi] = B[T.max(vi - 1, 0)]")),
    "of later iterations, before they write": source(("", "i", "", "C[vi] = B[vi + 1]"), MADE),
    "of the next iteration, downwards": source(("", "i", "", "B[8 - vi] = A[vi]"), ("", "i", "", "C[vi] = B[7 - vi]")),
    "of which a condition leaves out a part": source(
        ("j in range(3)", "i + j", "j < 2", "B[vi] = A[T.min(vi, 7)]"), SUMMED
    ),
}
INDEPENDENT = {
    "of the same iteration": source(MADE, ("", "i", "", "C[vi] = B[vi]")),
    "of the same iteration, before it writes": source(("", "i", "", "C[vi] = B[vi]"), MADE),
    "that each iteration makes": source(HALO, SUMMED),
    "that each iteration makes, and more on both sides": source(
        ("j in range(-1, 4)", "i + j", "i + j >= 0 and i + j < 10", "B[vi] = A[T.min(vi, 7)]"), SUMMED
    ),
    "that each iteration makes, as far as there are some": source(
        ("j in range(4)", "i + j", "i + j < 10", "B[vi] = A[T.min(vi, 7)]"), SUMMED
    ),
}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("what", DEPENDENT)
def test_a_loop_whose_iterations_read_what_others_write_is_refused(what: str, how: str) -> None:
    s: Any = Schedule(from_source(DEPENDENT[what]), debug_mask="all")
    before = s.mod
    with pytest.raises(ScheduleError, match=REFUSED):
        HOW[how](s, s.get_loops("C")[0])
    assert s.mod is before


@pytest.mark.parametrize("what", DEPENDENT)
def test_what_is_refused_is_a_race(what: str) -> None:
    func = from_source(DEPENDENT[what].replace("for i in range(8)", "for i in T.parallel(8)"))
    with pytest.raises(RaceError):
        run_in_any_order(func, [np.arange(8, dtype="int32"), np.zeros(8, "int32"), np.zeros(10, "int32")])


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("what", INDEPENDENT)
def test_a_loop_whose_iterations_read_what_is_their_own_is_not_refused(what: str, how: str) -> None:
    expected, actual = (
        [np.arange(8, dtype="int32"), np.zeros(8, "int32"), np.arange(10, 20, dtype="int32")] for _ in "ab"
    )
    s: Any = Schedule(from_source(INDEPENDENT[what]), debug_mask="all")
    run_in_any_order(s.mod["main"], expected)
    HOW[how](s, s.get_loops("C")[0])
    run_in_any_order(s.mod["main"], actual, seed=1)
    np.testing.assert_array_equal(actual[1], expected[1])


def test_threads_wait_before_they_read_memory_that_they_share() -> None:
    blocks = MADE, ("", "i", "", "C[vi] = B[T.max(vi - 1, 0)]")
    for scope, axis, waits in (
        ("shared", "threadIdx.x", True),
        ("shared", "blockIdx.x", False),
        ("local", "threadIdx.x", False),
        ("global", "threadIdx.x", False),
        ("shared", "", False),
    ):
        s: Any = Schedule(from_source(source(*blocks, buffer=scope)))
        loop = s.get_loops("C")[0]
        if not axis:
            with pytest.raises(ScheduleError, match=REFUSED):
                s.parallel(loop)
        elif waits:
            s.bind(loop, axis)
        else:
            with pytest.raises(ScheduleError, match=REFUSED):
                s.bind(loop, axis)


def test_pairs_that_begin_at_any_element_are_told_apart() -> None:
    blocks = "".join(
        f'        for j in range(2):\n            with T.block("{name}"):\n'
        f"                vi = T.axis.spatial(10, i * 2 + 1 + j)\n                {name}[vi] = {value}[vi]\n"
        for name, value in ("CB", "BA")
    )
    buffers = ", ".join(f'{name}: T.Buffer((10,), "int32")' for name in "ABC")
    s: Any = Schedule(from_source(f"@T.prim_func\ndef main({buffers}):\n    for i in range(4):\n{blocks}"))
    s.parallel(s.get_loops("C")[0])


@pytest.mark.parametrize("order", ["BC", "CB"])
def test_tiles_of_one_fused_loop_are_told_apart(order: str) -> None:
    texts = {"B": "B[vi, vj] = A[vi, vj]", "C": "C[vi, vj] = B[vi, vj]"}
    blocks = "".join(
        f'        with T.block("{name}"):\n            vi, vj = T.axis.remap("SS", [i, j])\n            {texts[name]}\n'
        for name in order
    )
    buffers = ", ".join(f'{name}: T.Buffer((4, 8), "int32")' for name in "ABC")
    s: Any = Schedule(from_source(f"@T.prim_func\ndef main({buffers}):\n    for i, j in T.grid(4, 8):\n{blocks}"))
    outer, inner = s.split(s.fuse(*s.get_loops("C")), [None, 4])
    s.parallel(outer)
    s.vectorize(inner)


def test_a_step_after_which_threads_do_not_wait_is_refused() -> None:
    text = source(MADE, ("", "i", "", "C[vi] = B[T.max(vi - 1, 0)]"), buffer="shared")
    s: Any = Schedule(from_source(text), debug_mask="all")
    s.bind(s.get_loops("C")[0], "threadIdx.x")
    before = s.mod
    with pytest.raises(ScheduleError, match="may read elements of B_local that"):
        s.set_scope("B", 0, "local")
    assert s.mod is before
