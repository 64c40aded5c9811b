"""Two graphs as one: which nodes are added, removed and changed, and how."""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

import msgspec

from app.artifacts import FILE_KEY, Drawing, GraphEdge, GraphNode, Weight
from app.panes.acyclic import stable_order
from app.panes.graph_matching import GraphSide, match, numbers_after, united_readers
from app.panes.numbers import count as counted
from compiler.ir.dtype import bits
from compiler.ir.error import TVMError

ChangeKind = Literal["same", "added", "removed", "changed"]
WORDS: Mapping[ChangeKind, str] = {"added": "added", "removed": "removed", "changed": "changed"}
MAX_CACHED = 8
"""Number of comparisons that are kept."""
MAX_NODES = 8_000
"""Maximum number of nodes of both graphs together."""
_TYPE = re.compile(r"(\(.*\)) (\w+)")
_TENSOR = re.compile(r"\(([\d, ]*)\) (\w+)")


@dataclass(frozen=True)
class Difference:
    """One thing that is told of a node, before and after; empty where it is not there."""

    what: str
    before: str
    after: str


@dataclass(frozen=True)
class NodeChange:
    """What became of a node of the united graph."""

    kind: ChangeKind
    node: GraphNode
    """As it is after, or was before if it is removed."""
    before: GraphNode | None = None
    differences: tuple[Difference, ...] = ()
    revalued: tuple[str, ...] = ()
    """Names of weights of equal type with other values, as their range and histogram tell."""


@dataclass(frozen=True)
class UnitedGraph:
    """Two graphs as one drawing, whose nodes are those of both."""

    drawing: Drawing
    changes: list[NodeChange]
    """Of each node of the drawing."""
    edges: list[ChangeKind]
    """Whether each edge of the drawing is added, removed or the same."""
    before: list[int | None]
    """For each node of the drawing, its position among the nodes before."""
    after: list[int | None]

    def count(self, kind: ChangeKind) -> int:
        """Return the number of nodes of a kind of change."""
        return sum(change.kind == kind for change in self.changes)

    @property
    def words(self) -> str:
        """The number of nodes of each kind of change: ``2 added · 0 removed · 5 changed``."""
        counts = {kind: self.count(kind) for kind in WORDS}
        if any(counts.values()):
            return " · ".join(f"{counts[kind]:,} {word}" for kind, word in WORDS.items())
        revalued = sum(bool(change.revalued) for change in self.changes)
        return f"no differences but the weights of {counted(revalued, 'node')}" if revalued else "no differences"


_united: OrderedDict[tuple[str, str], UnitedGraph] = OrderedDict()


def unite_graphs(before: Drawing, after: Drawing) -> UnitedGraph | None:
    """Return two graphs as one; None if they are too large."""
    if len(before.nodes) + len(after.nodes) > MAX_NODES:
        return None
    key = (before.key, after.key)
    made = _united.pop(key, None) if all(key) else None
    if made is None:
        made = _unite(before, after)
    if all(key):
        _united[key] = made
        while len(_united) > MAX_CACHED:
            _united.popitem(last=False)
    return made


def _unite(before: Drawing, after: Drawing) -> UnitedGraph:
    pairs = match(before, after)
    sides = GraphSide.of(before), GraphSide.of(after)
    numbers = numbers_after(*sides, pairs)
    order = stable_order(united_readers(*sides, pairs))
    place = {number: index for index, number in enumerate(order)}
    olds: list[int | None] = [number if number < len(before.nodes) else None for number in order]
    news: list[int | None] = [None] * len(order)
    for index, number in enumerate(numbers):
        news[place[number]] = index
    changes = [
        node_change(
            before.nodes[old] if old is not None else None, after.nodes[new] if new is not None else None, f"both:{at}"
        )
        for at, (old, new) in enumerate(zip(olds, news, strict=True))
    ]
    then = {(place[edge.source], place[edge.target]): edge.type for edge in before.edges}
    now = {(place[numbers[edge.source]], place[numbers[edge.target]]): edge.type for edge in after.edges}
    edges = {**then, **now}
    drawing = Drawing(
        key=f"{before.key}~{after.key}",
        name=after.name,
        nodes=[change.node for change in changes],
        edges=[GraphEdge(source, target, kind) for (source, target), kind in edges.items()],
    )
    kinds: list[ChangeKind] = ["same" if e in then and e in now else "added" if e in now else "removed" for e in edges]
    return UnitedGraph(drawing, changes, kinds, olds, news)


def node_change(before: GraphNode | None, after: GraphNode | None, key: str) -> NodeChange:
    """Return what became of a node, which at least one of both graphs has."""
    if before is None or after is None:
        node = before or after
        assert node is not None
        group = f"{node.group} (removed)" if node.group and after is None else node.group
        node = msgspec.structs.replace(node, key=key, group=group)
        return NodeChange("added" if before is None else "removed", node)
    origins = list(dict.fromkeys((*after.origins, *before.origins)))
    found = tuple(differences(before, after))
    node = msgspec.structs.replace(after, key=key, origins=origins)
    revalued = tuple(_revalued(before.weights, after.weights))
    return NodeChange("changed" if found else "same", node, before, found, revalued)


def differences(before: GraphNode, after: GraphNode) -> Iterator[Difference]:
    """Yield what is told differently of two nodes; a type that one side does not tell is no difference."""
    if before.label != after.label:
        yield Difference("operator", before.label, after.label)
    yield from _types("", before.type, after.type)
    for name in dict.fromkeys((*before.attributes, *after.attributes)):
        old, new = before.attributes.get(name, ""), after.attributes.get(name, "")
        if old != new:
            yield Difference(name, old, new)
    for old, new in zip_longest(before.constants, after.constants, fillvalue=""):
        name = "weight" if after.key.startswith(FILE_KEY) else _name_of(new or old)  # a file's names are any
        was, now = _value_of(old), _value_of(new)
        if was and now:
            yield from _types(f"{name} ", was, now)
        elif was != now:
            yield Difference(name, was, now)


def _types(prefix: str, before: str, after: str) -> Iterator[Difference]:
    """Yield the differences of two types, or of values that are none."""
    if before == after or not before or not after:
        return
    old, new = _TYPE.fullmatch(before), _TYPE.fullmatch(after)
    if old is None or new is None:
        yield Difference(f"{prefix}type".strip() if old or new or not prefix else prefix.strip(), before, after)
        return
    for what, was, now in zip(("shape", "data type"), old.groups(), new.groups(), strict=True):
        if was != now:
            yield Difference(f"{prefix}{what}", was, now)


def _name_of(constant: str) -> str:
    """Return the name of a constant argument, which its type or value follows."""
    return constant.partition(" (")[0] if " (" in constant else constant.rpartition(" ")[0]


def _value_of(constant: str) -> str:
    return constant[len(_name_of(constant)) :].strip()


def _revalued(before: list[Weight], after: list[Weight]) -> Iterator[str]:
    for old, new in zip(before, after, strict=False):
        if old.type == new.type and msgspec.structs.replace(old, name=new.name) != new:
            yield new.name


def type_parts(text: str) -> tuple[list[str], str]:
    """Return the extents and the data type of a type like ``(1, 64) float32``; nothing of another one."""
    match = _TENSOR.fullmatch(text)
    return (re.findall(r"\d+", match[1]), match[2]) if match is not None else ([], "")


def type_size(text: str) -> float | None:
    """Return the number of elements of a type like ``(1, 64) float32``; None if unknown."""
    extents, dtype = type_parts(text)
    return math.prod(map(float, extents)) if dtype else None


def type_bytes(text: str) -> float | None:
    """Return the size in bytes of a type like ``(1, 64) float32``; None if unknown."""
    count, (_, dtype) = type_size(text), type_parts(text)
    try:
        return count * bits(dtype) / 8 if count is not None else None
    except TVMError:
        return None
