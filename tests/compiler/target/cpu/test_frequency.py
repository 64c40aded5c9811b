"""The frequency of a core: that of a loop whose cycles are known."""

from __future__ import annotations

import pytest

from compiler.target.cpu import frequency
from compiler.target.cpu.frequency import CHAIN, measure_frequency
from compiler.target.target import Target


def test_the_frequency_is_that_of_a_processor() -> None:
    measured = measure_frequency()
    if Target("llvm").triple.partition("-")[0] not in CHAIN:
        assert measured is None
    else:
        assert measured is not None
        assert 2e8 < measured < 8e9


def test_an_architecture_without_such_a_loop_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frequency, "CHAIN", {})
    frequency._kernel.cache_clear()
    try:
        assert measure_frequency() is None
    finally:
        frequency._kernel.cache_clear()
