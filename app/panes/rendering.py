"""From an answer to what the templates draw: the panes, their titles, the origin table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Literal

import msgspec

from app.artifacts import Answer, Kernel, Listing, Measurement, Unit
from app.panes.differences import Diff, diff
from app.panes.fingerprints import fingerprints
from app.panes.instructions import describe_instructions
from app.panes.listings import Chunk, chunks, line_links
from app.panes.timeline import Row, Stop, describe, fact, stops, timeline


def origin_rows(answer: Answer) -> list[list[Any]]:
    """Return the origin table as ``[id, level, line or 0, parents]``, which is all that linking needs."""
    return [[row.id, row.level, row.line or 0, row.parents] for row in answer.origins]


# Panes

PaneName = Literal["graph", "loops", "llvm", "asm"]
TEXT_PANES: Mapping[PaneName, tuple[str, str]] = {
    "graph": ("Graph IR", "graph"),
    "loops": ("Loop IR", "lowering"),
    "llvm": ("LLVM IR", "llvm"),
    "asm": ("Assembly", "assembly"),
}
"""Text pane -> its title and the group of steps that it shows."""
MEASUREMENTS_MOST = 400
"""Measurements that are drawn."""
PREVIOUS = "previous"
"""Stands for the step before in a comparison."""


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What a visitor looks at: the unit, the chosen step of each text pane, and what it is compared with."""

    unit: int = -1
    """Position of the unit; -1 is the one that the script built last."""
    of_graph: int = -1
    """Position of the graph among the graphs; -1 is the last."""
    graph: str = ""
    loops: str = ""
    llvm: str = ""
    asm: str = ""
    against: str = ""
    graph_against: str = ""

    @classmethod
    def read(cls, raw: str) -> View:
        """Read a view that a client sent as JSON; what is not understood falls back to the default."""
        try:
            return msgspec.json.decode(raw, type=cls)
        except msgspec.MsgspecError:
            return cls()


@dataclass(frozen=True)
class Text:
    """A text pane: the steps to choose from, the listing that it shows and the words of its title."""

    pane: PaneName
    listing: Listing | None = None
    label: str = ""
    """How the title names the step."""
    before_label: str = ""
    diff: Diff | None = None
    choices: list[Stop] = field(default_factory=list)
    stop: Stop | None = None
    against: str = ""

    @property
    def title(self) -> str:
        return TEXT_PANES[self.pane][0]

    @property
    def _graph_facts(self) -> list[str]:
        if self.stop is None or not self.stop.step.facts:
            return []
        facts = self.stop.step.facts
        moved = sum(value for name, value in facts.items() if name.startswith("bytes"))
        counts = [_count(int(facts[f"{noun}s"]), noun) for noun in ("operator", "kernel") if f"{noun}s" in facts]
        return [*counts, f"{fact('bytes', moved)} moved"]

    @property
    def phases(self) -> list[tuple[str, list[Stop]]]:
        """The steps to choose from, by phase."""
        titled = groupby(self.choices, lambda stop: stop.step.phase)
        return [("Passes" if phase is None else f"Phase {phase}", list(stops)) for phase, stops in titled]

    @property
    def chunks(self) -> list[Chunk]:
        return chunks(self.listing) if self.listing else []

    @property
    def links(self) -> dict[str, list[Any]]:
        return self.diff.links if self.diff else line_links(self.listing.lines if self.listing else ())

    @property
    def instructions(self) -> dict[str, str]:
        """What the instructions of an assembly do, by mnemonic."""
        return describe_instructions(line.text for line in self.listing.lines) if self.listing else {}

    @property
    def key(self) -> str:
        """What the pane's body is made of; equal keys, equal bodies."""
        sides = [side.key for side in ((self.diff.before, self.diff.after) if self.diff else (self.listing,)) if side]
        return ":".join([self.pane, *sides, self.label])

    @property
    def facts(self) -> list[str]:
        """The words of the title, most telling first."""
        if self.listing is None:
            return []
        if self.diff is not None:
            return [f"+{self.diff.added} −{self.diff.removed}", f"{self.before_label} → {self.label}"]
        known = sorted(self.listing.summary.items(), key=lambda item: _RANK.get(item[0], len(_RANK)))
        facts = [fact for name, value in known if (fact := _fact(name, value))]
        if self.pane in ("graph", "loops"):
            facts += self._graph_facts
            facts.append(_count(len(self.listing.lines), "line"))
        facts.append(f"{self.listing.linked:.0%} linked".replace("%", "\u202f%"))
        return facts


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


_RANK = {name: rank for rank, name in enumerate(("vector bits", "fma", "spills", "instructions"))}
"""The most telling facts come first; a title shows as many as it has room for."""
_SINGULARS = {"branches": "branch"}


def _fact(name: str, value: float | str) -> str:
    if isinstance(value, str):
        return value
    if name.endswith(" bits"):
        return f"{value:g}-bit" if value else "scalar"
    if name == "fma":
        return f"{value:,} FMA"
    if value == 1 and name.endswith("s"):
        name = _SINGULARS.get(name, name[:-1])
    return f"{value:,g} {name}" if isinstance(value, float) else f"{value:,} {name}"


@dataclass(frozen=True)
class KernelRow:
    """A kernel as the table shows it."""

    kernel: Kernel
    share: float | None
    """Part of the time of all kernels, 0 to 1."""

    @property
    def name(self) -> str:
        """The name without what all names begin with."""
        return self.kernel.name.removeprefix("tvmgen_default_").removeprefix("fused_")

    @property
    def gflops(self) -> float | None:
        """Operations a second in the time that was measured, in billions."""
        kernel = self.kernel
        if not kernel.seconds or kernel.flops is None:
            return None
        return kernel.flops * kernel.calls / kernel.seconds / 1e9

    @property
    def heat(self) -> int:
        """How much of the time it takes, from 0 to 4, for the drawing's colours."""
        return 0 if self.share is None else sum(self.share >= limit for limit in (0.02, 0.06, 0.12, 0.25))


def kernel_rows(kernels: Sequence[Kernel]) -> list[KernelRow]:
    """Return the table of a graph's kernels: by time where it was measured, else by operations."""
    total = sum(kernel.seconds or 0.0 for kernel in kernels)
    rows = [KernelRow(k, k.seconds / total if total and k.seconds is not None else None) for k in kernels]
    return sorted(rows, key=lambda row: (-(row.share or 0.0), -(row.kernel.flops or 0.0) * row.kernel.calls))


@dataclass(frozen=True)
class Page:
    """All that the templates need of an answer and a view."""

    answer: Answer
    view: View
    unit: Unit | None
    """The function whose loops, code and schedule are shown."""
    graph: Unit | None
    """The graph that is shown, where the script made one."""
    rows: list[Row]
    texts: dict[PaneName, Text]
    primitives: list[Stop]

    @property
    def functions(self) -> list[Unit]:
        """The functions to choose from."""
        return [unit for unit in self.answer.units if unit.kind == "function"]

    @property
    def graphs(self) -> list[Unit]:
        """The graphs to choose from."""
        return [unit for unit in self.answer.units if unit.kind == "graph"]

    @property
    def kernels(self) -> list[KernelRow]:
        """The kernels of the graph, the most expensive first."""
        return kernel_rows(self.graph.kernels) if self.graph else []

    @property
    def kernel_facts(self) -> list[str]:
        """The words of the kernels' title."""
        if self.graph is None or not self.graph.kernels:
            return []
        measured = any(kernel.seconds for kernel in self.graph.kernels)
        words = [] if measured else ["Run measures each"]
        return [_count(len(self.graph.kernels), "kernel"), *self.graph.memory, *words]

    @property
    def scripts(self) -> dict[str, str]:
        """Of each kernel the script of its own."""
        return {kernel.name: kernel.script for kernel in self.graph.kernels} if self.graph else {}

    @property
    def data(self) -> dict[str, Any]:
        """What the scripts of the page read of an answer."""
        return {
            "status": self.answer.status,
            "origins": origin_rows(self.answer),
            "problems": self.answer.problems,
            "measurements": self.answer.measurements,
            "outputs": fingerprints(self.answer),
        }


UNITS_MOST, STEPS_MOST, STAGES_MOST, LOOPS_MOST, PIECES_MOST, PROBLEMS_MOST = 200, 1_000, 100, 100, 1_000, 50
KERNELS_MOST, OPERATORS_MOST, SENTENCES_MOST = 400, 300, 10
"""How many of each a page draws; honest scripts stay far below."""
SCRIPT_MOST = 20_000
"""Letters of a kernel's own script."""


def trimmed(answer: Answer) -> Answer:
    """Return as much of an answer as a page draws, whatever a script managed to send."""
    units = [
        msgspec.structs.replace(
            unit,
            steps=unit.steps[:STEPS_MOST],
            schedule=[
                msgspec.structs.replace(stage, loops=stage.loops[:LOOPS_MOST]) for stage in unit.schedule[:STAGES_MOST]
            ],
            kernels=[_trimmed_kernel(kernel) for kernel in unit.kernels[:KERNELS_MOST]],
            memory=unit.memory[:SENTENCES_MOST],
        )
        for unit in answer.units[-UNITS_MOST:]
    ]
    return msgspec.structs.replace(
        answer,
        units=units,
        console=answer.console[:PIECES_MOST],
        problems=answer.problems[:PROBLEMS_MOST],
        measurements=answer.measurements[-MEASUREMENTS_MOST:],
    )


def _trimmed_kernel(kernel: Kernel) -> Kernel:
    return msgspec.structs.replace(
        kernel,
        operators=kernel.operators[:OPERATORS_MOST],
        origins=kernel.origins[:OPERATORS_MOST],
        script=kernel.script if len(kernel.script) <= SCRIPT_MOST else "",
    )


def page(answer: Answer, view: View) -> Page:
    """Choose what each pane shows: the step of the view where it still exists, else the last of its kind."""
    answer = trimmed(answer)
    unit = _chosen([unit for unit in answer.units if unit.kind == "function"], view.unit)
    graph = _chosen([unit for unit in answer.units if unit.kind == "graph"], view.of_graph)
    every = [stop for chosen in (graph, unit) if chosen for stop in stops(chosen)]
    shown = [stop for stop in every if stop.step.listing in answer.listings]
    wanted: dict[PaneName, str] = {"graph": view.graph, "loops": view.loops, "llvm": view.llvm, "asm": view.asm}
    against: dict[PaneName, str] = {"graph": view.graph_against, "loops": view.against}
    texts: dict[PaneName, Text] = {}
    for pane, (_, group) in TEXT_PANES.items():
        choices = [stop for stop in shown if stop.step.group == group]
        texts[pane] = text_pane(pane, choices, wanted[pane], answer, against.get(pane, ""))
    primitives = [stop for stop in every if stop.step.group == "schedule"]
    return Page(answer, view, unit, graph, timeline(every), texts, primitives)


def _chosen(units: list[Unit], wanted: int) -> Unit | None:
    if 0 <= wanted < len(units):
        return units[wanted]
    built = [unit for unit in units if unit.built]
    return (built or units)[-1] if units else None


def text_pane(pane: PaneName, choices: list[Stop], wanted: str, answer: Answer, against: str = "") -> Text:
    """Return a text pane at a step of ``choices``, compared with another one where ``against`` names it."""
    stop = next((stop for stop in choices if stop.id == wanted), choices[-1] if choices else None)
    if stop is None or stop.step.listing is None:
        return Text(pane)
    shown = Text(pane, answer.listings[stop.step.listing], describe(stop), choices=choices, stop=stop, against=against)
    if against == PREVIOUS:
        earlier = [choice for choice in choices if choice.position < stop.position]
        other = earlier[-1] if earlier else None
    else:
        other = next((choice for choice in choices if choice.id == against), None)
    if other is None or other.step.listing is None or shown.listing is None:
        return shown
    merged = diff(answer.listings[other.step.listing], shown.listing)
    return replace(shown, before_label=describe(other), diff=merged)


# Numbers


def duration(seconds: float) -> str:
    """Return a time with three digits and the unit that fits: ``842 µs``, ``12.3 ms``."""
    for limit, factor, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if seconds < limit * (1 - 5e-4):  # what would be written as 1000 of a unit is 1 of the next
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def operations(number: float) -> str:
    """Return a number of operations in thousands, millions or billions: ``265 M``."""
    for unit in ("", " k", " M"):
        if number < 1000:
            return f"{number:.3g}{unit}"
        number /= 1000
    return f"{number:.3g} G"


def how_measured(measurement: Measurement) -> str:
    """Return the conditions of a measurement in a line."""
    threads = _count(measurement.threads, "thread")
    if measurement.repeats < 2:
        return f"one measurement of {_count(measurement.number, 'call')}, {threads}"
    spread = measurement.spread / measurement.seconds if measurement.seconds else 0.0
    return f"median of {measurement.repeats}, ± {spread / 2:.1%}, {threads}".replace("%", "\u202f%")


def conditions(measurements: Sequence[Measurement]) -> str:
    """Return what all measurements of a benchmark have in common: threads, processor, and that they were checked."""
    kernels = [m for m in measurements if m.kind in ("kernel", "prefix")]
    if not kernels:
        return ""
    words = [_count(kernels[-1].threads, "thread"), kernels[-1].cpu]
    if all(m.checked == "ok" for m in kernels):
        words.append("checked ✓")
    return " · ".join(word for word in words if word)
