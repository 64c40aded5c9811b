"""The server's side of the sandbox: starts and monitors zygotes, and submits jobs."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import select
import socket
import subprocess
import threading
from collections.abc import Callable, Sequence
from io import FileIO

import msgspec

from app.patience import Patience
from app.sandbox import child, wire, zygote
from app.sandbox.files import Files, check_files
from app.sandbox.groups import ControlGroup, NoGroup, make_group
from app.sandbox.interface import NoSandbox, SandboxError
from app.sandbox.job import CONSOLE_BYTES, JobStreams, SandboxedJob
from app.sandbox.limits import Limits, Shared
from app.sandbox.readable import SEARCHED, facts, python
from app.sandbox.scratch import Scratch, closed_to_others, sweep
from app.sandbox.tier import CONTROL_GROUP, Mechanism, Tier

log = logging.getLogger(__name__)
BOOT_SECONDS = 60.0
"""How long a zygote may take to start, without the time in which it waits for a processor."""
WARM_SECONDS = 10.0
"""How long the next zygote waits for one that has had no time to import what few scripts need."""
_FIRST_UID = 64_000


class ZygoteProcess:
    """The server's handle of a zygote process."""

    def __init__(
        self,
        handler: str,
        preload: Sequence[str],
        readable: Sequence[str],
        tier: Tier | None,
        index: int,
        group: ControlGroup | None = None,
    ) -> None:
        self._kills = group_kills(group)
        self._scratch = Scratch()
        self._scratch.path.chmod(0o711)
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        settings = wire.Settings(
            handler=handler,
            preload=list(preload),
            readable=list(readable),
            mechanisms=tier.mechanisms if tier is not None else None,
            scratch=str(self._scratch.path),
            first_uid=_FIRST_UID + index * zygote.UIDS,
            members=group.open_members() if group is not None else [],
        )
        with theirs:
            self._process = subprocess.Popen(
                [*python("app.sandbox.zygote"), str(theirs.fileno()), wire.encode(settings).decode()],
                env=_environment(),
                cwd="/",
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), *settings.members),
                start_new_session=True,
            )
        for member in settings.members:
            os.close(member)

    def wait_for_tier(self) -> Tier:
        """Wait until a zygote that was given no tier says which mechanisms it uses.

        Raises
        ------
        SandboxError
            If it fails to start.
        """
        tried = self._hear()
        assert isinstance(tried, wire.Tried)
        return tried.tier

    def wait_until_booted(self) -> None:
        """Wait until the zygote is ready.

        Raises
        ------
        SandboxError
            If it fails to start.
        """
        self._hear()

    def check_entrance(self, tier: Tier) -> None:
        """Raise SandboxError if users of their own, as whom scripts run, cannot enter the scratch directory."""
        if Mechanism.USER_ID not in tier.mechanisms or Mechanism.PRIVATE_ROOT in tier.mechanisms:
            return
        if closed := closed_to_others(self._scratch.path):
            raise SandboxError(
                f"sandbox: scripts run as users of their own, who cannot enter {str(closed)!r}, where temporary files"
                " are: set TMPDIR to a directory that every user can enter"
            )

    def wait_until_warm(self, seconds: float) -> None:
        """Wait until nothing is left to be imported, or the zygote has ended; at most some seconds."""
        with contextlib.suppress(OSError, ValueError):  # it was closed
            select.select([self._control], [], [], seconds)

    def _hear(self) -> wire.BootMessage:
        """Return the next message of a zygote that starts."""
        patience, message = Patience(BOOT_SECONDS, self.pid, "the process that scripts are forked from"), b""
        while not message and (step := patience.step()):
            self._control.settimeout(step)
            try:
                message = self._control.recv(wire.MAX_BOOT)
            except TimeoutError:
                continue
            if not message:
                break
        self._control.settimeout(None)
        if not message:
            self.close()
            raise SandboxError("sandbox: the zygote did not start")
        answer: wire.BootMessage = wire.decode_boot(message)
        if isinstance(answer, wire.BootFailed):
            self.close()
            raise SandboxError(f"sandbox: the zygote did not start: {answer.detail}")
        return answer

    @property
    def pid(self) -> int:
        """Process id of the zygote."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    def start(self, request: bytes, files: Files, limits: Limits) -> SandboxedJob:
        """Submit a job to the zygote.

        Raises
        ------
        OSError
            If the zygote is gone.
        """
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            job = os.memfd_create("job", os.MFD_CLOEXEC)
            theirs.callback(os.close, job)
            stored = wire.write_job(job, request, files, limits)
            sources = [theirs.enter_context(FileIO(file.path)).fileno() for file in stored]
            console = _console()
            theirs.callback(os.close, console)
            ours_console = ours.enter_context(FileIO(os.dup(console)))
            reading, writing = os.pipe2(os.O_CLOEXEC)
            theirs.callback(os.close, writing)
            output = ours.enter_context(FileIO(reading))
            status, their_status = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            ours.enter_context(status)
            theirs.enter_context(their_status)
            descriptors = child.Descriptors(job, writing, console, their_status.fileno(), sources)
            start = wire.encode(wire.Start(limits.wall_seconds))
            socket.send_fds(self._control, [start], descriptors.every)
            ours.pop_all()
        return SandboxedJob(self.kill, limits, JobStreams(output, ours_console, status), self._kills, self.pid)

    def kill(self) -> None:
        """Kill the zygote and thereby all of its children."""
        self._process.kill()

    def close(self) -> None:
        """Kill the zygote and remove its scratch directory."""
        self._control.close()
        self._process.kill()
        self._process.wait()
        self._scratch.remove()


def group_kills(group: ControlGroup | None) -> Callable[[], int]:
    """Return a function that counts the out-of-memory kills of a control group."""
    return (lambda: group.kills) if group is not None else (lambda: 0)


def _bound_together(shared: Shared | None) -> tuple[ControlGroup | None, dict[str, str]]:
    """Return the control group of all jobs, and the reason if there should be one."""
    if shared is None:
        return None, {}
    try:
        return make_group(shared.memory_bytes, shared.tasks), {}
    except NoGroup as error:
        return None, {CONTROL_GROUP: str(error)}


def _environment() -> dict[str, str]:
    """Return the environment of a zygote, which deletes most of it before scripts run.

    Malloc arenas and stacks are kept small, as both count against the address space of scripts.  BLAS starts with one
    thread, since threads do not survive a fork.  PyTorch, when loaded by Keras, requires a cache directory before the
    temporary directory exists: it is given the root directory, and writes nothing there.
    """
    return {
        "LANG": "C.UTF-8",
        "MALLOC_ARENA_MAX": "2",
        "OMP_STACKSIZE": "2M",
        "OPENBLAS_NUM_THREADS": "1",
        "PATH": os.defpath,
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": SEARCHED,
        "TORCHINDUCTOR_CACHE_DIR": os.sep,
        **facts(),
    }


def _console() -> int:
    """Create a memory file of fixed size for the standard streams of a child: it needs no reader and cannot grow."""
    fd = os.memfd_create("console", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, CONSOLE_BYTES)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    return fd


class Sandbox:
    """Runs untrusted requests in isolated child processes.

    Parameters
    ----------
    handler
        ``module:function``; the function takes the request and a function that sends a message.  If the module has a
        ``warm_up`` function, each zygote calls it once.
    preload
        Modules that zygotes import for all children.
    pool
        Number of zygotes; all but the first start in the background, one after the other.
    tier
        The mechanisms to use; by default all that this host has.
    readable
        Directories that scripts may read in addition to Python, its libraries and this project's code.
    shared
        Limits on all jobs together; if this host has no usable control groups, the tier has the reason.

    Raises
    ------
    SandboxError
        If a zygote does not start, or, as :class:`NoSandbox`, this host has no system call filter.
    """

    def __init__(
        self,
        handler: str,
        preload: Sequence[str] = (),
        pool: int = 1,
        tier: Tier | None = None,
        readable: Sequence[str] = (),
        shared: Shared | None = None,
    ) -> None:
        sweep()
        self._handler = handler
        self._preload = tuple(preload)
        self._readable = tuple(readable)
        self._lock = threading.Lock()
        self._closed = False
        self._turn = 0
        self._group, unbound = _bound_together(shared)
        self._zygotes = [self._spawn(0, tier)]
        self._booting: ZygoteProcess | None = None
        self._others = threading.Thread(target=self._start_others, args=(pool,), daemon=True)
        try:
            found = self._zygotes[0].wait_for_tier() if tier is None else tier
            if tier is None and Mechanism.SECCOMP not in found.mechanisms:
                raise NoSandbox(f"sandbox: this host does not support one: {found.reasons[Mechanism.SECCOMP]}")
            self.tier = msgspec.structs.replace(
                found, reasons={**found.reasons, **unbound}, bounded_together=self._group is not None
            )
            self._zygotes[0].check_entrance(found)
            self._zygotes[0].wait_until_booted()
        except SandboxError:
            self.close()
            raise
        self._others.start()

    def start(self, request: bytes, files: Files | None = None, limits: Limits | None = None) -> SandboxedJob:
        """Start a job.

        Parameters
        ----------
        request
            Argument of the handler.
        files
            Files for the child's working directory, by name.
        limits
            Resource limits of the job.

        Raises
        ------
        ValueError
            If a file name is not plain, or the files are too large.
        SandboxError
            If a dead zygote cannot be restarted, no more files can be opened, or the sandbox is closed.
        """
        limits = limits or Limits()
        files = files or {}
        check_files(files, limits)
        with self._lock:
            if self._closed:
                raise SandboxError("sandbox: it is closed")
            try:
                self._turn = (self._turn + 1) % len(self._zygotes)
                return self._hand_over(self._turn, request, files, limits)
            except OSError as error:
                raise SandboxError(f"sandbox: the job could not be handed over: {error}") from error

    def _hand_over(self, index: int, request: bytes, files: Files, limits: Limits) -> SandboxedJob:
        if self._zygotes[index].alive:
            with contextlib.suppress(ConnectionError, TimeoutError):
                return self._zygotes[index].start(request, files, limits)
        self._restart(index)
        return self._zygotes[index].start(request, files, limits)

    def _spawn(self, index: int, tier: Tier | None) -> ZygoteProcess:
        return ZygoteProcess(self._handler, self._preload, self._readable, tier, index, self._group)

    def _start_others(self, pool: int) -> None:
        """Start all zygotes but the first, once the one before is warm: scripts run as soon as there is one."""
        for index in range(1, pool):
            self._zygotes[index - 1].wait_until_warm(WARM_SECONDS)
            with self._lock:
                if self._closed:
                    return
                process = self._booting = self._spawn(index, self.tier)
            try:
                process.wait_until_booted()
            except (OSError, SandboxError) as error:
                if not self._closed:
                    log.error("scripts are forked from %d instead of %d processes: %s", index, pool, error)
                return
            with self._lock:
                self._booting = None
                if self._closed:
                    process.close()
                    return
                self._zygotes.append(process)

    def _restart(self, index: int) -> None:
        self._zygotes[index].close()
        self._zygotes[index] = self._spawn(index, self.tier)
        self._zygotes[index].wait_until_booted()

    @property
    def zygotes(self) -> list[int]:
        """Process ids of all zygotes, once they have started."""
        if self._others.ident is not None:
            self._others.join()
        return [process.pid for process in self._zygotes]

    def close(self) -> None:
        """Kill all zygotes and their children."""
        with self._lock:
            self._closed = True
            for process in (*self._zygotes, *([self._booting] if self._booting is not None else [])):
                process.kill()  # so that nobody waits for it
        if self._others.ident is not None:
            self._others.join()
        with self._lock:
            for process in self._zygotes:
                process.close()
            if self._group is not None:
                self._group.remove()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
