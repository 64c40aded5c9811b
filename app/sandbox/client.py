"""The server's side: starts zygotes, hands jobs over, and treats all that comes back as hostile."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import itertools
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import FileIO

from app.sandbox import child, probe, rlimits, wire, zygote
from app.sandbox.handler import EXIT_OUT_OF_MEMORY
from app.sandbox.interface import Outcome, SandboxError, Status
from app.sandbox.limits import Limits
from app.sandbox.readable import PROJECT, python
from app.sandbox.tier import Mechanism, Tier

CONSOLE_BYTES = 8192
"""What is kept of a child's standard output and error."""
_BOOT_SECONDS = 60.0
_GRACE_SECONDS = 5.0
"""How long after the wall clock's end the zygote may take to say so."""
_CPU_COUNTED = 0.85
"""Least share of the processor time allowed that is on record when the kernel, which samples it, has killed for it."""
_FIRST_UID = 64_000


@dataclass(frozen=True)
class Ends:
    """The server's ends of a job's pipe, console file and status socket."""

    output: FileIO
    console: FileIO
    status: socket.socket

    def close(self) -> None:
        """Close them all."""
        self.output.close()
        self.console.close()
        self.status.close()


class SandboxedJob:
    """A request that a child works on.

    Read :meth:`messages` to the end, then :attr:`outcome`.  One thread reads; any thread may cancel.
    """

    def __init__(self, owner: ZygoteProcess, limits: Limits, ends: Ends) -> None:
        self._owner = owner
        self._limits = limits
        self._ends = ends
        self._frames = wire.FrameReader(limits)
        self._started = time.monotonic()
        self._patience = self._started + limits.wall_seconds + _GRACE_SECONDS
        self._cancelled = False
        self._overflow: str | None = None
        self._reports: list[wire.StatusMessage] = []
        self._outcome: Outcome | None = None

    def messages(self) -> Iterator[bytes]:
        """The child's messages as they come; leaving early cancels the job."""
        try:
            while (message := self._next()) is not None:
                yield message
        finally:
            if self._outcome is None:
                self.cancel()
                self._finish()

    @property
    def outcome(self) -> Outcome:
        """How the job ended; waits for that, dropping messages that nobody has read."""
        while self._outcome is None:
            self._next()
        return self._outcome

    def cancel(self) -> None:
        """Kill the child, if it still lives."""
        self._cancelled = True
        self._patience = min(self._patience, time.monotonic() + _GRACE_SECONDS)
        self._abandon()

    def _abandon(self) -> None:
        """Close our direction: the zygote kills the child, and its report still comes back."""
        with contextlib.suppress(OSError):
            self._ends.status.shutdown(socket.SHUT_WR)

    def _next(self) -> bytes | None:
        """The next message, or None when there will be none and the outcome is settled."""
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
            if data is None:
                break
            self._frames.feed(data)
        self._finish()
        return None

    def _finish(self) -> None:
        """Wait for the child's end, dropping what it still wrote, and settle the outcome."""
        while self._wait() is not None:
            continue
        self._outcome = self._settle()
        self._ends.close()

    def _wait(self) -> bytes | None:
        """What the child wrote next, or None once its end is known and all was read."""
        status, output = self._ends.status.fileno(), self._ends.output.fileno()
        poll = select.poll()
        poll.register(status, select.POLLIN)
        poll.register(output, select.POLLIN)
        ended = False
        while True:
            events = dict(poll.poll(0 if ended else max(0.0, self._patience - time.monotonic()) * 1000))
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
            elif not events:
                self._owner.kill()  # it does not keep time any more; the end of its socket comes next
                self._patience = time.monotonic() + _GRACE_SECONDS

    def _hear(self) -> bool:
        """Take one report; False when there will be no more."""
        try:
            message = self._ends.status.recv(wire.MAX_STATUS)
        except ConnectionResetError:
            return False
        if message:
            self._reports.append(wire.decode_status(message))
        return bool(message)

    def _settle(self) -> Outcome:
        exited = next((r for r in self._reports if isinstance(r, wire.Exited)), None)
        status, detail = self._judge(exited)
        return Outcome(
            status=status,
            detail=detail,
            signal=exited.signal if exited else None,
            exit_code=exited.exit_code if exited else None,
            wall_seconds=time.monotonic() - self._started,
            cpu_seconds=exited.cpu_seconds if exited else 0.0,
            peak_bytes=exited.peak_bytes if exited else 0,
            console=os.pread(self._ends.console.fileno(), CONSOLE_BYTES, 0).rstrip(b"\0").decode(errors="replace"),
        )

    def _judge(self, exited: wire.Exited | None) -> tuple[Status, str]:
        """Status and a sentence; what the server and the kernel know comes before what the child claims."""
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
        if not any(isinstance(r, wire.Ready) for r in self._reports):
            return "setup", f"the child ended before the script started: {describe(exited)}"
        allowed = rlimits.cpu_limit(self._limits)
        if exited.signal == signal.SIGKILL and exited.cpu_seconds >= allowed * _CPU_COUNTED:
            return "timeout", f"more than {allowed} s of processor time"
        if exited.signal == signal.SIGKILL or exited.exit_code == EXIT_OUT_OF_MEMORY:
            return "memory", "out of memory"
        return "crash", describe(exited)


def describe(exited: wire.Exited) -> str:
    """How a process ended, in words."""
    if exited.signal is None:
        return f"exit code {exited.exit_code}"
    try:
        name = signal.Signals(exited.signal).name
    except ValueError:
        name = f"signal {exited.signal}"
    return f"{name} (a forbidden system call)" if exited.signal == signal.SIGSYS else name


class ZygoteProcess:
    """One zygote, started and watched."""

    def __init__(self, handler: str, preload: Sequence[str], readable: Sequence[str], tier: Tier, index: int) -> None:
        self._scratch = tempfile.mkdtemp(prefix="strata-")
        os.chmod(self._scratch, 0o711)
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        settings = wire.Settings(
            handler=handler,
            preload=list(preload),
            readable=list(readable),
            mechanisms=tier.mechanisms,
            scratch=self._scratch,
            first_uid=_FIRST_UID + index * zygote.UIDS,
        )
        with theirs:
            self._process = subprocess.Popen(
                [*python("app.sandbox.zygote"), str(theirs.fileno()), wire.encode(settings).decode()],
                env=_environment(),
                cwd="/",
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )

    def wait_until_booted(self) -> None:
        """Wait for the zygote's word.

        Raises
        ------
        SandboxError
            If it cannot work.
        """
        self._control.settimeout(_BOOT_SECONDS)
        try:
            message = self._control.recv(wire.MAX_STATUS)
        except TimeoutError:
            message = b""
        if not message:
            self.close()
            raise SandboxError("sandbox: the zygote did not start")
        answer = wire.decode_boot(message)
        if isinstance(answer, wire.BootFailed):
            self.close()
            raise SandboxError(f"sandbox: the zygote did not start: {answer.detail}")

    @property
    def pid(self) -> int:
        """Process id of the process that was started."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def start(self, request: bytes, files: Mapping[str, bytes], limits: Limits) -> SandboxedJob:
        """Hand a job over.

        Raises
        ------
        OSError
            If the zygote has gone.
        """
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            job = os.memfd_create("job", os.MFD_CLOEXEC)
            theirs.callback(os.close, job)
            wire.write_job(job, request, files, limits)
            console = _console()
            theirs.callback(os.close, console)
            ours_console = ours.enter_context(FileIO(os.dup(console)))
            reading, writing = os.pipe2(os.O_CLOEXEC)
            theirs.callback(os.close, writing)
            output = ours.enter_context(FileIO(reading))
            status, their_status = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            ours.enter_context(status)
            theirs.enter_context(their_status)
            descriptors = child.Descriptors(job, writing, console, their_status.fileno())
            start = wire.encode(wire.Start(limits.wall_seconds))
            socket.send_fds(self._control, [start], list(dataclasses.astuple(descriptors)))
            ours.pop_all()
        return SandboxedJob(self, limits, Ends(output, ours_console, status))

    def kill(self) -> None:
        """End the zygote and, with it, all its children."""
        self._process.kill()

    def close(self) -> None:
        """End it and remove what it left."""
        self._control.close()
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._scratch, ignore_errors=True)


def _environment() -> dict[str, str]:
    """All that a zygote, and so a script, sees of the environment.

    One arena, and one BLAS thread until the script asks for more: threads do not survive a fork, and arenas eat the
    address space that a script may use.
    """
    return {
        "LANG": "C.UTF-8",
        "MALLOC_ARENA_MAX": "2",
        "OPENBLAS_NUM_THREADS": "1",
        "PATH": os.defpath,
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": str(PROJECT),
    }


def _console() -> int:
    """A memory file of fixed size for a child's standard streams: it needs no reader and cannot grow."""
    fd = os.memfd_create("console", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, CONSOLE_BYTES)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    return fd


def _strongest() -> Tier:
    """The tier of this host, which without a filter for system calls is none to speak of."""
    tier = probe.probe()
    if Mechanism.SECCOMP not in tier.mechanisms:
        raise SandboxError(f"sandbox: this host cannot have one: {tier.reasons[Mechanism.SECCOMP]}")
    return tier


class Sandbox:
    """Runs requests of strangers in children that can do little else than compute.

    Parameters
    ----------
    handler
        ``module:function``; the function takes the request and a function that sends a message.  If the module has a
        ``warm_up`` function, each zygote calls it once.
    preload
        Modules that every child finds imported.
    pool
        How many zygotes to keep.
    tier
        The walls to build; found out by :func:`app.sandbox.probe.probe` where not given.
    readable
        Directories that a script may read beyond Python, its libraries and this project's code.

    Raises
    ------
    SandboxError
        If a zygote does not start, or this host offers no filter for system calls.
    """

    def __init__(
        self,
        handler: str,
        preload: Sequence[str] = (),
        pool: int = 1,
        tier: Tier | None = None,
        readable: Sequence[str] = (),
    ) -> None:
        self.tier = _strongest() if tier is None else tier
        self._handler = handler
        self._preload = tuple(preload)
        self._readable = tuple(readable)
        self._lock = threading.Lock()
        self._turns = itertools.cycle(range(pool))
        self._zygotes = [self._spawn(index) for index in range(pool)]
        try:
            for process in self._zygotes:
                process.wait_until_booted()
        except SandboxError:
            self.close()
            raise

    def start(
        self, request: bytes, files: Mapping[str, bytes] | None = None, limits: Limits | None = None
    ) -> SandboxedJob:
        """Start a job.

        Parameters
        ----------
        request
            What the handler gets.
        files
            Files that lie in the child's working directory, by name.
        limits
            What the job may use.

        Raises
        ------
        ValueError
            If a file's name is not plain, or the files are too large.
        SandboxError
            If a zygote had died and does not start again.
        """
        limits = limits or Limits()
        files = files or {}
        wire.check_files(files, limits)
        with self._lock:
            index = next(self._turns)
            if not self._zygotes[index].alive:
                self._restart(index)
            try:
                return self._zygotes[index].start(request, files, limits)
            except ConnectionError:
                self._restart(index)
                return self._zygotes[index].start(request, files, limits)

    def _spawn(self, index: int) -> ZygoteProcess:
        return ZygoteProcess(self._handler, self._preload, self._readable, self.tier, index)

    def _restart(self, index: int) -> None:
        self._zygotes[index].close()
        self._zygotes[index] = self._spawn(index)
        self._zygotes[index].wait_until_booted()

    @property
    def zygotes(self) -> list[int]:
        """Process ids of the zygotes."""
        return [process.pid for process in self._zygotes]

    def close(self) -> None:
        """End all zygotes and their children."""
        for process in self._zygotes:
            process.close()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
