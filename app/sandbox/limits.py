"""What a job may use, and the resource limits that hold it to that."""

from __future__ import annotations

import os
import resource

import msgspec

MIB = 1 << 20


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one job may use."""

    wall_seconds: float = 10.0
    cpu_seconds: float = 20.0
    """Of all its threads together."""
    memory_bytes: int = 1024 * MIB
    """Address space beyond that of the interpreter and the libraries."""
    output_bytes: int = 64 * MIB
    """Of all messages together."""
    message_bytes: int = 32 * MIB
    """Of one message."""
    threads: int = 64
    """At one time, the main thread included."""
    files_bytes: int = 64 * MIB
    """Of the private working directory: the attached files and what the script writes beside them."""
    open_files: int = 64
    cpus: tuple[int, ...] = ()
    """The CPUs it may run on; none named means those of the server."""


def apply(limits: Limits, address_space: int, tasks: int) -> None:
    """Set the resource limits of this process, for good.

    Parameters
    ----------
    limits
        What the job may use.
    address_space
        Bytes that are mapped already.
    tasks
        Tasks that its user already has outside this job, which the kernel counts together with the job's.
    """
    if limits.cpus:
        os.sched_setaffinity(0, limits.cpus)
    cpu = max(1, int(limits.cpu_seconds + 0.999))
    for what, soft, hard in (
        (resource.RLIMIT_CPU, cpu, cpu + 1),
        (resource.RLIMIT_AS, address_space + limits.memory_bytes, None),
        (resource.RLIMIT_NPROC, tasks + limits.threads, None),
        (resource.RLIMIT_NOFILE, limits.open_files, None),
        (resource.RLIMIT_FSIZE, limits.files_bytes, None),
        (resource.RLIMIT_CORE, 0, None),
        (resource.RLIMIT_MEMLOCK, 0, None),
        (resource.RLIMIT_MSGQUEUE, 0, None),
    ):
        _lower(what, soft, soft if hard is None else hard)


def _lower(what: int, soft: int, hard: int) -> None:
    """Set a limit, or keep the one in force where that is lower still."""
    ceiling = resource.getrlimit(what)[1]
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(what, (soft, hard))


def exceeded_cpu(limits: Limits, cpu_seconds: float) -> bool:
    """Whether so much processor time was used that the kernel's limit can have struck."""
    return cpu_seconds >= limits.cpu_seconds * 0.98
