"""The measurement environment, read at import, before the sandbox blocks access to it."""

from __future__ import annotations

from app import __version__
from compiler.runtime.machine import available_cores, this_machine
from compiler.runtime.parallel.threads import parallel_runtime
from compiler.target.cpu.caches import machine_caches

CPU = this_machine().processor
CACHES = machine_caches()
"""The data caches, the fastest first; empty if unknown."""
CORES = available_cores()
"""The number of cores of the machine, of which a script may only get some."""


def environment() -> dict[str, str]:
    """Return the versions and hardware to state with a measurement."""
    from llvmlite import binding

    return {
        "strata": __version__,
        "llvm": ".".join(str(part) for part in binding.llvm_version_info),
        "cpu": CPU,
        "cores": str(CORES),
        "parallel": parallel_runtime(),
    }
