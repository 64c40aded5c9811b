"""The search policy: :mod:`compiler.search` over the schedules of a sketch."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.classic.auto_scheduler.cost_model import RandomModel
from compiler.classic.auto_scheduler.loop_state import State as LoopState
from compiler.classic.auto_scheduler.measure import (
    LocalRunner,
    MeasureErrorNo,
    MeasureInput,
    MeasureResult,
    RPCRunner,
    TuningOptions,
)
from compiler.classic.auto_scheduler.record import load_records
from compiler.classic.auto_scheduler.sketch import State
from compiler.classic.auto_scheduler.sketch_rules import PreloadCustomSketchRule, RuledSketches
from compiler.classic.auto_scheduler.transform_steps import StepState
from compiler.driver.build import build
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import IntImm, convert
from compiler.ir.module import IRModule
from compiler.runtime.arrays.ndarray import numpy_dtype
from compiler.runtime.machine import available_cores
from compiler.runtime.numpy_types import NumPyArray
from compiler.search import Evolution, Limits, Machine, Measurer, Patience, Search, Trial
from compiler.search.fastest import mean_cost
from compiler.search.measurer import Kernel, Measuring
from compiler.search.remote import RemoteMeasurer

if TYPE_CHECKING:
    from compiler.classic.auto_scheduler.search_task import SearchTask

Scheduled = State | StepState

_POPULATION = 24
_TURNS = 4
_ERRORS = {
    "ok": MeasureErrorNo.NO_ERROR,
    "refused": MeasureErrorNo.COMPILE_HOST,
    "wrong": MeasureErrorNo.WRONG_ANSWER,
    "crashed": MeasureErrorNo.RUNTIME_DEVICE,
    "hung": MeasureErrorNo.RUN_TIMEOUT,
}


class PreloadMeasuredStates:
    """Lets a search begin with the records of a file, which are not measured again."""

    def __init__(self, filename: str) -> None:
        self.filename = filename


class _States:
    """The schedules of a task's sketch as what is searched."""

    def __init__(self, task: SearchTask, sketch: Any) -> None:
        self._task = task
        self.sample, self.mutated, self.crossed = sketch.sample, sketch.mutated, sketch.crossed

    def program(self, candidate: Scheduled) -> IRModule:
        return self._task.compute_dag.lowered(candidate, self._task.measured_layout)


class SketchPolicy:
    """Searches the schedules of a task's sketch by evolution.

    A ``seed`` makes the search the same one each time, as far as it does not depend on measured times.
    ``program_cost_model``, a :class:`RandomModel` by default, expects speeds; ``best_cost`` is in seconds.

    References
    ----------
    L. Zheng et al., "Ansor: Generating High-Performance Tensor Programs for Deep Learning", OSDI 2020.
    """

    def __init__(
        self, task: SearchTask, program_cost_model: RandomModel | None = None, params: object = None,
        seed: int | None = None, verbose: int = 1,
        init_search_callbacks: Sequence[PreloadMeasuredStates | PreloadCustomSketchRule] | None = None,
    ) -> None:  # fmt: skip
        self.task = self.search_task = task
        self.verbose = verbose
        self.best_state: Scheduled | None = None
        self.best_cost = float("inf")
        self._model = program_cost_model or RandomModel()
        self._random = random.Random(seed)
        if seed is not None:
            self._model.generator = self._random
        self._known: dict[Scheduled, float] = {}
        self._search: Search[Scheduled] | None = None
        rules = [given for given in init_search_callbacks or () if isinstance(given, PreloadCustomSketchRule)]
        self._kind = StepState if rules else State
        self._sketch: Any = RuledSketches(self, rules) if rules else task.compute_dag.sketch
        for preload in init_search_callbacks or ():
            if isinstance(preload, PreloadCustomSketchRule):
                continue
            records = [r for r in load_records(preload.filename) if r[0].task.workload_key == task.workload_key]
            self._learn([inp for inp, _ in records], [res for _, res in records])

    def search(self, tuning_options: TuningOptions) -> Scheduled:
        """Measure schedules, and return the fastest: the state without decisions, if no schedule is as fast."""
        left, unimproved = tuning_options.num_measure_trials, 0
        while left > 0:
            before = self.best_cost
            count = self.search_round(min(left, tuning_options.num_measures_per_round), tuning_options)
            unimproved = 0 if self.best_cost < before else unimproved + count
            left -= count
            stopping = tuning_options.early_stopping
            if not count or (stopping is not None and unimproved >= stopping):
                break
        if self._search is not None and self._search.trials and self._search.finish() is None:
            return State(())
        return self.best_state or self._sketch.sample(self._random)

    def generate_sketches(self, print_for_debug: bool = False) -> list[LoopState]:
        """Return the sketches that the program's own rules make; none without any.

        Lengths and annotations that they leave open are searched.
        """
        made = [LoopState(each, self.task.compute_dag) for each in getattr(self._sketch, "sketches", ())]
        if print_for_debug:
            print(*made, sep="\n\n")
        return made

    def search_round(self, count: int, tuning_options: TuningOptions) -> int:
        """Measure the schedules of one round, at most ``count`` of them."""
        if self._search is None:
            self._search = self._begun(tuning_options.made_runner)
        trials = self._search.round(count)
        repeat = tuning_options.made_runner.repeat
        inputs = [MeasureInput(self.task, trial.candidate) for trial in trials]
        results = [_result(trial, repeat) for trial in trials]
        self._learn(inputs, results)
        if self.task.compute_dag.default is not None and len(self._search.trials) == len(trials):
            inputs.append(MeasureInput(self.task, State(())))
            seconds = self._search.default_seconds
            results.append(MeasureResult((seconds,), int(not math.isfinite(seconds)), "", 0.0, time.time()))
        for callback in tuning_options.measure_callbacks or ():
            callback.callback(self, inputs, results)
        if min(self.verbose, tuning_options.verbose) and trials:
            failed = sum(trial.measurement.kind != "ok" for trial in trials)
            print(
                f"{self.task.desc or 'search'}: {len(self._known)} measured, {failed} of {len(trials)} failed, "
                f"best {self.best_cost * 1e3:.4f} ms"
            )
        return len(trials)

    def sample_initial_population(self) -> list[Scheduled]:
        """Return random schedules of the sketch."""
        return [self._sketch.sample(self._random) for _ in range(_POPULATION)]

    def evolutionary_search(self, init_populations: Sequence[Scheduled], num_best_states: int) -> list[Scheduled]:
        """Return the schedules that the model expects most of, after some generations."""
        searching = self._search or self._begun(LocalRunner())
        return searching.evolved(init_populations)[:num_best_states]

    def _begun(self, runner: LocalRunner | RPCRunner) -> Search[Scheduled]:
        """Return the search, which has measured nothing yet but knows the records that were loaded."""
        task, threads = self.task, self.task.hardware_params.num_cores or available_cores()
        patience = Patience(turn=runner.min_repeat_ms / 1e3 / _TURNS)
        measurer: Measuring
        if isinstance(runner, RPCRunner):
            measurer = RemoteMeasurer(self._arrays(), runner.session, threads, patience, runner.enable_cpu_cache_flush)
        else:
            limits = Limits(15, runner.timeout)
            measurer = Measurer(self._arrays(), threads, 1, limits, patience, runner.enable_cpu_cache_flush)
        searching = Search(
            _States(task, self._sketch), self._built, measurer, Machine.of(task.target, threads),
            default=self._default, evolution=Evolution(_POPULATION), rng=self._random,
            expect=lambda states: [-score for score in self._model.predict(task, states)],
        )  # fmt: skip
        for state, cost in self._known.items():
            searching.learn(state, cost)
        return searching

    def _built(self, program: IRModule) -> Kernel:
        return build(program, target=self.task.target)

    def _default(self) -> Kernel:
        return build(*self.task.compute_dag.apply_steps_from_state(State(())), self.task.target)

    def _arrays(self) -> list[NumPyArray]:
        rng = np.random.default_rng(0)
        arrays = []
        for tensor in self.task.compute_dag.tensors:
            shape = [extent.value for extent in map(convert, tensor.shape) if isinstance(extent, IntImm)]
            if len(shape) < len(tensor.shape):
                raise ArgumentError(f"auto_scheduler: {tensor.name}: shapes must be static")
            arrays.append(rng.uniform(0, 8, shape).astype(numpy_dtype(tensor.dtype)))
        return arrays

    def _learn(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        self._model.update(inputs, results)
        for inp, res in zip(inputs, results, strict=True):
            if type(inp.state) is not self._kind or inp.state == State(()):  # of other sketches, or the default
                continue
            cost = self._known[inp.state] = mean_cost(res)
            if cost < self.best_cost:
                self.best_cost, self.best_state = cost, inp.state


def _result(trial: Trial[Scheduled], repeat: int) -> MeasureResult:
    """Return what was measured in TVM's terms: ``repeat`` times, each the median of some turns."""
    found = trial.measurement
    costs: tuple[float, ...] = ()
    if found.pairing is not None:
        scale = trial.seconds / found.pairing.seconds
        groups = [found.pairing.times[at::repeat] for at in range(min(repeat, found.pairing.turns))]
        costs = tuple(scale * statistics.median(group) for group in groups)
    return MeasureResult(costs, int(_ERRORS[found.kind]), found.message, found.seconds, found.timestamp)
