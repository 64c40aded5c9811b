"""The table of a graph's kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from app.artifacts import Answer, GraphNode, Kernel, ModelRace, OwnKernel, Unit
from app.panes.limits import MAX_KERNELS
from app.panes.numbers import BUSY, DISTURBED, count, duration
from app.panes.pane import Pane
from app.panes.selection import Selection
from app.panes.sources import wording

_NAME_PREFIXES = ("tvmgen_default_", "vm_mod_", "fused_")
_HEAT_SHARES = (0.02, 0.06, 0.12, 0.25)
"""Fractions of the time from which a kernel has heat 1, 2, 3, 4."""


@dataclass(frozen=True)
class KernelRow:
    """A kernel as a row of the table."""

    kernel: Kernel
    share: float | None
    """Fraction of the time of all kernels; None if not measured."""

    is_own: bool = False
    """Whether the workspace defines it."""

    @property
    def name(self) -> str:
        """The name without common prefixes."""
        return short_name(self.kernel.name)

    @property
    def flops(self) -> float | None:
        """Floating-point operations of all calls in a run, or of one call if their number is unknown."""
        return None if self.kernel.flops is None else self.kernel.flops * (self.kernel.calls or 1)

    @property
    def bytes(self) -> float | None:
        """Bytes read and written by all calls in a run, or by one call if their number is unknown."""
        return None if self.kernel.bytes is None else self.kernel.bytes * (self.kernel.calls or 1)

    @property
    def gflops(self) -> float | None:
        """GFLOP/s over all calls."""
        if not self.kernel.seconds or self.flops is None:
            return None
        return self.flops / self.kernel.seconds / 1e9

    @property
    def heat(self) -> int:
        """Heat from 0 to 4 by its fraction of the time, for colouring the graph."""
        share = self.share
        return 0 if share is None else sum(share >= limit for limit in _HEAT_SHARES)


@dataclass(frozen=True)
class KernelTable:
    """The kernels of a graph, hottest first."""

    unit: Unit

    @property
    def rows(self) -> list[KernelRow]:
        """The kernels by time if measured, otherwise by operations."""
        own = [kernel.name for kernel in self.own if not kernel.problem]
        return [replace(row, is_own=row.kernel.name in own) for row in kernel_rows(self.unit.kernels)]

    @property
    def own(self) -> list[OwnKernel]:
        """The kernels that the workspace defines."""
        return self.unit.own_kernels

    @property
    def found(self) -> int:
        """How many kernels are built as a search has found."""
        return sum(kernel.found for kernel in self.unit.kernels)

    @property
    def race(self) -> ModelRace | None:
        """The comparison of the model with itself without those kernels."""
        return self.unit.race

    @property
    def race_numbers(self) -> list[float]:
        """The comparison as stored in links."""
        race = self.unit.race
        return [race.seconds, race.original_seconds, race.low, race.ratio, race.high, race.rounds] if race else []

    @property
    def measured(self) -> bool:
        """Whether the kernels were timed."""
        return any(kernel.seconds for kernel in self.unit.kernels)

    @property
    def counts_calls(self) -> bool:
        """Whether the number of calls per run is known for all kernels."""
        return all(kernel.calls is not None for kernel in self.unit.kernels)

    @property
    def counted(self) -> str:
        """Description of the calls that operations and bytes are counted for."""
        return "of all calls in one run" if self.counts_calls else "of one call"

    @property
    def has_layers(self) -> bool:
        """Whether the kernels have layer names of an imported model."""
        return any(kernel.layers for kernel in self.unit.kernels)

    @property
    def facts(self) -> list[str]:
        """The statistics in the title."""
        if self.unit.unbuilt:
            return []
        hint = f"times {wording('script').label}" if self.measured else self.unit.unmeasured or "Run measures each"
        return [count(len(self.unit.kernels), "kernel"), *self.unit.memory, *([hint] if self.unit.kernels else [])]

    @property
    def busy(self) -> str:
        """The mark in the heading if some times were taken while others used the machine."""
        return BUSY if any(kernel.disturbed for kernel in self.unit.kernels) else ""

    @property
    def scripts(self) -> dict[str, str]:
        """The standalone script of each kernel."""
        return {kernel.name: kernel.script for kernel in self.unit.kernels}


def short_name(name: str) -> str:
    """Return the name of a kernel without common prefixes."""
    for prefix in _NAME_PREFIXES:
        name = name.removeprefix(prefix)
    return name


def race_words(race: ModelRace) -> str:
    """Describe the speedup of a model by the kernels of the workspace, and its certainty."""
    if race.checked == "wrong":
        by = "" if race.error is None else f", by up to {race.error:.1e}"
        return f"The model’s outputs differ from those without these kernels{by}: it was not timed."
    before, after = (f"{duration(median)} ± {duration(spread / 2)}" for median, spread in (
        (race.original_seconds, race.original_spread), (race.seconds, race.spread)
    ))  # fmt: skip
    quartiles = f"{race.low:.2f} to {race.high:.2f}"
    by_turns = f"in {count(race.rounds, 'alternating round')}" + (f", {DISTURBED}" if race.disturbed else "")
    faster = f"{race.ratio:.2f}× as fast ({quartiles} {by_turns})"
    if race.low <= 1 <= race.high:  # a figure would be taken for one
        faster = f"no difference beyond the noise ({quartiles}× as fast {by_turns})"
    error = "" if race.error is None else f" (largest difference {race.error:.2g})"
    return f"The model took {before} before and takes {after} now: {faster}. Its outputs are the same{error}."


def kernel_rows(kernels: Sequence[Kernel]) -> list[KernelRow]:
    """Return the rows of some kernels, sorted by time if measured, otherwise by operations."""
    total = sum(kernel.seconds or 0.0 for kernel in kernels)
    rows = [KernelRow(k, k.seconds / total if total and k.seconds is not None else None) for k in kernels]
    return sorted(rows, key=lambda row: (-(row.share or 0.0), -(row.flops or 0.0)))


def became(unit: Unit | None, group: Sequence[GraphNode], stored: bool = False) -> list[KernelRow]:
    """Return the kernels of a group of nodes: those with exactly its operators, or else those with one of them.

    The operators of a stored file have other names; its nodes became whatever comes from them.
    """
    if unit is None:
        return []
    origins = {origin for node in group for origin in node.origins}
    operators = sorted(node.label for node in group)
    near = [row for row in kernel_rows(unit.kernels[:MAX_KERNELS]) if origins.intersection(row.kernel.origins)]
    if stored:
        return near
    same = [row for row in near if sorted(row.kernel.operators) == operators]
    return same or [row for row in near if set(operators).intersection(row.kernel.operators)]


def with_times(answer: Answer, run: Answer) -> Answer:
    """Return an answer with the times that a run of the same script gave the kernels of its graphs."""
    graphs = iter([unit for unit in run.units if unit.kind == "graph"])
    units = [_timed(unit, next(graphs, unit)) if unit.kind == "graph" else unit for unit in answer.units]
    return msgspec.structs.replace(answer, units=units)


def _timed(unit: Unit, run: Unit) -> Unit:
    ran = {kernel.name: kernel for kernel in run.kernels}
    if ran.keys() != {kernel.name for kernel in unit.kernels}:
        return unit
    kernels = [
        msgspec.structs.replace(kernel, seconds=ran[kernel.name].seconds, disturbed=ran[kernel.name].disturbed)
        for kernel in unit.kernels
    ]
    return msgspec.structs.replace(unit, kernels=kernels, unmeasured=run.unmeasured, race=run.race)


def produce_kernels(pane: Pane, selection: Selection) -> KernelTable | None:
    """Return the kernels of the selected graph, if it was built, or why it cannot be."""
    graph = selection.graph
    return KernelTable(graph) if graph is not None and (graph.built or graph.kernels or graph.unbuilt) else None
