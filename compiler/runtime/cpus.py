"""The CPUs of a process: those that it may run on, what control groups grant it of them, and which share a core.

See the kernel's documentation of ``cpu.max`` (``admin-guide/cgroup-v2.rst``), of ``cpu.cfs_quota_us``
(``scheduler/sched-bwc.rst``) and of ``thread_siblings_list`` (``admin-guide/cputopology.rst``).
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

_TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def usable_cpus() -> int:
    """Return on how many CPUs this process may run; control groups do not change that, see :func:`granted_cpus`."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cores() -> int:
    """Return how many cores the CPUs are on which this process may run."""
    return len(set(map(core_of, os.sched_getaffinity(0)))) if hasattr(os, "sched_getaffinity") else usable_cpus()


@cache
def core_of(cpu: int) -> str:
    """Return a name of the core that a CPU is a hardware thread of, one of its own where the system does not say."""
    try:
        return Path(_TOPOLOGY.format(cpu)).read_text(encoding="utf-8").strip()
    except OSError:
        return str(cpu)


def on_separate_cores_first(cpus: Iterable[int]) -> list[int]:
    """Return CPUs in their order, those behind the others whose core has come before."""
    met: Counter[str] = Counter()
    turns = []
    for cpu in cpus:
        turns.append((met[core_of(cpu)], cpu))
        met[core_of(cpu)] += 1
    return [cpu for _, cpu in sorted(turns, key=lambda turn: turn[0])]


# control groups


def granted_cpus() -> int | None:
    """Return of how many CPUs control groups grant this process the time, a part as a whole; None if they do not say.

    A container that was started with ``--cpus=2`` may run on every CPU of its host, and all its threads stop for the
    rest of a period once they have used up the time of two.
    """
    try:
        mounted, own = {name: (mount, root) for name, mount, root in mounts()}, dict(own_groups())
    except OSError:  # not Linux
        return None
    granted = []
    for name in {"", "cpu"} & mounted.keys() & own.keys():
        mount, root = mounted[name]
        inner = own[name].removeprefix(root.rstrip("/")).lstrip("/")  # a container sees its part of the hierarchy
        directory = mount / inner
        granted += [_granted(each) for each in (directory, *directory.parents) if each.is_relative_to(mount)]
    least = min(granted, default=math.inf)
    return None if least == math.inf else math.ceil(least)


def _granted(group: Path) -> float:
    try:
        if (group / "cpu.max").exists():
            quota, period = (group / "cpu.max").read_text(encoding="utf-8").split()
        else:
            quota, period = ((group / f"cpu.cfs_{name}_us").read_text(encoding="utf-8") for name in ("quota", "period"))
    except OSError:  # the first group of a hierarchy has no limit
        return math.inf
    return math.inf if quota == "max" or int(quota) < 0 else int(quota) / int(period)


def mounts() -> Iterator[tuple[str, Path, str]]:
    """Yield the controllers of control groups, where their hierarchy is mounted, and which part of it.

    The name of that of cgroup v2, which has all of them, is empty.  Raises OSError elsewhere than on Linux.
    """
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        root, place = before.split(" ")[3:5]
        if kind == "cgroup2":
            yield "", Path(place), root
        elif kind == "cgroup":
            yield from ((name, Path(place), root) for name in options.split(","))


def own_groups() -> Iterator[tuple[str, str]]:
    """Yield the group of this process by controller; that of cgroup v2 by an empty name."""
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        yield from ((name, path) for name in controllers.split(","))
