"""Threads for the event loop, which end with the process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeVar

Result = TypeVar("Result")
IDLE_SECONDS = 30.0
"""How long a thread waits for its next call before it ends."""


class Threads:
    """Runs functions in threads: one that is free, else a new one.

    Whoever calls bounds how many there are.  They are daemons, since a call that hangs must not keep a server alive
    that was told to stop.

    Parameters
    ----------
    name : str
        Begins the threads' names.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._free = 0
        self._lock = threading.Lock()

    async def call(self, function: Callable[[], Result]) -> Result:
        """Return what ``function`` returns or raise what it raises, in another thread.

        It is finished even if nobody waits for it any more.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()

        def settle(result: Result | None, error: BaseException | None) -> None:
            if future.cancelled():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)  # type: ignore[arg-type]

        def work() -> None:
            result, error = None, None
            try:
                result = function()
            except BaseException as raised:
                error = raised
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, result, error)

        self._start(work)
        return await asyncio.shield(future)

    def _start(self, work: Callable[[], None]) -> None:
        with self._lock:
            new = self._free == 0
            self._free -= not new
        self._calls.put(work)
        if new:
            threading.Thread(target=self._run, name=self._name, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                work = self._calls.get(timeout=IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if self._free:  # else a call was counted on this thread just now
                        self._free -= 1
                        return
                continue
            work()
            with self._lock:
                self._free += 1
