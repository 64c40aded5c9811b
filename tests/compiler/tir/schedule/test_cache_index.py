"""Indices that are computed ahead of a block: what is computed ahead, and that the results stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.classic.tir.schedule_testing import verify_trace_roundtrip
from compiler.tir.schedule import ScheduleError
from compiler.tir.script import tir as T
from tests.compiler.tir.schedule.programs import MATMUL, Program

# mypy: disable-error-code="valid-type,no-untyped-def,attr-defined"


@T.prim_func
def _resize(A: T.Buffer((16, 12)), B: T.Buffer((10, 12))):
    for i, j in T.grid(10, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi // 2 * 3 + vj % 4, vi // 2] + A[vi // 2 * 3, vj]


@T.prim_func
def _guarded(A: T.Buffer((8,)), C: T.Buffer((8,))):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = T.if_then_else(vi > 0, A[7 // vi], T.float32(1))


@T.prim_func
def _window_sums(A: T.Buffer((14,)), C: T.Buffer((3, 2))):
    for i, j, k in T.grid(3, 2, 4):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi // 1, 1 - vj] = 0.0
            C[vi // 1, 1 - vj] = C[vi // 1, 1 - vj] + A[vi * 3 + vj * 2 + vk]


def _resized(a: Any) -> Any:
    i, j = np.meshgrid(np.arange(10), np.arange(12), indexing="ij")
    return a[i // 2 * 3 + j % 4, i // 2] + a[i // 2 * 3, j]


def _summed(a: Any) -> Any:
    return np.array([[a[i * 3 + 2 - j * 2 :][:4].sum() for j in range(2)] for i in range(3)], "float32")


RESIZE = Program(_resize, ((16, 12),), _resized)
WINDOW_SUMS = Program(_window_sums, ((14,),), _summed)
GUARDED = Program(_guarded, ((8,),), lambda a: np.array([1, *a[[7, 3, 2, 1, 1, 1, 1]]], "float32"))


def tables(sch: Any, blocks: Any) -> list[str]:
    """Return what the blocks store, as text."""
    return [str(sch.get(block).body.value) for block in blocks]


@pytest.mark.parametrize(
    ("threshold", "stores"),
    [
        (0, ["v0 // 2 * 3 + v1 % 4", "v0 // 2 * 3", "v0 // 2"]),
        (1, ["v0 // 2 * 3 + v1 % 4", "v0 // 2 * 3", "v0 // 2"]),
        (2, ["v0 // 2 * 3"]),
        (3, ["v0 // 2"]),
        (4, []),
    ],
)
def test_indices_are_computed_as_often_as_the_threshold_says(threshold: int, stores: list[str]) -> None:
    sch = RESIZE.schedule()
    blocks = sch.cache_index("B", "global", threshold)
    assert tables(sch, blocks) == stores
    RESIZE.check(sch)
    verify_trace_roundtrip(sch, RESIZE.func)


def test_the_indices_of_what_a_reduction_writes_stay() -> None:
    sch = WINDOW_SUMS.schedule()
    (block,) = sch.cache_index("C", "global")
    assert tables(sch, [block]) == ["v0 * 3 + v1 * 2 + v2"]
    sch.decompose_reduction("C", sch.get_loops("C")[2])
    WINDOW_SUMS.check(sch)


def test_a_division_that_a_condition_guards_is_not_computed_ahead() -> None:
    sch = GUARDED.schedule()
    (block,) = sch.cache_index("C", "global")
    assert tables(sch, [block]) == ["v0 > 0"]
    GUARDED.check(sch)


def test_an_index_that_is_a_variable_is_not_computed_ahead() -> None:
    sch = MATMUL.schedule()
    before = sch.mod
    assert sch.cache_index("C", "global") == []
    assert sch.mod is before


def test_steps_after_it() -> None:
    sch = RESIZE.schedule()
    blocks = sch.cache_index("B", "global")
    i, _j = sch.get_loops("B")
    i_0, _ = sch.split(i, factors=[None, 5])
    sch.parallel(i_0)
    for block in blocks:
        sch.vectorize(sch.get_loops(block)[-1])
    RESIZE.check(sch)


def test_an_index_that_is_inlined_again() -> None:
    sch = RESIZE.schedule()
    for block in sch.cache_index("B", "global"):
        sch.compute_inline(block)
    RESIZE.check(sch)
    assert "index_var" not in sch.mod.script()


def test_the_root_block_is_refused() -> None:
    with pytest.raises(ScheduleError, match="does not operate on the root block"):
        MATMUL.schedule().cache_index("root", "global")
