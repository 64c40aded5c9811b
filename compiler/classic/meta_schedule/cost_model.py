"""``tvm.meta_schedule.cost_model``: what is expected of candidates before they are measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.classic.meta_schedule.part import created
from compiler.classic.meta_schedule.runner import RunnerResult, TensorInfo, args_info
from compiler.classic.meta_schedule.space_generator import GeneratedSpace
from compiler.ir.error import undefined
from compiler.runtime.numpy_types import NumPyArray
from compiler.search.choices import Choices
from compiler.search.cost_model import LearnedModel
from compiler.search.features import features
from compiler.search.machine import Machine
from compiler.search.parts import scores_of
from compiler.search.search import Trial
from compiler.tir.schedule.schedule import Schedule

if TYPE_CHECKING:
    from compiler.classic.meta_schedule.tune_context import TuneContext


@dataclass(frozen=True, eq=False)
class MeasureCandidate:
    """A schedule to be measured, with the arguments of its function."""

    sch: Schedule
    args_info: Sequence[TensorInfo]


Candidates = Sequence[MeasureCandidate]
Results = Sequence[RunnerResult]


class CostModel:
    """Scores candidates; a program's own model derives from this class, or from its other name."""

    def load(self, path: str) -> None:
        """Read what was learned from a file."""
        undefined(self, "load")

    def save(self, path: str) -> None:
        """Write what was learned to a file."""
        undefined(self, "save")

    def update(self, context: TuneContext, candidates: Candidates, results: Results) -> None:
        """Take notice of measured candidates."""
        undefined(self, "update")

    def predict(self, context: TuneContext, candidates: Candidates) -> Sequence[float] | NumPyArray:
        """Return a number for each candidate, the larger the faster."""
        undefined(self, "predict")

    @staticmethod
    def create(kind: str, *args: Any, **options: Any) -> CostModel | None:
        """Return a model that learns (``xgb``), one by chance (``random``), or ``none``."""
        kinds: dict[str, Callable[..., CostModel | None]] = {
            "xgb": XGBModel, "random": RandomModel, "none": lambda: None,
        }  # fmt: skip
        return created("CostModel.create", kinds, kind, *args, **options)


PyCostModel = CostModel
create = CostModel.create


class RandomModel(CostModel):
    """Expects numbers at random."""

    def __init__(self, *, seed: int | None = None, path: str | None = None, max_range: int | None = 100) -> None:
        self._rng, self._most = np.random.default_rng(seed), max_range or 100
        if path is not None:
            self.load(path)

    def load(self, path: str) -> None:
        """Read where the random numbers go on from a file."""
        self._rng.bit_generator.state = json.loads(Path(path).read_text(encoding="utf-8"))

    def save(self, path: str) -> None:
        """Write where the random numbers go on to a file."""
        Path(path).write_text(json.dumps(self._rng.bit_generator.state), encoding="utf-8")

    def update(self, context: TuneContext, candidates: Candidates, results: Results) -> None:
        """Learn nothing."""

    def predict(self, context: TuneContext, candidates: Candidates) -> NumPyArray:
        """Return a random number for each candidate."""
        return self._rng.random(len(candidates)) * self._most


class XGBModel(CostModel):
    """The model of the search, which has its own features and trees: the options are not read."""

    def __init__(self, **options: object) -> None:
        self.learned = LearnedModel()

    def load(self, path: str) -> None:
        """Read what was measured from a file, and learn from it."""
        self.learned.load(path)

    def save(self, path: str) -> None:
        """Write what was measured to a file."""
        self.learned.save(path)

    def update(self, context: TuneContext, candidates: Candidates, results: Results) -> None:
        """Take notice of measured candidates."""
        seconds = [float(np.mean(each.run_secs)) if each.run_secs else float("inf") for each in results]
        self.learned.update(context.task_name, [_features(each) for each in candidates], seconds)

    def predict(self, context: TuneContext, candidates: Candidates) -> list[float]:
        """Return a number for each candidate, the larger the faster."""
        return [-number for number in self.learned.predict([_features(each) for each in candidates])]


def _features(candidate: MeasureCandidate) -> list[float]:
    return features(candidate.sch.mod, Machine())


@dataclass(frozen=True)
class Asked:
    """A program's own model as a search asks it."""

    context: TuneContext
    space: GeneratedSpace
    model: CostModel

    def expect(self, candidates: Sequence[Choices]) -> list[float]:
        """Return a number for each candidate, the smaller the faster.

        Raises PartError if the model has not one for each.
        """
        if not candidates:
            return []
        predicted = self.model.predict(self.context, [self._candidate(each) for each in candidates])
        return [-score for score in scores_of(self.model, predicted, len(candidates))]

    def told(self, trials: Sequence[Trial[Choices]]) -> None:
        """Tell the model what was measured."""
        if trials:
            candidates = [self._candidate(trial.candidate) for trial in trials]
            self.model.update(self.context, candidates, [result_of(trial) for trial in trials])

    def _candidate(self, candidate: Choices) -> MeasureCandidate:
        return MeasureCandidate(self.space.derived(candidate), args_info(self.space.func))


def result_of(trial: Trial[Any]) -> RunnerResult:
    """Return what was measured in TVM's terms."""
    if trial.measurement.pairing is None:
        return RunnerResult(None, f"{trial.measurement.kind}: {trial.measurement.message}")
    return RunnerResult([trial.seconds], None)
