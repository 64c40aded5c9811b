"""One attack against a server of its own, and what the monitor saw of it."""

from __future__ import annotations

import time

import msgspec

from tests.benchmarks.availability.attack import Attack, Attacker
from tests.benchmarks.serving.load import LoadMeter
from tests.benchmarks.serving.monitor import Monitor, percentile
from tests.benchmarks.serving.server import Server

MIB = 1 << 20
BEFORE_SECONDS, AFTER_SECONDS = 3.0, 6.0
"""How long the server is watched at rest before and after an attack."""
HEALTH_BOUND = 0.5
"""Seconds that the health check may take."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What an attack did to a server; memory in bytes, times in seconds."""

    code: str
    name: str
    peak: int
    """Of the server and its workers, and of the memory files that jobs travel in."""
    sandbox_peak: int
    """Of the zygotes and the scripts."""
    before: int
    after: int
    """Of the server and its workers at rest."""
    health_worst: float
    health_p95: float
    victim_worst: float
    outcomes: dict[str, int]
    """How many of the attack's requests ended with each status or exception."""
    broken: list[str]
    """Bounds and promises that did not hold."""
    others: float
    """Share of the machine's processor time that other programs took."""


def try_attack(attack: Attack, seconds: float, memory_bound: int) -> Result:
    """Start a server, attack it, and judge what the monitor saw.

    Parameters
    ----------
    attack : Attack
    seconds : float
        How long the attack goes on.
    memory_bound : int
        Bytes that the server may take.
    """
    meter = LoadMeter()
    with Server(attack.settings, attack.arguments) as server:
        with Monitor(server.port, server.pid) as monitor:
            time.sleep(BEFORE_SECONDS)
            began = time.monotonic()
            attacker = Attacker(server.port, server.data, seconds)
            attack.run(attacker)
            ended = time.monotonic()
            time.sleep(AFTER_SECONDS)
        others = meter.read().others
        alive = server.alive
    record, broken = monitor.record, list(dict.fromkeys(attacker.broken))
    before = [sample.server for sample in record.memory if sample.time < began]
    after = [sample.server for sample in record.memory if sample.time > ended + AFTER_SECONDS / 2]
    health, victim = record.times("health"), record.times("page", "edit")
    failures = record.failures("health", "page", "edit")
    peak = record.peak(lambda sample: sample.server + sample.files)
    broken += [f"{peak / MIB:,.0f} MiB"] if peak > memory_bound else []
    broken += [f"health check {max(health):.1f} s"] if health and max(health) > HEALTH_BOUND else []
    broken += [f"{failures.count(failure)} x {failure}" for failure in dict.fromkeys(failures)]
    broken += [] if alive else ["the server has ended"]
    broken += [
        f"{count} x HTTP {status} to the attacker" for status, count in attacker.outcomes.items() if status == "500"
    ]
    return Result(
        code=attack.code,
        name=attack.name,
        peak=peak,
        sandbox_peak=record.peak(lambda sample: sample.sandbox),
        before=before[-1] if before else 0,
        after=min(after, default=0),
        health_worst=max(health, default=0.0),
        health_p95=percentile(health, 0.95),
        victim_worst=max(victim, default=0.0),
        outcomes=dict(attacker.outcomes),
        broken=broken,
        others=others,
    )
