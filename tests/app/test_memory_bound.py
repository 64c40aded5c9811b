"""A server under attack stays within the memory that it was told to take, measured by the kernel."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.benchmarks.availability.attack import Attack, Attacker
from tests.benchmarks.availability.attacks import ATTACKS
from tests.benchmarks.serving.monitor import Monitor
from tests.benchmarks.serving.server import Server

MIB = 1 << 20
BOUND = 512 * MIB
SECONDS, GRACE = 0.8, 0.5
SETTLED = 0.3
"""Seconds after an attack within which what it sent last is read."""
FILLING = {"D1", "D5", "D6", "D7", "D9", "D10"}
"""Codes of the attacks that fill the memory of a server that does not bound what it keeps."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a sandbox, and memory in /proc")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server({"STRATA_MEMORY": str(BOUND)}) as running:
        yield running


def _attacks() -> Iterator[object]:
    """Yield the attacks; all but the first two of a code run with ``--long`` only."""
    met: Counter[str] = Counter()
    for attack in ATTACKS:
        if attack.code in FILLING:
            met[attack.code] += 1
            marks = [pytest.mark.long] if met[attack.code] > 2 else []
            yield pytest.param(attack, id=attack.name, marks=marks)


@pytest.mark.sample(3)
@pytest.mark.parametrize("attack", list(_attacks()))
def test_memory_stays_within_its_bound(server: Server, attack: Attack) -> None:
    """All attacks meet one server in turn, so that what each leaves behind counts for the next."""
    attacker = Attacker(server.port, server.data, SECONDS, GRACE)
    with Monitor(server.port, server.pid) as monitor:
        attack.run(attacker)
        time.sleep(SETTLED)
    assert attacker.begun, "nothing was attacked"
    assert not attacker.broken
    assert server.alive
    assert monitor.record.peak(lambda sample: sample.server + sample.files) <= BOUND
