"""A runner whose jobs do what a test says: every way that a child can end, without a child."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from app.artifacts import Answer, Line, Listing, listing_key
from app.protocol import Message, Request, Snapshot
from app.sandbox import Limits, Outcome, SandboxError, Tier
from app.sandbox.tier import Mechanism


def listing(text: str = "for i in range(4):", name: str = "main") -> Listing:
    """Return a listing of one line with its true key."""
    made = Listing(key="", level="loop", name=name, language="python", lines=[Line(text, [1])], linked=1.0)
    return msgspec.structs.replace(made, key=listing_key(made))


def snapshot(line: int | None = None, *listings: Listing, **fields: object) -> Snapshot:
    """Return a snapshot whose answer has these listings and fields."""
    answer = Answer(listings={one.key: one for one in listings}, **fields)  # type: ignore[arg-type]
    return Snapshot(answer=answer, running_line=line)


@dataclass
class Script:
    """What a job does: messages that it sends, how it ends, and what it waits for before it ends."""

    messages: list[Message | bytes] = field(default_factory=lambda: [snapshot(None, listing())])
    outcome: Outcome = field(default_factory=lambda: Outcome(status="ok"))
    until: threading.Event | None = None


class ScriptedJob:
    """A job that follows a script."""

    machine = None

    def __init__(self, script: Script) -> None:
        self._script = script
        self.cancelled = threading.Event()
        self.interrupted = threading.Event()

    def messages(self) -> Iterator[bytes]:
        for message in self._script.messages:
            if self.cancelled.is_set():
                return
            yield message if isinstance(message, bytes) else msgspec.json.encode(message)
        while self._script.until is not None and not self._script.until.wait(0.005):
            if self.cancelled.is_set() or self.interrupted.is_set():
                return

    @property
    def outcome(self) -> Outcome:
        if self.interrupted.is_set() and not self.cancelled.is_set():
            return Outcome(status="timeout", interrupted=True)
        return Outcome(status="cancelled") if self.cancelled.is_set() else self._script.outcome

    def interrupt(self) -> None:
        self.interrupted.set()

    def cancel(self) -> None:
        self.cancelled.set()


class ScriptedRunner:
    """Starts jobs that do what ``scripts`` says for a request's text; any other text succeeds at once."""

    def __init__(self) -> None:
        self.tier = Tier(mechanisms=frozenset({Mechanism.SECCOMP}))
        self.scripts: dict[str, Script] = {}
        self.requests: list[Request] = []
        self.limits: list[Limits | None] = []
        self.jobs: list[ScriptedJob] = []
        self.refuses: Callable[[], Exception] | None = None

    def start(
        self, request: bytes, files: Mapping[str, bytes] | None = None, limits: Limits | None = None
    ) -> ScriptedJob:
        if self.refuses is not None:
            raise self.refuses()
        asked = msgspec.json.decode(request, type=Request)
        job = ScriptedJob(self.scripts.get(asked.script, Script()))
        self.requests.append(asked)
        self.limits.append(limits)
        self.jobs.append(job)
        return job

    def close(self) -> None:
        """Nothing is held."""


def broken() -> Exception:
    """Return what a sandbox raises that does not start."""
    return SandboxError("sandbox: the zygote did not start")


def wait_until(holds: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait until something holds.

    Raises
    ------
    TimeoutError
        If it does not within the time.
    """
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError("what the test waits for did not come")
        time.sleep(0.002)
