"""Runs the tests of a room inside its copy: once as they are, then for every mutant those that reach it.

Started as a script with the file of a :class:`Plan`; each result is a line of JSON on standard output.  Tests are
collected once; the tests as they are, and every mutant, run in a fork of that process.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest

sys.path.insert(0, os.getcwd())
import strata_mutants as runtime

CAUGHT, SURVIVED, UNDECIDED = 1, 0, 3
"""How a mutant's process exits."""
WALL_SECONDS = 90.0
"""A test may take ten times as long as without the mutant, and so much longer; of processor time, the plan's slack."""

LEAVING_SECONDS = 20.0
"""Processor time for what fixtures do in the end."""


@dataclass
class Measured:
    """A test as it is."""

    index: int
    passed: bool
    cpu: float
    wall: float
    reached: list[int]


@dataclass
class RunningThread:
    """A mutant whose tests run."""

    mutant: int
    tests: list[Measured]
    pipe: int
    began: float = field(default_factory=time.monotonic)
    done: int = 0

    @property
    def overdue(self) -> bool:
        wall = self.tests[min(self.done, len(self.tests) - 1)].wall
        return time.monotonic() - self.began > 10 * wall + WALL_SECONDS


def cpu_seconds() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


class Tests:
    """The plugin of pytest that runs the tests in its own way."""

    def __init__(self, plan: dict[str, Any], out: int) -> None:
        self._plan, self._out = plan, out
        self._failed = False
        self._items: list[pytest.Item] = []
        self._session: pytest.Session
        self._by_fixture: dict[object, list[int]] = {}
        """What was reached while each fixture that tests share was set up."""

    def pytest_configure(self, config: pytest.Config) -> None:
        """Hypothesis tries the same examples every time."""
        with contextlib.suppress(ImportError):
            from hypothesis import settings

            settings.register_profile("mutants", settings.default, derandomize=True, database=None)
            settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed = self._failed or report.failed

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Iterator[None]:
        """Note what a fixture reaches: later tests that share it depend on that, too."""
        before = runtime.reached[:]
        result = yield
        if fixturedef.scope != "function":
            after = runtime.reached[:]
            self._by_fixture[fixturedef] = [
                n for n, (old, new) in enumerate(zip(before, after, strict=True)) if new > old
            ]
        return result

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._session, self._items = session, session.items
        at_import = self._reached()
        gc.collect()
        gc.freeze()
        tests = self._baseline()
        for test in tests:
            if not test.passed:
                self._say(failing=self._items[test.index].nodeid)
        self._say(tests=len(tests), cpu=sum(test.cpu for test in tests), at_import=at_import)
        self._mutants([test for test in tests if test.passed])
        return True

    def _say(self, **values: object) -> None:
        os.write(self._out, json.dumps(values).encode() + b"\n")

    def _reached(self) -> list[int]:
        """Return what was reached since the last call."""
        marks = runtime.reached[:]
        runtime.reached[:] = bytes(len(marks))
        return [number for number, mark in enumerate(marks) if mark]

    def _baseline(self) -> list[Measured]:
        """Return the tests as they are; one that ends its process fails, and the next ones go on in another."""
        tests: list[Measured] = []
        while len(tests) < len(self._items):
            began = time.monotonic()
            reader, writer = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(reader)
                with os.fdopen(writer, "w") as pipe:
                    for test in self._measured(len(tests)):
                        pipe.write(json.dumps(vars(test)) + "\n")
                        pipe.flush()
                self._leave(0)
            os.close(writer)
            with os.fdopen(reader) as pipe:
                tests += [Measured(**json.loads(line)) for line in pipe if line.endswith("\n")]
            os.waitpid(pid, 0)
            if len(tests) < len(self._items):
                tests.append(Measured(len(tests), False, 0.0, time.monotonic() - began, self._reached()))
        return tests

    def _measured(self, first: int) -> Iterator[Measured]:
        for index, item in enumerate(self._items[first:], first):
            self._failed = False
            cpu, wall = cpu_seconds(), time.monotonic()
            following = self._items[index + 1] if index + 1 < len(self._items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            reached = set(self._reached())
            for definition in (d for defs in item._fixtureinfo.name2fixturedefs.values() for d in defs):
                reached.update(self._by_fixture.get(definition, ()))
            yield Measured(index, not self._failed, cpu_seconds() - cpu, time.monotonic() - wall, sorted(reached))

    def _mutants(self, tests: Sequence[Measured]) -> None:
        """Report mutants that no test reaches, which need not be run; then run the others, some at a time."""
        reaching: dict[int, list[Measured]] = {}
        for test in sorted(tests, key=lambda test: test.cpu + 0.1 * test.wall):
            for number in test.reached:
                reaching.setdefault(number, []).append(test)
        for mutant in self._plan["mutants"]:
            if mutant not in reaching:
                self._say(mutant=mutant, verdict="unreached")
        running: dict[int, RunningThread] = {}
        for mutant in filter(reaching.__contains__, self._plan["mutants"]):
            while len(running) >= self._plan["jobs"]:
                self._wait(running)
            pid, pipe = self._start(mutant, reaching[mutant])
            running[pid] = RunningThread(mutant, reaching[mutant], pipe)
        while running:
            self._wait(running)

    def _start(self, mutant: int, tests: Sequence[Measured]) -> tuple[int, int]:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            os.setsid()
            self._try(mutant, tests, writer)
        os.close(writer)
        return pid, reader

    def _try(self, mutant: int, tests: Sequence[Measured], pipe: int) -> NoReturn:
        """Run tests until one fails; too much processor time in one of them ends the process."""
        runtime.active = mutant
        mark = runtime.STATE / str(os.getpid())
        mark.write_text(str(mutant))
        code = SURVIVED
        for position, test in enumerate(tests):
            if cpu_seconds() > self._plan["seconds"]:
                code = UNDECIDED
                break
            signal.setitimer(signal.ITIMER_PROF, 10 * test.cpu + self._plan["slack"])
            item = self._items[test.index]
            following = self._items[tests[position + 1].index] if position + 1 < len(tests) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            os.write(pipe, b".")
            if self._failed:
                code = CAUGHT
                break
        mark.unlink()
        self._leave(code)

    def _leave(self, code: int) -> NoReturn:
        """Take down what fixtures of other tests still share, and end."""
        signal.setitimer(signal.ITIMER_PROF, LEAVING_SECONDS)
        with contextlib.suppress(BaseException):
            self._session._setupstate.teardown_exact(None)
        with contextlib.suppress(BaseException):
            atexit._run_exitfuncs()
        os._exit(code)

    def _wait(self, running: dict[int, RunningThread]) -> None:
        """Return when one of them has ended; what it started may hold its pipe for longer."""
        while True:
            ready, _, _ = select.select([job.pipe for job in running.values()], [], [], 0.2)
            for pid, job in list(running.items()):
                if job.pipe in ready:
                    job.done, job.began = job.done + len(os.read(job.pipe, 4096)), time.monotonic()
                if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                    self._end(pid, running.pop(pid))
                    return
                if job.overdue:
                    os.kill(pid, signal.SIGKILL)

    def _end(self, pid: int, job: RunningThread) -> None:
        """Report what became of a mutant, and kill what it left behind."""
        os.set_blocking(job.pipe, False)
        with contextlib.suppress(BlockingIOError):
            job.done += len(os.read(job.pipe, 4096))
        os.close(job.pipe)
        _, status, usage = os.wait4(pid, 0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        (runtime.STATE / str(pid)).unlink(missing_ok=True)
        code = os.waitstatus_to_exitcode(status)
        verdict = {SURVIVED: "survived", UNDECIDED: "undecided"}.get(code, "caught")
        how = {-signal.SIGPROF: "too slow", -signal.SIGKILL: "hung"}.get(code, "crashed" if code < 0 else "")
        last = job.tests[max(0, min(job.done, len(job.tests)) - (1 if code >= 0 else 0))]
        by = self._items[last.index].nodeid if verdict == "caught" else f"{job.done} tests"
        self._say(mutant=job.mutant, verdict=verdict, by=by, how=how, cpu=usage.ru_utime + usage.ru_stime)


def main() -> None:
    """Collect and run; what pytest prints goes into a file beside the copy's state."""
    plan = json.loads(Path(sys.argv[1]).read_text())
    out = os.dup(1)
    log = os.open(runtime.STATE / "log", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    code = pytest.main(["-q", "-p", "no:cacheprovider", *plan["tests"]], plugins=[Tests(plan, out)])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise SystemExit(f"the tests were not collected: {code!r}")


if __name__ == "__main__":
    main()
