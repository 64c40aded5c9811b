"""The content of a listing pane: a step, or the diff of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from app.artifacts import Answer, Listing
from app.instructions import has_instructions
from app.panes.differences import Diff, diff
from app.panes.listings import WRAPPED, Chunk, LineLinks, chunks, line_links
from app.panes.numbers import count, graph_fact, listing_fact, percent
from app.panes.pane import Pane
from app.panes.selection import MODEL, OPENED, PREVIOUS, Selection, unit_label
from app.panes.steps import TimelineStep, counterpart, describe, phase_title, timeline_steps

_RANKED = ("vector bits", "fma", "spills", "registers", "spilled bytes", "occupancy", "instructions")
_FACT_RANK = {name: rank for rank, name in enumerate(_RANKED)}
"""Statistics by decreasing importance; a title shows as many as fit."""


def _told(summary: Mapping[str, int | float | str]) -> list[str]:
    """Format the statistics of a summary, the most important first."""
    ranked = sorted(summary.items(), key=lambda item: _FACT_RANK.get(item[0], len(_FACT_RANK)))
    return [fact for name, value in ranked if (fact := listing_fact(name, value))]


@dataclass(frozen=True)
class PaneListing:
    """The content of a listing pane."""

    pane: Pane
    listing: Listing
    label: str = ""
    """Name of the step in the title."""
    before_label: str = ""
    """Name of the step compared with."""
    diff: Diff | None = None
    choices: list[TimelineStep] = field(default_factory=list)
    """The steps to choose from."""
    left_out: int = 0
    """Number of unchanged steps that cannot be chosen."""
    step: TimelineStep | None = None
    against: str = ""
    """Id of the step compared with, ``previous``, another graph, or empty."""
    graphs: list[tuple[str, str]] = field(default_factory=list)
    """The other graphs that it can be compared with: what stands for each, and its label."""
    united: str = ""
    """Key of the drawing compared with, of another graph."""
    omitted: bool = False
    """Whether the lines are omitted because the page already shows them."""

    @property
    def phases(self) -> list[tuple[str, list[TimelineStep]]]:
        """The steps to choose from, by phase."""
        return [(title, list(steps)) for title, steps in groupby(self.choices, _phase_title)]

    @property
    def chunks(self) -> list[Chunk]:
        """The lines of the listing: the first chunks rendered, the others as placeholders."""
        return chunks(self.listing)

    @property
    def links(self) -> LineLinks:
        """The origins of each line."""
        return self.diff.links if self.diff else line_links(self.listing.lines)

    @property
    def wraps(self) -> bool:
        """Whether its long lines continue on the next row."""
        return self.listing.language in WRAPPED

    @property
    def has_tips(self) -> bool:
        """Whether the server says what its instructions do."""
        return has_instructions(self.listing.language)

    @property
    def before(self) -> str:
        """Key of the listing compared with; empty if there is none."""
        return self.diff.before.key if self.diff is not None else ""

    @property
    def key(self) -> str:
        """Key of the body; equal bodies have equal keys."""
        sides = (self.diff.before, self.diff.after) if self.diff else (self.listing,)
        return ":".join([self.pane.name, *(side.key for side in sides), self.label])

    @property
    def facts(self) -> list[str]:
        """The statistics in the title, the most important first."""
        if self.diff is not None:
            return [self._difference(self.diff), self._sides]
        listing = self.listing
        facts = _told(listing.summary)
        if listing.loop_summary:
            whole = listing_fact("instructions", listing.summary.get("instructions", 0))
            facts = [f"hot loop, of {whole}", *_told(listing.loop_summary)]
        if listing.language == "c":
            facts.insert(0, "C source code: this target has no LLVM IR")
        if self.pane.stepped and not self.pane.changes_only:
            facts += [*self._graph_facts, count(len(self.listing.lines), "line")]
        if self.left_out:
            facts.append(f"{self.left_out:,} without effect")
        return facts

    @staticmethod
    def _difference(diff: Diff) -> str:
        changed = [f"+{diff.added} −{diff.removed}"] if diff.added or diff.removed else []
        moved = [f"{diff.moved:,} only moved"] if diff.moved else []
        return ", ".join(changed + moved) or "no difference"

    @property
    def _sides(self) -> str:
        """Return the names of both sides, made distinct for two runs of one pass or a stored text."""
        earlier = ", earlier" if self.before_label == self.label else ""
        return f"{self.before_label}{earlier} → {self.label}"

    @property
    def traced(self) -> str:
        """Description of the fraction of lines with an origin in the script; empty for a diff."""
        return "" if self.diff is not None else f"{percent(self.listing.linked)} traced to the script"

    @property
    def _graph_facts(self) -> list[str]:
        if self.step is None or not self.step.step.facts:
            return []
        facts = self.step.step.facts
        traffic = [value for name, value in facts.items() if name.startswith("bytes")]
        nouns = {"operators": "operator", "kernels": "kernel call"}
        counts = [count(int(facts[name]), noun) for name, noun in nouns.items() if name in facts]
        return [*counts, *([f"{graph_fact('bytes', sum(traffic))} memory traffic"] if traffic else [])]


def produce_listing(pane: Pane, selection: Selection) -> PaneListing | None:
    """Return the content of a pane at the step chosen by the view if it exists, otherwise at the last step."""
    answer, chosen = selection.answer, selection.view.chosen
    if pane.copy_of and pane.name not in chosen.get(OPENED, "").split():
        return None
    steps = [step for step in selection.steps if _belongs_to(step, pane) and _listing_of(step, answer)]
    choices = [step for step in steps if step.step.changed or not pane.changes_only]
    if not choices:
        return None
    step = next((choice for choice in choices if choice.id == chosen.get(pane.name)), _default(choices))
    listing = _listing_of(step, answer)
    assert listing is not None
    against = chosen.get(pane.against, "") if pane.against else ""
    other = selection.other_graph(against) if pane.group == "graph" else None
    label = f"{unit_label(answer, other)} · " if other is not None else ""
    earlier = counterpart(step, timeline_steps(other)) if other is not None else _compared_with(choices, step, against)
    before = _listing_of(earlier, answer) if earlier is not None else None
    return PaneListing(
        pane,
        listing,
        describe(step),
        before_label=f"{label}{describe(earlier)}" if earlier is not None else "",
        diff=diff(before, listing) if before is not None else None,
        choices=choices,
        left_out=len(steps) - len(choices),
        step=step,
        against=against,
        graphs=_other_graphs(selection) if pane.group == "graph" else [],
        united=(earlier.step.drawing or "") if other is not None and earlier is not None else "",
    )


def _other_graphs(selection: Selection) -> list[tuple[str, str]]:
    named = enumerate(unit_label(selection.answer, unit) for unit in selection.graphs)
    return [(f"{MODEL}{at}", label) for at, label in named if selection.graphs[at] is not selection.graph]


def _belongs_to(step: TimelineStep, pane: Pane) -> bool:
    """Return whether the listing of a step can be chosen in a pane, unlike that of excluded primitives."""
    further = pane.also and step.step.group == pane.also and (step.step.applied or step.step.refused)
    return step.step.group == pane.group or bool(further)


def _default(choices: Sequence[TimelineStep]) -> TimelineStep:
    """Return the last step; for a schedule that ends at a failed primitive, the annotated program."""
    scheduled = [choice for choice in choices if choice.step.group == "schedule"]
    return scheduled[-1] if scheduled and scheduled[-1].step.refused else choices[-1]


def _phase_title(step: TimelineStep) -> str:
    if step.step.group == "schedule":
        return "Schedule"
    return "Passes" if step.step.phase is None else phase_title(step.step.phase)


def _listing_of(step: TimelineStep, answer: Answer) -> Listing | None:
    return answer.listings.get(step.step.listing or "")


def _compared_with(choices: Sequence[TimelineStep], step: TimelineStep, against: str) -> TimelineStep | None:
    """Return the step given by ``against``."""
    if against == PREVIOUS:
        earlier = [choice for choice in choices if choice.position < step.position]
        return earlier[-1] if earlier else None
    return next((choice for choice in choices if choice.id == against), None)
