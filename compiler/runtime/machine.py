"""The facts of this machine: everything that depends on them asks here."""

from __future__ import annotations

import ctypes
import json
import os
import platform
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from compiler.ir.lazy_attribute import lazy_attribute
from compiler.runtime import cpus
from compiler.runtime.llvm import binding

VARIABLE = "STRATA_SIMULATED_MACHINE"
"""An environment variable with JSON that replaces facts, to see what this package does on another machine: fields of
:class:`Machine`, of ``features`` only the names of those that it has."""
_TILES = "amx-tile"
_ARCH_PRCTL, _GET_XCOMP_SUPP, _TILE_DATA = 158, 0x1021, 18
"""Linux's system call, its subfunction for the registers that processes may ask for, and the number of AMX's."""
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


class Machine:
    """A machine, as far as programs differ by it.

    The facts ``stated`` replace those of the machine that this process runs on, as :data:`VARIABLE` has them.
    """

    def __init__(self, stated: Mapping[str, Any]) -> None:
        self._stated = stated
        # the name of its processor in the words of the operating system
        self.processor = str(stated.get("processor", _processor()))
        granted = min(cpus.usable_cpus(), cpus.granted_cpus() or cpus.usable_cpus())
        self.cores = int(stated.get("cores", granted))  # those that this process may use, each thread of one as well
        # how many of them compute at once: the threads of a core share what multiplies
        self.threads = int(stated.get("threads", min(self.cores, cpus.cores())))
        # the directory in which Linux describes the caches of the first core
        self.caches = Path(stated.get("caches", _CACHES))

    @lazy_attribute
    def cpu(self) -> str:
        """The name that LLVM gives its processor."""
        return str(self._stated.get("cpu", binding.get_host_cpu_name()))

    @lazy_attribute
    def features(self) -> Mapping[str, bool]:
        """Whether it has each feature that LLVM detects, by LLVM's names; none that the processor here lacks."""
        here = {name: bool(present) for name, present in binding.get_host_cpu_features().items()}
        if here.get(_TILES) and not _keeps_tiles():
            here |= {name: False for name in here if name.startswith("amx-")}
        stated = self._stated.get("features", here)
        return {name: present and name in stated for name, present in here.items()}


@cache
def this_machine() -> Machine:
    """Return what :data:`VARIABLE` says of this machine, else what it is, read once: before a sandbox hides it."""
    return Machine(json.loads(os.environ.get(VARIABLE, "{}")))


def available_cores() -> int:
    """Return the number of cores that this process may use, its affinity and the quota of its container respected.

    The threads of a core count each.
    """
    return min(cpus.usable_cpus(), this_machine().cores)


def _keeps_tiles() -> bool:
    """Return whether Linux lets processes of this machine use x86's tile registers: kernels before 5.16 do not."""
    supported = ctypes.c_uint64()
    failed = ctypes.CDLL(None).syscall(_ARCH_PRCTL, _GET_XCOMP_SUPP, ctypes.byref(supported))
    return not failed and bool(supported.value >> _TILE_DATA & 1)


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith(("model name", "Model", "Hardware")):
                    return line.split(":", 1)[1].strip()
    except OSError:
        return platform.processor() or platform.machine()
    return platform.machine()
