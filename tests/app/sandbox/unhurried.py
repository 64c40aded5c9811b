"""A handler with three steps of warming up that need not be done when jobs arrive."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

done: list[int] = []


def warm_up_further() -> Iterator[None]:
    """Note each step."""
    for step in range(3):
        done.append(step)
        yield


def run(request: bytes, emit: Callable[[bytes], None]) -> None:
    """Tell how many steps were done, and stay for so many seconds."""
    emit(str(len(done)).encode())
    time.sleep(float(request or b"0"))
