"""Alignment of the lines of two texts, up to renumbered names."""

from __future__ import annotations

import difflib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from app.artifacts import Listing
from app.panes.graph_text import canonical, computed, without_operands
from app.panes.renaming import renamed, skeleton

MAX_ALIGNED = 6_000
"""Maximum number of lines per side to align; longer runs are shown as replaced."""
MAX_THOROUGH = 1_000
"""Maximum number of lines per side for anchoring at frequent lines, which takes quadratic time."""

Opcode = tuple[str, int, int, int, int]
"""An opcode as in ``difflib``; the lines of a ``replace`` of equal lengths correspond one to one."""
Pair = tuple[int, int]


@dataclass(frozen=True)
class Alignment:
    """The alignment of two texts."""

    opcodes: list[Opcode]
    moved: dict[int, int]
    """Lines that the other text has at another position, with that position."""
    rewritten: set[int]
    """Lines of the new text that differ from the old one only in indentation or parameters."""


def align(before: Listing, after: Listing) -> Alignment:
    """Align the lines of two listings, ignoring generated names."""
    old, new = ([line.text for line in side.lines] for side in (before, after))
    if before.language != after.language:
        return Alignment(list(_opcodes(old, new)), {}, set())
    return _Aligner(old, new, after.language).align()


class _Aligner:
    """Two texts of one language, with keys for comparing their lines."""

    def __init__(self, old: list[str], new: list[str], language: str) -> None:
        self._written = old, new
        self._language = language
        is_graph = language == "relay"
        self._old, self._new = (canonical(old), canonical(new)) if is_graph else (old, new)
        self._keys = self._keys_by_value() if is_graph else self._skeletons()

    def align(self) -> Alignment:
        codes = list(_opcodes(*self._keys))
        in_place = [(i, i - i1 + j1) for tag, i1, i2, j1, _ in codes if tag == "equal" for i in range(i1, i2)]
        elsewhere = self._elsewhere(codes) if self._language == "relay" else []
        same = self._same(sorted(in_place + elsewhere))
        moved = dict(pair for pair in elsewhere if pair in same)
        opcodes = [part for code in codes for piece in _split(code, same) for part in self._paired(piece, moved)]
        rewritten = {j for i, j in in_place if (i, j) in same and not self._is_written_alike(i, j)}
        return Alignment(opcodes, moved, rewritten)

    def _skeletons(self) -> tuple[list[str], list[str]]:
        old, new = ([skeleton(text, self._language) for text in side] for side in (self._old, self._new))
        return old, new

    def _keys_by_value(self) -> tuple[list[str], list[str]]:
        """Return the value numbers of lines of a graph that occur in both texts, and the skeletons of others."""
        known: dict[str, int] = {}
        values = [computed(side, known) for side in (self._old, self._new)]
        shared = set(values[0]) & set(values[1])
        old, new = (
            [f"#{value}" if value in shared else text for value, text in zip(of_side, side, strict=True)]
            for of_side, side in zip(values, self._skeletons(), strict=True)
        )
        return old, new

    def _elsewhere(self, codes: Iterable[Opcode]) -> list[Pair]:
        """Return the lines of a graph that compute the same value at different positions of the two texts."""
        removed: dict[str, list[int]] = defaultdict(list)
        added: dict[str, list[int]] = defaultdict(list)
        for tag, i1, i2, j1, j2 in codes:
            if tag != "equal":
                for i in range(i1, i2):
                    removed[self._keys[0][i]].append(i)
                for j in range(j1, j2):
                    added[self._keys[1][j]].append(j)
        return [
            pair
            for key, lines in removed.items()
            if key.startswith("#") and self._old[lines[0]].startswith("%")
            for pair in zip(lines, added[key], strict=False)
        ]

    def _same(self, pairs: Sequence[Pair]) -> set[Pair]:
        verdicts = renamed([self._verified(i, j) for i, j in pairs], self._language)
        return {pair for pair, fits in zip(pairs, verdicts, strict=True) if fits}

    def _verified(self, i: int, j: int) -> tuple[str, str]:
        """Return what is to be the same of two lines: the operands of those that compute the same are."""
        old, new = self._old[i], self._new[j]
        return (without_operands(old), without_operands(new)) if self._keys[0][i].startswith("#") else (old, new)

    def _is_written_alike(self, i: int, j: int) -> bool:
        old, new = self._written
        return skeleton(old[i], self._language) == skeleton(new[j], self._language)

    def _paired(self, code: Opcode, moved: Mapping[int, int]) -> Iterator[Opcode]:
        """Split a replaced block into pairs of corresponding lines, and removed or added lines."""
        tag, i1, i2, j1, j2 = code
        if tag != "replace":
            yield code
            return
        old = ["" if i in moved else self._old[i] for i in range(i1, i2)]
        arrived = set(moved.values())
        new = ["" if j in arrived else self._new[j] for j in range(j1, j2)]
        pairs = [(i1 + i, j1 + j) for i, j in paired(old, new)]
        for _, run in groupby(enumerate(pairs), lambda item: (item[1][0] - item[0], item[1][1] - item[0])):
            together = [pair for _, pair in run]
            (first_old, first_new), (last_old, last_new) = together[0], together[-1]
            yield from _gap(i1, first_old, j1, first_new)
            i1, j1 = last_old + 1, last_new + 1
            yield "replace", first_old, i1, first_new, j1
        yield from _gap(i1, i2, j1, j2)


def _gap(i1: int, i2: int, j1: int, j2: int) -> Iterator[Opcode]:
    if i1 < i2:
        yield "delete", i1, i2, j1, j1
    if j1 < j2:
        yield "insert", i2, i2, j1, j2


def _split(code: Opcode, same: set[Pair]) -> Iterator[Opcode]:
    """Split an opcode of equal keys into runs of lines that are really equal and lines that are not."""
    tag, i1, i2, j1, _ = code
    if tag != "equal" or i1 == i2:
        yield code
        return
    for fits, run in groupby(range(i1, i2), lambda i: (i, i - i1 + j1) in same):
        lines = list(run)
        first, last = lines[0], lines[-1] + 1
        yield "equal" if fits else "replace", first, last, j1 + first - i1, j1 + last - i1


def _opcodes(old: list[str], new: list[str]) -> Iterator[Opcode]:
    """Align two texts after trimming their common prefix and suffix, which keeps huge listings cheap."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    longest = max(len(middle_old), len(middle_new))
    yield "equal", 0, head, 0, head
    if longest > MAX_ALIGNED:
        yield "replace", head, len(old) - tail, head, len(new) - tail
    else:
        matcher = difflib.SequenceMatcher(None, middle_old, middle_new, autojunk=longest > MAX_THOROUGH)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes():
            yield tag, i1 + head, i2 + head, j1 + head, j2 + head
    yield "equal", len(old) - tail, len(old), len(new) - tail, len(new)


MAX_COMPARED = 1_500
"""Pairs of lines that are compared; in larger blocks the first lines belong together, then the second."""
_MIN_SHARED = 0.5
"""Fraction of common words below which two lines are unrelated."""

_WORD = re.compile(r"[^\W\d_][^\W_]*")


def paired(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return which lines belong together, by their positions, in ascending order on both sides.

    The lines are aligned as Needleman and Wunsch (1970) align sequences, without a cost of gaps.  The likeness of two
    lines is the share of words in common, where what stands before the first parenthesis, the name of what is called,
    counts as much as the whole line.

    Examples
    --------
    >>> paired(["a = load x", "b = add a"], ["z = 0", "a = load x.0", "b = mul a"])
    [(0, 1), (1, 2)]
    """
    if len(old) * len(new) > MAX_COMPARED:
        return list(zip(range(len(old)), range(len(new)), strict=False))
    likeness = _likeness(old, new)
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], likeness[i][j] + best[i + 1][j + 1])
    pairs = []
    i = j = 0
    while i < len(old) and j < len(new):
        if likeness[i][j] and best[i][j] == likeness[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _likeness(old: Sequence[str], new: Sequence[str]) -> list[list[float]]:
    lines, others = ([(_words(text.partition("(")[0]), _words(text)) for text in side] for side in (old, new))
    return [[_likeness_of(a, b) for b in others] for a in lines]


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text))


def _likeness_of(a: tuple[Counter[str], Counter[str]], b: tuple[Counter[str], Counter[str]]) -> float:
    likeness = (_shared(a[0], b[0]) + _shared(a[1], b[1])) / 2
    return likeness if likeness >= _MIN_SHARED else 0.0


def _shared(a: Counter[str], b: Counter[str]) -> float:
    total = a.total() + b.total()
    return 2 * (a & b).total() / total if total else 0.0
