"""The child process: enables the isolation mechanisms, runs one request, and exits.

If a mechanism cannot be enabled, the child exits before running any line of the script.
"""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from app.sandbox import attached, files, landlock, namespaces, priority, readable, rlimits, seccomp, syscalls, wire
from app.sandbox.handler import EXIT_DAMAGED, EXIT_SETUP_FAILED, STATISTICS, Handler, serve
from app.sandbox.tier import FileAccess, Mechanism, Tier

_exit = os._exit
OUTPUT, STATUS, JOB = 3, 4, 5
"""File descriptors of the child, after the standard streams; :data:`~app.sandbox.handler.STATISTICS` follows."""
_FIRST_STORED = STATISTICS + 1
"""Descriptor of the first stored file; the others are consecutive."""


@dataclass(frozen=True)
class Descriptors:
    """The file descriptors of a job, as received by the zygote."""

    job: int
    output: int
    console: int
    status: int
    stored: Sequence[int] = ()
    """Descriptors of the stored files, open for reading."""

    @property
    def every(self) -> list[int]:
        """All descriptors, in the order that :meth:`of` expects."""
        return [self.job, self.output, self.console, self.status, *self.stored]

    @classmethod
    def of(cls, every: Sequence[int]) -> Descriptors:
        """Construct from a list in the order of :attr:`every`."""
        job, output, console, status, *stored = every
        return cls(job, output, console, status, stored)


@dataclass(frozen=True)
class Surroundings:
    """The state that a child inherits from the zygote."""

    handler: Handler
    tier: Tier
    readable: Sequence[str]
    zygote: int
    """Process id of the zygote as seen by the child; 0 in a process namespace of its own."""
    uid: int
    """User and group id reserved for this child."""
    directory: str
    """Working directory on disk, if there is no private root."""
    address_space: int
    """Size of the zygote's address space in bytes."""
    tasks: int
    """Number of other tasks that the kernel counts against the child's limit."""
    processes: int
    """Descriptor of ``/proc``, inherited from the zygote."""


def run(descriptors: Descriptors, surroundings: Surroundings) -> NoReturn:
    """Isolate this process, run the handler and exit; called right after the fork, never returns."""
    status = descriptors.status
    try:
        moved = _above_all_targets(descriptors, surroundings.processes)
        status = moved[STATUS]
        _arrange(moved, surroundings.processes)
        status = STATUS
        request = _set_up(surroundings)
    except BaseException as error:
        detail = f"{type(error).__name__}: {error}"
        os.write(status, wire.encode(wire.SetupFailed(detail[:1000])))
        os._exit(EXIT_SETUP_FAILED)
    code = EXIT_DAMAGED
    try:
        code = serve(surroundings.handler, request, OUTPUT)
    finally:  # even if a script broke the interpreter, never continue as a copy of the zygote
        _exit(code)


def _above_all_targets(descriptors: Descriptors, processes: int) -> list[int]:
    """Duplicate the job's descriptors, in the order of their final numbers, to numbers above all of those."""
    null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    standard = (null, descriptors.console, descriptors.console)
    own = (descriptors.output, descriptors.status, descriptors.job, _statistics(processes, null))
    sources = (*standard, *own, *descriptors.stored)
    return [fcntl.fcntl(source, fcntl.F_DUPFD_CLOEXEC, len(sources)) for source in sources]


def _arrange(moved: Sequence[int], processes: int) -> None:
    """Start a session of low priority, give the job's descriptors their final numbers, and close all others."""
    os.setsid()
    priority.lower(processes)
    for target, source in enumerate(moved):
        os.dup2(source, target)
    syscalls.close_all_but(len(moved))


def _statistics(processes: int, otherwise: int) -> int:
    """Open what the kernel says of this thread's waits for a processor; a kernel without it has an empty file."""
    try:
        return os.open("self/schedstat", os.O_RDONLY | os.O_CLOEXEC, dir_fd=processes)
    except OSError:
        return otherwise


def _set_up(surroundings: Surroundings) -> bytes:
    """Enable all mechanisms, report that, and return the request."""
    tier, uid = surroundings.tier, surroundings.uid
    header = wire.read_header(JOB)
    if header.limits.program and not tier.executes:
        raise PermissionError("no mechanism of this sandbox can restrict which program is executed")
    request = wire.read_exactly(JOB, header.request)
    own_id = Mechanism.USER_ID in tier.mechanisms
    if Mechanism.PRIVATE_ROOT in tier.mechanisms:
        owner = (uid, uid) if own_id else (os.geteuid(), os.getegid())
        namespaces.mount_workspace(header.limits.files_bytes, *owner)
        workspace = namespaces.WORKSPACE
    else:
        workspace = surroundings.directory
        _enter(workspace, header)
        if tier.files is FileAccess.NONE:
            attached.keep([name for name, _ in header.files + header.stored])
    rlimits.apply(header.limits, surroundings.address_space, surroundings.tasks)
    syscalls.keep_capabilities(("SETUID", "SETGID", "SYS_ADMIN"))
    if own_id:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    if Mechanism.PRIVATE_ROOT in tier.mechanisms:
        _enter(workspace, header)
    if Mechanism.USERS in tier.mechanisms:
        namespaces.unshare(syscalls.CLONE_NEWUSER)
    syscalls.keep_capabilities(())
    _die_with(surroundings.zygote)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    if Mechanism.LANDLOCK in tier.mechanisms:
        _restrict_paths(surroundings, workspace, header.limits.program)
    os.close(JOB)
    if Mechanism.SECCOMP in tier.mechanisms:
        seccomp.install(tier.files, executes=bool(header.limits.program))
    os.write(STATUS, wire.encode(wire.ChildReady()))
    os.close(STATUS)
    return request


def _enter(directory: str, header: wire.Header) -> None:
    """Change to the working directory and write the job's files; attached ones follow the request in the job."""
    os.chdir(directory)
    for name, size in header.files:
        _write_file(name, JOB, size)
    for source, (name, size) in enumerate(header.stored, _FIRST_STORED):
        _write_file(name, source, size)
        os.close(source)


def _write_file(name: str, source: int, size: int) -> None:
    """Write a file from the current position of a descriptor, with sendfile."""
    files.check_name(name)
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    while size:
        sent = os.sendfile(file, source, None, min(size, 1 << 30))
        if not sent:
            raise EOFError(f"files: {name!r} ends early")
        size -= sent
    os.close(file)


def _die_with(zygote: int) -> None:
    """Set the parent-death signal; this must come after changing the user id, which clears it."""
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != zygote:
        raise ProcessLookupError("the zygote is gone")


def _restrict_paths(surroundings: Surroundings, workspace: str, program: str) -> None:
    writable = [readable.NULL]
    read = [path for path in (*surroundings.readable, readable.RANDOM) if os.path.exists(path)]
    (writable if surroundings.tier.files is FileAccess.WRITE else read).append(workspace)
    landlock.restrict(read, writable, readable.executables(program) if program else ())
