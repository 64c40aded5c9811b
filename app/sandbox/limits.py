"""Resource limits of a job."""

from __future__ import annotations

from typing import Annotated

import msgspec

MIB = 1 << 20


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on all jobs together, enforced by a control group."""

    memory_bytes: int
    """Resident memory, including that of zygotes and the files of jobs."""
    tasks: int = 2048
    """Number of processes and threads."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Resource limits of one job."""

    wall_seconds: float = 10.0
    cpu_seconds: float = 20.0
    """CPU time of all threads, rounded up to whole seconds."""
    memory_bytes: int = 1024 * MIB
    """Address space in addition to that of the interpreter and libraries."""
    output_bytes: int = 24 * MIB
    """Total size of messages; for comparison, ResNet-18 takes 1 MiB, and thousands of operators about 15."""
    message_bytes: int = 16 * MIB
    """Size of one message."""
    threads: int = 64
    """Number of concurrent threads, including the main thread."""
    files_bytes: int = 64 * MIB
    """Size of the private working directory, including the attached files."""
    open_files: int = 64
    cpus: tuple[int, ...] = ()
    """CPU affinity; empty for that of the server."""
    own_cpus: int = 0
    """Number of CPUs for exclusive use, for measurements; 0 to share CPUs with other jobs."""
    roams: bool = False
    """Whether it may use other CPUs besides its own, as a script that builds in several threads what it measures."""
    program: Annotated[str, msgspec.Meta(pattern=r"^(/|\Z)")] = ""
    """Absolute path of the only program that the job may execute instead of a script."""
