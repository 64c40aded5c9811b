"""All attacks, in the order of their codes."""

from __future__ import annotations

from tests.benchmarks.availability.attack import Attack
from tests.benchmarks.availability.attacks import answers, connections, drawings, fairness, ladders, requests, stored

ATTACKS: tuple[Attack, ...] = tuple(
    sorted(
        (
            *stored.ATTACKS,
            *requests.ATTACKS,
            *connections.ATTACKS,
            *drawings.ATTACKS,
            *answers.ATTACKS,
            *ladders.ATTACKS,
            *fairness.ATTACKS,
        ),
        key=lambda attack: int(attack.code[1:]),
    )
)
