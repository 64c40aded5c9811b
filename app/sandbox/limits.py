"""Resource limits of a job."""

from __future__ import annotations

from typing import Annotated

import msgspec

MIB = 1 << 20


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """What all jobs may use together, where the host has control groups."""

    memory_bytes: int
    """Resident, what zygotes hold and the files of jobs included."""
    tasks: int = 2048
    """Processes and threads."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one job may use."""

    wall_seconds: float = 10.0
    cpu_seconds: float = 20.0
    """Of all its threads together; counted in whole seconds, rounded up."""
    memory_bytes: int = 1024 * MIB
    """Address space beyond that of the interpreter and the libraries."""
    output_bytes: int = 24 * MIB
    """Of all messages together; ResNet-18's have 1 MiB, and thousands of operators some 15."""
    message_bytes: int = 16 * MIB
    """Of one message."""
    threads: int = 64
    """At one time, the main thread included."""
    files_bytes: int = 64 * MIB
    """Of the private working directory: the attached files and what the script writes beside them."""
    open_files: int = 64
    cpus: tuple[int, ...] = ()
    """The CPUs it may run on; none named means those of the server."""
    own_cpus: int = 0
    """CPUs that it needs for itself, as its time is measured; 0 if it shares them with others."""
    program: Annotated[str, msgspec.Meta(pattern="^(/|$)")] = ""
    """Absolute path of the one program that it may execute; such a job runs no script."""
