"""Sketches that a program's own rules make: ``auto_scheduler.PreloadCustomSketchRule``."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from compiler.classic.auto_scheduler.loop_state import Iterator, State
from compiler.classic.auto_scheduler.sketch import may_be_inlined
from compiler.classic.auto_scheduler.transform_steps import Step, StepState
from compiler.ir.error import ArgumentError, TVMError
from compiler.ir.expr.primexpr import IterVar
from compiler.search.blocks import divisors
from compiler.te.scheduling.stage_state import AttachType

if TYPE_CHECKING:
    from compiler.classic.auto_scheduler.search_policy import SketchPolicy

_ATTEMPTS, _MOST_LANES = 50, 64
_LENGTHS = (1, 2, 4, 8, 16)
"""Of loops whose extent is not known."""
_FINISH = -1
"""The choice whether outer loops of stages are parallel, and inner ones vectors."""
Fills = Mapping[int, tuple[int, ...]]


class PreloadCustomSketchRule:
    """A rule of a program's own, which a policy asks of each stage from the last on.

    Parameters
    ----------
    meet_condition_func : callable
        ``f(policy, state, stage_id)`` returns ``PASS`` if the rule is not for a stage, ``APPLY``, or
        ``APPLY_AND_SKIP_REST`` if the rules behind it are not.
    apply_func : callable
        ``f(policy, state, stage_id)`` returns pairs of a state and the stage that is next.
    """

    PASS, APPLY, APPLY_AND_SKIP_REST = 0, 1, 2

    def __init__(
        self,
        meet_condition_func: Callable[[SketchPolicy, StepState, int], int],
        apply_func: Callable[[SketchPolicy, StepState, int], Sequence[Sequence[Any]]],
        rule_name: str = "CustomSketchRule",
    ) -> None:
        self.meets, self.apply, self.rule_name = meet_condition_func, apply_func, rule_name


class RuledSketches:
    """The schedules of the sketches that rules make, of all lengths and annotations that are left open."""

    def __init__(self, policy: SketchPolicy, rules: Sequence[PreloadCustomSketchRule]) -> None:
        self._dag = policy.task.compute_dag
        self._made: dict[StepState, tuple[int, Fills]] = {}
        self.sketches: list[StepState] = []
        todo = [(StepState(()), len(self._dag.ops) - 1)]
        while todo:
            state, stage = todo.pop()
            if stage < 0:
                self.sketches.append(state)
                continue
            for rule in rules:
                answer = rule.meets(policy, state, stage)
                if answer != rule.PASS:
                    made: Any = rule.apply(policy, state, stage)
                    pairs = [made] if len(made) == 2 and isinstance(made[1], int) else made  # one, or several
                    todo += [(_steps_of(rule, given), int(after)) for given, after in pairs]
                if answer == rule.APPLY_AND_SKIP_REST:
                    break
            else:
                todo.append((self._usual(state, stage), stage - 1))

    def _usual(self, given: StepState, at: int) -> StepState:
        """Return the steps after which a stage is inlined, if it is computed element by element and read by others."""
        op = (state := State(given, self._dag)).stage_ops[at]
        if may_be_inlined(self._dag, op) and not any(at in step[1:2] for step in given.steps):
            state.compute_inline(at)
        return state.state_object

    def sample(self, rng: random.Random) -> StepState:
        """Choose all that is open at random."""
        return self._filled(rng.randrange(len(self.sketches)), {}, rng)

    def mutated(self, candidate: StepState, rng: random.Random) -> StepState:
        """Choose the lengths of one step again, or what is annotated."""
        at, fills = self._made[candidate]
        again = rng.choice(list(fills))
        return self._filled(at, {number: chosen for number, chosen in fills.items() if number != again}, rng)

    def crossed(self, first: StepState, second: StepState, rng: random.Random) -> StepState:
        """Take each choice of one of two schedules of a sketch; of others the first."""
        (at, fills), (other, others) = self._made[first], self._made[second]
        if at != other:
            return first
        return self._filled(at, {number: rng.choice((fills, others))[number] for number in fills}, rng)

    def _filled(self, at: int, fills: Fills, rng: random.Random) -> StepState:
        refusal: TVMError | None = None
        for _ in range(_ATTEMPTS):
            chosen = dict(fills)
            try:
                steps = [self._step(n, step, chosen, rng) for n, step in enumerate(self.sketches[at].steps)]
                flags = chosen.setdefault(_FINISH, (rng.randrange(2), rng.randrange(2)))
                state = _annotated(State(StepState(tuple(steps)), self._dag), *flags)
                self._dag.lowered(state)
            except TVMError as error:
                refusal, fills = error, {}
                continue
            self._made[state] = (at, chosen)
            return state
        raise ArgumentError(f"auto_scheduler: no schedule of sketch {at} could be made: {refusal}")

    def _step(self, number: int, step: Step, chosen: dict[int, tuple[int, ...]], rng: random.Random) -> Step:
        """Return a step with lengths that divide the extent of its loop together."""
        if step[0] != "SP" or None not in step[4]:
            return step
        if number not in chosen:
            left, lengths = step[3], list(step[4])
            if left is not None:
                left = -(-left // math.prod(length or 1 for length in lengths))
            for at in [at for at, length in enumerate(lengths) if length is None]:
                lengths[at] = rng.choice(_LENGTHS if left is None else divisors(left))
                left = None if left is None else left // lengths[at]
            chosen[number] = tuple(lengths)
        return (*step[:4], chosen[number], *step[5:])


def _steps_of(rule: PreloadCustomSketchRule, made: Any) -> StepState:
    if not isinstance(made, (State, StepState)):
        raise ArgumentError(f"PreloadCustomSketchRule {rule.rule_name!r}: its states must be states, got {made!r}")
    return made.state_object if isinstance(made, State) else made


def _annotated(state: State, is_parallel: int, is_vector: int) -> StepState:
    """Return the steps of a state whose stages have parallel outer loops and vectors, where nothing is said of them."""
    stages = state.te_stages
    targets = [stage.attach_stage for stage in stages]
    for at, stage in enumerate(stages):
        loops = state.stages[at].iters
        if not loops or stage.attach_type is AttachType.INLINE:
            continue
        first, last = loops[0], loops[-1]
        if is_parallel and stage.attach_type is AttachType.ROOT and _is_free(stage, first):
            state.parallel(at, first)
        is_short = last.extent is not None and last.extent <= _MOST_LANES
        if is_vector and stage not in targets and last is not first and is_short and _is_free(stage, last):
            state.vectorize(at, last)
    return state.state_object


def _is_free(stage: Any, loop: Iterator) -> bool:
    """Return whether a loop reduces nothing and has no annotation."""
    said = stage.iter_var_attrs.get(loop.axis)
    is_reduced = loop.axis.iter_type == IterVar.CommReduce
    return not is_reduced and (said is None or (said.iter_type is None and said.bind_thread is None))
