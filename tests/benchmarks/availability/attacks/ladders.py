"""Ladders, whose events the server remembers for those who listen."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import msgspec

from tests.benchmarks.availability.attack import Attack, Attacker
from tests.benchmarks.availability.forging import forge

HUGE_EVENTS = """
made = Measurement(name="m", kind="prefix", seconds=1.0, note="x" * (30 << 20))
send(Measured(measurement=made))
send(Measured(measurement=made))
"""
MANY_EVENTS = """
for n in range(400_000):
    send(Progress(done=n, total=400_000, label=""))
"""


def forged_ladders(body: str) -> Callable[[Attacker], None]:
    """Return an attack that starts ladders which forge their events, and follows them from the start and the end."""

    def attack(attacker: Attacker) -> None:
        numbers = itertools.count()

        def climb(_thread: int) -> None:
            reply = attacker.post("/api/ladders", {"script": forge(body, next(numbers))})
            if reply is not None and reply.status == 202:
                path = msgspec.json.decode(reply.body)["events"]
                attacker.send("GET", path, patience=30.0)
                attacker.send("GET", path, headers={"Last-Event-ID": "999999999"}, patience=2.0)

        attacker.swarm(4, climb)

    return attack


ATTACKS = (
    Attack("D6", "ladders with events of 30 MB", forged_ladders(HUGE_EVENTS)),
    Attack("D6", "ladders with 400,000 events", forged_ladders(MANY_EVENTS)),
)
