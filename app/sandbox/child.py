"""The child process: enables the isolation mechanisms, runs one request, and exits.

A mechanism that cannot be turned on ends the child before a line of the script has run.
"""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from app.sandbox import attached, files, landlock, namespaces, priority, readable, rlimits, seccomp, syscalls, wire
from app.sandbox.handler import EXIT_DAMAGED, EXIT_SETUP_FAILED, Handler, serve
from app.sandbox.tier import FileAccess, Mechanism, Tier

_exit = os._exit
OUTPUT, STATUS, JOB = 3, 4, 5
"""File descriptors in the child, above the standard three."""
_FIRST_STORED = 6
"""Descriptor of the first stored file; the others follow it."""


@dataclass(frozen=True)
class Descriptors:
    """The files of a job, as the zygote received them."""

    job: int
    output: int
    console: int
    status: int
    stored: Sequence[int] = ()
    """Stored files, open for reading."""

    @property
    def every(self) -> list[int]:
        """All of them, in the order that :meth:`of` takes."""
        return [self.job, self.output, self.console, self.status, *self.stored]

    @classmethod
    def of(cls, every: Sequence[int]) -> Descriptors:
        """Return the descriptors that :attr:`every` lists."""
        job, output, console, status, *stored = every
        return cls(job, output, console, status, stored)


@dataclass(frozen=True)
class Surroundings:
    """What the zygote knows and the child needs."""

    handler: Handler
    tier: Tier
    readable: Sequence[str]
    zygote: int
    """Process id of the zygote, as the child sees its parent; 0 from inside its own process namespace."""
    uid: int
    """The user and group id for this child alone."""
    directory: str
    """Working directory to make where there is no private root."""
    address_space: int
    """Bytes mapped by the zygote."""
    tasks: int
    """Tasks that the kernel counts together with the child's."""
    processes: int
    """The zygote's descriptor of ``/proc``."""


def run(descriptors: Descriptors, surroundings: Surroundings) -> NoReturn:
    """Set up, run the handler, end; called right after the fork and never returns."""
    try:
        _arrange(descriptors, surroundings.processes)
    except BaseException:
        os._exit(EXIT_SETUP_FAILED)
    try:
        request = _set_up(surroundings)
    except BaseException as error:
        detail = f"{type(error).__name__}: {error}"
        os.write(STATUS, wire.encode(wire.SetupFailed(detail[:1000])))
        os._exit(EXIT_SETUP_FAILED)
    code = EXIT_DAMAGED
    try:
        code = serve(surroundings.handler, request, OUTPUT)
    finally:  # a script may have broken whatever Python needs to come here: never go on as a copy of the zygote
        _exit(code)


def _arrange(descriptors: Descriptors, processes: int) -> None:
    """Begin a session of low priority, give the wanted files their places and close all others.

    Moving them out of the way first keeps one's destination from being another's source.
    """
    os.setsid()
    priority.lower(processes)
    above = 64
    null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    standard = (null, descriptors.console, descriptors.console)
    sources = (*standard, descriptors.output, descriptors.status, descriptors.job, *descriptors.stored)
    moved = [fcntl.fcntl(source, fcntl.F_DUPFD_CLOEXEC, above) for source in sources]
    for target, source in enumerate(moved):
        os.dup2(source, target)
    syscalls.close_all_but(len(moved))


def _set_up(surroundings: Surroundings) -> bytes:
    """Turn on every mechanism, say so, and return the request."""
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
    os.write(STATUS, wire.encode(wire.Ready()))
    os.close(STATUS)
    return request


def _enter(directory: str, header: wire.Header) -> None:
    """Make this the working directory and write the files: attached ones follow the request in the job."""
    os.chdir(directory)
    for name, size in header.files:
        _write_file(name, JOB, size)
    for source, (name, size) in enumerate(header.stored, _FIRST_STORED):
        _write_file(name, source, size)
        os.close(source)


def _write_file(name: str, source: int, size: int) -> None:
    """Write a file from a descriptor's position on, inside the kernel."""
    files.check_name(name)
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    while size:
        sent = os.sendfile(file, source, None, min(size, 1 << 30))
        if not sent:
            raise EOFError(f"files: {name!r} ends early")
        size -= sent
    os.close(file)


def _die_with(zygote: int) -> None:
    """Ask to be killed when the zygote dies; changing the user id would clear the wish, so this comes late."""
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != zygote:
        raise ProcessLookupError("the zygote is gone")


def _restrict_paths(surroundings: Surroundings, workspace: str, program: str) -> None:
    writable = [readable.NULL]
    read = [path for path in (*surroundings.readable, readable.RANDOM) if os.path.exists(path)]
    (writable if surroundings.tier.files is FileAccess.WRITE else read).append(workspace)
    landlock.restrict(read, writable, readable.executables(program) if program else ())
