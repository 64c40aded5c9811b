"""Times the kernels of two recorded models in turns, without running a script."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

from app.artifacts import Problem
from app.protocol import Failed, Message, ModelTimes, Progress, RecordedVariant, Request
from app.recorder.measuring.ladder import alone
from app.recorder.measuring.recorded_graph import read_graph
from app.recorder.units.kernels import fill_inputs, why_unmeasured
from compiler.driver.relay.build import build_graph
from compiler.ir.error import TVMError
from compiler.runtime.device import cpu
from compiler.runtime.graph.graph_executor import GraphExecutor
from compiler.runtime.timing.clock import Duration, is_disturbed, stopwatch

ROUNDS, LEAST_ROUNDS = 40, 3
ROUNDS_SECONDS = 8.0
"""About how long all rounds take by the clock."""


def measure_models(request: Request, send: Callable[[Message], None]) -> None:
    """Build the models, run both in each round, the one that was first last the next time, and send medians.

    Parameters
    ----------
    request : Request
        With the texts, which anybody may have written.
    send : callable
        Takes each message.
    """
    label = "models"
    try:
        with alone(request.options.threads):
            executors: list[GraphExecutor] = []
            for variant in request.variants:
                label = variant.label
                send(Progress(done=len(executors), total=ROUNDS, label=f"building {label}"))
                executors.append(_executor(variant, request.seed))
            send(_measured(executors, send))
    except TVMError as error:
        send(Failed(label=label, problem=Problem(kind=type(error).__name__, message=str(error)[:10_000])))


def _executor(variant: RecordedVariant, seed: int) -> GraphExecutor:
    graph = read_graph(variant.program)
    with graph.context():
        built = build_graph(graph.module, graph.target, graph.weights(seed))
    if reason := why_unmeasured(built):
        raise TVMError(reason)
    executor: GraphExecutor = built["default"](cpu(0))
    fill_inputs(executor, built.params)
    executor.run()
    return executor


def _measured(executors: Sequence[GraphExecutor], send: Callable[[Message], None]) -> ModelTimes:
    times: list[dict[str, list[float]]] = [{} for _ in executors]
    runs: list[Duration] = []
    end = time.monotonic() + ROUNDS_SECONDS
    for number in range(ROUNDS):
        if number >= LEAST_ROUNDS and time.monotonic() > end:
            break
        for which in range(len(executors))[:: 1 if number % 2 else -1]:
            whole = stopwatch()
            for name, seconds in _run(executors[which]).items():
                times[which].setdefault(name, []).append(seconds)
            runs.append(whole())
        send(Progress(done=number + 1, total=ROUNDS, label="running both in turns"))
    medians = [{name: statistics.median(each) for name, each in model.items()} for model in times]
    return ModelTimes(models=medians, rounds=len(runs) // len(executors), disturbed=is_disturbed(runs))


def _run(executor: GraphExecutor) -> dict[str, float]:
    """Return what all calls of each kernel take in a run."""
    taken: dict[str, float] = {}
    for name, thunk in executor.thunks():
        elapsed = stopwatch()
        thunk()
        taken[name] = taken.get(name, 0.0) + float(elapsed())
    return taken
