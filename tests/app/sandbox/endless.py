"""A handler that is never done with warming up."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator


def warm_up_further() -> Iterator[None]:
    """Have always something left to do."""
    return (None for _ in itertools.count())


def run(request: bytes, emit: Callable[[bytes], None]) -> None:
    """Serve nothing."""
