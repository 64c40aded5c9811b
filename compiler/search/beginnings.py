"""The beginnings of derivations: what the early rules made of a function, by what was picked meanwhile.

They ask the same as long as the answers are the same, so that what they made is the leaf of a tree of questions::

    conv.winograd ── 0 ──→ conv_pad.inline ── True ──→ a schedule
                  └─ 4 ──→ a schedule
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from compiler.search.choices import Picker, Value
from compiler.search.rules import Derivation, Rule, derive

_MOST = 32
"""Beginnings that are remembered."""


@dataclass
class _Question:
    name: str
    options: Sequence[Value]
    answers: dict[Value, _Question | Derivation] = field(default_factory=dict)


class _Noting(Picker):
    """Lets another make the choices that it has not made yet, and notes the questions."""

    def __init__(self, picker: Picker) -> None:
        self._picker = picker
        self.asked: list[tuple[_Question, Value]] = []

    def pick(self, name: str, options: Iterable[Any]) -> Any:
        possible = tuple(options)
        made = self._picker.made
        chosen = made[name] if name in made else self._picker.pick(name, possible)
        if name in made:
            self.asked.append((_Question(name, possible), chosen))
        return chosen


class Beginnings:
    """What is remembered of one function."""

    def __init__(self) -> None:
        self._known: dict[Value, _Question | Derivation] = {}
        self._count = 0

    def begun(self, picker: Picker, rules: Sequence[Rule], new: Callable[[Picker], Derivation]) -> Derivation:
        """Return a derivation by some rules, begun as ``new`` says; raises TVMError where a primitive is refused."""
        known = self._known.get("")
        while isinstance(known, _Question):
            known = known.answers.get(picker.pick(known.name, known.options))
        if known is None:
            noting = _Noting(picker)
            derive(known := new(noting), rules)
            self._remember(noting.asked, known)
        return known.copied(picker)

    def _remember(self, asked: Sequence[tuple[_Question, Value]], made: Derivation) -> None:
        if self._count == _MOST:
            self._known, self._count = {}, 0
        self._count += 1
        place: dict[Value, _Question | Derivation] = self._known
        answer: Value = ""
        for question, chosen in asked:
            known = place.setdefault(answer, question)
            assert isinstance(known, _Question)
            place, answer = known.answers, chosen
        place[answer] = made
