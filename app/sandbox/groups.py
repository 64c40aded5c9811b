"""A control group for all scripts, which limits their total memory and processes.

See the kernel's documentation of cgroups (``admin-guide/cgroup-v2.rst``, ``cgroup-v1/memory.rst``).
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path

from compiler.runtime import cpus

PREFIX = "strata-"
_NAME = re.compile(re.escape(PREFIX) + r"(?:scripts|server)-(\d+)(?:-\d+)?")
_REMOVE_SECONDS = 2.0
_numbers = itertools.count()
CONTROLLERS = ("memory", "pids")


class NoGroup(Exception):
    """No control group can be created on this host; the message has the reason."""


class ControlGroup:
    """A control group of a server.

    Parameters
    ----------
    directories : sequence of Path
        The directory of the group in the unified hierarchy (cgroup v2), or one per controller (cgroup v1).
    """

    def __init__(self, directories: Sequence[Path]) -> None:
        self._directories = list(directories)

    def limit(self, memory_bytes: int, tasks: int) -> None:
        """Limit the total memory and number of tasks of all members, and forbid swap.

        Raises
        ------
        OSError
            If the kernel rejects the limits.
        """
        memory, pids = self._directories[0], self._directories[-1]
        if (memory / "memory.max").exists():
            (memory / "memory.max").write_text(str(memory_bytes))
            _write_if_present(memory / "memory.swap.max", "0")
        else:
            (memory / "memory.limit_in_bytes").write_text(str(memory_bytes))
            _write_if_present(memory / "memory.memsw.limit_in_bytes", str(memory_bytes))
        (pids / "pids.max").write_text(str(tasks))

    def open_members(self) -> list[int]:
        """Return file descriptors; a process that writes ``0`` to each joins the group, with all its later children."""
        return [os.open(path / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC) for path in self._directories]

    @property
    def kills(self) -> int:
        """Number of members that the kernel killed because the group exceeded its memory limit."""
        memory = self._directories[0]
        for name in ("memory.events", "memory.oom_control"):
            with contextlib.suppress(OSError):
                counts = dict(line.split() for line in (memory / name).read_text().splitlines())
                return int(counts.get("oom_kill", 0))
        return 0

    def remove(self) -> None:
        """Remove the group after its members have exited."""
        deadline = time.monotonic() + _REMOVE_SECONDS
        for path in self._directories:
            while not _removed(path) and time.monotonic() < deadline:
                time.sleep(0.02)


def make_group(memory_bytes: int, tasks: int) -> ControlGroup:
    """Create a control group below that of this process.

    Raises
    ------
    NoGroup
        If that is impossible on this host.
    """
    try:
        parents = _parents()
        for parent in parents:
            _sweep(parent)
        number = next(_numbers)
        directories = [parent / f"{PREFIX}scripts-{os.getpid()}-{number}" for parent in parents]
        for path in directories:
            path.mkdir(exist_ok=True)
        group = ControlGroup(directories)
        group.limit(memory_bytes, tasks)
    except OSError as error:
        raise NoGroup(str(error)) from error
    return group


def _parents() -> list[Path]:
    """Return the parent directories for groups: one in cgroup v2 with both controllers, else one per controller."""
    mounts = {name: place for name, place, _ in cpus.mounts()}
    own = dict(cpus.own_groups())
    unified = mounts.get("")
    if unified is not None:
        parent = unified / own.get("", "").lstrip("/")
        if set(CONTROLLERS) <= set((parent / "cgroup.controllers").read_text().split()):
            _delegate(parent)
            return [parent]
    missing = [name for name in CONTROLLERS if name not in mounts or name not in own]
    if missing:
        raise NoGroup(f"no hierarchy has the controller {missing[0]!r}")
    return [mounts[name] / own[name].lstrip("/") for name in CONTROLLERS]


def _delegate(parent: Path) -> None:
    """Enable the controllers for child groups; the server moves to one itself, as inner groups cannot have processes.

    Raises
    ------
    OSError
        If the subtree belongs to another user or contains other processes.
    """
    control = parent / "cgroup.subtree_control"
    if set(CONTROLLERS) <= set(control.read_text().split()):
        return
    wanted = " ".join(f"+{name}" for name in CONTROLLERS)
    try:
        control.write_text(wanted)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        server = parent / f"{PREFIX}server-{os.getpid()}"
        server.mkdir(exist_ok=True)
        (server / "cgroup.procs").write_text("0")
        control.write_text(wanted)


def _sweep(parent: Path) -> None:
    """Remove groups of servers that have exited."""
    for path in parent.glob(f"{PREFIX}*"):
        match = _NAME.fullmatch(path.name)
        if match and not Path(f"/proc/{match[1]}").exists():
            _removed(path)


def _removed(path: Path) -> bool:
    try:
        path.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _write_if_present(path: Path, value: str) -> None:
    if path.exists():
        path.write_text(value, encoding="utf-8")
