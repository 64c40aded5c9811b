"""The kernel's resource limits of a job."""

from __future__ import annotations

import math
import os
import resource

from app.sandbox.limits import Limits


def apply(limits: Limits, address_space: int, tasks: int) -> None:
    """Irrevocably set the resource limits of this process.

    Parameters
    ----------
    limits
        Resource limits of the job.
    address_space
        Size of the current address space in bytes.
    tasks
        Number of tasks of the user outside this job, which the kernel counts as well.
    """
    if limits.cpus:
        os.sched_setaffinity(0, limits.cpus)
    for what, amount in (
        (resource.RLIMIT_CPU, cpu_limit(limits)),
        (resource.RLIMIT_AS, address_space + limits.memory_bytes),
        (resource.RLIMIT_NPROC, tasks + limits.threads),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_FSIZE, limits.files_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        ceiling = resource.getrlimit(what)[1]
        if ceiling != resource.RLIM_INFINITY:
            amount = min(amount, ceiling)
        # Set both limits: the first process of a namespace would ignore the signal of the soft one.
        resource.setrlimit(what, (amount, amount))


def cpu_limit(limits: Limits) -> int:
    """Return the CPU time limit in whole seconds, after which the kernel kills the process."""
    return max(1, math.ceil(limits.cpu_seconds))
