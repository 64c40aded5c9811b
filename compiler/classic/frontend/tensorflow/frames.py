"""Control flow of TensorFlow 1: frames for loops, dead values for branches.

A loop is a frame.  ``Enter`` passes values in, ``Merge`` takes the initial value or the one from ``NextIteration``, and
``Switch`` forwards it to ``Exit`` when ``LoopCond`` is false.  Outside of frames, ``Switch`` forwards a value to one of
two branches (``_SwitchN`` to one of several), and ``Merge`` takes the live one.

References
----------
Yuan Yu et al., Dynamic Control Flow in Large-Scale Machine Learning, EuroSys 2018
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from google.protobuf.message import Message

from compiler.relay.frontend.shared.errors import ModelError

CONTROL_NODES = frozenset({"Enter", "Exit", "Merge", "Switch", "_SwitchN", "NextIteration", "LoopCond"})
_SWITCHES = frozenset({"Switch", "_SwitchN"})


@dataclass(frozen=True, slots=True)
class Choice:
    """The selection of an input by a ``Merge`` node, by a condition that is a bool or the index of a branch.

    ``branches`` has the branch of each input; 0 is the false branch.
    """

    condition: str
    branches: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """A loop: the values passed in, including loop invariants, and the nodes with the loop-carried ones.

    These are the ``merges`` at the start of an iteration, with the initial values and those handed on at its end, and
    the ``exits`` after the last one, by position.
    """

    entries: tuple[str, ...]
    merges: tuple[str, ...]
    initial: tuple[str, ...]
    handed_on: tuple[str, ...]
    condition: str
    exits: dict[str, int]


def node_of(name: str) -> str:
    """Return the node of an input, without its output index or control dependency marker."""
    return name.removeprefix("^").split(":")[0]


def _frame_name(node: Message) -> str:
    label: bytes = next((entry.value.s for entry in node.attr if entry.key == "frame_name"), b"")
    return label.decode("utf-8", "replace")


class Flow:
    """The loops and branches of a set of nodes."""

    def __init__(self, nodes: Mapping[str, Message]) -> None:
        self._nodes = nodes
        self._frame_of: dict[str, Frame] = {}
        self._loop_merges: set[str] = set()
        self._choice_of: dict[str, Choice] = {}
        self._guards: dict[str, list[tuple[str, bool]]] = {}
        if any(node.op in CONTROL_NODES for node in nodes.values()):
            for frame in self._frames():
                self._frame_of.update(dict.fromkeys(frame.exits, frame))
                self._loop_merges.update(frame.merges)
            under: dict[str, frozenset[tuple[str, int]]] = {}
            self._choice_of = dict(self._branches(under))
            self._guards = {name: self._guard(frame, under) for name, frame in self._frame_of.items()}

    def needs(self, name: str) -> list[str]:
        """Return the values that a node depends on."""
        node = self._nodes[name]
        if name in self._frame_of:
            entries = [self._data(entry)[0] for entry in self._frame_of[name].entries]
            return entries + [condition for condition, _ in self._guards[name]]
        condition = [self._choice_of[name].condition] if name in self._choice_of else []
        return [source for source in node.input if not source.startswith("^")] + condition

    def frame(self, name: str) -> Frame:
        """Return the loop of an ``Exit`` node."""
        if name not in self._frame_of:
            raise ModelError("it is not a value that a loop carries")
        return self._frame_of[name]

    def guards(self, name: str) -> list[tuple[str, bool]]:
        """Return the conditions of the branches around the loop of an ``Exit`` node, with their required values."""
        return self._guards[name]

    def choice(self, name: str) -> Choice:
        """Return the selection of a ``Merge`` node."""
        if name not in self._choice_of:
            raise ModelError("its inputs are not the branches of a condition")
        return self._choice_of[name]

    def _data(self, name: str, count: int = 1) -> list[str]:
        sources = [source for source in self._nodes[name].input if not source.startswith("^")]
        if len(sources) < count:
            raise ModelError(f"from_tensorflow: node {name!r} ({self._nodes[name].op}) has fewer than {count} inputs")
        return sources

    def _named(self, operator: str) -> list[str]:
        return [name for name, node in self._nodes.items() if node.op == operator]

    def _frames(self) -> Iterator[Frame]:
        frame_of = {name: _frame_name(self._nodes[name]) for name in self._named("Enter")}
        merges: dict[str, list[str]] = {frame: [] for frame in frame_of.values()}
        place: dict[str, tuple[str, int]] = {}
        for name in self._named("Merge"):
            frame = frame_of.get(node_of(self._data(name, 2)[0]))
            if frame is not None:
                place[name] = frame, len(merges[frame])
                merges[frame].append(name)
        conditions: dict[str, set[str]] = {frame: set() for frame in merges}
        for name in self._named("Switch"):
            carried, condition = self._data(name, 2)[:2]
            if node_of(carried) in place:
                place[name] = place[node_of(carried)]
                conditions[place[name][0]].add(self._unwrapped(condition))
        exits: dict[str, dict[str, int]] = {frame: {} for frame in merges}
        for name in self._named("Exit"):
            if node_of(self._data(name)[0]) in place:
                frame, index = place[node_of(self._data(name)[0])]
                exits[frame][name] = index
        entries: dict[str, list[str]] = {frame: [] for frame in merges}
        for name, frame in frame_of.items():
            entries[frame].append(name)
        for frame in merges:
            yield self._frame(frame, entries[frame], merges[frame], conditions[frame], exits[frame])

    def _frame(
        self, frame: str, entries: list[str], merges: list[str], conditions: set[str], exits: dict[str, int]
    ) -> Frame:
        if len(conditions) != 1:
            raise ModelError(f"from_tensorflow: the loop {frame!r} has {len(conditions)} conditions instead of one")
        sources = [self._data(name, 2) for name in merges]
        initial = tuple(self._data(node_of(first))[0] for first, *_ in sources)
        handed_on = tuple(self._handed_on(name, rest[0]) for name, (_, *rest) in zip(merges, sources, strict=True))
        return Frame(tuple(entries), tuple(merges), initial, handed_on, conditions.pop(), exits)

    def _handed_on(self, merge: str, source: str) -> str:
        node = self._nodes.get(node_of(source))
        if node is None or node.op != "NextIteration":
            raise ModelError(f"from_tensorflow: node {merge!r} (Merge) of a loop takes {source!r}, no NextIteration")
        return self._data(node_of(source))[0]

    def _unwrapped(self, name: str) -> str:
        """Look through ``Identity`` and ``LoopCond`` nodes."""
        seen: set[str] = set()
        while node_of(name) in self._nodes and node_of(name) not in seen:
            node = self._nodes[node_of(name)]
            if node.op not in ("Identity", "LoopCond") or not node.input:
                break
            seen.add(node_of(name))
            name = node.input[0]
        return name

    def _guard(self, frame: Frame, under: Mapping[str, frozenset[tuple[str, int]]]) -> list[tuple[str, bool]]:
        """Return the conditions under which a loop is live, without those of enclosing loops."""
        loops = {other.condition for other in self._frame_of.values()}
        alive: frozenset[tuple[str, int]] = frozenset().union(*(under.get(entry, ()) for entry in frame.entries))
        return [(condition, branch == 1) for condition, branch in sorted(alive) if condition not in loops]

    def _branches(self, under: dict[str, frozenset[tuple[str, int]]]) -> Iterator[tuple[str, Choice]]:
        """Return the ``Merge`` nodes of branches with their selections, recording the conditions of all nodes."""
        for name in self._in_order():
            node = self._nodes[name]
            came = [self._under(under, source) for source in node.input]
            if node.op != "Merge":
                under[name] = frozenset().union(*came)
            elif name in self._loop_merges or len(came) < 2:
                under[name] = came[0] if came else frozenset()
            else:
                under[name] = frozenset.intersection(*came)
                choice = _choice(came)
                if choice is not None:
                    yield name, choice

    def _under(self, under: Mapping[str, frozenset[tuple[str, int]]], source: str) -> frozenset[tuple[str, int]]:
        """Return the conditions under which a value is live, each with its branch."""
        name = node_of(source)
        known = under.get(name, frozenset())
        node = self._nodes.get(name)
        if node is None or node.op not in _SWITCHES or source.startswith("^"):
            return known
        _, _, branch = source.partition(":")
        return known | {(self._unwrapped(self._data(name, 2)[1]), int(branch) if branch.isdigit() else 0)}

    def _in_order(self) -> list[str]:
        """Sort all nodes topologically, ignoring back edges."""
        graph = {
            name: [] if node.op == "NextIteration" else [s for s in map(node_of, node.input) if s in self._nodes]
            for name, node in self._nodes.items()
        }
        try:
            return list(TopologicalSorter(graph).static_order())
        except CycleError as exc:
            circle = ", ".join(map(repr, exc.args[1][:5]))
            raise ModelError(f"from_tensorflow: the graph has a cycle: {circle}") from None


def _choice(came: Sequence[frozenset[tuple[str, int]]]) -> Choice | None:
    """Return the condition by which conditional values differ, each from another branch."""
    for condition, _ in sorted(came[0]):
        branches = [[branch for name, branch in sorted(alive) if name == condition] for alive in came]
        if all(len(numbers) == 1 for numbers in branches):
            taken = tuple(numbers[0] for numbers in branches)
            if sorted(taken) == list(range(len(came))):
                return Choice(condition, taken)
    return None
