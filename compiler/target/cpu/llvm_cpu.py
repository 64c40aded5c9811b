"""The CPU and the features that LLVM compiles for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from compiler.ir.error import TargetError
from compiler.runtime.machine import Machine, this_machine
from compiler.runtime.modules.native_code import host_cpu, host_triple
from compiler.target.cpu.m_profile import split_cpu
from compiler.target.faulty_cpus import spared

_AVX512 = "avx512f"
_WITHOUT = {f"+no{name}": f"-{name}" for name in (
    "crypto", "dotprod", "dsp", "fullfp16", "i8mm", "mve", "mve.fp", "neon", "sme", "sve", "sve2",
)}  # fmt: skip
"""Disabled features, from the spelling of Arm's compilers to that of LLVM."""


def cpu_and_features(triple: str, mcpu: str, mattr: Sequence[str]) -> tuple[str, str]:
    """Translate the options of a target to LLVM's CPU name and feature string."""
    if mcpu in ("", "native") and triple == host_triple():
        return host_cpu(), ",".join([*host_attributes(), *mattr])
    if mcpu == "native":
        raise TargetError(f"Target: -mcpu=native is this machine, which is not a {triple}")
    name, extensions = split_cpu(mcpu)
    cpu, features = spared(architecture(triple), name)
    return cpu, ",".join([*features, *(_WITHOUT.get(feature, feature) for feature in [*extensions, *mattr])])


def architecture(triple: str) -> str:
    """Return the architecture of a target triple."""
    return triple.split("-")[0]


def host_attributes() -> tuple[str, ...]:
    """Return this machine's features for LLVM, which is told to use 512-bit vectors where the CPU has them."""
    return _attributes(this_machine())


@cache
def _attributes(machine: Machine) -> tuple[str, ...]:
    features = machine.features
    names = [f"{'+' if present else '-'}{name}" for name, present in sorted(features.items())]
    # LLVM prefers 256-bit vectors on several CPUs that run 512-bit ones at full speed.
    return (*names, "-prefer-256-bit") if features.get(_AVX512) else tuple(names)
