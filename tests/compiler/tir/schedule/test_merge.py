"""Loops that are merged: the results stay, and what would change them is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.classic.tir.schedule_testing import verify_trace_roundtrip
from compiler.ir.error import ArgumentError
from compiler.tir.schedule import ScheduleError
from compiler.tir.script import tir as T
from compiler.tir.statements.stmt import ForKind
from tests.compiler.tir.schedule.programs import BLUR, CHAIN, MATMUL_RELU, Program

# mypy: disable-error-code="valid-type,no-untyped-def,attr-defined"


@T.prim_func
def _reversed(A: T.Buffer((8,)), C: T.Buffer((8,))):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * 2.0
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[7 - vi]


@T.prim_func
def _total(A: T.Buffer((8,)), C: T.Buffer((8,))):
    B = T.alloc_buffer((1,))
    for k in range(8):
        with T.block("B"):
            vk = T.axis.reduce(8, k)
            with T.init():
                B[0] = 0.0
            B[0] = B[0] + A[vk]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[0]


@T.prim_func
def _overwritten(A: T.Buffer((8,)), C: T.Buffer((8,))):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[7 - vi] = 1.0


OVERWRITTEN = Program(_overwritten, ((8,),), np.ones_like)
TOTAL = Program(_total, ((8,),), lambda a: a)
REVERSED = Program(_reversed, ((8,),), lambda a: a[::-1] * 2)


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("blocks", [("B", "C"), ("C", "D"), ("B", "C", "D")])
def test_merged_loops_compute_the_same(blocks: tuple[str, ...], depth: int) -> None:
    sch = CHAIN.schedule()
    loop = sch.merge(*[sch.get_loops(block)[depth] for block in blocks])
    assert sch.get(loop).loop_var.name == ("i_m", "j_m")[depth]
    assert all(sch.get(sch.get_loops(block)[depth]) is sch.get(loop) for block in blocks)
    CHAIN.check(sch)
    verify_trace_roundtrip(sch, CHAIN.func)


@pytest.mark.parametrize("blocks", ["B", "C", "BC"])
def test_merged_loops_are_serial_whatever_they_were(blocks: str) -> None:
    sch = CHAIN.schedule()
    for block in blocks:
        sch.parallel(sch.get_loops(block)[0])
    loop = sch.merge(sch.get_loops("B")[0], sch.get_loops("C")[0])
    assert sch.get(loop).kind == ForKind.SERIAL
    CHAIN.check(sch)


def test_inner_loops_are_merged_under_an_outer_one() -> None:
    sch = CHAIN.schedule()
    sch.merge(sch.get_loops("B")[0], sch.get_loops("C")[0])
    inner = sch.merge(sch.get_loops("B")[1], sch.get_loops("C")[1])
    sch.vectorize(inner)
    CHAIN.check(sch)


def test_rows_of_a_reduction_are_merged_with_what_reads_them() -> None:
    sch = MATMUL_RELU.schedule()
    sch.merge(sch.get_loops("C")[1], sch.get_loops("D")[1])
    MATMUL_RELU.check(sch)


@pytest.mark.parametrize(
    ("program", "step", "message"),
    [
        (REVERSED, lambda s: s.merge(s.get_loops("B")[0], s.get_loops("C")[0]), "what later iterations write"),
        (OVERWRITTEN, lambda s: s.merge(s.get_loops("B")[0], s.get_loops("C")[0]), "both write buffer C"),
        (TOTAL, lambda s: s.merge(s.get_loops("B")[0], s.get_loops("C")[0]), "which is not data parallel"),
        (BLUR, lambda s: s.merge(s.get_loops("B")[0], s.get_loops("C")[0]), "same constant extent"),
        (BLUR, lambda s: s.merge(s.get_loops("B")[0], s.get_loops("C")[1]), "nested equally deep"),
        (CHAIN, lambda s: s.merge(s.get_loops("B")[0], s.get_loops("D")[0]), "must follow directly upon"),
        (CHAIN, lambda s: s.merge(s.get_loops("C")[0], s.get_loops("B")[0]), "must follow directly upon"),
        (CHAIN, lambda s: s.merge(*s.get_loops("B")), "does not stand beside"),
        (CHAIN, lambda s: s.merge(s.get_loops("B")[0], s.get_loops("B")[0]), "does not stand beside"),
    ],
)
def test_loops_that_are_not_merged(program: Program, step: Any, message: str) -> None:
    sch = program.schedule()
    before = sch.mod
    with pytest.raises(ScheduleError, match=message):
        step(sch)
    assert sch.mod is before
    sch.state.verify()


def test_one_loop_is_not_enough() -> None:
    sch = CHAIN.schedule()
    with pytest.raises(ArgumentError, match="at least 2 loops, got 1"):
        sch.merge(sch.get_loops("B")[0])
