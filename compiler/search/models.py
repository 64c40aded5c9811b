"""Tunes whole models: which of their kernels to search next, and what is gained where the kernels run.

::

    ways of operators, each in the model
            │
    kernels of this build, timed in the model             log: records by workload
            │                                                   │
    ┌─ the kernel of which a second of search is expected to gain most: a round of its search ─┐
    │     gain = calls × seconds × by what share rounds have made it faster of late            │   until time is up
    └───────────────────────────────────────────────────────────────────────────────────────────┘
            │
    winners in the model, kernel by kernel ──→ the model against the default build

Candidates are timed where their kernels run in the model: the rest of it runs before each call, so that weights and
data are in the caches that they are in there.  A kernel keeps what the default build has unless another program of it
was faster in all comparisons.
"""

from __future__ import annotations

import math
import random
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from compiler.driver.build import build
from compiler.driver.relay.build import build_graph
from compiler.driver.relay.groups import StructuralKey, structural_key
from compiler.driver.relay.lower import KernelDefinition, LoweredKernel
from compiler.ir.error import TVMError, expected
from compiler.ir.instrument import Instrument, instrumented
from compiler.ir.module import IRModule
from compiler.runtime.device import cpu
from compiler.runtime.machine import this_machine
from compiler.runtime.numpy_types import NumPyArray
from compiler.runtime.parallel.threads import num_threads
from compiler.search.choices import Choices, Picker, Wishes
from compiler.search.cost_model import LearnedModel
from compiler.search.database import Database, Record
from compiler.search.ledger import KINDS, Ledger
from compiler.search.machine import Machine
from compiler.search.measurer import Limits, Measurer, Measuring, Place
from compiler.search.pairing import Patience, paired
from compiler.search.search import Evolution
from compiler.search.space import Numbers, ScheduleSpace
from compiler.search.tuning import Tuning, digest_of, learn, processor_target, random_array
from compiler.search.turns import STRATEGIES
from compiler.target.cpu.peak import measure_peak, peak_of
from compiler.target.target import Target
from compiler.tir.analysis.arithmetic import usual_arithmetic
from compiler.tir.statements.function import PrimFunc

if TYPE_CHECKING:
    from compiler.relay.function import Function
    from compiler.runtime.arrays.ndarray import ArrayLike
    from compiler.runtime.graph.graph_executor import GraphExecutor

_PER_ROUND = 8
_EVOLUTION = Evolution(population=8)
"""To derive a candidate takes about a tenth of the time that it takes to build and measure it."""
_HOPE = 0.5
"""What share of what is left to the processor's peak a round is expected to gain of a kernel that was not searched
yet."""
_LEAST_HOPE = 0.002
_LIMITS = Limits(build=4.0, run=6.0)
_PATIENCE = Patience(turn=0.0, most=16, seconds=2.0)
_CHOOSING, _SEARCHING = 0.4, 0.9
"""The shares of the time after which no other way of an operator is tried, and no round begins."""
_TURNS = 12
_LAST = Patience(turn=0.0, most=160, seconds=40.0, matters=0.0)
_LEAST_LAST = 4.0
"""Seconds that the model is compared with its default build at least."""
_BETTER = 0.98
"""What the kernels of another way of computing an operator may take of the time of those before."""
_PREFIX = "tvmgen_default_fused_"
"""What names of kernels begin with."""
_WAY = "way"
_THREADS = re.compile(r" threads=(\d+)$")


class _Numbers:
    """Numbers of an operator's schedule that are picked: a configuration that is always being defined."""

    is_fallback, is_defined = False, False

    def __init__(self, picker: Picker) -> None:
        self._picker = picker
        self.made: dict[str, SimpleNamespace] = {}

    def define_knob(self, name: str, candidate: list[int]) -> None:
        """Pick a number."""
        self.made[name] = SimpleNamespace(val=self._picker.pick(name, candidate))

    def __getitem__(self, name: str) -> Any:
        return self.made[name]


def with_numbers(definition: KernelDefinition, picker: Picker) -> KernelDefinition:
    """Return a kernel with other numbers in its schedule."""
    assert definition.scheduled is not None
    schedule = definition.scheduled(_Numbers(picker))
    return replace(definition, schedule=schedule)


def numbers_of(definition: KernelDefinition) -> Numbers | None:
    """Return what picks numbers of a kernel's schedule and then makes its loops; None if its schedule chooses none."""
    if definition.scheduled is None:
        return None
    asked = _Numbers(Picker(random.Random(0)))
    definition.scheduled(asked)
    return Numbers(lambda picker: with_numbers(definition, picker).loops) if asked.made else None


class BuiltModel(NamedTuple):
    """A model, and its kernels by their names."""

    executor: GraphExecutor
    kernels: Mapping[str, LoweredKernel]

    def called(self) -> dict[StructuralKey | str, list[str]]:
        """Return the names of the kernels that it calls, one for each call, by what they compute."""
        found: dict[StructuralKey | str, list[str]] = {}
        for _, name in self.executor.calls():
            computed = structural_key(self.kernels[name].function) if name in self.kernels else name
            found.setdefault(computed, []).append(name)
        return found


class Ways(Instrument):
    """Lets operators be computed in some ways, and notes those that there are: the usual one and all."""

    def __init__(self, chosen: Mapping[str, str]) -> None:
        self._chosen = chosen
        self.seen: dict[str, tuple[str, Sequence[str]]] = {}

    def way_chosen(self, operator: str, usual: str, ways: Sequence[str]) -> str | None:
        self.seen[operator] = usual, ways
        return self._chosen.get(operator)


class AppliedLog(Instrument):
    """Lets the kernels of models be what a log decided; used by ``with instrumented(AppliedLog(log)):``.

    Kernels that no search has decided of are as operators say.
    """

    def __init__(self, log: Database) -> None:
        self._target = Target("llvm")
        self._decided: dict[str, tuple[Choices | None, int]] = {}
        for record in log:
            if record.is_decision and (threads := _THREADS.search(record.workload)):
                self._decided[record.workload[: threads.start()]] = (record.choices, int(threads[1]))

    def graph_build_begin(self, module: IRModule, target: Target) -> None:
        self._target = target

    def way_chosen(self, operator: str, usual: str, ways: Sequence[str]) -> str | None:
        choices, _ = self._found(operator)
        way = dict(choices or ()).get(_WAY)
        return str(way) if way in ways else None

    def _found(self, computed: str) -> tuple[Choices | None, int]:
        """Return what was decided of what is computed, on any machine or on one like this, and for how many threads."""
        names = (f"{computed} {self._target}{on}" for on in ("", f" on {this_machine().processor}"))
        return next((self._decided[name] for name in names if name in self._decided), (None, 1))

    def kernel_defined(self, name: str, function: Function, definition: KernelDefinition) -> KernelDefinition | None:
        if not self._decided or self._target.kind != "llvm":
            return None
        with suppress(TVMError):  # it cannot be said in blocks, or not be derived any more
            func = definition.blocks()
            choices, threads = self._found(digest_of(func))
            if choices is not None:
                space = ScheduleSpace(func, Machine.of(self._target, threads), None, numbers_of(definition))
                if space.is_of_numbers(choices):
                    return with_numbers(definition, Picker(random.Random(0), dict(choices)))
                (program,) = space.program(choices).functions.values()
                assert isinstance(program, PrimFunc)
                return replace(definition, program=program)
        return None


@dataclass
class KernelTask:
    """The search of a kernel."""

    names: list[str]
    """What the default build calls it; several if kernels differ in nothing but their constants."""
    calls: int
    """How often the model calls it."""
    default: float
    """Seconds of a call in the model as it is built by default."""
    tuning: Tuning
    hope: float = _HOPE
    """By what share the next round is expected to make it faster."""
    trouble: str = ""
    """Why it is not searched (any more)."""
    best: float = math.inf
    choices: Choices | None = None
    """What it keeps; None for the default."""
    round_seconds: float = 0.0
    rounds: int = 0
    is_begun: bool = False

    @property
    def trials(self) -> int:
        """How many candidates were measured."""
        return len(self.tuning.search.trials)

    @property
    def ledger(self) -> Ledger:
        """Where its time went."""
        return self.tuning.search.ledger

    def line(self) -> str:
        """Return what became of it as a row: calls, milliseconds by default and at best, trials, seconds spent."""
        best = min(self.best, self.default)
        name = self.names[0].removeprefix(_PREFIX)
        times = f"{self.default * 1e3:10.3f}{best * 1e3:10.3f}"
        return f"{name[-44:]:44}{self.calls:4d}{times}{self.trials:7d}{self.ledger.row()}"

    def gain(self, usual: float) -> float:
        """Return the seconds of the model that a second of search is expected to gain; a round usually takes some."""
        seconds = min(self.best, self.default)
        return 0.0 if self.trouble else self.calls * seconds * self.hope / (self.round_seconds or usual)

    def search(self, count: int) -> None:
        """Measure some candidates, and learn from their times how much more to expect."""
        search, spent = self.tuning.search, self.ledger.total
        self.rounds += 1
        try:
            if not self.is_begun:
                self.tuning.begin()
                self.is_begun = True
            before = search.best.seconds if search.best else search.default_seconds
            if not self.tuning.round(count):
                self.trouble = "all candidates are known"
        except TVMError as error:
            self.trouble = str(error).splitlines()[0]
            return
        now, default = search.best.seconds if search.best else search.default_seconds, search.default_seconds
        if not math.isfinite(default):
            return
        gained = max(1 - now / (before if math.isfinite(before) else default), 0.0)
        self.hope = max((self.hope + gained) / 2, _LEAST_HOPE)
        self.best = self.default * now / default
        self.round_seconds = max(self.ledger.total - spent, 1e-3)


@dataclass(frozen=True)
class ModelOutcome:
    """What a search over a model found: seconds of a run by default and with what is kept, the same if that is none."""

    default: float
    seconds: float
    tasks: Sequence[KernelTask]
    ways: Mapping[str, str]
    """Operators that are computed in other ways than usual."""
    preparing: Ledger
    """Where the time went before the first round: building the model in each way, and timing its kernels."""
    is_interrupted: bool = False

    def table(self) -> str:
        """Return the ledger: the kernels, those that take most of the model's time first, and all together."""
        spent = Ledger()
        for ledger in (self.preparing, *(task.ledger for task in self.tasks)):
            spent.add(ledger)
        heads = "".join(f"{kind:>10}" for kind in KINDS)
        rows = [f"{'kernel':44}{'':4}{'ms':>10}{'kept':>10}{'trials':>7}{heads}  (processor seconds)"]
        for task in sorted(self.tasks, key=lambda task: -task.calls * task.default):
            kept = " kept" if task.choices is not None else ""
            rows.append(f"{task.line()}{kept}{' ' + task.trouble if task.trouble else ''}")
        rows.append(f"{'ways of operators, kernels in the model':75}{self.preparing.row()}")
        trials = sum(task.trials for task in self.tasks)
        rows += [f"{way}: {operator}" for operator, way in self.ways.items()]
        rows.append(f"{'the model':48}{self.default * 1e3:10.3f}{self.seconds * 1e3:10.3f}{trials:7d}{spent.row()}")
        return "\n".join(rows)


class ModelTuning:
    """The search over a model, which is built as ``relay.build`` does in the current context.

    Raises ArgumentError if the model needs the virtual machine, or the target is no processor.

    Parameters
    ----------
    log
        Where to begin, and where what is measured and decided is noted.
    seconds
        When it ends, by the ``clock``, from here on: there is a share for choosing ways of operators and one for the
        decision.
    measuring, is_apart
        As of :func:`compiler.search.tune`.
    most
        How many kernels are searched: those that take most of the model's time.
    per_round
        Candidates of a round.
    wishes
        What is wanted of the candidates of a kernel, by what records call it.

    Attributes
    ----------
    total : float
        Seconds of all kernels in a run, before any is searched.
    refused : dict of str to str
        Why there is nothing to search, by kernel.
    """

    def __init__(
        self,
        mod: IRModule,
        target: Target | str,
        params: Mapping[str, ArrayLike] | None = None,
        *,
        log: Database,
        seed: int | None = None,
        measuring: Callable[[Sequence[NumPyArray], int], Measuring] | None = None,
        seconds: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
        is_apart: bool = True,
        most: int | None = None,
        per_round: int | None = None,
        wishes: Mapping[str, Wishes] | None = None,
    ) -> None:
        if not seconds > 0:
            expected("search of a model", "seconds", "more than 0", seconds)
        began = clock()
        self._spent: Callable[[], float] = lambda: (clock() - began) / seconds
        self._last = replace(_LAST, seconds=min(_LAST.seconds, max(seconds * (1 - _SEARCHING), _LEAST_LAST)))
        self._preparing = Ledger()
        self._mod, self._target, self._params, self._log = mod, processor_target(target), params, log
        self.threads = num_threads()
        self._clock = time.thread_time if self.threads == 1 else time.perf_counter
        self._seed, self._model = seed, LearnedModel()
        self._measuring, self._is_apart, self._per_round = measuring, is_apart, per_round or _PER_ROUND
        noted = Ways({})
        self._default = self._begun = self._built(noted)
        self.ways: dict[str, str] = {}
        """Operators that are computed in other ways than usual."""
        self._usual_ways = {operator: usual for operator, (usual, _) in noted.seen.items()}
        self._untried = [(each, way) for each, (usual, ways) in noted.seen.items() for way in ways if way != usual]
        self._wishes, self._most = wishes or {}, most
        self._peaks: dict[str, float] = {}
        self._find_tasks()
        learn(self._model, log)

    def _find_tasks(self) -> None:
        """Time the kernels of the model as it is built now, and take those that take most of its time."""
        self.tasks: list[KernelTask] = []
        self.refused: dict[str, str] = {}
        model, (times,) = self._begun, self._kernel_seconds([self._begun.executor], 3)
        calls = Counter(name for _, name in model.executor.calls())
        taken = {name: statistics.median(each) for name, each in times.items()}
        self.total = sum(taken.values())
        for name, kernel in sorted(model.kernels.items(), key=lambda item: -taken[item[0]]):
            if len(self.tasks) == self._most:
                break
            each = taken[name] / calls[name]
            attained = (kernel.flops or 0) / max(each, 1e-9) / self._peak(kernel.usual)
            self._add(name, kernel.usual, calls[name], each, max(_HOPE * (1 - attained), _LEAST_HOPE))

    def _peak(self, kernel: KernelDefinition) -> float:
        """Return the rate that bounds the arithmetic of a kernel; infinite where none is measured."""
        try:
            dtype = peak_of(usual_arithmetic(kernel.blocks()), Target("llvm"))  # of this machine
        except TVMError:  # its definition is no function of blocks
            return math.inf
        if dtype is not None and dtype not in self._peaks:
            with self._preparing.spending("measuring"):
                self._peaks[dtype] = measure_peak(dtype, self.threads) * 1e9
        return self._peaks.get(dtype, math.inf) if dtype else math.inf

    def _try_ways(self, doing: Callable[[str], object]) -> None:
        """Let operators be computed in the ways in which the model is faster, one after another."""
        before, every = self._begun, len(self._untried)
        while self._untried and self._spent() < _CHOOSING:
            operator, way = self._untried.pop(0)
            doing(f"trying {operator.partition('(')[0]} as {way}, {every - len(self._untried)} of {every} other ways")
            chosen = {**self.ways, operator: way}
            other = self._built(Ways(chosen))
            if self._relative(other, self._begun) < _BETTER:
                self.ways, self._begun = chosen, other
        if self._begun is not before:
            self._find_tasks()

    def _relative(self, *models: BuiltModel) -> float:
        """Return what the kernels that only one of two models has take, by what those take that the other one has."""
        called = [model.called() for model in models]
        times = self._kernel_seconds([model.executor for model in models], _TURNS)
        own = [
            {name for computed, names in these.items() if len(those.get(computed, ())) != len(names) for name in names}
            for these, those in (called, called[::-1])
        ]
        return _ratio([_sums(names, taken) for names, taken in zip(own, times, strict=True)]) if all(own) else 1.0

    def _place(self, name: str) -> Place:
        """Return where a kernel is called first."""
        model = self._begun.executor
        numbers = [number for number, called in model.calls() if model.thunk(number) is not None]
        at = next(number for number, called in model.calls() if called == name)
        after = numbers[numbers.index(at) + 1 :]
        rest = [thunk for number in (*after, *numbers[: numbers.index(at)]) if (thunk := model.thunk(number))]

        def before() -> None:
            for thunk in rest:
                thunk()

        return Place(before, model.arguments(at))

    def _add(self, name: str, definition: KernelDefinition, calls: int, seconds: float, hope: float) -> None:
        target = self._target
        place = self._place(name)
        place.before()
        try:
            func = definition.blocks()
            tuning = Tuning(
                func, target, self._log, seed=self._seed, threads=self.threads, model=self._model,
                arrays=[array.numpy() for array in place.arrays], limits=_LIMITS, evolution=_EVOLUTION,
                default=lambda: build(definition.lowered("main"), target=target),
                measuring=self._measuring or (lambda arrays, threads: Measurer(
                    arrays, threads, parallel=2, limits=_LIMITS, patience=_PATIENCE, place=place,
                    is_apart=self._is_apart,
                )),
                numbers=numbers_of(definition),
            )  # fmt: skip
        except TVMError as error:
            self.refused[name] = str(error).splitlines()[0]
            return
        same = next((task for task in self.tasks if task.tuning.workload == tuning.workload), None)
        if same is not None:
            same.names.append(name)
            same.calls += calls
            return
        tuning.space.wishes = self._wishes.get(tuning.workload, Wishes())
        task = KernelTask([name], calls, seconds, tuning, hope)
        if (decided := self._log.decision(tuning.workload)) is not None:
            task.choices = decided.choices if tuning.space.wishes.allow(decided.choices or ()) else None
        elif self._log.of(tuning.workload):
            task.hope = 1.0  # a search that was ended
        self.tasks.append(task)

    def run(
        self,
        trials: int = 10**9,
        told: Callable[[KernelTask], object] = lambda task: None,
        scheduler: str = "gradient",
        doing: Callable[[str], object] = lambda words: None,
    ) -> ModelOutcome:
        """Try other ways of operators, and search until the time is over, one round at least.

        ``told`` is called after each round, ``doing`` with words for what begins.
        The ``scheduler`` of tasks is ``gradient``: the one of which most is expected; or ``round-robin``: each in turn.
        An interruption from the keyboard ends the search, and what was found is decided; another one ends that, too.
        """
        if scheduler not in STRATEGIES:
            expected("search", "scheduler", " or ".join(map(repr, STRATEGIES)), scheduler)
        done, is_interrupted = 0, False
        try:
            self._try_ways(doing)
            while (not done or self._spent() < _SEARCHING) and done < trials:
                task = self._next(scheduler)
                if task is None:
                    break
                before = task.trials
                doing(f"measuring candidates of {task.names[0].removeprefix(_PREFIX)}")
                task.search(min(self._per_round, trials - done))
                done += task.trials - before
                told(task)
        except KeyboardInterrupt:
            is_interrupted = True
        doing("comparing the model with what was found and as it was")
        return replace(self._decide(), is_interrupted=is_interrupted)

    def _next(self, scheduler: str) -> KernelTask | None:
        """Return the kernel whose round is next; None if there is nothing to be gained any more."""
        if scheduler == "round-robin":
            return min((task for task in self.tasks if not task.trouble), key=lambda task: task.rounds, default=None)
        rounds = [task.round_seconds for task in self.tasks if task.round_seconds]
        usual = statistics.fmean(rounds) if rounds else 1.0
        task = max(self.tasks, key=lambda task: task.gain(usual), default=None)
        return task if task is not None and task.gain(usual) else None

    def _decide(self) -> ModelOutcome:
        """Let kernels keep what is faster beside their defaults and in the model, and the model, if it is faster.

        What was kept before comes into the model again where a search has found nothing else.
        """
        for task in self.tasks:
            if task.trials:
                task.choices = task.tuning.best or task.choices
        default = statistics.median(self._seconds(self._default.executor) for _ in range(3))
        every = [task for task in self.tasks if task.choices is not None]
        ratio, tuned = 1.0, self._begun
        if every:
            tuned = self._with(every)
            first, second = self._kernel_seconds([self._begun.executor, tuned.executor], _TURNS)
            for task in every:
                task.best = task.default * _ratio([_sums(task.names, times) for times in (second, first)])
                if task.best >= task.default:
                    task.choices = None
        chosen = [task for task in every if task.choices is not None]
        if chosen or self.ways:
            tuned = tuned if chosen == every else self._with(chosen)
            pairing = paired(tuned.executor.run, self._default.executor.run, self._last, self._clock)
            ratio, default = pairing.ratio, pairing.reference
            if not pairing.is_faster:
                ratio, chosen, self.ways = 1.0, [], {}
        self._log.add(self._decided_ways())
        for task in self.tasks:
            task.choices = task.choices if task in chosen else None
            if task.trials or self._log.decision(task.tuning.workload):
                seconds = task.default if task.choices is None else task.best
                task.tuning.decide(task.choices, seconds, task.names[0])
        return ModelOutcome(default, ratio * default, self.tasks, self.ways, self._preparing)

    def _with(self, chosen: Sequence[KernelTask]) -> BuiltModel:
        decided = Database()
        decided.add(self._decided_ways())
        for task in chosen:
            decided.add([Record(task.tuning.workload, "", task.choices, "ok", task.best, is_decision=True)])
        return self._built(AppliedLog(decided))

    def _decided_ways(self) -> list[Record]:
        return [
            Record(
                f"{operator} {self._target} threads={self.threads}",
                "",
                ((_WAY, way),),
                "ok",
                math.inf,
                is_decision=True,
            )
            for operator, way in (self._usual_ways | self.ways).items()
        ]

    def _built(self, *instruments: Instrument) -> BuiltModel:
        with self._preparing.spending("building"), instrumented(*instruments):
            built = build_graph(self._mod, self._target, self._params)
        executor: GraphExecutor = built["default"](cpu(0))
        rng = np.random.default_rng(0)
        for name in executor.input_names:
            if name not in built.params:
                value = executor.get_input(name)
                value.copyfrom(random_array(rng, value.shape, value.dtype))
        executor.run()
        return BuiltModel(executor, built.kernels)

    def _seconds(self, executor: GraphExecutor) -> float:
        began = self._clock()
        executor.run()
        return self._clock() - began

    def _kernel_seconds(self, executors: Sequence[GraphExecutor], turns: int) -> list[dict[str, list[float]]]:
        """Return what the calls of each kernel take in some runs of models, which take turns."""
        found: list[dict[str, list[float]]] = [{} for _ in executors]
        with self._preparing.spending("measuring"):
            for _, (executor, times) in product(range(turns), zip(executors, found, strict=True)):
                run: dict[str, float] = {}
                for name, thunk in executor.thunks():
                    began = self._clock()
                    thunk()
                    run[name] = run.get(name, 0.0) + self._clock() - began
                for name, seconds in run.items():
                    times.setdefault(name, []).append(seconds)
        return found


def _sums(names: Iterable[str], times: Mapping[str, Sequence[float]]) -> list[float]:
    """Return what some kernels take together in each run."""
    return [sum(each) for each in zip(*(times[name] for name in names), strict=True)]


def _ratio(both: Sequence[Sequence[float]]) -> float:
    """Return the median ratio of two rows of times."""
    return math.exp(statistics.median(math.log(a / b) for a, b in zip(*both, strict=True)))
