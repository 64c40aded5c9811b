"""Searches the schedules of a function: from its definition to the fastest schedule, or the default."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike

import numpy as np

from compiler.driver.build import build
from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.runtime.arrays.ndarray import numpy_dtype
from compiler.runtime.numpy_types import NumPyArray
from compiler.search.choices import Choices, Wishes
from compiler.search.cost_model import CostModel
from compiler.search.database import Database, Record
from compiler.search.machine import Machine
from compiler.search.measurer import Kernel, Limits, Measurer, Measuring
from compiler.search.search import Search, Trial
from compiler.search.space import ScheduleSpace, structure
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
    refused : mapping of str to int
        Why derivations ended before they were candidates, and how many.
    """

    trials: int
    failed: int
    seconds: float
    best: float
    default: float
    refused: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What a search found.

    Attributes
    ----------
    schedule : Schedule or None
        The fastest schedule; None if nothing was faster than the default, which stays then.
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
    population: int = 16,
    told: Callable[[Progress], object] = lambda progress: None,
    clock: Callable[[], float] = time.monotonic,
    wishes: Wishes | None = None,
    is_apart: bool = True,
    measuring: Callable[[Sequence[NumPyArray], int], Measuring] | None = None,
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
    """
    began, made_for = clock(), Target.target_or_current(target)
    if made_for.kind != "llvm":
        raise ArgumentError(f"search: schedules are searched for processors (llvm), not for {made_for.kind}")
    machine = Machine.of(made_for, threads)
    space = ScheduleSpace(func, machine, wishes)
    database = log if isinstance(log, Database) else Database(None if log is None else str(log))
    workload, pattern = _workload(func, made_for, threads), structure(func)

    def built(program: IRModule | PrimFunc) -> Kernel:
        return build(program, target=made_for)

    given = arrays or random_arrays(func, 0)
    here = Measurer(given, threads, parallel=2, limits=limits or Limits(), is_apart=is_apart)
    search = Search(
        space, built, measuring(given, threads) if measuring else here, machine,
        default=default or (lambda: built(func)), model=model, group=workload, seed=seed, population=population,
    )  # fmt: skip
    if (begun := search.begin()).kind != "ok":
        raise ArgumentError(f"search: the default cannot be measured: {begun.message}")
    _learn(search.model, database)
    seeds = _seeds(search, space, database, workload, pattern)
    for made in _rounds(search, seeds, trials, per_round, lambda: clock() - began < seconds):
        database.add([_record(workload, pattern, trial) for trial in made])
        told(_progress(search, space, clock() - began))
    outcome = _outcome(search, space)
    database.add([Record(workload, pattern, None, "ok", search.default_seconds)])
    return outcome


def _seeds(
    search: Search[Choices], space: ScheduleSpace, database: Database, workload: str, pattern: str
) -> list[Choices]:
    """Teach a search what is known of a workload, and return what to begin with: the best, which has to win again."""
    known = sorted(database.of(workload), key=lambda record: record.seconds)
    again = [record.choices for record in known[:1] if record.choices is not None]
    for record in known:
        if record.choices and record.choices not in again and space.like(record.choices, search.rng) == record.choices:
            search.learn(record.choices, record.seconds, record.features)
    likely = [*again, *database.like(workload, pattern, _SEEDS)]
    return [seed for one in likely if (seed := space.like(one, search.rng)) is not None]


def _rounds(
    search: Search[Choices], seeds: list[Choices], trials: int, per_round: int, may_go_on: Callable[[], bool]
) -> Iterator[Sequence[Trial[Choices]]]:
    """Yield what each round measured, until so many trials are done or nothing new is found."""
    while trials > 0 and may_go_on():
        made = search.round(min(trials, per_round), seeds)
        if not made:
            return
        trials, seeds = trials - len(made), []
        yield made


def _progress(search: Search[Choices], space: ScheduleSpace, seconds: float) -> Progress:
    failed = sum(trial.measurement.kind != "ok" for trial in search.trials)
    best = search.best.seconds if search.best else math.inf
    return Progress(len(search.trials), failed, seconds, best, search.default_seconds, space.refused)


def _outcome(search: Search[Choices], space: ScheduleSpace) -> Outcome:
    """Compare the best with the default once more; the default stays unless it is slower."""
    every = tuple(search.trials)
    winner = search.finish(space.is_sound)
    if winner is None or winner.candidate is None:
        return Outcome(None, None, search.default_seconds, search.default_seconds, every)
    schedule = space.schedule(winner.candidate)
    return Outcome(schedule, winner.candidate, winner.seconds, search.default_seconds, every)


def _workload(func: PrimFunc, target: Target, threads: int) -> str:
    digest = hashlib.sha256(func.script().encode()).hexdigest()[:16]
    return f"{digest} {target} threads={threads}"


def _record(workload: str, pattern: str, trial: Trial[Choices]) -> Record:
    found = trial.measurement
    return Record(
        workload, pattern, trial.candidate, found.kind, trial.seconds, found.message[:500], trial.row,
        error=found.pairing.error if found.pairing else None, predicted=trial.predicted,
    )  # fmt: skip


def _learn(model: CostModel, database: Database) -> None:
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
        drawn = rng.normal(size=shape) if dt.is_float(buffer.dtype) else rng.integers(0, _INTEGERS, shape)
        arrays.append(drawn.astype(numpy_dtype(buffer.dtype)))
    return arrays
