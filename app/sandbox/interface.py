"""The interface of script runners."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, Protocol, runtime_checkable

import msgspec

from app.sandbox.files import Files
from app.sandbox.limits import Limits
from app.sandbox.tier import Tier

Status = Literal["ok", "timeout", "memory", "output", "crash", "setup", "cancelled", "lost"]
"""``setup`` is a job that could not be isolated, ``lost`` one whose machine went away."""

TOGETHER = "all scripts together took more memory than there is for them"
"""Why a script was stopped that kept to its own limits."""


class SandboxError(Exception):
    """The sandbox itself cannot work."""


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """A machine of a cluster, as results name it."""

    host: str
    cpu: str
    """Model of its processor."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a job ended."""

    status: Status
    detail: str = ""
    signal: int | None = None
    exit_code: int | None = None
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    interrupted: bool = False
    """Whether it was asked to end before its time."""
    peak_bytes: int = 0
    """Largest resident size, the interpreter and libraries shared with the zygote included."""
    console: str = ""
    """The beginning of what native code wrote to the standard streams; hostile."""
    machine: Machine | None = None
    """Where it ran, if not on the server's own machine."""


class Job(Protocol):
    """A request that a process works on.

    Read :meth:`messages` to the end, then :attr:`outcome`.  One thread reads; any thread may cancel.
    """

    @property
    def machine(self) -> Machine | None:
        """Where it runs, once there are messages; None on the server's own machine."""

    def messages(self) -> Iterator[bytes]:
        """The process's messages as they come, hostile; leaving early cancels the job."""

    @property
    def outcome(self) -> Outcome:
        """How the job ended; waits for that, dropping messages that nobody has read."""

    def interrupt(self) -> None:
        """Ask the process to end soon with what it has; it is killed if it does not."""

    def cancel(self) -> None:
        """Kill the process, if it still lives."""


class Runner(Protocol):
    """Starts jobs."""

    @property
    def tier(self) -> Tier:
        """The mechanisms that isolate a job."""

    def start(self, request: bytes, files: Files | None = None, limits: Limits | None = None) -> Job:
        """Start a job.

        Parameters
        ----------
        request
            What the handler gets.
        files
            Files that lie in the job's working directory, by name.
        limits
            What the job may use.

        Raises
        ------
        ValueError
            If a file's name is not plain, or the files are too large.
        SandboxError
            If no process can be had to work on it.
        """

    def close(self) -> None:
        """End all jobs."""


@runtime_checkable
class RemoteRunner(Runner, Protocol):
    """Starts jobs on other machines, which choose the CPUs themselves."""

    @property
    def machines(self) -> list[Machine]:
        """The machines that are there now."""

    def follow(self, resize: Callable[[int, int], None]) -> None:
        """Call ``resize`` with the slots for compilations and measurements, now and whenever machines come and go."""
