"""The interface of script runners."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Literal, Protocol, runtime_checkable

import msgspec

from app.sandbox.files import Files
from app.sandbox.limits import Limits
from app.sandbox.tier import Tier

Status = Literal["ok", "timeout", "memory", "output", "crash", "setup", "cancelled", "lost"]
"""``setup``: the job could not be isolated; ``lost``: its machine is gone."""

TOGETHER = "the memory for all scripts, or this machine's, was used up; try again"
"""Error message for a script that was killed although it kept its own limits."""


class SandboxError(Exception):
    """A failure of the sandbox itself."""


class NoSandbox(SandboxError):
    """This system does not offer what a sandbox needs, however long one waits."""


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Description of a cluster machine in results."""

    host: str
    cpu: str
    """Processor model."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a job."""

    status: Status
    detail: str = ""
    signal: int | None = None
    exit_code: int | None = None
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    interrupted: bool = False
    """Whether the process was asked to finish early."""
    peak_bytes: int = 0
    """Peak resident size, including the interpreter and libraries shared with the zygote."""
    console: str = ""
    """Start of the native output to the standard streams; untrusted."""
    machine: Machine | None = None
    """The machine that ran the job, if not the server's."""
    request: str = ""
    """Id of the request that it ran for."""


class Job(Protocol):
    """A request that is handled by a process.

    Read :meth:`messages` to the end, then :attr:`outcome`.  One thread reads; any thread may cancel.
    """

    @property
    def machine(self) -> Machine | None:
        """The machine that runs the job, known from the first message on; None for the server's own."""

    def messages(self) -> Iterator[bytes]:
        """Yield the untrusted messages as they arrive; closing the iterator early cancels the job."""

    @property
    def outcome(self) -> Outcome:
        """The outcome of the job; blocks until it is known, and discards unread messages."""

    def interrupt(self) -> None:
        """Ask the process to finish early with partial results; it is killed if it does not."""

    def cancel(self) -> None:
        """Kill the process if it is running."""


class MessageReader(ABC):
    """How a :class:`Job` is read whose messages come one by one from :meth:`_next`, until its outcome is known."""

    machine: Machine | None = None
    _outcome: Outcome | None = None

    @abstractmethod
    def cancel(self) -> None:
        """Kill the process if it is running."""

    @abstractmethod
    def _next(self) -> bytes | None:
        """Return the next message; None at the end, when the outcome is known."""

    @abstractmethod
    def _finish(self) -> None:
        """Wait until the process exits, discarding its remaining output, and determine the outcome."""

    def messages(self) -> Iterator[bytes]:
        """Yield the messages as they arrive; closing the iterator early cancels the job."""
        try:
            while (message := self._next()) is not None:
                yield message
        finally:
            if self._outcome is None:
                self.cancel()
                self._finish()

    @property
    def outcome(self) -> Outcome:
        """The outcome of the job; blocks until it is known, and discards unread messages."""
        while self._outcome is None:
            self._next()
        return self._outcome


class Runner(Protocol):
    """Runs jobs in isolated processes."""

    @property
    def tier(self) -> Tier:
        """The isolation tier of jobs."""

    def start(self, request: bytes, files: Files | None = None, limits: Limits | None = None) -> Job:
        """Start a job.

        Parameters
        ----------
        request
            Argument of the handler.
        files
            Files for the job's working directory, by name.
        limits
            Resource limits of the job.

        Raises
        ------
        ValueError
            If a file name is not plain, or the files are too large.
        SandboxError
            If no process is available.
        """

    def close(self) -> None:
        """End all jobs."""


@runtime_checkable
class RemoteRunner(Runner, Protocol):
    """Runs jobs on other machines, which assign CPUs themselves."""

    @property
    def machines(self) -> list[Machine]:
        """The machines that are connected."""

    def follow(self, resize: Callable[[int, int], None]) -> None:
        """Call ``resize`` with the slots for compilation and measurement, now and whenever the machines change."""
