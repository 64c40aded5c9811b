"""Sentences for families of instructions, chosen by patterns of their names.

A row is a pattern of the whole name, a sentence, and the roles of the operands in the order in which they are printed.
The first row that matches is used.  A named group of its pattern fills in the sentence: ``{condition}`` stands for what
the words of the group ``condition`` say of the matched letters, or for the letters themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

ASSEMBLY = r"\s+(?:\{\w+\}\s+)?(?P<name>[a-z][\w.]*)\s*(?P<rest>[^#]*)"
"""A line of assembly, behind an encoding such as ``{vex}``."""
Row = tuple[str, str] | tuple[str, str, str]

ROLES: Mapping[str, str] = {
    "d": "destination", "x": "destination, and read before", "s": "source", "w": "written", "a": "address",
    "t": "where to go", "i": "", "m": "mask", "c": "condition",
}  # fmt: skip
"""What an operand is for, by its letter in a row; the last letter holds for further operands too."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A compiled row."""

    pattern: re.Pattern[str]
    sentence: str
    roles: str


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an instruction does, and the roles of its operands."""

    sentence: str
    roles: str
    bits: int = 0
    """Width of an element of its vectors; 0 if the name does not say."""
    modifiers: tuple[tuple[str, str], ...] = ()
    """Those after the operation, and what each says; empty for one that no table knows."""


@dataclass(frozen=True)
class InstructionSet:
    """The rules of an instruction set, whose patterns are compiled when they are first used.

    Parameters
    ----------
    name : str
        An architecture as named by :func:`architecture_of`, or a language of listings.
    roles : str
        Those of rows that give none.
    widths : Mapping
        Bits of an element, by the letters that the group ``element`` matches.
    modifiers : Mapping
        What parts of a name behind the operation say, by their patterns.
    operand : callable
        What an operand is, by its text; empty if that says it all.
    line : str
        The pattern of a line with an instruction: its ``name``, the ``rest`` with its operands, and perhaps a
        ``guard``.
    """

    name: str
    rows: Sequence[Row]
    roles: str
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    widths: Mapping[str, int] = field(default_factory=dict)
    modifiers: Mapping[str, str] = field(default_factory=dict)
    operand: Callable[[str], str] = lambda text: ""
    line: str = ASSEMBLY

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The compiled rows."""
        return tuple(Rule(self._compiled(row[0]), row[1], row[2] if len(row) > 2 else self.roles) for row in self.rows)

    @cached_property
    def _parts(self) -> tuple[tuple[re.Pattern[str], str], ...]:
        return tuple((re.compile(pattern), words) for pattern, words in self.modifiers.items())

    def _compiled(self, pattern: str) -> re.Pattern[str]:
        """Compile a pattern, in which ``<name>`` stands for a group that matches any key of the words of that name."""
        named: set[str] = set()

        def group(match: re.Match[str]) -> str:
            keys = "|".join(sorted(map(re.escape, self.words[match[1]]), key=len, reverse=True))
            if match[1] in named:
                return f"(?:{keys})"
            named.add(match[1])
            return f"(?P<{match[1]}>{keys})"

        return re.compile(re.sub(r"(?<!\?P)<(\w+)>", group, pattern))

    def meaning(self, name: str) -> Meaning | None:
        """Return what the instruction of a name does; None if no rule matches.

        If the set has modifiers, a rule may match only the beginning of a name, up to one of its dots.
        """
        parts = name.split(".")
        for count in range(len(parts), 0 if self.modifiers else len(parts) - 1, -1):
            found = self._of_operation(".".join(parts[:count]))
            if found is not None:
                return replace(found, modifiers=tuple((part, self._modifier(part)) for part in parts[count:]))
        return None

    def _modifier(self, part: str) -> str:
        for pattern, words in self._parts:
            if match := pattern.fullmatch(part):
                return words.format(*(match.groups() or (part,)))
        return ""

    def _of_operation(self, name: str) -> Meaning | None:
        for rule in self.rules:
            match = rule.pattern.fullmatch(name)
            if match:
                groups = match.groupdict(default="")
                words = {key: self.words.get(key, {}).get(value, value) for key, value in groups.items()}
                sentence = rule.sentence.format(**words).format(**words)  # words may name others
                sentence = re.sub(r"\ba (?=8\b)", "an ", re.sub(" {2,}", " ", sentence)).replace(" .", ".")
                return Meaning(sentence, rule.roles, self.widths.get(groups.get("element", ""), 0))
        return None
