"""The decisions of a candidate: named choices, made while its schedule is derived.

The rules derive a schedule step by step and ask a :class:`Picker` wherever there is more than one way::

    picker.pick("C.i.inner", (1, 2, 4, 8))   # the same name for the same decision, whatever was chosen before it

The options are what is legal at this point, so every set of choices is a candidate: those of another candidate, or of a
record of other shapes, are taken where they are among the options, by the nearest option where they are tiles, and are
drawn at random elsewhere.  A mutation derives a schedule again with one choice changed, a crossing with the choices of
two candidates.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from compiler.ir.error import ArgumentError

Value: TypeAlias = bool | int | str | tuple[int, ...]
Choices: TypeAlias = tuple[tuple[str, Value], ...]
"""Names and what was chosen, in the order in which it was chosen."""

ALGORITHMS = ("winograd", "strassen")
SKETCH = (*ALGORITHMS, "way", "inline", "pack")
"""What the names of such decisions end with, before numbers."""
_MOST = 1 << 63
_NEAR = 0.6
"""How often a changed tile differs from the one before in two places only, a factor that moved, and a size is one of
the next ones."""
_NEIGHBOURS = 4


@dataclass(frozen=True)
class Wishes:
    """What a person wants of all candidates."""

    pinned: Mapping[str, Value] = field(default_factory=dict)
    """Decisions that are taken."""
    banned: Collection[tuple[str, Value]] = ()
    """Choices that no candidate makes."""

    def allow(self, choices: Choices) -> bool:
        """Return whether all choices are as wanted."""
        return all(self.pinned.get(name, o) == o and (name, o) not in self.banned for name, o in choices)

    def left(self, name: str, options: Sequence[Value]) -> Sequence[Value]:
        """Return the options that are as wanted; raises ArgumentError if none is."""
        left = [o for o in options if self.allow(((name, o),))]
        if not left:
            raise ArgumentError(f"search: what is pinned and banned leaves no choice for {name}")
        return left


class Picker:
    """Makes the choices of one candidate.

    Parameters
    ----------
    rng : random.Random
        What is drawn from where nothing is wanted.
    wanted : mapping of str to Value
        Choices to be made again.
    changed : str, optional
        The name of the one that is to become another.
    """

    def __init__(self, rng: random.Random, wanted: Mapping[str, Value] | None = None, changed: str = "") -> None:
        self._rng = rng
        self._wanted = dict(wanted or {})
        self._changed = changed
        self.wishes = Wishes()
        self.made: dict[str, Value] = {}

    @property
    def choices(self) -> Choices:
        """What was chosen so far."""
        return tuple(self.made.items())

    def pick(self, name: str, options: Iterable[Any]) -> Any:
        """Return one of the options; an option that occurs twice is drawn twice as often."""
        possible: Sequence[Value] = tuple(options)
        different = tuple(dict.fromkeys(possible))
        if len(different) == 1:
            return different[0]
        possible = self.wishes.left(name, possible)
        different = tuple(dict.fromkeys(possible))
        wanted = self._wanted.get(name)
        if name == self._changed and wanted in different and len(different) > 1:
            chosen = self._another(wanted, possible)
        elif wanted in different:
            chosen = wanted
        else:
            chosen = _nearest(wanted, different) or self._rng.choice(possible)
        self.made[name] = chosen
        return chosen

    def forget(self, name: str) -> None:
        """Leave out a choice, if it was made."""
        self.made.pop(name, None)

    def _another(self, old: Value, options: Sequence[Value]) -> Value:
        others: list[Value] = [option for option in options if option != old]
        if not isinstance(old, tuple) and (near := _by_distance(old, others)) and self._rng.random() < _NEAR:
            return self._rng.choice(near[:_NEIGHBOURS])
        if isinstance(old, tuple) and self._rng.random() < _NEAR:
            sizes = [option for option in others if isinstance(option, tuple)]
            near = [s for s in sizes if sum(a != b for a, b in zip(s, old, strict=True)) <= 2]
            others = near or others
        return self._rng.choice(others)


def _nearest(wanted: Value | None, options: Sequence[Value]) -> Value | None:
    """Return the tile or size whose factors differ least from a wanted one; None where no sizes are wanted."""
    return next(iter(_by_distance(wanted, options)), None)


def _by_distance(wanted: Value | None, options: Sequence[Value]) -> list[Value]:
    """Return the tiles or sizes, those first whose factors differ least from wanted ones, if any are."""
    sizes = _sizes(wanted)
    fitting = [option for option in options if sizes and len(_sizes(option)) == len(sizes)]
    return sorted(fitting, key=lambda o: sum(abs(math.log(a / b)) for a, b in zip(_sizes(o), sizes, strict=True)))


class Usual(Picker):
    """Makes the choices that come first, and notes the others."""

    def __init__(self) -> None:
        super().__init__(random.Random(0))
        self._options: dict[str, Sequence[Value]] = {}

    def pick(self, name: str, options: Iterable[Any]) -> Any:
        self._options[name] = different = tuple(dict.fromkeys(options))
        if len(different) > 1:
            self.made[name] = different[0]
        return different[0]

    def neighbours(self) -> list[Choices]:
        """Return what differs in one number, those first that differ least."""
        steps = [
            (at, name, option)
            for name, (usual, *others) in self._options.items()
            for at, option in enumerate(_by_distance(usual, others)[:_NEIGHBOURS])
        ]
        return [tuple({**self.made, name: option}.items()) for _, name, option in sorted(steps, key=lambda s: s[0])]


def _sizes(value: Value | None) -> tuple[int, ...]:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return (value,)
    return value if isinstance(value, tuple) and all(size > 0 for size in value) else ()


def mutation(choices: Choices, rng: random.Random) -> Picker:
    """Return what makes the choices of a candidate again but for one of them."""
    return Picker(rng, dict(choices), rng.choice([name for name, _ in choices]) if choices else "")


def crossed(first: Choices, second: Choices, rng: random.Random) -> Picker:
    """Return what makes each choice as one of two candidates did, all those of a block as the same one."""
    owners: dict[str, Mapping[str, Value]] = {}
    parents = (dict(first), dict(second))
    wanted: dict[str, Value] = {}
    for name in dict.fromkeys(name for name, _ in (*first, *second)):
        block = name.partition(".")[0]
        owner = owners.setdefault(block, rng.choice(parents))
        if name in owner:
            wanted[name] = owner[name]
    return Picker(rng, wanted)


def sketch(choices: Choices) -> Choices:
    """Return what is decided of the rules that are applied, without sizes, orders and places."""
    return tuple((name, value) for name, value in choices if name.rpartition(".")[2].rstrip("0123456789") in SKETCH)


def algorithm(choices: Choices) -> Choices:
    """Return what is decided of the algorithm."""
    return tuple((name, value) for name, value in choices if name.rpartition(".")[2] in ALGORITHMS)


def from_json(value: Sequence[Sequence[Any]]) -> Choices:
    """Return choices as a log has them, where a tile is a list; raises ArgumentError if they are of other types."""
    made = tuple((str(name), tuple(chosen) if isinstance(chosen, list) else chosen) for name, chosen in value)
    for name, chosen in made:
        numbers = chosen if isinstance(chosen, tuple) else (chosen,)
        if not isinstance(chosen, str) and not all(isinstance(n, int) and abs(n) < _MOST for n in numbers):
            raise ArgumentError(f"search: {str(chosen)[:80]} is no choice for {name[:80]}")
    return made
