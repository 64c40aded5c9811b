"""The facts of this machine: everything that depends on them asks here."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from llvmlite import binding

__all__ = ["VARIABLE", "Machine", "available_cores", "this_machine"]

VARIABLE = "STRATA_SIMULATED_MACHINE"
"""An environment variable with JSON that replaces facts, to see what this package does on another machine: fields of
:class:`Machine`, of ``features`` only the names of those that it has."""
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine, as far as programs differ by it.

    Attributes
    ----------
    processor : str
        The name of its processor in the words of the operating system.
    features : mapping of str to bool
        Whether it has each feature that LLVM detects, by LLVM's names.
    cores : int
        Those that this process may use.
    caches : Path
        The directory in which Linux describes the caches of the first core.
    """

    processor: str
    cpu: str
    features: Mapping[str, bool]
    cores: int
    caches: Path


@cache
def this_machine() -> Machine:
    """Read the facts, once: before a sandbox blocks access to them.

    They are what :data:`VARIABLE` says, else what this machine is, without features that this machine lacks.
    """
    features = {name: bool(present) for name, present in binding.get_host_cpu_features().items()}
    here = Machine(_processor(), str(binding.get_host_cpu_name()), features, _usable_cores(), _CACHES)
    facts = json.loads(os.environ.get(VARIABLE, "{}"))
    if "features" in facts:
        facts["features"] = {name: present and name in facts["features"] for name, present in features.items()}
    if "caches" in facts:
        facts["caches"] = Path(facts["caches"])
    return replace(here, **facts)


def available_cores() -> int:
    """Return the number of cores that this process may use, its affinity respected."""
    return min(_usable_cores(), this_machine().cores)


def _usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith(("model name", "Model", "Hardware")):
                    return line.split(":", 1)[1].strip()
    except OSError:
        return platform.processor() or platform.machine()
    return platform.machine()
