"""The measurement environment, read at import, before the sandbox blocks access to it."""

from __future__ import annotations

import platform

import compiler
from compiler.runtime.threads import available_cores, parallel_runtime
from compiler.target.caches import machine_caches


def _cpu_model() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            for line in f:
                if line.startswith(("model name", "Model", "Hardware")):
                    return line.split(":", 1)[1].strip()
    except OSError:
        return platform.processor() or platform.machine()
    return platform.machine()


CPU = _cpu_model()
CACHES = machine_caches()
"""The data caches, the fastest first; empty if unknown."""
CORES = available_cores()
"""The number of cores of the machine, of which a script may only get some."""


def environment() -> dict[str, str]:
    """Return the versions and hardware to state with a measurement."""
    from llvmlite import binding

    return {
        "strata": compiler.__version__,
        "llvm": ".".join(str(part) for part in binding.llvm_version_info),
        "cpu": CPU,
        "cores": str(CORES),
        "parallel": parallel_runtime() or "none: parallel loops run serially",
    }
