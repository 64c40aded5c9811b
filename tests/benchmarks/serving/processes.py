"""The memory of a server's processes, as the kernel counts it in ``/proc``."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass

PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")
ZYGOTE = b"app.sandbox.zygote"
"""In the command line of the processes that scripts are forked from, and of all those scripts."""
GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


@dataclass(frozen=True)
class Memory:
    """Bytes in use at one moment."""

    server: int
    """All that is resident in the server, and what its workers have beside the files that all of them map."""
    sandbox: int
    """Proportional share of the zygotes and the scripts that run: what they share counts once."""
    files: int
    """In memory files that any of them holds open, such as jobs on their way to a child."""
    zygotes: int
    """Processes that scripts are forked from."""
    processes: int
    """Of the server: itself and its workers."""


def _read(pid: int, name: str) -> bytes:
    with open(f"/proc/{pid}/{name}", "rb") as file:
        return file.read()


def _stat(pid: int) -> list[bytes]:
    """Return the fields of a process's ``stat`` from its state on: parent is 1, CPU times 11 to 14, threads 17."""
    return _read(pid, "stat").rpartition(b")")[2].split()


def tree(root: int) -> list[int]:
    """Return a process and all its descendants, parents first."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            children[int(_stat(int(entry))[1])].append(int(entry))
        except GONE:
            continue  # it ended in the meantime
    family = [root]
    for pid in family:
        family += children[pid]
    return family


def split(root: int) -> tuple[list[int], list[int]]:
    """Return the processes of a server and those of its sandbox: zygotes and all below them."""
    server, sandbox = [], []
    for pid in tree(root):
        try:
            inside = ZYGOTE in _read(pid, "cmdline")
        except GONE:
            continue
        (sandbox if inside else server).append(pid)
    return server, sandbox


def resident(pid: int, *, own: bool = False) -> int:
    """Return the resident bytes of a process, or only its own, without files that it maps; 0 if it has gone."""
    try:
        _, pages, shared, *_ = map(int, _read(pid, "statm").split())
    except GONE:
        return 0
    return (pages - shared if own else pages) * PAGE


def proportional(pid: int) -> int:
    """Return the proportional set size of a process in bytes; 0 if it has gone."""
    try:
        for line in _read(pid, "smaps_rollup").splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    except GONE:
        return 0
    return 0


def memory_files(pids: list[int]) -> int:
    """Return the bytes of all memory files that some processes hold open, each file once."""
    sizes: dict[int, int] = {}
    for pid in pids:
        try:
            for entry in os.scandir(f"/proc/{pid}/fd"):
                if os.readlink(entry.path).startswith("/memfd:"):
                    status = os.stat(entry.path)
                    sizes[status.st_ino] = status.st_blocks * 512
        except GONE:
            continue
    return sum(sizes.values())


def server_bytes(server: list[int]) -> int:
    """Return the memory of a server's own processes, itself first."""
    main, *workers = server
    return resident(main) + sum(resident(pid, own=True) for pid in workers)


def measure(root: int) -> Memory:
    """Return the memory of a server's processes now."""
    server, sandbox = split(root)
    return Memory(
        server=server_bytes(server),
        sandbox=sum(map(proportional, sandbox)),
        files=memory_files([*server, *sandbox]),
        zygotes=len(sandbox),
        processes=len(server),
    )


def descriptors(pid: int) -> int:
    """Return how many files a process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def threads(pid: int) -> int:
    """Return how many threads a process has."""
    return int(_stat(pid)[17])


def processor_seconds(root: int) -> float:
    """Return the processor time of a process and its descendants, with those that have ended and were waited for."""
    ticks = 0
    for pid in tree(root):
        try:
            ticks += sum(map(int, _stat(pid)[11:15]))
        except GONE:
            continue
    return ticks / TICKS
