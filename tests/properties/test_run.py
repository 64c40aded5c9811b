"""The runner of random programs counts each outcome, and names the pass that took the time."""

from __future__ import annotations

import os
import time
from functools import partial
from typing import Any

import pytest

from compiler import te
from compiler.driver.lower import lower
from compiler.ir.transform import PassContext
from tests.properties.kinds import KINDS, Refused
from tests.properties.pass_times import PassTimes
from tests.properties.run import OUTCOMES, main, report, verdicts


def _staged(seed: int, mcpu: str, times: PassTimes) -> None:
    """Do what the outcome of the seed's place needs."""
    with times.section(f"section {seed}"):
        match OUTCOMES[seed]:
            case "refused":
                raise Refused(f"axis {seed} is not constant")
            case "wrong":
                raise AssertionError("3 elements differ")
            case "failed":
                raise KeyError("lost")
            case "crashed":
                os.abort()
            case "over the limit":
                while True:
                    pass


def test_each_outcome_is_counted_and_what_follows_a_crash_is_still_checked() -> None:
    order = [*range(len(OUTCOMES)), 0]
    found = list(verdicts(_staged, [(seed, "haswell") for seed in order], 1))
    assert [verdict.outcome for verdict in found] == [OUTCOMES[seed] for seed in order]
    assert [verdict.reason for verdict in found][4] == "SIGABRT"
    text = report(found)
    assert text.startswith("7 programs: 2 same, 1 refused, 1 wrong, 1 failed, 1 crashed, 1 over the limit")
    assert "refused 1 times: axis N is not constant" in text


def test_the_time_of_a_pass_excludes_what_runs_within_it() -> None:
    times = PassTimes()

    def work() -> None:
        until = time.thread_time() + 0.02
        while time.thread_time() < until:
            pass

    with times.section("outer"):
        work()
        with times.section("inner"):
            work()
        work()
    assert set(times.seconds) == {"outer", "inner"}
    assert times.seconds["outer"] >= 0.04
    assert times.seconds["inner"] >= 0.02


def test_passes_of_a_context_are_told_apart() -> None:
    times = PassTimes()
    A = te.placeholder((8,), name="A")
    B: Any = te.compute((8,), lambda i: A[i] + 1)
    with PassContext(instruments=[times]), times.section("schedule to loops"):
        lower(te.create_schedule(B.op), [A, B])
    assert {"schedule to loops", "tir.Simplify", "tir.StorageRewrite"} <= set(times.seconds)


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", KINDS)
def test_a_few_programs_of_each_kind_compute_the_same(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([kind, "--seeds", "0:2"]) == 0, capsys.readouterr().out
    assert "2 programs: " in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["te", "tir"])
def test_a_seed_is_the_same_program_every_time(kind: str) -> None:
    made = [PassTimes(), PassTimes()]
    for times in made:
        partial(KINDS[kind], 3, "haswell")(times)
    assert set(made[0].seconds) == set(made[1].seconds)
