"""Watches a server from a process of its own: its memory, its health check, and a user who goes on working.

    python -m tests.benchmarks.serving.monitor PORT PID

The process measures until its standard input ends and then writes a :class:`Record`; :class:`Monitor` starts it.
"""

from __future__ import annotations

import http.client
import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

import msgspec

from tests.benchmarks.serving.client import exchange, form
from tests.benchmarks.serving.processes import memory_files, proportional, server_bytes, split
from tests.benchmarks.serving.server import PROJECT

MEMORY_SECONDS = 0.05
FAMILY_SECONDS = 0.3
"""Age at which the list of processes and the memory of the sandbox, which take long to read, are read again."""
HEALTH_SECONDS = 0.1
VICTIM_SECONDS = 2.0
"""Pauses between two measurements."""
PATIENCE_SECONDS = 15.0
"""Time after which a request counts as failed."""
MONITOR_ADDRESS = "127.0.0.2"
VICTIM_ADDRESS = "127.0.0.3"
SCRIPT = """\
import tvm
from tvm import te

A = te.placeholder((64,), name="A")
B = te.compute((64,), lambda i: A[i] + {number}.0, name="B")
s = te.create_schedule(B.op)
f = tvm.build(s, [A, B], target="llvm")
"""


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """Memory at one moment, in bytes."""

    time: float
    server: int
    sandbox: int
    files: int


class Probe(msgspec.Struct, frozen=True, array_like=True):
    """A request of the monitor."""

    time: float
    """When it began, by the monotonic clock that all processes share."""
    seconds: float
    kind: str
    """``health``, ``page`` or ``edit``."""
    failure: str = ""
    """Why it does not count as answered; empty where it does."""


class Record(msgspec.Struct, frozen=True):
    """All that a monitor saw."""

    memory: list[Sample]
    probes: list[Probe]

    def peak(self, part: Callable[[Sample], int]) -> int:
        """Return the largest value of a part of the memory."""
        return max(map(part, self.memory), default=0)

    def times(self, *kinds: str) -> list[float]:
        """Return the seconds of all probes of these kinds, the failed ones included."""
        return sorted(probe.seconds for probe in self.probes if probe.kind in kinds)

    def failures(self, *kinds: str) -> list[str]:
        """Return why probes of these kinds failed."""
        return [probe.failure for probe in self.probes if probe.kind in kinds and probe.failure]


def percentile(values: list[float], share: float) -> float:
    """Return the value that ``share`` of some sorted values do not exceed; 0 where there is none."""
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0.0


class Monitor:
    """A monitor's process; as a context manager it watches during the block and then has its ``record``."""

    def __init__(self, port: int, pid: int) -> None:
        self.record = Record([], [])
        command = [sys.executable, "-m", "tests.benchmarks.serving.monitor", str(port), str(pid)]
        self._process = subprocess.Popen(command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        written, _ = self._process.communicate()
        self.record = msgspec.json.decode(written, type=Record)


class _Watch:
    """The measuring threads of the monitor's own process."""

    def __init__(self, port: int, pid: int) -> None:
        self._port = port
        self._pid = pid
        self._memory: list[Sample] = []
        self._probes: list[Probe] = []
        self._over = threading.Event()
        self._server: list[int] = []
        self._sandbox = self._files = 0
        self._listed = 0.0

    def watch(self) -> Record:
        """Measure until the standard input ends."""
        work = ((self._sample, MEMORY_SECONDS), (self._check_health, HEALTH_SECONDS), (self._work, VICTIM_SECONDS))
        threads = [threading.Thread(target=self._repeat, args=each) for each in work]
        for thread in threads:
            thread.start()
        sys.stdin.read()
        self._over.set()
        for thread in threads:
            thread.join()
        return Record(self._memory, self._probes)

    def _repeat(self, measure_once: Callable[[int], None], pause: float) -> None:
        for number in itertools.count():
            measure_once(number)
            if self._over.wait(pause):
                return

    def _sample(self, _number: int) -> None:
        now = time.monotonic()
        if now - self._listed > FAMILY_SECONDS:
            self._server, scripts = split(self._pid)
            self._sandbox = sum(map(proportional, scripts))
            self._files = memory_files([*self._server, *scripts])
            self._listed = now
        self._memory.append(Sample(now, server_bytes(self._server), self._sandbox, self._files))

    def _check_health(self, _number: int) -> None:
        self._ask("health", "GET", "/healthz", MONITOR_ADDRESS)

    def _work(self, number: int) -> None:
        self._ask("page", "GET", "/", VICTIM_ADDRESS)
        script = SCRIPT.format(number=f"{os.getpid()}{number}")
        edit = form({"script": script, "options": "{}", "tab": "victim", "seq": str(number + 1)})
        self._ask("edit", "POST", "/panes", VICTIM_ADDRESS, *edit)

    def _ask(
        self,
        kind: str,
        method: str,
        path: str,
        address: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        began, failure = time.monotonic(), ""
        try:
            reply = exchange(self._port, method, path, body, headers, address=address, timeout=PATIENCE_SECONDS)
            if reply.status != 200:
                failure = f"{kind}: HTTP {reply.status}"
            elif kind == "edit" and b"define" not in reply.body:
                failure = "edit: no LLVM IR in the answer"
        except (OSError, http.client.HTTPException) as error:
            failure = f"{kind}: {type(error).__name__}"
        self._probes.append(Probe(began, time.monotonic() - began, kind, failure))


def main() -> None:
    """Watch the server that the command line names."""
    port, pid = map(int, sys.argv[1:])
    sys.stdout.buffer.write(msgspec.json.encode(_Watch(port, pid).watch()))


if __name__ == "__main__":
    main()
