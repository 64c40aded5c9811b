"""``tvm.meta_schedule.space_generator``: what schedules are searched, of rules, a function, or a program's own kind."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from compiler.classic.meta_schedule.mutator import Mutator
from compiler.classic.meta_schedule.part import Part, created
from compiler.classic.meta_schedule.picked_schedule import PickedSchedule
from compiler.classic.meta_schedule.postproc import Postproc, RewriteLayout
from compiler.classic.meta_schedule.schedule_rule import (
    ROWS,
    AddRFactor,
    ApplyCustomRule,
    Reduction,
    ScheduleRule,
    custom_rule,
)
from compiler.ir.error import expected, undefined
from compiler.ir.module import IRModule
from compiler.search.choices import Choices, Picker
from compiler.search.machine import Machine
from compiler.search.parts import schedules_of
from compiler.search.rules import RULES, Derivation, Rule, derive, reduction
from compiler.search.space import ScheduleSpace
from compiler.tir.schedule.random_variables import BlockRV
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.schedule.trace import Trace
from compiler.tir.statements.block import Block
from compiler.tir.statements.function import PrimFunc

if TYPE_CHECKING:
    from typing import Self

    from compiler.classic.meta_schedule.tune_context import TuneContext

Made = Schedule | Sequence[Schedule] | None
_FROM_TARGET = "from-target"
_ATTEMPTS, _REMEMBERED = 40, 512
_RULE = "rule"
"""The end of the names of choices among the schedules that a rule returned."""


class SpaceGenerator(Part):
    """What schedules of a program are to be searched; a program's own one derives from this, or its other name.

    Its schedules are made once, and searched by making their random decisions otherwise.

    Attributes
    ----------
    sch_rules, postprocs : list
        None for none.
    mutator_probs : dict of Mutator to float
        How often each changes a candidate; None for the search's own way.
    """

    sch_rules: Sequence[ScheduleRule] | None = None
    postprocs: Sequence[Postproc] | None = None
    mutator_probs: Mapping[Mutator, float] | None = None
    is_default = False
    """Whether all is as the search's own rules have it, which need no postprocessors but that of layouts."""
    _traces: Sequence[Trace] | None = None
    _machine = Machine()

    def _parts(self) -> Iterable[Part]:
        return (*(self.sch_rules or ()), *(self.postprocs or ()), *(self.mutator_probs or {}))

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._machine = context.machine
        for part in self._parts():
            part._initialize_with_tune_context(context)

    def clone(self) -> Self:
        twin = super().clone()
        twin._traces = None
        twin.sch_rules = None if self.sch_rules is None else [rule.clone() for rule in self.sch_rules]
        twin.postprocs = None if self.postprocs is None else [each.clone() for each in self.postprocs]
        probs = self.mutator_probs
        twin.mutator_probs = None if probs is None else {each.clone(): share for each, share in probs.items()}
        return twin

    def generate_design_space(self, mod: IRModule | PrimFunc) -> Sequence[Schedule]:
        """Return schedules whose random decisions can be made otherwise."""
        undefined(self, "generate_design_space")

    def derive(self, d: Derivation) -> None:
        """Make a schedule by the choices of a derivation."""
        if self._traces is None:
            func = d.sch.mod
            made = schedules_of(self, "generate_design_space", self.generate_design_space(func))
            self._traces = [sch.trace for sch in made]
        replay(self._traces, d)

    @staticmethod
    def create(kind: Any = "post-order-apply", *args: Any, **options: Any) -> SpaceGenerator:
        """Return a generator of a kind: ``post-order-apply``, ``union``, or by a function of schedules."""
        if callable(kind):
            return ScheduleFn(kind, *args, **options)
        kinds: dict[str, Callable[..., SpaceGenerator]] = {
            "post-order-apply": PostOrderApply, "union": SpaceGeneratorUnion,
        }  # fmt: skip
        return created("SpaceGenerator.create", kinds, kind, *args, **options)


PySpaceGenerator = SpaceGenerator
create = SpaceGenerator.create


def replay(traces: Sequence[Trace], d: Derivation) -> None:
    """Do the steps of one of some traces, with decisions of a derivation."""
    trace, sch = traces[d.choose(f"trace.{_RULE}", range(len(traces)))], d.sch
    assert isinstance(sch, PickedSchedule)
    trace.apply_to_schedule(
        sch, True, lambda inst, inputs, attrs, decision: sch.pick(inst.kind.primitive, *inputs, *attrs)
    )


class _Default(SpaceGenerator):
    """A generator whose parts are those for the target, unless others are given."""

    def __init__(
        self,
        sch_rules: Sequence[ScheduleRule] | str = _FROM_TARGET,
        postprocs: Sequence[Postproc] | str = _FROM_TARGET,
        mutator_probs: Mapping[Mutator, float] | str = _FROM_TARGET,
    ) -> None:
        if isinstance(sch_rules, str):
            sch_rules = ScheduleRule.create("llvm" if sch_rules == _FROM_TARGET else sch_rules)
        if isinstance(postprocs, str):
            postprocs = Postproc.create("llvm" if postprocs == _FROM_TARGET else postprocs)
        self.sch_rules = self._all("sch_rules", sch_rules or (), ScheduleRule)
        self.postprocs = self._all("postprocs", postprocs or (), Postproc)
        if not isinstance(mutator_probs, str):
            self._all("mutator_probs", mutator_probs or (), Mutator)
            self.mutator_probs = dict(mutator_probs or {})
            if not all(isinstance(share, (int, float)) and share >= 0 for share in self.mutator_probs.values()):
                expected(type(self).__name__, "mutator_probs", "a number of at least 0 for each mutator", mutator_probs)
        elif mutator_probs != _FROM_TARGET:
            self.mutator_probs = Mutator.create(mutator_probs)

    def _all(self, name: str, given: Iterable[Any], kind: type[Part]) -> list[Any]:
        """Return what an argument gives; raises ArgumentError unless all of it is of a kind."""
        if not isinstance(given, Iterable) or not all(isinstance(each, kind) for each in given):
            expected(type(self).__name__, name, f"objects of the class {kind.__name__}", given)
        return list(given)


class ScheduleFn(_Default):
    """The schedules that a function makes, each time by other random decisions (``sample_…``).

    It changes the schedule that it is given, or returns one or several.
    """

    def __init__(self, sch_fn: Callable[[Schedule], Made], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.sch_fn = sch_fn

    def generate_design_space(self, mod: IRModule | PrimFunc) -> Sequence[Schedule]:
        return self._schedules(Schedule(mod))

    def derive(self, d: Derivation) -> None:
        made = self._schedules(d.sch)
        d.sch = made[d.choose(f"function.{_RULE}", range(len(made)))]

    def _schedules(self, sch: Schedule) -> Sequence[Schedule]:
        made = self.sch_fn(sch)
        return [sch] if made is None else [made] if isinstance(made, Schedule) else schedules_of(self, "sch_fn", made)


class PostOrderApply(_Default):
    """The schedules that rules make, each rule over the blocks from the last to the first.

    ``f_block_filter`` says which blocks they are for.
    """

    def __init__(self, f_block_filter: Callable[[Block], bool] | None = None, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._filter = f_block_filter
        given = [f_block_filter, *args[:2], options.get("sch_rules"), options.get("postprocs")]
        self.is_default = all(each in (None, _FROM_TARGET) for each in given)

    def generate_design_space(self, mod: IRModule | PrimFunc) -> list[Schedule]:
        rng, found, wanted = random.Random(0), list[Schedule](), [dict[str, int]()]
        while wanted:
            picker = _EveryRule(rng, wanted.pop(0))
            self.derive(d := Derivation(PickedSchedule(mod, picker), picker, self._machine))
            found.append(d.sch)
            wanted += picker.others
        return found

    def derive(self, d: Derivation) -> None:
        derive(d, RULES if self.is_default else [self._filtered(rule, row) for rule, row in self._rows()])

    def _rows(self) -> Iterable[tuple[ScheduleRule | None, Rule]]:
        rules = self.sch_rules or ()
        reducing = [rule for rule in rules if isinstance(rule, Reduction) and rule.is_own]

        def reduce(d: Derivation, rv: BlockRV) -> None:
            if not d.sch.get_child_blocks(rv):
                reduction(*(rule.way for rule in reducing if rule.is_for(d.sch, rv))).apply(d, rv)

        for at, rule in enumerate(rules):
            if rule not in reducing:
                yield rule, Rule(type(rule).__name__, "", _acting(rule, f"{at}.{_RULE}"), is_of_scopes=True)
            elif rule is reducing[0]:
                yield rule, Rule("reduce", "", reduce)
        if any(isinstance(rule, AddRFactor) for rule in reducing):
            yield None, ROWS["order"]

    def _filtered(self, rule: ScheduleRule | None, row: Rule) -> Rule:
        """Return a row that leaves alone what the filter does not want, and what has a rule of its own."""

        def apply(d: Derivation, rv: BlockRV) -> None:
            is_wanted = self._filter is None or bool(self._filter(d.sch.get_sref(rv).block))
            if is_wanted and (isinstance(rule, ApplyCustomRule) or not custom_rule(d.sch, rv)):
                row.apply(d, rv)

        return row._replace(apply=apply)


def _acting(rule: ScheduleRule, name: str) -> Callable[[Derivation, BlockRV], None]:
    return lambda d, rv: rule.act(d, rv, name)


class _EveryRule(Picker):
    """Takes the first schedule that a rule returned, and notes the others."""

    def __init__(self, rng: random.Random, wanted: Mapping[str, Any]) -> None:
        super().__init__(rng, wanted)
        self.others: list[dict[str, Any]] = []
        self._decided = dict(wanted)

    def pick(self, name: str, options: Iterable[Any]) -> Any:
        if not name.endswith(_RULE):
            return super().pick(name, options)
        first, *others = options
        if name not in self._decided:
            self.others += [{**self._decided, name: other} for other in others]
            self._decided[name] = first
        return self._decided[name]


class SpaceGeneratorUnion(_Default):
    """The schedules of several generators, with parts of its own."""

    def __init__(self, space_generators: Sequence[SpaceGenerator], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.space_generators = self._all("space_generators", space_generators, SpaceGenerator)

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        super()._initialize_with_tune_context(context)
        for each in self.space_generators:
            each._initialize_with_tune_context(context)

    def clone(self) -> Self:
        twin = super().clone()
        twin.space_generators = [each.clone() for each in self.space_generators]
        return twin

    def generate_design_space(self, mod: IRModule | PrimFunc) -> list[Schedule]:
        return [sch for each in self.space_generators for sch in each.generate_design_space(mod)]

    def derive(self, d: Derivation) -> None:
        self.space_generators[d.choose(f"generator.{_RULE}", range(len(self.space_generators)))].derive(d)


class GeneratedSpace(ScheduleSpace):
    """The schedules of a generator, as its postprocessors leave them."""

    def __init__(self, func: PrimFunc | IRModule, machine: Machine, generator: SpaceGenerator) -> None:
        super().__init__(func, machine)
        self.generator = generator
        self._schedules: dict[Choices, PickedSchedule] = {}

    def derived(self, candidate: Choices) -> PickedSchedule:
        """Return the schedule of a candidate, which its program is of."""
        if candidate not in self._schedules:
            self._program(Picker(random.Random(0), dict(candidate)))
        return self._schedules[candidate]

    def _program(self, picker: Picker) -> IRModule:
        made = self._derive(picker, False)
        if len(self._schedules) >= _REMEMBERED:
            self._schedules.clear()
        assert isinstance(made, PickedSchedule)
        self._schedules[picker.choices] = made
        return made.mod

    def _derive(self, picker: Picker, enable_check: bool) -> Schedule:
        d = Derivation(PickedSchedule(self.func, picker, enable_check), picker, self.machine)
        self.generator.derive(d)
        if self.generator.is_default:  # what packs is measured with it, and may be slower
            RewriteLayout().rewrite(d.sch, lambda block: bool(d.pick(f"{block}.packed", (True, False))))
            return d.sch
        d.sch.enter_postproc()
        for postproc in self.generator.postprocs or ():
            postproc.act(d)
        return d.sch

    def mutated(self, candidate: Choices, rng: random.Random) -> Choices:
        probs = self.generator.mutator_probs
        if probs is None:
            return super().mutated(candidate, rng)
        for _ in range(_ATTEMPTS if probs else 0):
            (mutator,) = rng.choices(list(probs), list(probs.values()))
            picker = mutator.picker(candidate, self.derived(candidate), rng)
            if picker is not None and (made := self._tried(picker)) not in (None, candidate):
                return made
        return candidate
