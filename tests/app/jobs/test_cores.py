"""A measurement has its CPUs for itself."""

from __future__ import annotations

from app.jobs.cores import Cores
from app.jobs.fair_queue import FairQueue


def test_a_measurement_has_its_own_cpus() -> None:
    measuring = FairQueue(1, waiting=1, waiting_per_client=1)
    cores = Cores(measuring, (0, 1, 2, 3))
    assert cores.choose("compile", 1) == ()
    with measuring.enter("a"):
        assert cores.choose("run", 1) == (3,)
        assert cores.choose("compile", 4) == (0, 1, 2)
    assert cores.choose("compile", 1) == ()
    with measuring.enter("a"):
        assert cores.choose("ladder", 2) == (2, 3)
        assert cores.choose("compile", 1) == (0, 1)


def test_one_that_needs_all_leaves_all_to_the_others_too() -> None:
    measuring = FairQueue(1, waiting=1, waiting_per_client=1)
    cores = Cores(measuring, (5, 6))
    with measuring.enter("a"):
        assert cores.choose("ladder", 8) == (5, 6)
        assert cores.choose("compile", 1) == (), "none named means all"
