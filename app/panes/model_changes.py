"""The table of what differs between two models: operators, nodes, weights, data types, kernels and their times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property

from app.artifacts import Answer, Drawing, GraphNode, Kernel, Unit
from app.panes.graph_changes import ChangeKind, Difference, UnitedGraph, type_bytes, type_size, unite_graphs
from app.panes.kernels import KernelRow, became, kernel_rows
from app.panes.pane import Pane
from app.panes.selection import Selection, unit_label
from app.panes.steps import TimelineStep, counterpart, describe, timeline_steps

MAX_ROWS = 200
"""Maximum number of rows of a table."""
MAX_LINKED = 400
"""Maximum number of nodes that a row leads to."""


@dataclass(frozen=True)
class OperatorRow:
    """How many nodes of an operator both graphs have, with the drawn nodes that differ."""

    operator: str
    before: int
    after: int
    added: list[int]
    removed: list[int]


@dataclass(frozen=True)
class DifferenceRow:
    """What is told differently, and of which drawn nodes of an operator."""

    operator: str
    difference: Difference
    slots: list[int]
    names: list[str]
    """What the first of the nodes are called in their file."""


@dataclass(frozen=True)
class FigureRow:
    """A figure of both models."""

    name: str
    before: float
    after: float
    unit: str = ""
    """``bytes``, or empty for a number."""


@dataclass(frozen=True)
class KernelChange:
    """A kernel of one model beside that of the other whose nodes correspond."""

    before: KernelRow | None
    after: KernelRow | None

    @property
    def _rows(self) -> list[KernelRow]:
        return [row for row in (self.before, self.after) if row is not None]

    @property
    def kind(self) -> ChangeKind:
        """Whether it is added, removed, changed in what it computes, or the same."""
        if self.before is None or self.after is None:
            return "added" if self.before is None else "removed"
        return "same" if _work(self.before.kernel) == _work(self.after.kernel) else "changed"

    @property
    def seconds(self) -> tuple[float | None, float | None]:
        """The times before and after."""
        before, after = (row.kernel.seconds if row is not None else None for row in (self.before, self.after))
        return before, after

    @property
    def ratio(self) -> float | None:
        """How many times as fast it is after; None if one of them was not measured."""
        before, after = self.seconds
        return before / after if before and after else None

    @property
    def calls(self) -> str:
        """The number of calls in a run: ``4``, or ``4 → 6`` if it differs; empty where it is not known."""
        numbers = dict.fromkeys(row.kernel.calls for row in self._rows)
        return " → ".join(str(calls) for calls in numbers if calls is not None)

    @property
    def disturbed(self) -> bool:
        """Whether one of the times was taken while others used the machine."""
        return any(row.kernel.disturbed for row in self._rows)

    @property
    def origins(self) -> list[int]:
        """The origins of both."""
        return sorted({origin for row in self._rows for origin in row.kernel.origins})

    @property
    def weight(self) -> float:
        """The longer time, or else the larger number of operations."""
        return max(row.kernel.seconds or (row.flops or 0.0) * 1e-18 for row in self._rows)


def _operators(kernel: Kernel) -> Hashable:
    return tuple(sorted(kernel.operators))


def _work(kernel: Kernel) -> Hashable:
    return _operators(kernel), kernel.flops, kernel.bytes


@dataclass(frozen=True)
class ModelChanges:
    """Two graphs of an answer beside each other, at one step."""

    answer: Answer
    before: Unit
    after: Unit
    step: TimelineStep
    other_step: TimelineStep | None

    @property
    def labels(self) -> tuple[str, str]:
        """What the two models are called."""
        return unit_label(self.answer, self.before), unit_label(self.answer, self.after)

    @property
    def steps(self) -> str:
        """The steps that are compared: one name if both are the same."""
        names = [describe(step) for step in (self.other_step, self.step) if step is not None]
        return " and ".join(dict.fromkeys(names))

    @cached_property
    def united(self) -> UnitedGraph | None:
        """Both graphs at that step as one."""
        before, after = (self._drawing(step) for step in (self.other_step, self.step))
        return unite_graphs(before, after) if before is not None and after is not None else None

    def _drawing(self, step: TimelineStep | None) -> Drawing | None:
        return self.answer.drawings.get(step.step.drawing or "") if step is not None else None

    @property
    def refusal(self) -> str:
        """Why the graphs are not compared; empty if they are."""
        lacking = [
            label
            for label, step in zip(self.labels, (self.other_step, self.step), strict=True)
            if (drawing := self._drawing(step)) is None or not drawing.nodes
        ]
        if lacking:
            return f"{' and '.join(lacking)}: no drawing at this step, so nothing is compared node by node."
        return "" if self.united is not None else "Both graphs together are too large to be compared node by node."

    @property
    def facts(self) -> list[str]:
        """The words in the title."""
        before, after = self.labels
        words = self.united.words if self.united is not None else ""
        return [text for text in (f"{before} → {after}", self.steps, words) if text]

    @cached_property
    def operators(self) -> list[OperatorRow]:
        """The operators, those whose number differs most first; those of which nothing differs are left out."""
        changes = self.united.changes if self.united is not None else []
        before = Counter((change.before or change.node).label for change in changes if change.kind != "added")
        after = Counter(change.node.label for change in changes if change.kind != "removed")
        slots: dict[tuple[str, str], list[int]] = {}
        for slot, change in enumerate(changes):
            slots.setdefault((change.node.label, change.kind), []).append(slot)
        added, removed = (
            {k: v[:MAX_LINKED] for (k, kind), v in slots.items() if kind == w} for w in ("added", "removed")
        )
        rows = [
            OperatorRow(label, before[label], after[label], added.get(label, []), removed.get(label, []))
            for label in {**before, **after}
        ]
        rows = [row for row in rows if row.before != row.after or row.added or row.removed]
        return sorted(rows, key=lambda row: -abs(row.after - row.before) - len(row.added))[:MAX_ROWS]

    @cached_property
    def _grouped(self) -> list[DifferenceRow]:
        found: dict[tuple[str, Difference], list[int]] = {}
        changes = self.united.changes if self.united is not None else []
        for slot, change in enumerate(changes):
            values = [Difference(f"values of {name}", "", "") for name in change.revalued]
            for difference in (*change.differences, *values):
                slots = found.setdefault((change.node.label, difference), [])
                if slot not in slots[-1:]:
                    slots.append(slot)
        rows = [
            DifferenceRow(label, difference, slots[:MAX_LINKED], [_name(changes[slot].node) for slot in slots[:3]])
            for (label, difference), slots in found.items()
        ]
        return sorted(rows, key=lambda row: (row.operator, -len(row.slots)))

    @property
    def differences(self) -> list[DifferenceRow]:
        """What is told differently of matched nodes, equal differences of an operator in one row."""
        return self._grouped[:MAX_ROWS]

    @property
    def left_out(self) -> int:
        """Number of such rows that are not shown."""
        return max(0, len(self._grouped) - MAX_ROWS)

    @cached_property
    def figures(self) -> list[FigureRow]:
        """Nodes and weights, and by data type those that differ."""
        before, after = (self._drawing(step) for step in (self.other_step, self.step))
        if before is None or after is None:
            return []
        old, new = _Figures.of(before), _Figures.of(after)
        rows = [
            FigureRow("nodes", len(before.nodes), len(after.nodes)),
            FigureRow("numbers in weights", old.numbers, new.numbers),
            FigureRow("size of weights", old.bytes, new.bytes, "bytes"),
        ]
        for words, was, now in ((" in weights", old.weights, new.weights), (" values", old.values, new.values)):
            dtypes = sorted(name for name in {*was, *now} if was[name] != now[name])
            rows += [FigureRow(f"{name}{words}", was[name], now[name]) for name in dtypes]
        return rows

    @cached_property
    def kernels(self) -> list[KernelChange]:
        """The kernels of both, those whose nodes correspond in one row, the slowest first."""
        before, after = (_last_drawing(self.answer, unit) for unit in (self.before, self.after))
        if before is None or after is None or not (self.before.kernels and self.after.kernels):
            return []
        united = unite_graphs(before, after)
        rows = _paired(self.before, self.after, united, before, after) if united is not None else ()
        return sorted(rows, key=lambda row: -row.weight)[:MAX_ROWS]

    @property
    def total(self) -> KernelChange | None:
        """The sum of the times of all kernels, if those of both were measured."""
        sums = [_sum(unit) for unit in (self.before, self.after)]
        return KernelChange(sums[0], sums[1]) if all(sums) else None

    @property
    def places(self) -> list[int]:
        """The places of both among the built models of the script, counted from the last; empty if one is not built."""
        built = [unit for unit in self.answer.units if unit.kind == "graph" and unit.built]
        return [at - len(built) for chosen in (self.before, self.after) for at, u in enumerate(built) if u is chosen]

    @property
    def unmeasured(self) -> str:
        """Why there are no times; empty if there are."""
        if not self.kernels or self.total is not None:
            return ""
        return next(filter(None, (self.before.unmeasured, self.after.unmeasured)), "Run measures the kernels of both")


def _name(node: GraphNode) -> str:
    return node.layers[0] if node.layers else ""


@dataclass(frozen=True)
class _Figures:
    bytes: float
    weights: Counter[str]
    """Numbers in weights by data type."""
    values: Counter[str]
    """Nodes by the data type of their value."""

    @property
    def numbers(self) -> float:
        """Numbers in weights."""
        return sum(self.weights.values())

    @classmethod
    def of(cls, drawing: Drawing) -> _Figures:
        """Count the weights of a graph, each once in a file, where they have names, and its values by data type."""
        constants = [text for node in drawing.nodes for text in node.constants]
        types = [text[text.find("(") :] for text in (dict.fromkeys(constants) if drawing.name == "file" else constants)]
        weights: Counter[str] = Counter()
        for text in types:
            weights[text.rpartition(" ")[2]] += int(type_size(text) or 0)
        values = Counter(node.type.rpartition(" ")[2] for node in drawing.nodes if node.type.startswith("("))
        return cls(sum(type_bytes(text) or 0.0 for text in types), +weights, values)


def _last_drawing(answer: Answer, unit: Unit) -> Drawing | None:
    drawn = (answer.drawings.get(step.drawing or "") for step in reversed(unit.steps))
    return next((drawing for drawing in drawn if drawing is not None), None)


def _sum(unit: Unit) -> KernelRow | None:
    if not any(kernel.seconds for kernel in unit.kernels):
        return None
    seconds = sum(kernel.seconds or 0.0 for kernel in unit.kernels)
    disturbed = any(kernel.disturbed for kernel in unit.kernels)
    return KernelRow(Kernel(name="all", operators=[], seconds=seconds, disturbed=disturbed), None)


def _paired(
    before: Unit, after: Unit, united: UnitedGraph, old_drawing: Drawing, new_drawing: Drawing
) -> Iterator[KernelChange]:
    """Pair the kernels of two units, first those that most corresponding nodes became, then equal ones."""
    old_kernels, new_kernels = _kernel_of_nodes(before, old_drawing), _kernel_of_nodes(after, new_drawing)
    votes: Counter[tuple[str, str]] = Counter()
    for old, new in zip(united.before, united.after, strict=True):
        if old is not None and new is not None and old_kernels[old] and new_kernels[new]:
            votes[old_kernels[old], new_kernels[new]] += 1
    olds, news = ({row.kernel.name: row for row in kernel_rows(unit.kernels)} for unit in (before, after))
    for (old_name, new_name), _ in votes.most_common():
        if old_name in olds and new_name in news:
            yield KernelChange(olds.pop(old_name), news.pop(new_name))
    for alike in (_work, _operators):
        for row in list(olds.values()):
            found = next((other for other in news.values() if alike(row.kernel) == alike(other.kernel)), None)
            if found is not None:
                yield KernelChange(olds.pop(row.kernel.name), news.pop(found.kernel.name))
    yield from (KernelChange(row, None) for row in olds.values())
    yield from (KernelChange(None, row) for row in news.values())


def _kernel_of_nodes(unit: Unit, drawing: Drawing) -> list[str]:
    """Return the name of the kernel that each node became part of, or an empty string."""
    groups: dict[str, list[GraphNode]] = {}
    for node in drawing.nodes:
        groups.setdefault(node.group or node.key, []).append(node)
    kernels = {name: became(unit, nodes) for name, nodes in groups.items()}
    first: dict[str, str] = {name: rows[0].kernel.name if rows else "" for name, rows in kernels.items()}
    return [first[node.group or node.key] for node in drawing.nodes]


def produce_changes(pane: Pane, selection: Selection) -> ModelChanges | None:
    """Return what differs between the graph that is shown and the one it is compared with, if there is one."""
    graph, other = selection.graph, selection.compared
    if graph is None or other is None:
        return None
    steps = timeline_steps(graph)
    if not steps:
        return None
    printed = [step for step in steps if step.step.listing] or steps
    chosen = next((step for step in printed if step.id == selection.view.chosen.get("graph")), printed[-1])
    return ModelChanges(selection.answer, other, graph, chosen, counterpart(chosen, timeline_steps(other)))
