"""The search: rounds of candidates that are evolved, expected to be fast, and measured beside the best so far.

::

    default ──→ reference            database ──→ records of like shapes, rows for the model
                                                        │
    ┌─ candidates: the best so far and new ones, crossed and mutated ←─┐
    │      the model picks those it expects most of, chance a few      │  round after round
    └─ measure beside the reference ──→ learn, note, a new reference? ─┘

    finish: the best against the default, once more and with more patience; unless it is faster, the default stays

Times of different rounds are compared by their ratios to the reference of their round.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import Generic, TypeVar

import numpy as np

from compiler.ir.module import IRModule
from compiler.search.cost_model import CostModel, LearnedModel
from compiler.search.features import features
from compiler.search.ledger import Ledger
from compiler.search.machine import Machine
from compiler.search.measurer import Build, Kernel, Measurement, Measuring
from compiler.search.pairing import Patience
from compiler.search.space import Space

Candidate = TypeVar("Candidate", bound=Hashable)
_PARENTS = 8
_FOR_SECONDS, _ALIKE = 4, 1e-9
"""The times that turn the model's numbers into seconds, and what these must differ by."""
_GIVEN_UP = ((4, 2.5), (12, 1.4))
"""An algorithm is given up when so many of its candidates took so many times as long as the best."""
_AGAIN = Patience(most=32, seconds=2.5, matters=0.0)
_LAST = Patience(most=60, seconds=6.0, matters=0.0)


@dataclass(frozen=True)
class Evolution:
    """How candidates come of one another."""

    population: int = 16
    """New candidates of each generation of a round."""
    generations: int = 2
    mutated: float = 0.7
    """The share of a generation that differs from one parent in one decision; the others are of two."""
    by_chance: float = 0.15
    """The share of a round that is taken at random from the candidates, whatever the model expects."""


@dataclass(frozen=True)
class Trial(Generic[Candidate]):
    """A measured candidate."""

    candidate: Candidate
    measurement: Measurement
    seconds: float
    """Of a call, in terms of the default's time; infinite where there is none."""
    row: Sequence[float] = ()
    predicted: float | None = None
    """The seconds that the model expected; None before it knew the time of a few."""


class Search(Generic[Candidate]):
    """Searches a space.

    Parameters
    ----------
    build : callable
        Builds a program; it is called in the processes that measure.
    default : callable, optional
        Builds what there is without a search; where it is left out, the first candidate stands for it.
    group : str
        What the cost model tells the workload from others by.
    seed : int, optional
        The same candidates each time, as far as they do not depend on times.
    rng : random.Random, optional
        What is drawn from, instead of a ``seed``.
    expect : callable, optional
        What stands for the cost model: returns a number for each candidate, the smaller the faster.
    algorithm : callable
        Returns what a candidate computes by.  One algorithm may need more tuning than another before it is faster:
        those of each are compared among themselves, as long as its best is not far behind.
    told : callable
        Called with what was measured.
    """

    def __init__(
        self,
        space: Space[Candidate],
        build: Callable[[IRModule], Kernel],
        measuring: Measuring,
        machine: Machine,
        *,
        default: Callable[[], Kernel],
        model: CostModel | None = None,
        group: str = "",
        seed: int | None = None,
        rng: random.Random | None = None,
        evolution: Evolution | None = None,
        expect: Callable[[Sequence[Candidate]], Sequence[float]] | None = None,
        algorithm: Callable[[Candidate], Hashable] = lambda candidate: None,
        told: Callable[[Sequence[Trial[Candidate]]], object] = lambda trials: None,
    ) -> None:
        self.space = space
        self.machine = machine
        self.model: CostModel = model or LearnedModel()
        self.trials: list[Trial[Candidate]] = []  # all that was measured, in order
        self.best: Trial[Candidate] | None = None  # the fastest
        self.default_seconds = math.inf  # of a call of the default; infinite as long as it is not known
        self.ledger = Ledger()  # where the time went
        self._build, self._default, self._measuring = build, default, measuring
        self._group, self._evolution, self._told = group, evolution or Evolution(), told
        self.rng = rng or random.Random(seed)
        self._known: dict[Candidate, float] = {}
        self._seen: list[tuple[Sequence[float], float]] = []
        self._reference_seconds = math.inf
        self._expect, self._algorithm = expect, algorithm
        self._begun: Measurement | None = None

    def begin(self) -> Measurement:
        """Measure the default, if that was not done yet; its kind says whether that is possible."""
        self._begun = self._begun or self._measuring.expect(self._default)
        return self._begun

    def learn(self, candidate: Candidate, seconds: float, row: Sequence[float] = ()) -> None:
        """Take notice of a candidate that was measured in another search: it is a parent, and not measured again."""
        self._known[candidate] = seconds
        if row and math.isfinite(seconds):
            self._seen.append((row, seconds))

    def round(self, count: int, seeds: Sequence[Candidate] = ()) -> list[Trial[Candidate]]:
        """Measure some more candidates, ``seeds`` first; none if all are known."""
        self.begin()
        chosen = list(dict.fromkeys(seed for seed in seeds if seed not in self._known))[:count]
        if len(chosen) < count:
            with self.ledger.spending("deriving"):
                chosen += self.propose(count - len(chosen), set(chosen))
        made: list[Trial[Candidate]] = []
        for some in (
            (chosen[:1], chosen[1:]) if not self.trials else (chosen,)
        ):  # soon another reference than a slow one
            made += self._measured(some)
        return made

    def _measured(self, chosen: Sequence[Candidate]) -> list[Trial[Candidate]]:
        with self.ledger.spending("deriving"):
            programs = [self.space.program(candidate) for candidate in chosen]
            rows = [] if self._expect else [features(program, self.machine) for program in programs]
        with self.ledger.spending("fitting"):
            foreseen = self._foreseen(rows)
        builds = [partial(self._build, program) for program in programs]
        made: list[Trial[Candidate]] = []
        try:
            for at, (candidate, measured) in enumerate(zip(chosen, self._measured_by(builds), strict=True)):
                pairing = measured.pairing
                if pairing is not None and not math.isfinite(self._reference_seconds):
                    self.default_seconds = self._reference_seconds = pairing.reference
                seconds = pairing.ratio * self._reference_seconds if pairing is not None else math.inf
                made.append(
                    Trial(candidate, measured, seconds, rows[at] if rows else (), foreseen[at] if foreseen else None)
                )
        finally:
            self._take_notice(made)  # also where somebody interrupts it
        self._prefer_fastest(made)
        return made

    def _measured_by(self, builds: Sequence[Build], patience: Patience | None = None) -> Iterator[Measurement]:
        for measured in self._measuring.measure(builds, patience):
            self.ledger.seconds["building"] += measured.seconds
            self.ledger.seconds["measuring"] += measured.compared
            yield measured

    def finish(self, is_sound: Callable[[Candidate], bool] = lambda candidate: True) -> Trial[Candidate] | None:
        """Compare the best candidate with the default once more; return it if it is faster, None if not.

        One that fails this time, or is not sound, is replaced by the next best.
        """
        if self.best is None:
            return None
        others = (trial for trial in self.trials if trial is not self.best)
        for trial in [self.best, *sorted(others, key=lambda trial: trial.seconds)]:
            if not trial.seconds < self.default_seconds:
                return None
            if not is_sound(trial.candidate):
                continue
            program = self.space.program(trial.candidate)
            self._measuring.refer(self._default)
            (again,) = self._measured_by([partial(self._build, program)], _LAST)
            if again.pairing is not None:
                self.default_seconds = again.pairing.reference
            if again.pairing is not None and again.pairing.is_faster:
                seconds = again.pairing.ratio * self.default_seconds
                return replace(trial, measurement=again, seconds=seconds)
            if again.kind == "ok":
                return None
        return None

    def _take_notice(self, made: Sequence[Trial[Candidate]]) -> None:
        self.trials += made
        if not self._expect:
            self.model.update(self._group, [trial.row for trial in made], [trial.seconds for trial in made])
        for trial in made:
            self.learn(trial.candidate, trial.seconds, trial.row)
        self._told(made)

    def _foreseen(self, rows: Sequence[Sequence[float]]) -> list[float]:
        """Return the seconds that the model expects: its numbers on the line through those of what was measured."""
        if not rows or len(self._seen) < _FOR_SECONDS:
            return []
        numbers = self.model.predict([row for row, _ in self._seen] + list(rows))
        before, now = numbers[: len(self._seen)], numbers[len(self._seen) :]
        if max(before) - min(before) < _ALIKE:
            return []
        slope, at_zero = np.polyfit(before, np.log([seconds for _, seconds in self._seen]), 1)
        return [float(np.exp(slope * number + at_zero)) for number in now]

    def _prefer_fastest(self, made: Sequence[Trial[Candidate]]) -> None:
        """Let the fastest of a round be the reference, once it was faster in turns of its own.

        It was chosen for its time, which chance has part in; taken as it is, the times of later rounds would shrink.
        """
        fastest = min(made, key=lambda trial: trial.seconds, default=None)
        if fastest is None or not fastest.seconds < self._reference_seconds:
            return
        build = partial(self._build, self.space.program(fastest.candidate))
        (again,) = self._measured_by([build], _AGAIN)
        seconds = again.pairing.ratio * self._reference_seconds if again.pairing is not None else math.inf
        seen = replace(fastest, measurement=again, seconds=seconds)
        self.trials[self.trials.index(fastest)] = seen
        self._known[fastest.candidate] = seconds
        if again.pairing is not None and again.pairing.is_faster:
            self.best, self._reference_seconds = seen, seconds
            self._measuring.refer(build)

    def propose(self, count: int, without: Collection[Candidate] = ()) -> list[Candidate]:
        """Return candidates that were not measured: those that are expected to be fast, and some by chance."""
        measured = self._in_turn(sorted(self._known, key=self._known.__getitem__))[:_PARENTS]
        size = min(self._evolution.population, 2 * count + 1)  # to choose a few from a multitude is not worth its time
        fresh = [self.space.sample(self.rng) for _ in range(size)]
        expected = self.evolved([*measured, *fresh], size)
        left = self._in_turn([each for each in expected if each not in self._known and each not in without])
        chosen: list[Candidate] = []
        while left and len(chosen) < count:
            by_chance = self.rng.random() < self._evolution.by_chance
            chosen.append(left.pop(self.rng.randrange(len(left)) if by_chance else 0))
        return chosen

    def evolved(self, population: Sequence[Candidate], size: int = 0) -> list[Candidate]:
        """Return candidates and their descendants, those that the model expects to be fastest first.

        Each generation has ``size`` new ones, or as many as the search was made with.
        """
        expected: dict[Candidate, float] = {}
        new = list(dict.fromkeys(population))
        for generation in range(self._evolution.generations + 1):
            expected.update(zip(new, self._expected(new), strict=True))
            if generation == self._evolution.generations:
                break
            parents = self._in_turn(sorted(expected, key=expected.__getitem__))[:_PARENTS]
            new = []
            for _ in range(size or self._evolution.population):
                first, second = self.rng.choices(parents, k=2)
                if self.rng.random() < self._evolution.mutated:
                    child = self.space.mutated(first, self.rng)
                else:
                    child = self.space.crossed(first, second, self.rng)
                if child not in expected:
                    new.append(child)
            new = list(dict.fromkeys(new))
        return sorted(expected, key=expected.__getitem__)

    def _in_turn(self, ranked: Sequence[Candidate]) -> list[Candidate]:
        """Return candidates, those of each algorithm in turn; those of algorithms that are far behind come last."""
        times: dict[Hashable, list[float]] = {}
        for candidate, seconds in self._known.items():
            times.setdefault(self._algorithm(candidate), []).append(seconds)
        best = min(self._known.values(), default=math.inf)
        far = {
            algorithm
            for algorithm, each in times.items()
            if any(len(each) >= tried and min(each) > share * best for tried, share in _GIVEN_UP)
        }
        groups: dict[Hashable, list[Candidate]] = {}
        for candidate in ranked:
            groups.setdefault(self._algorithm(candidate), []).append(candidate)
        near = zip_longest(*(group for algorithm, group in groups.items() if algorithm not in far))
        return [
            *(candidate for turn in near for candidate in turn if candidate is not None),
            *(candidate for candidate in ranked if self._algorithm(candidate) in far),
        ]

    def _expected(self, candidates: Sequence[Candidate]) -> Sequence[float]:
        if self._expect:
            return self._expect(candidates)
        rows = [features(self.space.program(candidate), self.machine) for candidate in candidates]
        with self.ledger.spending("fitting"):
            return self.model.predict(rows)
