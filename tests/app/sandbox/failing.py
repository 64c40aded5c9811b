"""A handler whose warming up fails after its first step."""

from __future__ import annotations

from collections.abc import Callable, Iterator


def warm_up_further() -> Iterator[None]:
    """Fail as a library does that is not installed as it should be."""
    yield
    raise ImportError("a library that few scripts need")


def run(request: bytes, emit: Callable[[bytes], None]) -> None:
    """Serve nothing."""
