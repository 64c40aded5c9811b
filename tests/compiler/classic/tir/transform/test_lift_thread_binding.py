"""Loops over one thread axis become one, around all of them."""

from __future__ import annotations

import numpy as np

from compiler.tir.transform import LiftThreadBinding
from tests.compiler.tir.transform.programs import apply, assert_pass, program
from tests.compiler.tir.transform.thread_runs import run_threads

PARAMS = "A: T.Buffer((8, 4, 4), 'int32'), C: T.Buffer((8, 4), 'int32')"
BLOCK = 'T.thread_binding(8, thread="blockIdx.x")'
THREAD = 'T.thread_binding(4, thread="threadIdx.x")'


def test_loops_over_an_axis_are_joined_around_all_of_them() -> None:
    before = program(
        f"""
        for bx in {BLOCK}:
            for t in {THREAD}:
                C[bx, t] = 1
            for k in range(4):
                for t in T.thread_binding(4, thread="threadIdx.x", annotations={{"pragma_x": 1}}):
                    C[bx, t] = C[bx, t] + A[bx, t, k]
        """,
        params=PARAMS,
    )
    after = f"""
        for bx in {BLOCK}:
            for t in T.thread_binding(4, thread="threadIdx.x", annotations={{"pragma_x": 1}}):
                C[bx, t] = 1
                for k in range(4):
                    C[bx, t] = C[bx, t] + A[bx, t, k]
        """
    assert_pass(LiftThreadBinding(), before, after, params=PARAMS, values=())
    source, target = np.arange(128, dtype="int32").reshape(8, 4, 4), np.zeros((8, 4), "int32")
    run_threads(apply(before, LiftThreadBinding()), [source, target])
    np.testing.assert_array_equal(target, source.sum(2) + 1)


def test_they_stay_within_the_innermost_loop_around_them() -> None:
    loops = f"""
        for bx in {BLOCK}:
            for k in range(4):
                for t in {THREAD}:
                    C[bx, t] = k
                for t in {THREAD}:
                    C[bx, t] = C[bx, t] + 1
        """
    joined = f"""
        for bx in {BLOCK}:
            for k in range(4):
                for t in {THREAD}:
                    C[bx, t] = k
                    C[bx, t] = C[bx, t] + 1
        """
    assert_pass(LiftThreadBinding(), loops, joined, params=PARAMS, values=())


def test_what_is_no_one_axis_stays() -> None:
    for text in (
        f"for bx in {BLOCK}:\n    for k in range(4):\n        for t in {THREAD}:\n            C[bx, t] = k",
        f"for bx in {BLOCK}:\n    C[bx, 0] = 1\nfor bx in {BLOCK}:\n    C[bx, 1] = 1",
        f"for bx in {BLOCK}:\n    for t in {THREAD}:\n        C[bx, t] = 1\n"
        f"    for t in {THREAD.replace('4', '2')}:\n        C[bx, t] = 2",
    ):
        assert_pass(LiftThreadBinding(), text, params=PARAMS, values=())
