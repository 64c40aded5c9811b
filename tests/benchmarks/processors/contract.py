"""Looks at the hot loops of kernels compiled for a processor, and compares them with the code for its relatives."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from compiler.ir.error import BuildError, UnavailableError
from compiler.target.cpu.cpu_lineage import features_of_cpus
from compiler.target.cpu.cpus import TRIPLES
from compiler.target.cpu.throughput import Throughput, analyse_loop
from compiler.target.loop_facts import Finding, LoopFacts, findings, loop_facts
from compiler.target.target import Target

PROCESSORS: Mapping[str, str] = {
    **dict.fromkeys(("x86-64-v2", "haswell", "znver2", "znver3", "alderlake", "skylake-avx512", "cascadelake",
                     "icelake-server", "sapphirerapids", "znver4", "znver5"), "x86_64"),
    **dict.fromkeys(("neoverse-n1", "neoverse-v1", "neoverse-v2", "apple-m1"), "aarch64"),
    "sifive-x280": "riscv64",
}  # fmt: skip
"""The processors with their architectures."""
SLOWER = 1.3
"""How many times the cycles of the best code that runs on a processor its own may take."""
MANY_MORE = 1.5
_OF_VECTORS = re.compile(r"avx|sse|fma|f16c|bf16|dotprod|i8mm|fullfp16|fp16|sve|neon|v$|zv")


@dataclass(frozen=True, slots=True)
class Row:
    """The hot loop of a kernel on a processor."""

    kernel: str
    processor: str
    facts: LoopFacts
    throughput: Throughput | None
    found: tuple[Finding, ...]

    @property
    def least_cycles(self) -> float:
        """Cycles that the work alone takes with the widest vectors, on its busiest port."""
        if self.throughput is None or not self.facts.working:
            return 0.0
        busy = self.throughput.busiest(set(self.facts.working))
        return busy * self.facts.least / len(self.facts.working)


def target_of(processor: str) -> Target:
    """Return the target of one of the processors."""
    return Target(f"llvm -mtriple={TRIPLES[PROCESSORS[processor]]} -mcpu={processor}")


def rows_of(kernel: str, assembly: Callable[[Target], str], processors: Sequence[str]) -> Iterator[Row]:
    """Yield a row for each processor; one whose code does not loop has none."""
    every = {processor: facts_of(assembly, processor) for processor in processors}
    facts = {processor: found for processor, found in every.items() if found is not None}
    for processor, own in facts.items():
        throughput = cycles(own.lines, processor)
        found_here = findings(own, target_of(processor))
        slower = _slower(processor, facts, throughput)
        yield Row(kernel, processor, own, throughput, (*found_here, *slower))


def facts_of(assembly: Callable[[Target], str], processor: str) -> LoopFacts | None:
    """Return what is in the hot loop of a kernel on a processor; None if nothing loops."""
    target = target_of(processor)
    return loop_facts(assembly(target), target)


def _slower(processor: str, facts: Mapping[str, LoopFacts], throughput: Throughput | None) -> Iterator[Finding]:
    """Yield whether code for a processor with no more vector features would be faster on this one.

    Code of many more instructions is left out: models of processors that split 512-bit instructions are hard on these.
    """
    own = facts[processor]
    if throughput is None or not own.work:
        return
    has, best, whose = vector_features(processor), throughput.cycles / own.work, ""
    for other, theirs in facts.items():
        if other == processor or theirs.unit != own.unit or not vector_features(other) <= has:
            continue
        if len(theirs.lines) / theirs.work > MANY_MORE * len(own.lines) / own.work:
            continue
        if PROCESSORS[other] == PROCESSORS[processor] and (there := cycles(theirs.lines, processor)):
            taken = there.cycles / theirs.work
            best, whose = (taken, other) if taken < best else (best, whose)
    ratio = throughput.cycles / own.work / best
    if ratio > SLOWER:
        yield Finding("slower", f"{ratio:.1f} times the cycles of the code for {whose}")


def vector_features(processor: str) -> frozenset[str]:
    """Return the features of a processor that code for vectors depends on."""
    known = features_of_cpus(PROCESSORS[processor]).get(processor, frozenset())
    return frozenset(filter(_OF_VECTORS.match, known))


@cache
def cycles(lines: tuple[str, ...], processor: str) -> Throughput | None:
    """Return what LLVM's model of a processor, or the nearest, says of a loop; None if there is none."""
    target = target_of(processor)
    try:
        return analyse_loop(lines, target.triple, target.cpu, target.llvm_features)
    except (BuildError, UnavailableError):
        return None
