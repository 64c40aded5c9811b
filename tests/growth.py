"""How work grows with the size of its input, in calls: a count says the same on every machine, seconds do not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

LINEAR = 2.5
"""What twice the input may cost at most where work is linear: constant parts only make it less, growing tables more."""


def calls_of(run: Callable[[], object]) -> int:
    """Calls of Python and C functions while `run` runs."""
    count = 0

    def counting(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counting)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count


def assert_linear(work: Callable[[int], Callable[[], object]], size: int) -> None:
    """Assert that `work(2 * size)` takes at most `LINEAR` times the calls of `work(size)`.

    Parameters
    ----------
    work
        Makes what runs for a size; what it does before it returns is not counted.
    size
        Large enough for what does not grow to vanish, small enough to be quick.
    """
    work(size)()  # what is loaded and cached at the first call does not count
    once, twice = calls_of(work(size)), calls_of(work(2 * size))
    assert twice <= LINEAR * once, f"{size} take {once} calls, {2 * size} take {twice}"
