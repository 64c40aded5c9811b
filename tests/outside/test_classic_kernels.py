"""Random kernels that exchange data in shared memory: barriers where they are needed, by NumPy and the sanitizer."""

from __future__ import annotations

import pytest

import compiler as tvm
from tests.outside.classic_kernels import RUNNER, faults, from_here, outcome
from tests.outside.classic_te import CLASSIC, from_classic
from tests.outside.kernel_scripts import Kernel, Store, kernel
from tests.outside.run_kernel_scripts import SYNCHRONIZED

SAMPLE = range(10)
"""The kernels of every run."""


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
    programs = list(range(20))
    for seed, here, classic in zip(programs, from_here(programs), from_classic(programs, RUNNER), strict=True):
        assert "error" in classic or here["outlines"][SYNCHRONIZED] == classic["outlines"][SYNCHRONIZED], seed
