"""How quantities are written."""

from __future__ import annotations

import msgspec
import pytest

from app.artifacts import Measurement
from app.panes.numbers import since

NOW = Measurement(name="matmul", kind="kernel", seconds=2e-3, spread=1e-5)


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ({"seconds": 3e-3}, "was 3 ms: 1.5× as fast"),
        ({"seconds": 1e-3}, "was 1 ms: 0.5× as fast"),
        ({"seconds": 2.01e-3}, "was 2.01 ms: no certain difference"),
        ({"seconds": 2.1e-3}, "was 2.1 ms: 1.05× as fast"),
        ({"seconds": 2.1e-3, "disturbed": True}, "was 2.1 ms: no certain difference"),
        ({"seconds": 3e-3, "name": "other"}, ""),
        ({"seconds": 3e-3, "estimated": True}, ""),
        ({"seconds": 0.0}, ""),
    ],
)
def test_a_time_is_told_beside_the_one_before_unless_they_differ_by_noise(
    before: dict[str, object], words: str
) -> None:
    assert since(NOW, [msgspec.structs.replace(NOW, **before)]) == words


def test_steps_are_compared_with_the_same_step() -> None:
    steps = [msgspec.structs.replace(NOW, kind="prefix", step=at, seconds=at * 1e-3) for at in (1, 2, 4)]
    now = msgspec.structs.replace(NOW, kind="prefix", step=4)
    assert since(now, steps) == "was 4 ms: 2× as fast"
    assert since(msgspec.structs.replace(now, estimated=True), steps) == ""
