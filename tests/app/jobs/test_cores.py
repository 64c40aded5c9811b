"""A measurement has its CPUs for itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.jobs import cores as jobs_cores
from app.jobs.cores import Cores
from app.jobs.fair_queue import FairQueue
from app.sandbox import Limits
from compiler.runtime import cpus


@pytest.fixture(autouse=True)
def topology(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int], str]], None]:
    """Let CPUs be threads of the cores that are named, each of one of its own to begin with."""

    def name(core_of: Callable[[int], str]) -> None:
        for module in (cpus, jobs_cores):
            monkeypatch.setattr(module, "core_of", core_of)

    name(str)
    return name


def chosen(cores: Cores, own: int = 0) -> tuple[int, ...]:
    """Return the CPUs of a job that needs so many for itself."""
    return cores.assign(Limits(own_cpus=own)).cpus


def test_a_measurement_has_its_own_cpus() -> None:
    measuring = FairQueue(1, waiting=1, waiting_per_client=1)
    cores = Cores(lambda: measuring.held > 0, (0, 1, 2, 3))
    assert chosen(cores) == ()
    with measuring.enter("a"):
        assert chosen(cores, 1) == (3,)
        assert chosen(cores) == (0, 1, 2)
    assert chosen(cores) == ()
    with measuring.enter("a"):
        assert chosen(cores, 2) == (2, 3)
        assert chosen(cores) == (0, 1)


def test_a_run_may_build_on_all_cpus_and_has_one_to_measure_on() -> None:
    measuring = FairQueue(1, waiting=1, waiting_per_client=1)
    cores = Cores(lambda: measuring.held > 0, (0, 1))
    with measuring.enter("a"):
        assert cores.assign(Limits(own_cpus=1, roams=True)).cpus == (), "none named means all"
        assert chosen(cores) == (0,)


def test_one_that_needs_all_leaves_all_to_the_others_too() -> None:
    measuring = FairQueue(1, waiting=1, waiting_per_client=1)
    cores = Cores(lambda: measuring.held > 0, (5, 6))
    with measuring.enter("a"):
        assert chosen(cores, 8) == (5, 6)
        assert chosen(cores) == (), "none named means all"


@pytest.mark.parametrize("siblings", [lambda cpu: str(cpu % 3), lambda cpu: str(cpu // 2)])
def test_a_measurement_shares_no_core_with_other_scripts(
    siblings: Callable[[int], str], topology: Callable[[Callable[[int], str]], None]
) -> None:
    topology(siblings)
    measuring = FairQueue(1, waiting=1, waiting_per_client=1)
    cores = Cores(lambda: measuring.held > 0, (0, 1, 2, 3, 4, 5))
    with measuring.enter("a"):
        own = chosen(cores, 2)
        assert len(set(map(siblings, own))) == 2
        others = chosen(cores)
        assert others
        assert set(map(siblings, own)).isdisjoint(map(siblings, others))
