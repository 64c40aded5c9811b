"""Budgets: what fits is granted, what does not is refused with the limit named, and nothing leaks."""

from __future__ import annotations

import random
import subprocess
import sys
import threading

import pytest

from app.config import Config, ConfigurationError
from app.errors import Busy, TooLarge
from app.memory import MIB, SHARES, Budget, Memory


def test_a_claim_is_held_until_it_is_released() -> None:
    budget = Budget("answers", 100)
    with budget.claim(30, "a") as claim:
        claim.grow(20)
        assert (claim.size, budget.held) == (50, 50)
    assert (claim.size, budget.held) == (0, 0)
    claim.release()
    assert budget.held == 0


def test_one_client_cannot_take_everything() -> None:
    budget = Budget("answers", 100)
    budget.claim(40, "a")
    with pytest.raises(Busy, match="of this address") as error:
        budget.claim(20, "a")
    assert error.value.expected == "at most 50 bytes at one time"
    assert error.value.retry_after
    budget.claim(50, "b")
    with pytest.raises(Busy, match="too many answers are in progress"):
        budget.claim(20, "c")
    budget.claim(10, "c")
    assert budget.held == 100


def test_what_never_fits_is_too_large() -> None:
    budget = Budget("answers", 100)
    with pytest.raises(TooLarge, match="answers of 51 bytes") as error:
        budget.claim(51, "a")
    assert error.value.expected == "at most 50 bytes"
    claim = budget.claim(40, "a")
    with pytest.raises(TooLarge, match="answers of 60 bytes"):
        claim.grow(20)
    assert claim.size == 40
    assert budget.claim(60).size == 60, "the server itself has no share of its own"


def test_a_refused_claim_takes_nothing() -> None:
    budget = Budget("answers", 100)
    for _ in range(3):
        with pytest.raises(TooLarge):
            budget.claim(101)
        with pytest.raises(TooLarge):
            budget.claim(60, "a")
    assert budget.held == 0


def test_threads_never_exceed_a_budget() -> None:
    budget = Budget("answers", 100)
    highest = 0

    def work(name: str) -> None:
        nonlocal highest
        rng = random.Random(name)
        for _ in range(300):
            try:
                with budget.claim(rng.randint(1, 40), name) as claim:
                    highest = max(highest, budget.held)
                    claim.grow(rng.randint(1, 40))
                    highest = max(highest, budget.held)
            except (Busy, TooLarge):
                continue

    threads = [threading.Thread(target=work, args=(str(index % 3),)) for index in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0 < highest <= 100
    assert budget.held == 0


def test_the_shares_are_less_than_everything() -> None:
    assert sum(SHARES.values()) < 100
    memory = Memory(1000 * MIB)
    assert memory.cache == SHARES["cache"] * 10 * MIB
    assert memory.bodies.total == SHARES["bodies"] * 10 * MIB


def test_too_little_memory_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="STRATA_MEMORY"):
        Config.read({"memory": 100 * MIB}, {})


FREED = """
import threading
from app.memory import give_freed_memory_back

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 >> 20

give_freed_memory_back()
before, small = resident(), []

def work():
    bytes(31 << 20)  # glibc would keep blocks up to this size from now on
    for _ in range(8):
        blocks = [b"x" * (1 << 20) for _ in range(8)]
        small.append(b"y" * 1000)

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
def test_freed_memory_goes_back_to_the_system() -> None:
    kept = subprocess.run([sys.executable, "-c", FREED], capture_output=True, check=True, text=True).stdout
    assert int(kept) < 16
