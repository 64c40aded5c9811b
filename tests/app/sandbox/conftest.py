"""Sandboxes that the tests share: the strongest that this host offers, and one for each mechanism on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.sandbox import Mechanism, Sandbox, Tier

HANDLERS = "tests.app.sandbox.handlers"
TESTS = str(Path(__file__).resolve().parents[2])
PRELOAD = ("numpy", "colorsys", "fcntl", "json", "mmap", "resource", "signal", "socket", "subprocess", "threading")
"""Without a mechanism that knows paths, nothing can be imported later."""
MakeSandbox = Callable[..., Sandbox]


def strongest() -> Tier:
    """Return all mechanisms of this host, as its first zygote finds them."""
    with Sandbox(f"{HANDLERS}:run_script", readable=[TESTS]) as sandbox:
        return sandbox.tier


STRONGEST = strongest()


@pytest.fixture(scope="session")
def sandbox_of() -> Iterator[MakeSandbox]:
    """Makes sandboxes of given mechanisms and handler, each once."""
    made: dict[tuple[frozenset[Mechanism], str], Sandbox] = {}

    def make(*mechanisms: Mechanism, handler: str = "run_errand") -> Sandbox:
        key = frozenset(mechanisms), handler
        if key not in made:
            tier = Tier(mechanisms=key[0])
            made[key] = Sandbox(f"{HANDLERS}:{handler}", tier=tier, preload=PRELOAD, readable=[TESTS])
        return made[key]

    yield make
    for sandbox in made.values():
        sandbox.close()


@pytest.fixture
def full(sandbox_of: MakeSandbox) -> Sandbox:
    """All mechanisms of this host."""
    return sandbox_of(*STRONGEST.mechanisms)


@pytest.fixture
def scripts(sandbox_of: MakeSandbox) -> Sandbox:
    """All mechanisms of this host, around plain scripts."""
    return sandbox_of(*STRONGEST.mechanisms, handler="run_script")
