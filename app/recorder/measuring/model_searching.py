"""Searches the hottest kernels of a recorded model, or shows a candidate of one, without running a script."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress

from app.artifacts import Problem
from app.protocol import Failed, Message, Progress, Request
from app.recorder.measuring.random_inputs import Array
from app.recorder.measuring.recorded_graph import BEGINNING, RecordedGraph, read_graph
from app.recorder.measuring.searching import (
    ToldLog,
    finite,
    given_log,
    most_frequent,
    search_program,
    show_candidate,
    wishes_of,
)
from app.searches import HOTTEST, CandidateTexts, KernelSearch, ModelSearch, SearchSettings, SoughtKernel
from compiler.driver.build import build
from compiler.driver.lower import lower
from compiler.driver.relay.build import build_graph
from compiler.driver.relay.lower import KernelDefinition
from compiler.ir.error import ArgumentError, TVMError
from compiler.ir.instrument import Instrument, instrumented, uninstrumented
from compiler.relay.function import Function
from compiler.runtime.parallel.threads import num_threads, set_num_threads
from compiler.search import Database, Machine, ScheduleSpace
from compiler.search.choices import Picker, from_json
from compiler.search.models import AppliedLog, KernelTask, ModelTuning, Ways, numbers_of, with_numbers
from compiler.search.tuning import digest_of, workload_of
from compiler.target.target import Target
from compiler.te.script import write_script as write_te_script
from compiler.tir.schedule.writing import write_script

PER_ROUND = 4
"""Candidates of a round: the page is told after each, and those of a large kernel take seconds."""

DECISION = re.compile(r'"is_decision": ?true')


def search(request: Request, send: Callable[[Message], None]) -> None:
    """Search the schedules of a function, or of a model's kernels."""
    (_search_model if request.program.startswith(BEGINNING) else search_program)(request, send)


def show(request: Request, send: Callable[[Message], None]) -> None:
    """Show a candidate of a function, or of a kernel of a model."""
    (show_candidate if request.kernel is None else _show_kernel)(request, send)


def decided() -> AppliedLog | None:
    """Return what builds models as the log beside the script has decided; None if it decides nothing.

    Raises
    ------
    TVMError
        A decision cannot be read.
    """
    lines = [line for line in given_log().splitlines() if DECISION.search(line)]
    return AppliedLog(Database(text="\n".join(lines))) if lines else None


def _search_model(request: Request, send: Callable[[Message], None]) -> None:
    """Search where most is expected to be gained, and compare the model with itself before in turns.

    Candidates are measured in this process, as those of a function are.
    """
    settings, began = request.search or SearchSettings(), time.monotonic()
    Target.default_opt_level = request.options.opt_level
    set_num_threads(request.options.threads)
    try:
        send(Progress(done=0, total=1, label="building the model, and timing its kernels"))
        graph = read_graph(request.program)
        log, weights = ToldLog(given_log(), send), graph.weights(request.seed)
        with uninstrumented(), graph.context():
            send(ModelSearch(kernels=_expected(graph, weights), seconds=time.monotonic() - began))
            tuning = ModelTuning(
                graph.module, graph.target, weights, log=log,
                seed=request.seed, seconds=settings.seconds, is_apart=False, most=HOTTEST, per_round=PER_ROUND,
                wishes={workload: wishes_of(each) for workload, each in settings.kernels.items()},
            )  # fmt: skip
            if not tuning.tasks:
                reasons = dict.fromkeys(tuning.refused.values())
                raise ArgumentError(f"search: no kernel of the model has schedules to search. {'; '.join(reasons)}")

            def told(before: float | None = None, after: float | None = None) -> None:
                send(_state(tuning, log, time.monotonic() - began, before, after))

            def doing(words: str) -> None:
                send(Progress(done=0, total=1, label=words))
                told()

            found = tuning.run(doing=doing)
            told(finite(found.default), finite(found.seconds))
    except TVMError as error:
        send(Failed(label="search", problem=Problem(kind=type(error).__name__, message=str(error)[:10_000])))


class _Lazy(Instrument):
    """Leaves kernels to be compiled when they are run."""

    def compile_lazily(self) -> bool:
        """Return that nobody runs them yet."""
        return True


def _expected(graph: RecordedGraph, weights: Mapping[str, Array]) -> list[KernelSearch]:
    """Return the kernels that have most operations: what can be told of a model long before it is compiled."""
    with instrumented(_Lazy()):
        built = build_graph(graph.module, graph.target, weights)
    found: dict[str, KernelSearch] = {}
    for name, kernel in sorted(built.kernels.items(), key=lambda item: -(item[1].flops or 0)):
        with suppress(TVMError):  # it cannot be said in blocks, so it has no candidates
            workload = workload_of(kernel.usual.blocks(), graph.target, num_threads())
            found.setdefault(workload, KernelSearch(name=name[:1000], workload=workload))
        if len(found) == HOTTEST:
            break
    return [*found.values()]


def _state(
    tuning: ModelTuning, log: Database, seconds: float, before: float | None, after: float | None
) -> ModelSearch:
    others = {name[:1000]: why[:1000] for name, why in [*tuning.refused.items()][:HOTTEST]}
    tried = Counter(r.workload for r in log if r.choices is not None and not r.is_decision)
    kernels = [_kernel(task, tried[task.tuning.workload], is_over=after is not None) for task in tuning.tasks]
    return ModelSearch(
        kernels=kernels, total=tuning.total,
        trials=sum(kernel.trials for kernel in kernels), seconds=seconds, others=others, ways=dict(tuning.ways),
        before=before, after=after,
    )  # fmt: skip


def _kernel(task: KernelTask, tried: int, is_over: bool) -> KernelSearch:
    best = task.default if is_over and task.choices is None else min(task.best, task.default)
    return KernelSearch(
        name=task.names[0][:1000], workload=task.tuning.workload, calls=task.calls, before=task.default, best=best,
        beside=finite(task.tuning.search.default_seconds),
        trials=tried, kept=is_over and task.choices is not None, trouble=task.trouble[:1000],
        refused=most_frequent(task.tuning.space.refused),
    )  # fmt: skip


class _Reached(BaseException):
    """Raised when a kernel is defined, which ends the build of its model."""


class _Seeking(_Lazy):
    """Ends the build of a model at a kernel."""

    def __init__(self, digest: str) -> None:
        self._digest = digest
        self.found: tuple[str, KernelDefinition] | None = None

    def kernel_defined(self, name: str, function: Function, definition: KernelDefinition) -> KernelDefinition | None:
        """Capture the kernel."""
        try:
            same = digest_of(definition.blocks()) == self._digest
        except TVMError:  # it cannot be said in blocks, so it has no candidates
            return None
        if same:
            self.found = name, definition
            raise _Reached
        return None


def _sought(request: Request, kernel: SoughtKernel) -> tuple[str, KernelDefinition, Target]:
    """Build a model up to a kernel, and return its name, what defines it, and its target.

    Raises ArgumentError if the model has none of that workload.
    """
    graph, seeking = read_graph(request.program), _Seeking(kernel.workload.partition(" ")[0])
    with suppress(_Reached), graph.context(), instrumented(Ways(kernel.ways), seeking):
        build_graph(graph.module, graph.target, graph.weights(request.seed))
    if seeking.found is None:
        raise ArgumentError("search: the model has no such kernel now: it was found for another model or target")
    return *seeking.found, graph.target


def _show_kernel(request: Request, send: Callable[[Message], None]) -> None:
    """Derive a candidate of a model's kernel, and send its loops, assembly, and script, if it has one."""
    assert request.kernel is not None
    Target.default_opt_level = request.options.opt_level
    set_num_threads(request.options.threads)
    try:
        with uninstrumented():
            name, definition, target = _sought(request, request.kernel)
            func, choices = definition.blocks(), from_json(request.choices)
            numbers = numbers_of(definition)
            space = ScheduleSpace(func, Machine.of(target, num_threads()), None, numbers)
            title = f"A schedule of {name} that a search derived"
            if numbers and space.is_of_numbers(choices):
                own = with_numbers(definition, Picker(random.Random(0), dict(choices)))
                mod, script = own.lowered("main"), _script(own, target, name, title)
            else:
                schedule = space.schedule(choices)
                mod = lower(schedule.mod, name="main")
                script = write_script(func, schedule, str(target), title, name)
            assembly = build(mod, target=target).get_source("asm")
            original = _script(definition, target, name, f"{name}: as it is without a search")
            send(
                CandidateTexts(
                    script=script, loops=mod.script(), assembly=assembly, kernel=name, original=original,
                    workload=workload_of(func, target, num_threads()),
                )
            )  # fmt: skip
    except TVMError as error:
        send(Failed(label="candidate", problem=Problem(kind=type(error).__name__, message=str(error)[:10_000])))


def _script(definition: KernelDefinition, target: Target, name: str, title: str) -> str:
    return write_te_script(definition.schedule, [*definition.inputs, *definition.outputs], str(target), name, title)
