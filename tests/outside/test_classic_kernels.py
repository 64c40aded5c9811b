"""Random kernels that exchange data in shared memory: barriers where they are needed, by NumPy and the sanitizer."""

from __future__ import annotations

from collections import Counter
from random import Random
from unittest import mock

import pytest

import compiler as tvm
from compiler.tir.sanitizer import Fault, SanitizerResult
from tests.outside.classic_kernels import RUNNER, faults, from_here, outcome
from tests.outside.classic_te import CLASSIC, from_classic
from tests.outside.kernel_mutations import mutants, reports, unreported
from tests.outside.kernel_scripts import Kernel, Loop, Store, kernel
from tests.outside.run_kernel_scripts import SYNCHRONIZED

SAMPLE = range(10)
"""The kernels of every run."""
LONGER_AXES = {2}
"""Schedules whose stage in shared memory is as long as the tile that it is for, even where the result is shorter."""


def test_threads_wait_wherever_they_must() -> None:
    made = [kernel(seed) for seed in SAMPLE]
    for seed, each, answer in zip(SAMPLE, made, from_here([each.script() for each in made]), strict=True):
        assert "error" not in answer, answer
        assert not faults(each, tvm.script.from_source(answer["text"])), f"{seed}: {answer['text']}"


def test_a_missing_barrier_is_seen() -> None:
    """A comparison that accepts everything would compare nothing."""
    swap = Kernel(8, 1, [Store("S", "tx", "A[tx]"), Store("C", "bx * 8 + tx", "S[7 - tx]")])
    assert any("data race" in fault for fault in faults(swap, tvm.script.from_source(swap.script())))
    (answer,) = from_here([swap.script()])
    assert not faults(swap, tvm.script.from_source(answer["text"]))
    wrong = Kernel(8, 1, [Store("S", "tx", "A[tx]"), Store("C", "bx * 8 + tx", "S[tx]")])
    assert "expected" in faults(wrong, tvm.script.from_source(answer["text"]))[0]


@pytest.mark.skipif(not CLASSIC, reason="STRATA_CLASSIC_TVM names no interpreter with classic TVM")
def test_classic_tvm_makes_no_better_kernels() -> None:
    made = [kernel(seed) for seed in SAMPLE]
    scripts = [each.script() for each in made]
    answers = zip(made, from_here(scripts), from_classic(scripts, RUNNER), strict=True)
    assert not {outcome(*each) for each in answers} & {"wrong here", "refused here"}


@pytest.mark.skipif(not CLASSIC, reason="STRATA_CLASSIC_TVM names no interpreter with classic TVM")
def test_schedules_become_the_kernels_of_classic_tvm() -> None:
    programs = sorted(set(range(-5, 20)) - LONGER_AXES)
    for seed, here, classic in zip(programs, from_here(programs), from_classic(programs, RUNNER), strict=True):
        last = SYNCHRONIZED if seed >= 0 else "UnifyThreadBinding"
        assert "error" in classic or here["outlines"][last] == classic["outlines"][last], seed


def test_what_depends_on_the_order_of_threads_is_reported() -> None:
    exchange = [Store("S", "tx + 4", "A[tx] + k"), Store("C", "bx * 4 + tx", "C[bx * 4 + tx] * 3 + S[7 - tx]")]
    made = Kernel(4, 1, [Loop("k", "3", exchange)])
    (answer,) = from_here([made.script()])
    func = tvm.script.from_source(answer["text"])
    assert not faults(made, func)
    reported: Counter[str] = Counter()
    for kind, mutant in mutants(func, Random(0)):
        reported[kind] += bool(reports(made, mutant))
        assert not unreported(made, mutant), f"{kind}: {mutant}"
    assert reported["barrier removed"] == 2
    assert reported["barrier moved"] == 2
    assert reported["memory halved"] == 1


def test_the_order_of_threads_decides_about_a_race() -> None:
    """Without orders in which results differ, no mutant would count as missed."""
    swap = Kernel(8, 1, [Store("S", "tx", "0"), Store("S", "tx", "A[tx]"), Store("C", "bx * 8 + tx", "S[7 - tx]")])
    func = tvm.script.from_source(swap.script())
    assert Fault.DATA_RACE in reports(swap, func)
    with mock.patch.object(SanitizerResult, "add"):
        assert unreported(swap, func)
