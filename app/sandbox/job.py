"""A job from the server's view: its messages and outcome, all untrusted."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from io import FileIO

from app.patience import Patience
from app.sandbox import rlimits, wire
from app.sandbox.handler import EXIT_OUT_OF_MEMORY
from app.sandbox.interface import TOGETHER, MessageReader, Outcome, Status
from app.sandbox.limits import Limits

CONSOLE_BYTES = 8192
"""Maximum console output to keep."""
_GRACE_SECONDS = 5.0
"""How long after the wall-clock limit the zygote may take to report the timeout."""
_START_SECONDS = 6.0
"""How long a zygote may take until its child is ready; after that it is replaced."""
_CPU_COUNTED = 0.6
"""Minimum fraction of the CPU limit that must be accounted for to attribute a SIGKILL to it; the kernel enforces the
limit by sampling, which overestimates on a busy machine."""


@dataclass(frozen=True)
class JobStreams:
    """The server's ends of a job's pipe, console file and status socket."""

    output: FileIO
    console: FileIO
    status: socket.socket

    def close(self) -> None:
        """Close all of them."""
        self.output.close()
        self.console.close()
        self.status.close()


class SandboxedJob(MessageReader):
    """A request that is handled by a sandboxed child.

    Read :meth:`messages` to the end, then :attr:`outcome`.  One thread reads; any thread may cancel.

    Parameters
    ----------
    kill_zygote : callable
        Kills a zygote that does not enforce the time limit.
    kills : callable
        Returns the number of children killed because all together exceeded the memory limit.
    zygote : int
        Its process id: what it and its children wait for a processor does not count.
    """

    def __init__(
        self,
        kill_zygote: Callable[[], None],
        limits: Limits,
        streams: JobStreams,
        kills: Callable[[], int] = lambda: 0,
        zygote: int = 0,
    ) -> None:
        self._kill_zygote = kill_zygote
        self._kills = kills
        self._kills_before = kills()
        self._limits = limits
        self._streams = streams
        self._frames = wire.FrameReader(limits)
        self._started = time.monotonic()
        self._zygote = zygote
        self._patience = Patience(_START_SECONDS, zygote)
        self._cancelled = False
        self._overflow: str | None = None
        self._reports: list[wire.StatusMessage] = []

    def interrupt(self) -> None:
        """Ask the child to finish early with partial results; the zygote kills it if it does not."""
        with contextlib.suppress(OSError):
            self._streams.status.send(wire.encode(wire.Interrupt()))

    def cancel(self) -> None:
        """Kill the child if it is running."""
        self._cancelled = True
        self._patience = Patience(_GRACE_SECONDS, self._zygote)
        self._abandon()

    def _abandon(self) -> None:
        """Shut down our side of the socket: the zygote then kills the child and still reports its end."""
        with contextlib.suppress(OSError):
            self._streams.status.shutdown(socket.SHUT_WR)

    def _next(self) -> bytes | None:
        if self._outcome is not None:
            return None
        while True:
            try:
                message = self._frames.next()
            except wire.OutputLimit as error:
                self._overflow = str(error)
                self._abandon()
                break
            if message is not None:
                return message
            data = self._wait()
            if data is not None:
                self._frames.feed(data)
            elif not self._frames.ended:
                self._frames.end()
            else:
                break
        self._finish()
        return None

    def _finish(self) -> None:
        while self._wait() is not None:
            continue
        self._outcome = self._settle()
        self._frames.clear()
        self._streams.close()

    def _wait(self) -> bytes | None:
        """Return the next output of the child; None after it has exited and everything was read."""
        status, output = self._streams.status.fileno(), self._streams.output.fileno()
        poll = select.poll()
        poll.register(status, select.POLLIN)
        poll.register(output, select.POLLIN)
        ended = False
        while True:
            events = dict(poll.poll(0 if ended else self._patience.step() * 1000))
            if output in events:
                data = os.read(output, 1 << 18)
                if data:
                    return data
                poll.unregister(output)
            if status in events:
                ended = not self._hear()
                if ended:
                    poll.unregister(status)
            elif ended:
                return None
            elif not events and self._patience.over:
                self._kill_zygote()  # it is stuck; end-of-file on its socket follows
                self._patience = Patience(_GRACE_SECONDS, self._zygote)

    def _hear(self) -> bool:
        """Receive a report; return False at the end."""
        message = b""
        with contextlib.suppress(ConnectionResetError):
            message = self._streams.status.recv(wire.MAX_STATUS)
        if message:
            report = wire.decode_status(message)
            self._reports.append(report)
            if isinstance(report, wire.ChildReady) and not self._cancelled:
                left = self._started + self._limits.wall_seconds - time.monotonic()
                self._patience = Patience(left + _GRACE_SECONDS, self._zygote)
        return bool(message)

    def _settle(self) -> Outcome:
        exited = next((r for r in self._reports if isinstance(r, wire.ChildExited)), None)
        status, detail = self._judge(exited)
        return Outcome(
            status=status,
            detail=detail,
            signal=exited.signal if exited else None,
            exit_code=exited.exit_code if exited else None,
            wall_seconds=time.monotonic() - self._started,
            cpu_seconds=exited.cpu_seconds if exited else 0.0,
            interrupted=exited is not None and exited.interrupted,
            peak_bytes=exited.peak_bytes if exited else 0,
            console=os.pread(self._streams.console.fileno(), CONSOLE_BYTES, 0).rstrip(b"\0").decode(errors="replace"),
        )

    def _judge(self, exited: wire.ChildExited | None) -> tuple[Status, str]:
        """Return status and detail; observations of server and kernel take precedence over claims of the child."""
        failure = next((r.detail for r in self._reports if isinstance(r, wire.SetupFailed)), None)
        if self._overflow is not None:
            return "output", self._overflow
        if exited is not None and exited.exit_code == 0:
            return "ok", ""
        if self._cancelled:
            return "cancelled", "cancelled"
        if failure is not None:
            return "setup", failure
        if exited is None:
            return "crash", "the sandbox was restarted"
        if exited.timed_out:
            return "timeout", f"more than {self._limits.wall_seconds:g} s"
        if not any(isinstance(r, wire.ChildReady) for r in self._reports):
            return "setup", f"the child ended before the script started: {describe(exited)}"
        allowed = rlimits.cpu_limit(self._limits)
        if exited.signal == signal.SIGKILL and exited.cpu_seconds >= allowed * _CPU_COUNTED:
            return "timeout", f"more than {allowed} s of processor time"
        if exited.exit_code == EXIT_OUT_OF_MEMORY:
            return "memory", "out of memory"
        if exited.signal == signal.SIGKILL and self._kills() > self._kills_before:
            return "memory", TOGETHER
        if exited.signal == signal.SIGKILL:
            return "crash", f"it was killed, though not by the sandbox, when it held {exited.peak_bytes >> 20:,} MiB"
        return "crash", describe(exited)


def describe(exited: wire.ChildExited) -> str:
    """Describe how a process ended."""
    if exited.signal is None:
        return f"exit code {exited.exit_code}"
    try:
        name = signal.Signals(exited.signal).name
    except ValueError:
        name = f"signal {exited.signal}"
    return f"{name} (a forbidden system call)" if exited.signal == signal.SIGSYS else name
