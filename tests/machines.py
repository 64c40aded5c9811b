"""Machines that tests pretend to run on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from compiler.runtime.machine import VARIABLE, this_machine
from compiler.runtime.modules.native_code import host_features, host_triple
from compiler.runtime.parallel.threads import openmp
from compiler.target.cpu.processor_features import used_features
from compiler.target.target import Target

needs_c_compiler = pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="needs a C compiler")
needs_openmp = pytest.mark.skipif(openmp() is None, reason="needs an OpenMP runtime (libgomp1)")
_SSE2 = ["64bit", "cmov", "cx8", "fxsr", "mmx", "sse", "sse2", "x87"]
MACHINES = {
    "a processor with a long name": {
        "processor": "Intel(R) Xeon(R) Platinum 8592V+ Processor with 480M Cache, 2.00 GHz (Engineering Sample)"
    },
    "a processor that nothing knows": {
        "processor": "ZHAOXIN KaiSheng KH-90000/128@2.0GHz Processor with 480M Cache, 2.00 GHz (Engineering Sample)",
        "cpu": "generic", "caches": "/nothing",
    },
    "a single core without AVX": {
        "processor": "ZHAOXIN KaiSheng KH-10000/1@1.0GHz Processor with 480K Cache, 1.00 GHz (Engineering Sample)",
        "features": _SSE2, "cores": 1, "cpu": "x86-64", "caches": "/nothing",
    },
}  # fmt: skip
"""What each has that this machine may not have, by a description."""


PROCESSORS = ("x86-64", "x86-64-v2", "sandybridge", "haswell", "znver3", "skylake-avx512", "sapphirerapids")
"""Processors that code generation treats differently, from few features to many."""


def lacks(target: str) -> frozenset[str]:
    """Return the features that code for a target of x86-64 uses and this machine's processor does not have."""
    made = Target(target)
    return frozenset(used_features(made.triple, made.cpu, made.llvm_features) - host_features())


def processors() -> list[str]:
    """Return those of `PROCESSORS` whose code this machine runs, at least four of any x86-64 with AVX2.

    Some programs for AMD's use SSE4a, which Intel's do not have.
    """
    if not host_triple().startswith("x86_64"):
        return ["native"]
    some = [name for name in PROCESSORS if "sse4a" in host_features() or not name.startswith("znver")]
    return [name for name in some if not lacks(f"llvm -mcpu={name}")]


def require(target: str) -> None:
    """Skip a test that runs code for a target which this machine's processor cannot run."""
    if not host_triple().startswith("x86_64"):
        pytest.skip(f"{target} is for another architecture than this machine's")
    lacking = lacks(target)
    if lacking:
        pytest.skip(f"code for {target} uses {', '.join(sorted(lacking))}, which this machine lacks")


@contextmanager
def pretended(name: str, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let this process, and those that it starts, find one of the machines instead of the one that they run on."""
    if "features" in MACHINES[name] and not host_triple().startswith("x86_64"):
        pytest.skip("a machine of another architecture")
    patch.setenv(VARIABLE, json.dumps(MACHINES[name]))
    this_machine.cache_clear()
    yield
    patch.delenv(VARIABLE)
    this_machine.cache_clear()
