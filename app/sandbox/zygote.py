"""The zygote: a single-threaded process with all imports done, which forks a child per job.

The server starts it as ``main`` with two arguments: the descriptor of the control socket, and the settings.  It has no
secrets, database handles or listening sockets, and never inspects the contents of a job.  The first one tries which
mechanisms there are.  Where children may read files, what few of them need is imported after it is ready, whenever
nothing else is to be done.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import shutil
import signal
import socket
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from app.sandbox import child, files, handler, huge_pages, namespaces, probe, readable, seccomp, syscalls, wire
from app.sandbox.tier import FileAccess, Mechanism, Tier

CONTROL = 3
HOST_NAME = "sandbox"
"""Host name as seen by children."""
INTERRUPT_SECONDS = 2.0
"""How long a child may take to finish after an interrupt."""
SEEN_BY_SCRIPTS = frozenset({"LANG", "PATH"})
"""Environment variables visible to scripts."""
PAUSE_SECONDS = 5.0
"""How long what few scripts need waits for the first job, which the server sends once it has started itself."""
BREATH_SECONDS = 0.02
"""The same for a moment in which nothing happens while jobs run: otherwise a busy server would never have it ready."""
UIDS = 64
"""Number of user ids of a zygote, one for each running child."""

_NAMESPACES = {
    Mechanism.PRIVATE_ROOT: syscalls.CLONE_NEWNS,
    Mechanism.PROCESSES: syscalls.CLONE_NEWPID,
    Mechanism.NETWORK: syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS,
}
_IMPORTED_LATE = tuple(f"encodings.{name}" for name in ("ascii", "latin_1", "unicode_escape", "raw_unicode_escape"))
"""Modules that Python imports lazily, possibly when files can no longer be opened."""
_KEPT_CAPABILITIES = ("SYS_ADMIN", "SETUID", "SETGID", "SETPCAP", "KILL")


@dataclass
class _Job:
    """A running child."""

    pid: int
    pidfd: int
    status: int
    slot: int
    directory: str
    deadline: float
    timed_out: bool = False
    abandoned: bool = False
    interrupted: bool = False


class Zygote:
    """Forks and monitors children until the server exits."""

    def __init__(self, settings: wire.Settings, mechanisms: frozenset[Mechanism]) -> None:
        self._tier = Tier(mechanisms=mechanisms)
        self._settings = settings
        self._readable = readable.paths(settings.readable)
        try:
            os.close(os.pidfd_open(os.getpid()))
        except OSError as error:  # before the first job, which would need it
            raise OSError(error.errno, f"pidfd_open, which kernels have since Linux 5.3: {error.strerror}") from None
        self._memory = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        self._own_processes = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self._processes = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._threads = os.open("/proc/self/task", os.O_RDONLY | os.O_CLOEXEC)
        self._jobs: dict[int, _Job] = {}
        self._poll = select.poll()
        if Mechanism.PRIVATE_ROOT in self._tier.mechanisms:
            namespaces.enter_private_root(settings.scratch, self._readable, readable.DEVICES)
        syscalls.keep_capabilities(_KEPT_CAPABILITIES)
        if Mechanism.SECCOMP in self._tier.mechanisms:
            for executes in (False, True):
                seccomp.prepare(self._tier.files, executes)
        self._handler = _preload(settings)
        self._further: Iterator[None] | None = handler.warm_up_further(settings.handler)
        self._pause = PAUSE_SECONDS
        if self._tier.files is FileAccess.NONE:
            self._further = iter(list(self._further))
        self._check_threads()
        self._control = socket.socket(fileno=CONTROL)

    def serve(self) -> NoReturn:
        """Serve requests until the server exits; all children are killed then."""
        _tell(CONTROL, wire.ZygoteReady())
        self._poll.register(CONTROL, select.POLLIN)
        while True:
            ready = self._poll.poll(self._milliseconds_left())
            self._answer([fd for fd, _ in ready])
            if self._further is not None and not ready:
                self._pause = 0.0
                self._warm_up_further(self._further)
            now = time.monotonic()
            for job in self._jobs.values():
                if job.deadline <= now and not job.timed_out:
                    job.timed_out = True
                    _kill(job)

    def _warm_up_further(self, steps: Iterator[None]) -> None:
        """Do one step; after the last one, tell the server.

        Where one fails, children do what is left themselves, and say what is wrong to whose script needs it.
        """
        with _kept():
            try:
                for _ in steps:
                    return
            except Exception:
                traceback.print_exc()
        self._further = None
        huge_pages.collapse(self._processes)
        self._check_threads()
        _tell(CONTROL, wire.ZygoteWarm())

    def _check_threads(self) -> None:
        """Raise an error if there are threads: a fork would copy locks that are never released."""
        if len(os.listdir(self._threads)) != 1:
            raise RuntimeError("zygote: expected to be single-threaded after the imports")

    def _answer(self, ready: list[int]) -> None:
        """Process a batch of events; reaping and accepting come last, since a new job may reuse closed descriptors."""
        for fd in ready:
            if fd != CONTROL and fd not in self._jobs:
                self._hear(fd)
        for fd in ready:
            if fd in self._jobs:
                self._reap(self._jobs.pop(fd))
        if CONTROL in ready:
            self._accept()

    def _milliseconds_left(self) -> float | None:
        if self._further is not None:
            return (BREATH_SECONDS if self._jobs else self._pause) * 1000
        deadlines = [job.deadline for job in self._jobs.values() if not job.timed_out]
        return max(0.0, min(deadlines) - time.monotonic()) * 1000 + 1 if deadlines else None

    def _accept(self) -> None:
        message, fds = b"", list[int]()
        with contextlib.suppress(ConnectionResetError):  # the server has ended without hearing all
            message, fds, _, _ = socket.recv_fds(self._control, wire.MAX_STATUS, 4 + files.MAX_STORED)
        if not message:
            os._exit(0)
        start = wire.decode_start(message)
        descriptors = child.Descriptors.of(fds)
        try:
            job = self._fork(descriptors, start)
        except OSError as error:
            _tell(descriptors.status, wire.SetupFailed(f"fork: {error}"))
            os.close(descriptors.status)
        else:
            self._jobs[job.pidfd] = job
            self._poll.register(job.pidfd, select.POLLIN)
            self._poll.register(job.status, select.POLLIN)
        for fd in (descriptors.job, descriptors.output, descriptors.console, *descriptors.stored):
            os.close(fd)

    def _fork(self, descriptors: child.Descriptors, start: wire.Start) -> _Job:
        slot = min(set(range(UIDS)) - {job.slot for job in self._jobs.values()}, default=None)
        if slot is None:
            raise BlockingIOError(f"{UIDS} jobs are running already")
        directory = self._make_directory(slot)
        surroundings = child.Surroundings(
            handler=self._handler,
            tier=self._tier,
            readable=self._readable,
            zygote=0 if Mechanism.PROCESSES in self._tier.mechanisms else os.getpid(),
            uid=self._settings.first_uid + slot,
            directory=directory,
            address_space=self._address_space(),
            tasks=self._tasks(),
            processes=self._processes,
        )
        deadline = time.monotonic() + start.wall_seconds
        if Mechanism.PROCESSES in self._tier.mechanisms:
            namespaces.unshare(syscalls.CLONE_NEWPID)
        try:
            pid = os.fork()
            if pid == 0:
                child.run(descriptors, surroundings)
        finally:
            if Mechanism.PROCESSES in self._tier.mechanisms:
                # A new process namespace can only be created from the process's own one.
                syscalls.call("setns", self._own_processes, syscalls.CLONE_NEWPID)
        return _Job(pid, _watch(pid), descriptors.status, slot, directory, deadline)

    def _make_directory(self, slot: int) -> str:
        """Create a working directory on disk if there is no private root; return its path or an empty string."""
        if Mechanism.PRIVATE_ROOT in self._tier.mechanisms:
            return ""
        directory = os.path.join(self._settings.scratch, f"{slot:02d}-{os.urandom(8).hex()}")
        os.mkdir(directory, 0o755)
        return directory

    def _address_space(self) -> int:
        pages = os.pread(self._memory, 128, 0).split()[0]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def _tasks(self) -> int:
        """Return the number of other tasks that count against the child's limit.

        With a dedicated user id or user namespace, there are none.
        """
        if {Mechanism.USERS, Mechanism.USER_ID} & self._tier.mechanisms:
            return 0
        own, total = os.geteuid(), 0
        for entry in os.scandir("/proc"):
            try:
                if entry.name.isdigit() and entry.stat().st_uid == own:
                    total += len(os.listdir(os.path.join(entry.path, "task")))
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has exited in the meantime
        return total

    def _hear(self, status: int) -> None:
        """Handle an interrupt of a job, or the shutdown of its socket, which abandons it."""
        message = os.read(status, wire.MAX_STATUS)
        for job in self._jobs.values():
            if job.status != status or job.abandoned:
                continue
            if message:
                wire.decode_interrupt(message)
                job.interrupted = True
                job.deadline = min(job.deadline, time.monotonic() + INTERRUPT_SECONDS)
                _send(job, handler.INTERRUPT)
            else:
                self._poll.unregister(status)
                job.abandoned = True
                _kill(job)

    def _reap(self, job: _Job) -> None:
        self._pause = 0.0
        _, status, usage = os.wait4(job.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        exited = wire.ChildExited(
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            timed_out=job.timed_out,
            interrupted=job.interrupted,
            cpu_seconds=usage.ru_utime + usage.ru_stime,
            peak_bytes=usage.ru_maxrss * 1024,
        )
        _tell(job.status, exited)
        self._poll.unregister(job.pidfd)
        if not job.abandoned:
            self._poll.unregister(job.status)
        os.close(job.pidfd)
        os.close(job.status)
        if job.directory:
            shutil.rmtree(job.directory, ignore_errors=True)


def _watch(pid: int) -> int:
    """Open a pidfd for a child; if that fails, kill the child."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise


def _kill(job: _Job) -> None:
    _send(job, signal.SIGKILL)


def _send(job: _Job, number: int) -> None:
    try:
        signal.pidfd_send_signal(job.pidfd, number)
    except ProcessLookupError:
        return  # it has already exited


def _tell(to: int, message: wire.StatusMessage | wire.BootMessage) -> bool:
    """Tell the server something of a job or of this process; return whether it still listens there."""
    try:
        os.write(to, wire.encode(message))
    except (BrokenPipeError, ConnectionResetError):
        return False
    return True


def _preload(settings: wire.Settings) -> handler.Handler:
    """Import and initialize everything that children need."""
    with _kept():
        for name in (*_IMPORTED_LATE, *settings.preload):
            importlib.import_module(name)
        if "llvmlite.binding" in sys.modules:
            importlib.import_module("app.sandbox.warm").llvm()
        loaded = handler.load(settings.handler)
        gc.freeze()
        handler.warm_up(settings.handler)
    _forget_environment()
    return loaded


@contextlib.contextmanager
def _kept() -> Iterator[None]:
    """Keep what is made inside but garbage, without searching for that, here or in children, more than once.

    Modules stay: searching them again and again takes a sixth of the time that their imports take.
    """
    gc.disable()
    yield
    gc.collect()  # of what is not frozen
    gc.freeze()
    gc.enable()


def _forget_environment() -> None:
    """Delete the environment variables that are only read when Python and its libraries are loaded."""
    for name in set(os.environ) - SEEN_BY_SCRIPTS:
        del os.environ[name]


def _enter_namespaces(mechanisms: frozenset[Mechanism]) -> None:
    """Enter new namespaces; an unprivileged user needs a user namespace for that."""
    flags = sum(flag for mechanism, flag in _NAMESPACES.items() if mechanism in mechanisms)
    if not flags:
        return
    if not syscalls.has_capability("SYS_ADMIN"):
        namespaces.enter_user_namespace()
    namespaces.unshare(flags)
    if Mechanism.NETWORK in mechanisms:
        socket.sethostname(HOST_NAME)
    if Mechanism.PROCESSES in mechanisms:
        _continue_as_first_process()


def _continue_as_first_process() -> None:
    """Fork, and continue in the child, which is in the new process namespace; this process waits until it exits.

    As the child is the first process of its namespace, its death kills all others there.
    """
    pid = os.fork()
    if pid == 0:
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
        return
    os.close(CONTROL)
    _, status = os.waitpid(pid, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _join(members: list[int]) -> None:
    """Join the control group of all scripts, which children inherit."""
    for file in members:
        os.write(file, b"0")
        os.close(file)


def _go_first_when_memory_runs_out() -> None:
    """Make the out-of-memory killer prefer children and the zygote to the server, if permitted."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="utf-8") as file:
        file.write("1000")


def main() -> NoReturn:
    """Start up, report the result to the server, and serve."""
    control = int(sys.argv[1])
    settings = wire.decode_settings(sys.argv[2].encode())
    members = [os.dup(file) if file == CONTROL else file for file in settings.members]  # a number that is taken below
    if control != CONTROL:
        os.dup2(control, CONTROL, inheritable=False)
        os.close(control)
    signal.signal(handler.INTERRUPT, signal.SIG_IGN)  # also for children before their script
    try:
        _join(members)
        _go_first_when_memory_runs_out()
        mechanisms = settings.mechanisms
        if mechanisms is None:
            tier = probe.try_all(settings.scratch)
            _tell(CONTROL, wire.Tried(tier))
            mechanisms = tier.mechanisms
        _enter_namespaces(mechanisms)
        zygote = Zygote(settings, mechanisms)
    except BaseException as error:
        if not _tell(CONTROL, wire.BootFailed(f"{type(error).__name__}: {error}"[:2000])):
            os._exit(1)
        raise
    zygote.serve()
