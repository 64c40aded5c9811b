"""The tree of what a search has tried: sketches, then tiles, then candidates; only the chosen branch is unfolded."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import msgspec

from app.panes.searches import ALGORITHMS, Trial, key_of, made_of, option_words
from app.searches import Decision, Refusal

SKETCH = (*ALGORITHMS, "way", "inline", "pack")
"""What the names of decisions end with that say which rules are applied, before numbers."""
LEVELS = ("sketch", "registers", "caches")
"""What divides candidates, one after another; what is left of the decisions is said at each candidate."""
MOST = 24
"""Rows of a branch, the fastest first."""
_REGISTERS, _CACHES = re.compile(r"vector|parts|\d+\.inner"), re.compile(r"\d+\.outer|r\d+\.inner")
_SAID = {
    ("way", "tiles"): "in tiles", ("way", "parts"): "in parts", ("way", "plain"): "as it is",
    ("way", "numbers"): "the operator’s schedule, other numbers", ("way", "rules"): "by rules",
    ("inline", True): "inlined", ("inline", False): "not inlined",
    ("pack", True): "packed", ("pack", False): "not packed",
    ("winograd", 0): "as it is defined", ("winograd", 2): "Winograd’s, tiles of 2 × 2",
    ("winograd", 4): "Winograd’s, tiles of 4 × 4",
    ("strassen", False): "all products", ("strassen", True): "Strassen’s, of quarters",
    ("lanes", 0): "not vectorised", ("square", 0): "rows as they are", ("at", -1): "computed at root",
}  # fmt: skip


@dataclass(frozen=True)
class Leaf:
    """A candidate."""

    trial: int
    seconds: float | None
    kind: str
    words: str


@dataclass(frozen=True)
class Node:
    """Candidates with some decisions in common."""

    words: str
    key: str
    """The decisions to look at when it is pressed, as JSON: its own, or those above if it is unfolded."""
    count: int
    seconds: float | None
    """The best time."""
    failed: list[tuple[str, int]]
    """Why candidates have no time, or none were derived, and how many."""
    is_open: bool = False
    nodes: list[Node] = field(default_factory=list)
    leaves: list[Leaf] = field(default_factory=list)
    left_out: int = 0
    """Rows of its branch that are not shown."""


@dataclass(frozen=True)
class _Made:
    """A candidate with its decisions."""

    at: int
    trial: Trial
    decisions: Sequence[Decision]

    def of(self, level: int) -> tuple[str, ...]:
        return tuple(key_of(d) for d in self.decisions if _level(d[0]) == level)


def sketches(
    trials: Sequence[Trial], table: Sequence[Decision], refused: Sequence[Refusal], only: Sequence[Decision]
) -> list[Node]:
    """Return the sketches that were tried, the fastest first.

    Parameters
    ----------
    table : sequence of Decision
        What the numbers of the trials mean.
    only : sequence of Decision
        What the candidates of the unfolded branch have decided.
    """
    made = [_Made(at, trial, made_of(trial, table)) for at, trial in enumerate(trials) if trial.choices is not None]
    reasons: dict[tuple[str, ...], Counter[str]] = {}
    for refusal in refused:
        reasons.setdefault(tuple(map(key_of, refusal.sketch)), Counter())[refusal.reason] += refusal.count
    level = next((n for n in range(len(LEVELS)) if any(one.of(n) for one in made)), len(LEVELS))
    return _nodes(made, level, (), set(map(key_of, only)), reasons)[:MOST]


def inside(trials: Sequence[Trial], table: Sequence[Decision], only: Sequence[Decision]) -> set[int]:
    """Return which trials have made some decisions."""
    wanted = set(map(key_of, only))
    return {at for at, trial in enumerate(trials) if wanted <= set(map(key_of, made_of(trial, table)))}


def _nodes(
    made: Sequence[_Made], level: int, path: tuple[str, ...], only: Collection[str],
    reasons: dict[tuple[str, ...], Counter[str]],
) -> list[Node]:  # fmt: skip
    groups: dict[tuple[str, ...], list[_Made]] = {key: [] for key in reasons}
    for one in made:
        groups.setdefault(one.of(level), []).append(one)
    nodes = [_node(key, some, level, path, only, reasons.get(key, Counter())) for key, some in groups.items()]
    return sorted(nodes, key=lambda node: node.seconds or math.inf)


def _node(
    key: tuple[str, ...], made: Sequence[_Made], level: int, above: tuple[str, ...], only: Collection[str],
    refused: Counter[str],
) -> Node:  # fmt: skip
    path = (*above, *key)
    failed = Counter(one.trial.message[:500] or one.trial.kind[:40] for one in made if one.trial.time is None) + refused
    is_open = bool(path) and set(path) <= set(only)
    below = next((n for n in range(level + 1, len(LEVELS)) if any(one.of(n) for one in made)), None)
    nodes = _nodes(made, below, path, only, {}) if is_open and below else []
    leaves = [_leaf(one, path) for one in made] if is_open and not below else []
    leaves.sort(key=lambda leaf: leaf.seconds or math.inf)
    nothing = {0: "before a rule was chosen", len(LEVELS): "without a choice"}.get(level, "nothing of this kind")
    return Node(
        words=_said(key) or nothing, key=_joined(above if is_open else path), count=len(made),
        seconds=min((one.trial.time for one in made if one.trial.time), default=None), failed=failed.most_common(),
        is_open=is_open, nodes=nodes[:MOST], leaves=leaves[:MOST],
        left_out=max(len(nodes) - MOST, len(leaves) - MOST, 0),
    )  # fmt: skip


def _leaf(one: _Made, path: tuple[str, ...]) -> Leaf:
    rest = [key for key in map(key_of, one.decisions) if key not in path]
    return Leaf(one.at, one.trial.time, one.trial.kind[:40], _said(rest))


def _said(keys: Sequence[str]) -> str:
    """Return decisions in words, block by block."""
    blocks: dict[str, list[str]] = {}
    for name, value in (msgspec.json.decode(key, type=Decision) for key in keys):
        block, _, rest = name.rpartition(".") if _level(name) == 0 else name.partition(".")
        short = rest.rstrip("0123456789")
        said = _SAID.get((short, value)) if isinstance(value, str | int) else None
        if short == "way" and said is None:
            said = option_words(value)
        if said is None:
            said = f"{rest or block} {option_words(value)}"
        elif short == "pack":
            said = f"operand {rest.removeprefix('pack')} {said}"
        blocks.setdefault(block if rest and block else "", []).append(said)
    return "; ".join(f"{block} {', '.join(some)}".strip() for block, some in blocks.items())


def _level(name: str) -> int:
    rest = name.partition(".")[2]
    if name.rpartition(".")[2].rstrip("0123456789") in SKETCH:
        return 0
    if not rest or _REGISTERS.fullmatch(rest):
        return 1
    return 2 if _CACHES.fullmatch(rest) else len(LEVELS)


def _joined(keys: Sequence[str]) -> str:
    return f"[{','.join(keys)}]"
