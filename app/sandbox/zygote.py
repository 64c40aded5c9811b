"""The zygote: a single-threaded process with all imports done, which forks a child per job.

It is started by the server as ``main`` with two arguments: the descriptor of its control socket, and its settings.
It holds no secret, no database handle and no listening socket, and never looks at what is inside a job.
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
from dataclasses import dataclass
from typing import NoReturn

from app.sandbox import child, files, handler, namespaces, readable, seccomp, syscalls, wire
from app.sandbox.tier import Mechanism, Tier

CONTROL = 3
HOST_NAME = "sandbox"
"""What children see instead of the machine's own name."""
INTERRUPT_SECONDS = 2.0
"""How long a child that was asked to end may take to do so."""
SEEN_BY_SCRIPTS = frozenset({"LANG", "PATH"})
"""Variables of the environment that a script finds."""
UIDS = 64
"""User ids that one zygote may give out, one to each child alive."""

_NAMESPACES = {
    Mechanism.PRIVATE_ROOT: syscalls.CLONE_NEWNS,
    Mechanism.PROCESSES: syscalls.CLONE_NEWPID,
    Mechanism.NETWORK: syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS,
}
_IMPORTED_LATE = tuple(f"encodings.{name}" for name in ("ascii", "latin_1", "unicode_escape", "raw_unicode_escape"))
"""Modules that Python imports when it first needs them, which may be when nothing can be opened any more."""
_KEPT_CAPABILITIES = ("SYS_ADMIN", "SETUID", "SETGID", "SETPCAP", "KILL")


@dataclass
class _Job:
    """A child that is alive."""

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
    """Forks children and watches over them until the server goes away."""

    def __init__(self, settings: wire.Settings) -> None:
        self._tier = Tier(mechanisms=settings.mechanisms)
        self._settings = settings
        self._readable = readable.paths(settings.readable)
        os.close(os.pidfd_open(os.getpid()))  # where that is refused, it had better be now
        self._memory = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        self._own_processes = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self._processes = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        tasks = os.open("/proc/self/task", os.O_RDONLY | os.O_CLOEXEC)
        self._jobs: dict[int, _Job] = {}
        self._poll = select.poll()
        if Mechanism.PRIVATE_ROOT in self._tier.mechanisms:
            namespaces.enter_private_root(settings.scratch, self._readable, readable.DEVICES)
        syscalls.keep_capabilities(_KEPT_CAPABILITIES)
        if Mechanism.SECCOMP in self._tier.mechanisms:
            for executes in (False, True):
                seccomp.prepare(self._tier.files, executes)
        self._handler = _preload(settings)
        if len(os.listdir(tasks)) != 1:
            # A fork would copy locks that nobody ever releases.
            raise RuntimeError("zygote: expected to be single-threaded after the imports")
        self._control = socket.socket(fileno=CONTROL)

    def serve(self) -> NoReturn:
        """Answer the server until it goes away; then all children go too."""
        self._control.send(wire.encode(wire.Booted()))
        self._poll.register(CONTROL, select.POLLIN)
        while True:
            self._answer([fd for fd, _ in self._poll.poll(self._milliseconds_left())])
            now = time.monotonic()
            for job in self._jobs.values():
                if job.deadline <= now and not job.timed_out:
                    job.timed_out = True
                    _kill(job)

    def _answer(self, ready: list[int]) -> None:
        """Take what came at once: reaping closes descriptors, whose numbers a new job may get, so both come last."""
        for fd in ready:
            if fd != CONTROL and fd not in self._jobs:
                self._hear(fd)
        for fd in ready:
            if fd in self._jobs:
                self._reap(self._jobs.pop(fd))
        if CONTROL in ready:
            self._accept()

    def _milliseconds_left(self) -> float | None:
        deadlines = [job.deadline for job in self._jobs.values() if not job.timed_out]
        return max(0.0, min(deadlines) - time.monotonic()) * 1000 + 1 if deadlines else None

    def _accept(self) -> None:
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
                # A process namespace can only be left for a new one from where one lives oneself.
                syscalls.call("setns", self._own_processes, syscalls.CLONE_NEWPID)
        return _Job(pid, _watch(pid), descriptors.status, slot, directory, deadline)

    def _make_directory(self, slot: int) -> str:
        """A working directory on disk, where there is no private root to have it in memory."""
        if Mechanism.PRIVATE_ROOT in self._tier.mechanisms:
            return ""
        directory = os.path.join(self._settings.scratch, f"{slot:02d}-{os.urandom(8).hex()}")
        os.mkdir(directory, 0o755)
        return directory

    def _address_space(self) -> int:
        pages = os.pread(self._memory, 128, 0).split()[0]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def _tasks(self) -> int:
        """Tasks that count against the child's limit although they are not its own.

        A user id or a user namespace of its own is counted from zero.
        """
        if {Mechanism.USERS, Mechanism.USER_ID} & self._tier.mechanisms:
            return 0
        own, total = os.geteuid(), 0
        for entry in os.scandir("/proc"):
            try:
                if entry.name.isdigit() and entry.stat().st_uid == own:
                    total += len(os.listdir(os.path.join(entry.path, "task")))
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended in the meantime
        return total

    def _hear(self, status: int) -> None:
        """Take what the server says of a job: end soon, or, by closing its side, that nobody waits for it any more."""
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
        _, status, usage = os.wait4(job.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        exited = wire.Exited(
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
    """A descriptor that tells when a child ends; a child that cannot be watched is not let go on."""
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
        return  # it ended by itself


def _tell(status: int, message: wire.StatusMessage) -> None:
    try:
        os.write(status, wire.encode(message))
    except (BrokenPipeError, ConnectionResetError):
        return  # the server has stopped listening to this job


def _preload(settings: wire.Settings) -> handler.Handler:
    """Import all that children need, and make the first use of it here so that no child pays for it."""
    for name in (*_IMPORTED_LATE, *settings.preload):
        importlib.import_module(name)
    if "llvmlite.binding" in sys.modules:
        importlib.import_module("app.sandbox.warm").llvm()
    loaded = handler.load(settings.handler)
    handler.warm_up(settings.handler)
    _forget_environment()
    gc.collect()
    gc.freeze()
    return loaded


def _forget_environment() -> None:
    """Drop the variables that only Python and the libraries read, which they did when they were loaded."""
    for name in set(os.environ) - SEEN_BY_SCRIPTS:
        del os.environ[name]


def _enter_namespaces(mechanisms: frozenset[Mechanism]) -> None:
    """Leave the server's namespaces; unprivileged users need a user namespace to be allowed to."""
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
    """Only a child is in the new process namespace: it goes on, while this process waits for its end.

    Being the first process of its namespace, it takes all the others with it when it dies.
    """
    pid = os.fork()
    if pid == 0:
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
        return
    os.close(CONTROL)
    _, status = os.waitpid(pid, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _join(members: list[int]) -> None:
    """Become a member of the control group of all scripts; children will be."""
    for file in members:
        os.write(file, b"0")
        os.close(file)


def _go_first_when_memory_runs_out() -> None:
    """Let the kernel kill children, and the zygote, rather than the server, where one may ask for that."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def main() -> NoReturn:
    """Start up, tell the server how that went, and serve."""
    control = int(sys.argv[1])
    if control != CONTROL:
        os.dup2(control, CONTROL, inheritable=False)
        os.close(control)
    settings = wire.decode_settings(sys.argv[2].encode())
    signal.signal(handler.INTERRUPT, signal.SIG_IGN)  # a child that has not come to its script yet is killed later
    try:
        _join(settings.members)
        _go_first_when_memory_runs_out()
        _enter_namespaces(settings.mechanisms)
        zygote = Zygote(settings)
    except BaseException as error:
        failure = wire.BootFailed(f"{type(error).__name__}: {error}"[:2000])
        os.write(CONTROL, wire.encode(failure))
        raise
    zygote.serve()
