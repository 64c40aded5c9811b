"""Handlers that the children of these tests run."""

from __future__ import annotations

from collections.abc import Callable


def run_script(request: bytes, emit: Callable[[bytes], None]) -> None:
    """Execute the request as a Python script that may call ``emit``."""
    exec(compile(request.decode(), "script.py", "exec"), {"emit": emit, "__name__": "__main__"})
