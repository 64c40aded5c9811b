"""Matching of the nodes of two graphs, such as two models or two versions of one.

The phases are those of Falleri et al., "Fine-grained and accurate source code differencing" (ASE 2014), carried over
from trees to graphs without cycles: what is equal together with all that leads to it, or all that follows it, is found
by hashes; names and matched neighbours extend these matches; and an alignment of the two orders, as of two texts,
matches the rest.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.artifacts import Drawing, GraphNode
from app.panes.acyclic import on_cycles

MAX_CELLS = 9_000_000
"""Maximum size of the table of an alignment, in pairs of nodes; longer orders are not aligned."""
_MADE_UP = re.compile(r"_*\d*")
"""What a name has beside its operator that a converter made up; other versions number otherwise."""
_VARIANT = re.compile(r"^Q(Linear)?(?=[A-Z])|^(Fused|contrib_)|Integer$|_?NCHW\d*c|_pack(ed)?$|(Bias)?Dynamic$")
"""What the name of a variant of an operator has beside the operator's own."""
_MATCHED = 100
"""Weight of a pair that is matched already; a node of another pair has none."""


@dataclass(frozen=True)
class GraphSide:
    """A graph with the sources and readers of each node."""

    nodes: Sequence[GraphNode]
    sources: list[list[int]]
    readers: list[list[int]]

    @classmethod
    def of(cls, drawing: Drawing) -> GraphSide:
        """Return a drawing as a side of a comparison."""
        sources: list[list[int]] = [[] for _ in drawing.nodes]
        readers: list[list[int]] = [[] for _ in drawing.nodes]
        for edge in drawing.edges:
            sources[edge.target].append(edge.source)
            readers[edge.source].append(edge.target)
        return cls(drawing.nodes, sources, readers)


def told(node: GraphNode) -> Hashable:
    """Return what is shown of a node itself, without its name and the values of its weights."""
    return node.label, node.type, node.detail, tuple(node.constants), tuple(node.scope)


def _operator(node: GraphNode) -> Hashable:
    return node.label


def _name(node: GraphNode) -> Hashable:
    """Return the node's name in its file with its operator; None if it has none that means anything."""
    names = tuple(name for name in node.layers if not _MADE_UP.fullmatch(name.removeprefix(node.label)))
    return (node.label, names) if names else (node.label, node.key) if node.kind == "input" else None


Signature = Callable[[GraphNode], Hashable]


_AFFINITIES: tuple[tuple[Signature, int], ...] = (
    (_operator, 3),
    (lambda node: node.type, 1),
    (lambda node: tuple(node.constants), 1),
    (told, 2),
)
"""What two nodes of one kind may have in common, with its weight in an alignment."""


def match(before: Drawing, after: Drawing) -> dict[int, int]:
    """Return the nodes of ``after`` by the nodes of ``before`` that they correspond to.

    Merging the pairs leaves a graph without cycles.
    """
    matcher = _Matcher(GraphSide.of(before), GraphSide.of(after))
    for signature in (told, _operator):
        upstream, downstream = matcher.hashes(signature, forward=True), matcher.hashes(signature, forward=False)
        matcher.pair([list(zip(*side, strict=True)) for side in zip(upstream, downstream, strict=True)])
        matcher.pair(upstream)
        matcher.pair(downstream)
        matcher.pair([[_name(node) for node in side.nodes] for side in matcher.sides])
    matcher.spread()
    matcher.align()
    matcher.spread()
    return matcher.acyclic()


class _Matcher:
    """The pairs so far, each with the phase that found it: later ones are less certain."""

    def __init__(self, before: GraphSide, after: GraphSide) -> None:
        self.sides = (before, after)
        self._pairs: dict[int, int] = {}
        self._taken: dict[int, int] = {}
        self._found: dict[int, int] = {}
        self._phase = 0

    def _add(self, old: int, new: int) -> None:
        self._pairs[old], self._taken[new], self._found[old] = new, old, self._phase

    def hashes(self, signature: Signature, *, forward: bool) -> list[list[int]]:
        """Return, for each side, a number for each node that is equal where all that leads to it, or follows, is."""
        numbers: dict[Hashable, int] = {}
        made = []
        for side in self.sides:
            codes = [0] * len(side.nodes)
            order = range(len(side.nodes)) if forward else reversed(range(len(side.nodes)))
            for index in order:
                around = side.sources[index] if forward else side.readers[index]
                near = [codes[other] for other in around]
                key = signature(side.nodes[index]), tuple(near if forward else sorted(near))
                codes[index] = numbers.setdefault(key, len(numbers) + 1)
            made.append(codes)
        return made

    def pair(self, keys: Sequence[Sequence[Hashable]]) -> None:
        """Match nodes with equal keys, in order; those with the key None stay."""
        self._phase += 1
        free: dict[Hashable, list[int]] = defaultdict(list)
        for index in reversed(range(len(keys[0]))):
            if index not in self._pairs and keys[0][index] is not None:
                free[keys[0][index]].append(index)
        for index, key in enumerate(keys[1]):
            if index not in self._taken and free.get(key):
                self._add(free[key].pop(), index)

    def spread(self) -> None:
        """Match the neighbours of pairs: those with the same operator, else with a variant of it."""
        self._phase += 1
        for equal in (_same, _alike):
            todo = list(self._pairs.items())
            while todo:
                old, new = todo.pop()
                for found in self._near(old, new, equal):
                    self._add(*found)
                    todo.append(found)

    def _near(self, old: int, new: int, equal: Callable[[GraphNode, GraphNode], bool]) -> Iterator[tuple[int, int]]:
        before, after = self.sides
        for mine, theirs in ((before.sources, after.sources), (before.readers, after.readers)):
            for one in mine[old]:
                if one in self._pairs:
                    continue
                others = [other for other in theirs[new] if other not in self._taken]
                fitting = [other for other in others if equal(before.nodes[one], after.nodes[other])]
                if fitting:
                    yield one, fitting[0]

    def align(self) -> None:
        """Match what is left where the orders of both sides correspond."""
        self._phase += 1
        before, after = ([*range(len(side.nodes))] for side in self.sides)
        while before and after and self._pairs.get(before[0]) == after[0]:
            del before[0], after[0]
        while before and after and self._pairs.get(before[-1]) == after[-1]:
            del before[-1], after[-1]
        if not 0 < len(before) * len(after) <= MAX_CELLS:
            return
        for old, new in _alignment(self._weights(before, after)):
            if before[old] not in self._pairs and after[new] not in self._taken:
                self._add(before[old], after[new])

    def _weights(self, before: Sequence[int], after: Sequence[int]) -> npt.NDArray[np.int16]:
        """Return how well each two nodes correspond; 0 if they do not."""
        sides = [[self.sides[0].nodes[i] for i in before], [self.sides[1].nodes[i] for i in after]]
        weights = np.zeros((len(before), len(after)), np.int16)
        equal = _equal(sides, kindred)
        for signature, weight in _AFFINITIES:
            weights += weight * (equal & _equal(sides, signature))
        weights += 2 * equal
        places = {index: place for place, index in enumerate(after)}
        weights[[place for place, index in enumerate(before) if index in self._pairs]] = 0
        weights[:, [place for place, index in enumerate(after) if index in self._taken]] = 0
        for place, index in enumerate(before):
            if self._pairs.get(index) in places:
                weights[place, places[self._pairs[index]]] = _MATCHED
        return weights

    def acyclic(self) -> dict[int, int]:
        """Return the pairs, without the least certain of those that would make cycles."""
        while self._pairs:
            merged = united_readers(*self.sides, self._pairs)
            cyclic = on_cycles(merged)
            crossing = [old for old in self._pairs if old in cyclic]
            if not crossing:
                break
            latest = max(self._found[old] for old in crossing)
            for old in crossing:
                if self._found[old] == latest:
                    del self._taken[self._pairs.pop(old)]
        return self._pairs


def united_readers(before: GraphSide, after: GraphSide, pairs: dict[int, int]) -> list[set[int]]:
    """Return the readers of each node of both graphs in one.

    The nodes of ``before`` keep their numbers; those of ``after`` that no pair has follow in order.
    """
    number = numbers_after(before, after, pairs)
    readers: list[set[int]] = [set(row) for row in before.readers]
    readers += [set() for _ in range(max(number, default=-1) + 1 - len(readers))]
    for index, row in enumerate(after.readers):
        readers[number[index]].update(number[reader] for reader in row)
    return readers


def numbers_after(before: GraphSide, after: GraphSide, pairs: dict[int, int]) -> list[int]:
    """Return the number of each node of ``after`` in the graph of both."""
    old = {new: index for index, new in pairs.items()}
    numbers, count = [], len(before.nodes)
    for index in range(len(after.nodes)):
        numbers.append(old.get(index, count))
        count += index not in old
    return numbers


def _same(before: GraphNode, after: GraphNode) -> bool:
    return before.label == after.label


def kindred(node: GraphNode) -> Hashable:
    """Return the operator of which the node's operator is a variant, as ``QLinearConv`` is one of ``Conv``."""
    return node.kind, _VARIANT.sub("", node.label.rpartition(".")[2])


def _alike(before: GraphNode, after: GraphNode) -> bool:
    return kindred(before) == kindred(after)


def _equal(sides: Sequence[Sequence[GraphNode]], signature: Signature) -> npt.NDArray[np.bool_]:
    codes: dict[Hashable, int] = {}
    before, after = (np.array([codes.setdefault(signature(n), len(codes)) for n in nodes]) for nodes in sides)
    equal: npt.NDArray[np.bool_] = before[:, None] == after[None, :]
    return equal


def _alignment(weights: npt.NDArray[np.int16]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of the heaviest common subsequence, by dynamic programming."""
    rows, columns = weights.shape
    best = np.zeros((rows + 1, columns + 1), np.int32)
    for row in range(rows):
        diagonal = best[row, :-1] + weights[row]
        best[row + 1, 1:] = np.maximum.accumulate(np.maximum(best[row, 1:], diagonal))
    row, column = rows, columns
    while row and column:
        if best[row, column] == best[row - 1, column]:
            row -= 1
        elif best[row, column] == best[row, column - 1]:
            column -= 1
        else:
            row, column = row - 1, column - 1
            yield row, column
