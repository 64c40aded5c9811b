"""What the zygote does before it forks: it works, and leaves nothing behind that a child would notice."""

from __future__ import annotations

import gc
import signal

import pytest

from app.recorder import warm_up
from compiler.ir.instrument import active_instruments


def test_the_warm_up_works_and_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "set_threshold", lambda *_: None)
    before = active_instruments(), signal.getsignal(signal.SIGALRM)
    assert warm_up() == []
    assert (active_instruments(), signal.getsignal(signal.SIGALRM)) == before
