"""Searches the schedules of a function: from its definition to the fastest schedule, or the default."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from os import PathLike

import numpy as np

from compiler.driver.build import build
from compiler.driver.templates import Template
from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.runtime.arrays.ndarray import array, numpy_dtype
from compiler.runtime.device import Device
from compiler.runtime.modules.module import Module
from compiler.runtime.numpy_types import NumPyArray
from compiler.search.choices import Choices, Wishes, algorithm
from compiler.search.cost_model import CostModel, LearnedModel
from compiler.search.database import Database, Record
from compiler.search.machine import Machine
from compiler.search.measurer import Kernel, Limits, Measurer, Measuring
from compiler.search.search import Evolution, Search, Trial
from compiler.search.space import Numbers, ScheduleSpace, structure
from compiler.target.target import Target, TargetLike
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.statements.function import PrimFunc

_PER_ROUND = 12
_SEEDS = 6
_INTEGERS = 4
"""How many different integers are drawn: small ones, which may be indices."""


@dataclass(frozen=True)
class Progress:
    """Where a search is after a round.

    Attributes
    ----------
    seconds : float
        By the clock, since it began.
    best, default : float
        Seconds of a call; infinite where not known.
    failed : int
        Trials without a time.
    refused : mapping
        How many derivations of a sketch ended before they were candidates, and why.
    """

    trials: int
    failed: int
    seconds: float
    best: float
    default: float
    refused: Mapping[tuple[Choices, str], int] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What a search found.

    Attributes
    ----------
    schedule : Schedule or None
        The fastest schedule; None if the default stays, or if it is one that the function had, with other numbers.
    choices : Choices or None
        What was chosen for it; None if nothing was faster than the default, which stays then.
    seconds, default_seconds : float
        Of a call; the same if the default stays.
    """

    schedule: Schedule | None
    choices: Choices | None
    seconds: float
    default_seconds: float
    trials: Sequence[Trial[Choices]]


def tune(
    func: PrimFunc,
    target: TargetLike,
    *,
    trials: int = 1000,
    seconds: float = math.inf,
    seed: int | None = None,
    threads: int = 1,
    log: str | PathLike[str] | Database | None = None,
    default: Callable[[], Kernel] | None = None,
    model: CostModel | None = None,
    arrays: Sequence[NumPyArray] | None = None,
    limits: Limits | None = None,
    per_round: int = _PER_ROUND,
    evolution: Evolution | None = None,
    told: Callable[[Progress], object] = lambda progress: None,
    clock: Callable[[], float] = time.monotonic,
    wishes: Wishes | None = None,
    is_apart: bool = True,
    measuring: Callable[[Sequence[NumPyArray], int], Measuring] | None = None,
    template: Template | None = None,
) -> Outcome:
    """Search for a schedule of a function with blocks that is faster than what there is.

    Raises ArgumentError if the target is no processor, the default cannot be run, or no schedule can be derived.

    Parameters
    ----------
    trials, seconds
        When it ends: after so many candidates, or by the clock.
    log
        A file of records, or a database: where to begin, and where what is measured is noted.
    default
        Builds what there is, which takes the same arguments; the function as it stands if left out.
    arrays
        The arguments that are measured with; random numbers if left out.
    told
        Called after each round.
    clock
        What ``seconds`` are told by.
    wishes
        Decisions that are taken, and choices that are not made.
    is_apart
        Whether candidates are measured in processes of their own, where there can be any.
    measuring
        Returns what measures with some arrays and threads, e.g. elsewhere, without the ``limits``.
    template
        A schedule that a program has made of the function: a candidate, as are its primitives with other factors.
    """
    began = clock()
    tuning = Tuning(
        func, target, log if isinstance(log, Database) else Database(None if log is None else str(log)), seed=seed,
        threads=threads, default=default, model=model, arrays=arrays, limits=limits, evolution=evolution,
        wishes=wishes, is_apart=is_apart, measuring=measuring, template=template,
    )  # fmt: skip
    tuning.begin()
    while trials > 0 and clock() - began < seconds and (made := tuning.round(min(trials, per_round))):
        trials -= len(made)
        told(tuning.progress(clock() - began))
    return tuning.outcome()


class Tuning:
    """The search of one function, a round at a time; the parameters are those of :func:`tune`.

    Parameters
    ----------
    numbers
        As of :class:`ScheduleSpace`.
    space
        Returns what is searched, instead of what the rules derive.
    expect, told
        As of :class:`Search`.

    Attributes
    ----------
    workload : str
        What records call it.
    """

    def __init__(
        self,
        func: PrimFunc,
        target: TargetLike,
        database: Database,
        *,
        seed: int | None = None,
        threads: int = 1,
        default: Callable[[], Kernel] | None = None,
        model: CostModel | None = None,
        arrays: Sequence[NumPyArray] | None = None,
        limits: Limits | None = None,
        evolution: Evolution | None = None,
        wishes: Wishes | None = None,
        is_apart: bool = True,
        measuring: Callable[[Sequence[NumPyArray], int], Measuring] | None = None,
        numbers: Numbers | None = None,
        template: Template | None = None,
        space: Callable[[PrimFunc, Machine], ScheduleSpace] | None = None,
        expect: Callable[[Sequence[Choices]], Sequence[float]] | None = None,
        told: Callable[[Sequence[Trial[Choices]]], object] = lambda trials: None,
    ) -> None:
        made_for = processor_target(target)
        numbers = Numbers.of(template) if template else numbers
        machine = Machine.of(made_for, threads)
        self.space = space(func, machine) if space else ScheduleSpace(func, machine, wishes, numbers)
        self._is_written = template is not None
        self._written = list[Choices]()
        self._pattern = structure(func)
        self._database, self._seeds = database, list[Choices]()
        self._usual: Choices | None = None

        def built(program: IRModule | PrimFunc) -> Kernel:
            return build(program, target=made_for)

        given = arrays or random_arrays(func, 0)
        here = Measurer(given, threads, parallel=2, limits=limits or Limits(), is_apart=is_apart)
        measurer = measuring(given, threads) if measuring else here
        self.workload = workload_of(func, made_for, threads, getattr(measurer, "processor", ""))
        if model is None:
            learn(model := LearnedModel(), database)
        self.search = Search(
            self.space, built, measurer, machine,
            default=default or partial(built, func), model=model, group=self.workload, seed=seed,
            evolution=evolution, expect=expect, algorithm=algorithm, told=told,
        )  # fmt: skip

    def begin(self) -> None:
        """Measure the default; raises ArgumentError if the default cannot be run."""
        if (begun := self.search.begin()).kind != "ok":
            raise ArgumentError(f"search: the default cannot be measured: {begun.message}")
        self._seeds = _seeds(self.search, self.space, self._database, self.workload, self._pattern)
        usual, neighbours = self.space.usual()
        if not self._is_written:
            self._usual = usual
            self._seeds += neighbours
        elif usual is not None and self.space.wishes.allow(usual):
            self._written = [usual]

    def round(self, count: int) -> Sequence[Trial[Choices]]:
        """Measure some candidates and note them, those that were measured before an interruption, too."""
        before = len(self.search.trials)
        if before and self._written:  # beside what may be much faster than itself, which is soon certain
            self._seeds, self._written = [*self._written, *self._seeds], []
        seeds, self._seeds = self._seeds[:count], self._seeds[count:]
        try:
            return self.search.round(count, seeds)
        finally:
            made = self.search.trials[before:]
            if self._usual is not None and math.isfinite(self.search.default_seconds):
                self.search.learn(self._usual, self.search.default_seconds)
            self._database.add([_record(self.workload, self._pattern, trial) for trial in made])

    def progress(self, seconds: float) -> Progress:
        """Return where the search is after so many seconds."""
        trials, best = self.search.trials, self.search.best
        failed = sum(trial.measurement.kind != "ok" for trial in trials)
        found = best.seconds if best else math.inf
        return Progress(len(trials), failed, seconds, found, self.search.default_seconds, self.space.refused)

    def outcome(self) -> Outcome:
        """Compare the best with the default once more; the default stays unless it is slower."""
        every = tuple(self.search.trials)
        winner = self.search.finish(self.space.is_sound)
        default = self.search.default_seconds
        self._database.add([Record(self.workload, self._pattern, None, "ok", default)])
        if winner is None:
            return Outcome(None, None, default, default, every)
        schedule = None if self.space.is_of_numbers(winner.candidate) else self.space.schedule(winner.candidate)
        return Outcome(schedule, winner.candidate, winner.seconds, default, every)

    @property
    def best(self) -> Choices | None:
        """What was certainly faster than all before it, the default first; None if nothing was, or it is not sound."""
        best = self.search.best
        if best is None or not self.space.is_sound(best.candidate):
            return None
        return best.candidate

    def decide(self, choices: Choices | None, seconds: float, name: str) -> None:
        """Note what the function is to be built with, a candidate or the default (None), and what a model calls it."""
        self._database.add([Record(self.workload, self._pattern, choices, "ok", seconds, name, is_decision=True)])


def processor_target(target: TargetLike) -> Target:
    """Return a target; raises ArgumentError if it is no processor."""
    made_for = Target.target_or_current(target)
    if made_for.kind != "llvm":
        raise ArgumentError(f"search: schedules are searched for processors (llvm), not for {made_for.kind}")
    return made_for


def _seeds(
    search: Search[Choices], space: ScheduleSpace, database: Database, workload: str, pattern: str
) -> list[Choices]:
    """Teach a search what is known of a workload, and return what to begin with: the best, which has to win again.

    That is the best of those that are as wanted, too: what was pinned meanwhile may leave out the best of all.
    """
    known = sorted(database.of(workload), key=lambda record: record.seconds)
    wanted = [r for r in known if r.choices is None or space.like(r.choices, search.rng) == r.choices]
    again = [record.choices for record in (*wanted[:1], *known[:1]) if record.choices is not None]
    for record in wanted:
        if record.choices and record.choices not in again:
            search.learn(record.choices, record.seconds, record.features)
    likely = [*again, *database.like(workload, pattern, _SEEDS)]
    return [seed for one in likely if (seed := space.like(one, search.rng)) is not None]


def workload_of(func: PrimFunc, target: Target, threads: int, processor: str = "") -> str:
    """Return what records call a function that is built for a target and run by so many threads, here or elsewhere."""
    return f"{digest_of(func)} {target}{' on ' * bool(processor)}{processor} threads={threads}"


def digest_of(func: PrimFunc) -> str:
    """Return what tells functions that compute something else apart."""
    return hashlib.sha256(func.script().encode()).hexdigest()[:16]


def _record(workload: str, pattern: str, trial: Trial[Choices]) -> Record:
    found = trial.measurement
    return Record(
        workload, pattern, trial.candidate, found.kind, trial.seconds, found.message[:500], trial.row,
        error=found.pairing.error if found.pairing else None, predicted=trial.predicted,
    )  # fmt: skip


def learn(model: CostModel, database: Database) -> None:
    """Teach a model what is in a log."""
    groups: dict[str, list[Record]] = {}
    for record in database:
        if record.features:
            groups.setdefault(record.workload, []).append(record)
    for workload, records in groups.items():
        model.update(workload, [record.features for record in records], [record.seconds for record in records])


def random_arrays(func: PrimFunc, seed: int) -> list[NumPyArray]:
    """Return arguments of a function: normal numbers, and small whole ones where it takes integers.

    Raises ArgumentError if a parameter is no array of a constant shape.
    """
    rng = np.random.default_rng(seed)
    arrays = []
    for param in func.params:
        buffer = func.buffer_map.get(param)
        if buffer is None or any(not isinstance(getattr(dim, "value", None), int) for dim in buffer.shape):
            raise ArgumentError(f"search: {param.name} must be an array of a constant shape")
        shape = [int(getattr(dim, "value", 0)) for dim in buffer.shape]
        arrays.append(random_array(rng, shape, buffer.dtype))
    return arrays


def timed(
    module: Module, info: Iterable[tuple[Sequence[int], str]], device: Device, number: int, repeat: int,
    min_repeat_ms: int, is_flushing: bool,
) -> list[float]:  # fmt: skip
    """Return the seconds of each measurement of a function on arguments of some shapes and data types."""
    rng = np.random.default_rng(0)
    arrays = [array(random_array(rng, shape, dtype), device) for shape, dtype in info]
    flush = "cache_flush_cpu_non_first_arg" if is_flushing else ""
    evaluate = module.time_evaluator(module.entry_name, device, number, repeat, min_repeat_ms, f_preproc=flush)
    return list(evaluate(*arrays).results)


def random_array(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> NumPyArray:
    """Return normal numbers, or small whole ones."""
    drawn = rng.normal(size=shape) if dt.is_float(dtype) else rng.integers(0, _INTEGERS, shape)
    return drawn.astype(numpy_dtype(dtype))
