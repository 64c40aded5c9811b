"""What the zygote does before it forks: it works, and leaves nothing behind that a child would notice."""

from __future__ import annotations

import gc
import signal

import pytest

from app.recorder import warm_up
from compiler.ir import events, transform


def test_the_warm_up_works_and_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "set_threshold", lambda *_: None)
    before = list(events.observers), list(transform.watchers), signal.getsignal(signal.SIGALRM)
    assert warm_up() == []
    assert (list(events.observers), list(transform.watchers), signal.getsignal(signal.SIGALRM)) == before
