"""Running asynchronous tasks in a test."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run_tasks(main: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns; it has a thread of its own, as browser tests keep a loop running in theirs."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, main).result()
