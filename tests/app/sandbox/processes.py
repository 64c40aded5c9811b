"""Looks at processes from outside."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator

from app.sandbox.interface import Job


def _status(pid: int) -> dict[str, str]:
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return {key: value.strip() for key, _, value in (line.partition(":") for line in file)}


def user_id(pid: int) -> int:
    """The real user id of a process, as this process sees it."""
    return int(_status(pid)["Uid"].split()[0])


def alive(pid: int) -> bool:
    """Whether a process exists and has not ended."""
    try:
        return _status(pid)["State"][0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def begin(job: Job) -> Iterator[bytes]:
    """Wait until a job says that it is here; the messages to come, which must be kept, as leaving them cancels."""
    messages = job.messages()
    assert next(messages) == b"here"
    return messages


def tree(root: int) -> set[int]:
    """A process and all that descend from it."""
    parents: dict[int, int] = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            parents[int(entry)] = int(_status(int(entry))["PPid"])
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended in the meantime
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def until(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Wait for a condition; whether it came true."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def all_end(pids: Iterable[int]) -> bool:
    """Wait until none of the processes is alive; whether that happened."""
    pids = set(pids)
    return until(lambda: not any(map(alive, pids)))
