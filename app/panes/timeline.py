"""The strip from the schedule's first primitive to LLVM's last stage: steps that can be chosen, folded into chips."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from app.artifacts import Step, Unit


@dataclass(frozen=True)
class Stop:
    """A step that can be chosen; ``id`` survives a recompilation that keeps the step."""

    id: str
    step: Step
    position: int
    before: Step | None = None
    """The step before it in its unit."""

    @property
    def name(self) -> str:
        """The step's name; that lowering passes work on TIR goes without saying."""
        return self.step.name.removeprefix("tir.")

    @property
    def story(self) -> str:
        """Name, what changed and how long it took: ``VectorizeLoop  −2 lines, 0.31 ms``."""
        noun, lines = self._counted
        noun = noun if abs(lines) == 1 else f"{noun}s"
        if not self.step.applied:
            return f"{self.name}\u2003off: {self.step.detail}" if self.step.group == "graph" else self.name
        change = "no change" if not self.step.changed else f"{signed(lines)} {noun}" if lines else "same length"
        took = f", {self.step.milliseconds:.2g} ms" if self.step.milliseconds is not None else ""
        mark = {"ok": " ✓", "wrong": " ✗", "unchecked": ""}[self.step.checked]
        return f"{self.name}\u2003{change}{took}{mark}"

    @property
    def size(self) -> str:
        """What the step did to the program's size: lines, or instructions."""
        delta = self.step.delta
        if self.step.group in ("llvm", "assembly"):
            return f"{delta['instructions']:,}" if "instructions" in delta else ""
        if not self.step.changed:
            return "="
        _, count = self._counted
        mark = {"ok": " ✓", "wrong": " ✗", "unchecked": ""}[self.step.checked]
        return (signed(count) if count else "±0") + mark

    @property
    def _counted(self) -> tuple[str, int]:
        """What tells best how large the program is, and how it changed: a graph's operators or kernels, else lines."""
        delta = self.step.delta
        noun = next((noun for noun in ("operator", "kernel") if delta.get(f"{noun}s")), "line")
        return noun, delta.get(f"{noun}s", 0)

    @property
    def words(self) -> str:
        """What the step does and, of a graph, how things were before and are after it; a line each."""
        return "\n".join(line for line in (self.step.detail or self.name, *self.comparisons, self.verdict) if line)

    @property
    def verdict(self) -> str:
        """Whether the program computes the same as before the step, where that was tried."""
        if self.step.checked == "unchecked":
            return ""
        error = "" if self.step.error is None else f", largest difference {self.step.error:.2g}"
        return f"✓ computes the same{error}" if self.step.checked == "ok" else f"✗ computes something else{error}"

    @property
    def comparisons(self) -> list[str]:
        """Each fact about a graph before and after the step: ``kernels 12 → 7``."""
        old = self.before.facts if self.before is not None else {}
        return [
            f"{name} {fact(name, old[name])} → {fact(name, value)}"
            if old.get(name, value) != value
            else f"{name} {fact(name, value)}"
            for name, value in self.step.facts.items()
        ]


@dataclass(frozen=True)
class Chip:
    """One button of the strip: a step, or several steps folded together (a phase, a run of one primitive)."""

    label: str
    stop: Stop
    small: str
    dim: bool = False
    members: list[Stop] = field(default_factory=list)
    """Steps inside, shown when the chip is opened."""

    @property
    def hidden(self) -> int:
        """How many of the steps inside changed nothing."""
        return sum(not stop.step.changed for stop in self.members)


@dataclass(frozen=True)
class Row:
    """A named group of the strip."""

    key: str
    title: str
    chips: list[Chip]


def signed(number: int) -> str:
    """Return ``+24`` or, with a true minus sign, ``−6``."""
    return f"+{number:,}" if number > 0 else f"−{-number:,}" if number < 0 else "0"


def fact(name: str, value: float) -> str:
    """Return a fact about a graph as people read it: ``12``, ``657 KB``."""
    return size(value) if name.startswith("bytes") else f"{value:,.0f}"


def size(value: float) -> str:
    """Return a number of bytes with the unit that fits: ``657 KB``."""
    for unit in ("B", "KB", "MB"):
        if value < 1024:
            return f"{value:.3g} {unit}"
        value /= 1024
    return f"{value:.3g} GB"


def stops(unit: Unit) -> list[Stop]:
    """Return the steps of a unit with ids made of group, name and how often the name came before."""
    seen: dict[tuple[str, str], int] = {}
    out = []
    for position, step in enumerate(unit.steps):
        nth = seen[step.group, step.name] = seen.get((step.group, step.name), -1) + 1
        before = unit.steps[position - 1] if position else None
        out.append(Stop(f"{step.group}:{step.name}:{nth}", step, position, before))
    return out


def _schedule_chips(steps: list[Stop]) -> list[Chip]:
    runs: list[list[Stop]] = []
    for stop in steps:
        if runs and runs[-1][0].step.name == stop.step.name:
            runs[-1].append(stop)
        else:
            runs.append([stop])
    chips = []
    for run in runs:
        name = run[0].step.name
        lines = sorted({stop.step.line for stop in run if stop.step.line})
        small = (
            f"line {lines[0]}"
            if len(lines) == 1
            else f"lines {lines[0]}–{lines[-1]}"
            if lines
            else "definition"
            if name == "default"
            else "automatic"
        )
        label = f"{name} ×{len(run)}" if len(run) > 1 else name
        chips.append(Chip(label, run[-1], small, dim=not run[-1].step.applied, members=run))
    return chips


def _phase_chips(steps: list[Stop]) -> list[Chip]:
    phases: dict[int | None, list[Stop]] = {}
    for stop in steps:
        phases.setdefault(stop.step.phase, []).append(stop)
    chips = []
    for phase, members in phases.items():
        lines = sum(stop.step.delta.get("lines", 0) for stop in members)
        changed = any(stop.step.changed for stop in members)
        small = "=" if not changed else signed(lines) if lines else "±0"
        label = f"Phase {phase}" if phase is not None else members[0].step.name
        chips.append(Chip(label, members[-1], small, dim=not changed, members=members))
    return chips


def _single_chips(steps: list[Stop]) -> list[Chip]:
    return [Chip(stop.step.name, stop, stop.size, dim=not stop.step.changed) for stop in steps]


def _graph_chips(steps: list[Stop]) -> list[Chip]:
    """Return a chip for each pass that changed the graph; runs of those that did not are folded."""
    chips = []
    for (changed, applied), run in groupby(steps, lambda stop: (stop.step.changed, stop.step.applied)):
        members = list(run)
        if not applied:
            label = members[0].name if len(members) == 1 else f"{len(members)} passes"
            chips.append(Chip(label, members[-1], "off", dim=True, members=members))
        elif changed or len(members) == 1:
            chips += [Chip(stop.name, stop, stop.size, dim=not changed) for stop in members]
        else:
            chips.append(Chip(f"{len(members)} passes", members[-1], "=", dim=True, members=members))
    return chips


ROWS: tuple[tuple[str, str, Callable[[list[Stop]], list[Chip]]], ...] = (
    ("graph", "Graph", _graph_chips),
    ("schedule", "Schedule", _schedule_chips),
    ("lowering", "Lowering", _phase_chips),
    ("llvm", "LLVM", _single_chips),
)


def timeline(every: Sequence[Stop]) -> list[Row]:
    """Return the strip of some steps, a graph's and those of a function; empty rows are left out."""
    rows = []
    for key, title, fold in ROWS:
        mine = [stop for stop in every if stop.step.group == key]
        if mine:
            rows.append(Row(key, title, fold(mine)))
    return rows


def describe(stop: Stop) -> str:
    """Return how a title names a step: ``phase 3 · MakePackedAPI``, ``optimised``."""
    return f"phase {stop.step.phase} · {stop.name}" if stop.step.phase is not None else stop.name
