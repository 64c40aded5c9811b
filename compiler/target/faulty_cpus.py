"""The CPUs for which LLVM's code generator ends the process, and what it compiles for in their place."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from compiler.target.cpu.cpu_lineage import features_of_cpus

LLVM = (22, 1, 0)
"""The version in which they were found: by kernels of every data type, compiled for each CPU of its lists."""


class Instead(NamedTuple):
    """Another CPU, whose instructions LLVM schedules for, and the features that are not used."""

    cpu: str
    without: frozenset[str] = frozenset()


FAULTY_CPUS: Mapping[tuple[str, str], Instead] = {
    # "incomplete machine model": instructions that load several registers are not in the tables of its pipeline.
    ("aarch64", "oryon-1"): Instead("ampere1"),
    ("aarch64", "ampere1b"): Instead("ampere1a"),
    # "Attempting to emit SH2ADD": addresses are computed by an instruction that it has only under another name.
    ("riscv64", "andes-ax45mpv"): Instead("andes-ax45mpv", frozenset({"xandesperf"})),
}
"""By architecture and CPU."""


@cache
def spared(architecture: str, cpu: str) -> tuple[str, tuple[str, ...]]:
    """Return the CPU that LLVM compiles for in place of one, and the features that make it so, none as a rule.

    The code may use all instructions of the CPU that was asked for but those of the features that are left out.
    """
    architecture = {"arm64": "aarch64"}.get(architecture, architecture)
    instead = FAULTY_CPUS.get((architecture, cpu))
    if instead is None:
        return cpu, ()
    known = features_of_cpus(architecture)
    wanted, given = known[cpu] - instead.without, known[instead.cpu]
    return instead.cpu, (*(f"+{f}" for f in sorted(wanted - given)), *(f"-{f}" for f in sorted(given - wanted)))
