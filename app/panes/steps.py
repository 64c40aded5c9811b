"""Titles and descriptions of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.artifacts import Step, Unit
from app.panes.numbers import change, count, graph_fact, number

_CHECK_MARKS = {"ok": " ✓", "wrong": " ✗", "unchecked": ""}
_CODE_GROUPS = frozenset({"llvm", "assembly", "kernel", "ptx", "sass"})
"""Groups of whose steps the size is told, in instructions or of source code in lines, not how it changed."""


NO_CHANGE = "no change"
PHASES = ("Loops", "Flat memory", "Vectors", "Clean-up", "Device")
"""What each phase of lowering does, in a word or two."""
_PHASE_DETAILS = (
    "the loops as the schedule says",
    "buffers become one-dimensional, indices narrower",
    "loops are partitioned, vectorised and unrolled",
    "what is left is simplified, and common subexpressions are hoisted",
    "kernels are split from the functions of the host",
)


@dataclass(frozen=True)
class TimelineStep:
    """A recorded step, with an id that survives a recompilation which keeps the step."""

    id: str
    step: Step
    position: int
    before: Step | None = None
    """The step before it in its unit."""
    prefix: int = 0
    """How many primitives of the schedule are applied up to it."""

    @property
    def name(self) -> str:
        """The step's name, without the ``tir.`` of lowering passes."""
        return self.step.name.removeprefix("tir.")

    @property
    def summary(self) -> str:
        """Name, what changed and how long it took: ``VectorizeLoop  −2 lines, 0.31 ms``."""
        if self.step.refused:
            return f"✗ {self.name}"
        if not self.step.applied:
            return f"{self.name}\u2003{self.step.detail}" if self.step.group == "graph" else self.name
        took = f", {number(float(f'{self.step.milliseconds:.2g}'))} ms" if self.step.milliseconds is not None else ""
        change = self.change if self.step.group in _CODE_GROUPS and self.step.changed else self._size_change
        details = f"{change}{took}".removeprefix(", ")
        return f"{self.name}\u2003{details}{_CHECK_MARKS[self.step.checked]}"

    @property
    def change(self) -> str:
        """How a step changed the size, ``+24 lines``; of code the size itself, ``136 instructions`` or ``17 lines``."""
        delta = self.step.delta
        if self.step.group in _CODE_GROUPS:
            noun = next((noun for noun in ("instruction", "line") if f"{noun}s" in delta), None)
            return count(delta[f"{noun}s"], noun) if noun else ""
        return self._size_change + (_CHECK_MARKS[self.step.checked] if self.step.changed else "")

    @property
    def _size_change(self) -> str:
        """The change of the size, in operators or kernels of a graph, else in lines."""
        if not self.step.changed:
            return NO_CHANGE
        delta = self.step.delta
        noun = next((noun for noun in ("operator", "kernel") if delta.get(f"{noun}s")), "line")
        return change(delta.get(f"{noun}s", 0), noun)

    @property
    def tooltip(self) -> str:
        """What the step does and, of a graph, its facts before and after; a line each."""
        return "\n".join(
            line
            for line in (
                self.step.detail or self.name,
                "Its instructions are those of LLVM IR, not of the processor." if self.step.group == "llvm" else "",
                *(self.refusal, *self.fact_changes, self.verdict),
            )
            if line
        )

    @property
    def refusal(self) -> str:
        """Why the primitive could not be applied."""
        return f"✗ {self.step.refused}" if self.step.refused else ""

    @property
    def verdict(self) -> str:
        """Whether the program computes the same as before the step, where that was checked."""
        if self.step.checked == "unchecked":
            return ""
        error = "" if self.step.error is None else f", largest difference {self.step.error:.2g}"
        return f"✓ computes the same{error}" if self.step.checked == "ok" else f"✗ computes something else{error}"

    @property
    def fact_changes(self) -> list[str]:
        """Each fact about a graph before and after the step: ``kernels 12 → 7``."""
        old = self.before.facts if self.before is not None else {}
        return [
            f"{name} {graph_fact(name, old[name])} → {graph_fact(name, value)}"
            if old.get(name, value) != value
            else f"{name} {graph_fact(name, value)}"
            for name, value in self.step.facts.items()
        ]


def timeline_steps(unit: Unit) -> list[TimelineStep]:
    """Return the steps of a unit, with ids made of group, name and how often the name came before."""
    seen: dict[tuple[str, str], int] = {}
    steps = []
    prefix = -1  # the first step of a schedule comes before any primitive
    for position, step in enumerate(unit.steps):
        prefix += step.group == "schedule" and not step.refused
        nth = seen[step.group, step.name] = seen.get((step.group, step.name), -1) + 1
        before = unit.steps[position - 1] if position else None
        steps.append(TimelineStep(f"{step.group}:{step.name}:{nth}", step, position, before, max(prefix, 0)))
    return steps


def counterpart(step: TimelineStep, others: Sequence[TimelineStep]) -> TimelineStep | None:
    """Return the step of another unit that corresponds to a step: the same pass, else the last one before it."""
    same = next((other for other in others if other.id == step.id), None)
    earlier = (other for other in reversed(others) if other.step.listing and other.position <= step.position)
    return same or next(earlier, None)


def phase_title(phase: int) -> str:
    """Return what the timeline calls a phase of lowering."""
    return PHASES[phase] if 0 <= phase < len(PHASES) else f"Phase {phase}"


def phase_words(phase: int) -> str:
    """Return what a phase does: ``Phase 1 of lowering: buffers become one-dimensional, indices narrower``."""
    return f"Phase {phase} of lowering: {_PHASE_DETAILS[phase]}" if 0 <= phase < len(PHASES) else f"Phase {phase}"


def describe(step: TimelineStep) -> str:
    """Return how a title names a step: ``clean-up · MakePackedAPI``, ``optimised``."""
    return f"{phase_title(step.step.phase).lower()} · {step.name}" if step.step.phase is not None else step.name
