"""The candidates for a program, each the schedule that the rules derive with some choices."""

from __future__ import annotations

import random
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol, TypeVar

from compiler.driver.templates import Filled, Template
from compiler.ir.error import ArgumentError, PartError, TVMError
from compiler.ir.module import IRModule
from compiler.search.beginnings import Beginnings
from compiler.search.blocks import block_facts, blocks_of
from compiler.search.choices import Choices, Picker, Usual, Wishes, crossed, mutation, sketch
from compiler.search.machine import Machine
from compiler.search.rules import RULES, Derivation, Rule, derive
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.statements.function import PrimFunc

Candidate = TypeVar("Candidate", bound=Hashable)
_ATTEMPTS = 40
_REMEMBERED = 512
_WAY, _RULES = "way", "rules"
"""The first decision where a function has a schedule with numbers anyway."""
TEMPLATE = "template "
"""What the way begins with to the candidates that are a program's own schedule; its digest follows."""
_BEFORE = 2
"""With more blocks before the first sum, as of Winograd, numbers are chosen always: by rules it takes long to build."""


@dataclass(frozen=True)
class Numbers:
    """A schedule that a function has anyway, and whose numbers can be chosen."""

    program: Callable[[Picker], Callable[[], IRModule]]
    """Picks the numbers, and returns what makes the program: the loops of the schedule, which are lowered where they
    are built."""
    way: str = "numbers"
    """What candidates of it are told by from those of other schedules of the function."""
    is_written: bool = False
    """Whether it stands in a program that somebody wrote; it was made with care if not."""

    @classmethod
    def of(cls, template: Template) -> Numbers:
        """Return the factors of a schedule that a program has made."""
        return cls(lambda picker: template.filled(picker.pick).loops, _way_of(template), is_written=True)


class Space(Protocol[Candidate]):
    """What can be searched: candidates, and what each of them is as a program."""

    def sample(self, rng: random.Random) -> Candidate:
        """Return a candidate at random."""

    def mutated(self, candidate: Candidate, rng: random.Random) -> Candidate:
        """Return a candidate that differs in one decision."""

    def crossed(self, first: Candidate, second: Candidate, rng: random.Random) -> Candidate:
        """Return a candidate of decisions of two."""

    def program(self, candidate: Candidate) -> IRModule:
        """Return the program of a candidate."""


class ScheduleSpace:
    """The schedules of a function with blocks, as the rules derive them.

    Parameters
    ----------
    numbers : Numbers, optional
        Another way to a program of the function.
    rules : sequence of Rule
        What schedules are derived by.
    """

    def __init__(
        self,
        func: PrimFunc | IRModule,
        machine: Machine,
        wishes: Wishes | None = None,
        numbers: Numbers | None = None,
        rules: Sequence[Rule] = RULES,
    ) -> None:
        self.func = func
        self.machine = machine
        self._numbers, self._rules = numbers, rules
        self._begun = Beginnings()
        self._ways = _ways(func, numbers)
        self._is_written = numbers is not None and numbers.is_written
        self.wishes = wishes or Wishes()
        self.refused: Counter[tuple[Choices, str]] = Counter()
        """How many derivations of a sketch, or of its beginning, ended with which refusal of a primitive."""
        self._derived: OrderedDict[Choices, IRModule] = OrderedDict()

    def sample(self, rng: random.Random) -> Choices:
        """Return the choices of a candidate at random.

        Raises ArgumentError if all that was tried is refused.
        """
        for _ in range(_ATTEMPTS):
            if (made := self._tried(Picker(rng))) is not None:
                return made
        most = ", ".join(f"{count} × {text}" for (_, text), count in self.refused.most_common(3))
        raise ArgumentError(f"search: no schedule could be derived: {most}")

    def usual(self) -> tuple[Choices | None, Sequence[Choices]]:
        """Return the usual numbers, None where there are none to choose, and what differs from them in one."""
        if self._numbers is None:
            return None, ()
        picker = Usual()
        picker.pick(_WAY, self._ways)
        self._numbers.program(picker)
        return picker.choices, [each for each in picker.neighbours() if self.wishes.allow(each)]

    def mutated(self, candidate: Choices, rng: random.Random) -> Choices:
        """Return choices of which one is another, or the same where all that was tried is refused."""
        for _ in range(_ATTEMPTS):
            if (made := self._tried(mutation(self._whole(candidate), rng))) is not None:
                return made
        return candidate

    def crossed(self, first: Choices, second: Choices, rng: random.Random) -> Choices:
        """Return choices of two candidates, or the first where the mixture is refused."""
        return self._tried(crossed(self._whole(first), self._whole(second), rng)) or first

    def like(self, choices: Choices, rng: random.Random) -> Choices | None:
        """Return the candidate that is most like one of other shapes; None if it is refused."""
        wanted = dict(self._whole(choices))
        return self._tried(Picker(rng, wanted)) if wanted.get(_WAY, self._ways[-1]) in self._ways else None

    def program(self, candidate: Choices) -> IRModule:
        """Return the program of a candidate."""
        if candidate not in self._derived:
            self._remember(candidate, self._program(Picker(random.Random(0), dict(self._whole(candidate)))))
        return self._derived[candidate]

    def schedule(self, candidate: Choices) -> Schedule:
        """Derive the schedule of a candidate again, with all checks that primitives make.

        Raises ArgumentError if its choices are not among those that there are.
        """
        if dict(candidate).get(_WAY, _RULES) != _RULES:
            _refuse_other(candidate)
        picker = Picker(random.Random(0), dict(candidate))
        schedule = self._derive(picker, True)
        _check_made(picker, candidate)
        return schedule

    def is_sound(self, candidate: Choices) -> bool:
        """Return whether primitives accept the schedule of a candidate with all their checks."""
        if self.is_of_numbers(candidate):
            return True
        try:
            self.schedule(candidate)
        except TVMError as refusal:
            self._note(refusal, candidate)
            return False
        return True

    def is_of_numbers(self, candidate: Choices) -> bool:
        """Return whether a candidate is the schedule that there is anyway, with other numbers."""
        return self._numbers is not None and dict(candidate).get(_WAY, self._ways[-1]) == self._numbers.way

    def _note(self, refusal: TVMError, choices: Choices) -> None:
        self.refused[sketch(choices), str(refusal).strip().splitlines()[0]] += 1

    def _tried(self, picker: Picker) -> Choices | None:
        picker.wishes = self.wishes
        try:
            program = self._program(picker)
        except PartError:
            raise
        except TVMError as refusal:
            self._note(refusal, picker.choices)
            return None
        self._remember(picker.choices, program)
        return picker.choices

    def _program(self, picker: Picker) -> IRModule:
        if self._numbers is not None and picker.pick(_WAY, self._ways) == self._numbers.way:
            program = self._numbers.program(picker)
            return self._derived.get(picker.choices) or program()
        if self._is_written:
            picker.forget(_WAY)
        return self._derive(picker, False).mod

    def _whole(self, choices: Choices) -> Choices:
        """Return choices with the way, which is left out by rules: they lead there without a schedule, too."""
        return ((_WAY, _RULES), *choices) if self._is_written and _WAY not in dict(choices) else choices

    def _derive(self, picker: Picker, enable_check: bool) -> Schedule:
        def new(picker: Picker) -> Derivation:
            sch = Schedule(self.func, seed=1, error_render_level="fast", enable_check=enable_check)
            return Derivation(sch, picker, self.machine)

        early = [rule for rule in self._rules if rule.is_early]
        begun = (Beginnings() if enable_check else self._begun).begun(picker, early, new)
        derive(begun, [rule for rule in self._rules if not rule.is_early])
        return begun.sch

    def _remember(self, candidate: Choices, program: IRModule) -> None:
        self._derived[candidate] = program
        while len(self._derived) > _REMEMBERED:
            self._derived.popitem(last=False)


def is_of_template(choices: Choices) -> bool:
    """Return whether a candidate is a schedule that a program has made, with other factors."""
    return str(dict(choices).get(_WAY, "")).startswith(TEMPLATE)


def filled(template: Template | None, choices: Choices) -> Filled:
    """Return a template with the factors that a candidate has.

    Raises ArgumentError if they cannot be these, or the candidate is of another template.
    """
    if template is None or dict(choices).get(_WAY) != _way_of(template):
        _refuse_other(choices)
    picker = Picker(random.Random(0), dict(choices))
    made = template.filled(picker.pick)
    _check_made(picker, choices)
    return made


def _way_of(template: Template) -> str:
    return TEMPLATE + template.digest


def _refuse_other(choices: Choices) -> NoReturn:
    way = dict(choices).get(_WAY)
    raise ArgumentError(f"search: the candidate is of another schedule than the function has ({way})")


def _check_made(picker: Picker, choices: Choices) -> None:
    strange = [(name, value) for name, value in choices if picker.made.get(name) != value and name != _WAY]
    if strange:
        name, value = strange[0]
        raise ArgumentError(f"search: the schedules of this function have no choice {value} for {name}")


def _ways(func: PrimFunc | IRModule, numbers: Numbers | None) -> Sequence[str]:
    """Return the ways to a program of a function, as often as one is as likely as others, that by rules last."""
    if numbers is None:
        return (_RULES,)
    if numbers.is_written:
        return numbers.way, _RULES
    before = next((at for at, block in enumerate(structure(func).split()) if "R:" in block), 0)
    return (numbers.way,) * 3 + (_RULES,) * (before <= _BEFORE)


def structure(func: PrimFunc | IRModule) -> str:
    """Return what programs of like shapes have in common: their blocks, axes and accesses without extents."""
    sch = Schedule(func, enable_check=False)
    rows = []
    for rv in blocks_of(sch):
        facts = block_facts(sch, rv)
        if facts is None:
            rows.append("?")
            continue
        patterns = ["".join("0" if m == 0 else "1" if abs(m) == 1 else "n" for m in move) for move in facts.reads]
        rows.append(f"{facts.block.name_hint}:{facts.kinds}:{','.join(patterns)}:{facts.dtype}")
    return " ".join(rows)
