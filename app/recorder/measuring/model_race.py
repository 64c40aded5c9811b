"""Races a model with and without the kernels that a workspace defines."""

from __future__ import annotations

from collections.abc import Callable

from app.artifacts import ModelRace
from app.recorder.measuring.measure import compare, time_call, time_in_turns
from app.recorder.measuring.race import speedup
from app.recorder.units.kernels import Built, fill_inputs, kernels_of
from compiler.driver.relay.build import BuiltGraph
from compiler.ir.instrument import uninstrumented
from compiler.runtime.device import cpu
from compiler.runtime.graph.factory import GraphExecutorFactory
from compiler.runtime.graph.graph_executor import GraphExecutor


def race_models(built: Built, threads: int) -> ModelRace | None:
    """Time a model with and without the workspace's kernels alternately, on the same inputs.

    Parameters
    ----------
    threads : int
        The number of threads of both.

    Returns
    -------
    ModelRace or None
        None if there is nothing to compare: no such kernel, a virtual machine program, or a device program.
    """
    if not isinstance(built, BuiltGraph) or built.get_lib().imported_modules:
        return None
    if all(kernel.replaced is None for kernel in kernels_of(built).values()):
        return None
    with uninstrumented():
        (own, call), (original, original_call) = map(_prepared, (built, built.as_operators_say()))
        firsts = time_call(call), time_call(original_call)
        check = compare(*([e.get_output(i).view().copy() for i in range(e.num_outputs)] for e in (own, original)))
        if not check.ok:
            return ModelRace(checked="wrong", error=check.largest_error, threads=threads)
        timing, original_timing = time_in_turns((call, original_call), firsts)
    ratio = speedup(timing, original_timing)
    return ModelRace(
        checked="ok",
        error=check.largest_error,
        seconds=timing.median,
        spread=timing.spread,
        original_seconds=original_timing.median,
        original_spread=original_timing.spread,
        low=ratio.low,
        ratio=ratio.middle,
        high=ratio.high,
        rounds=len(timing.seconds),
        threads=threads,
        disturbed=timing.is_disturbed or original_timing.is_disturbed,
    )


def _prepared(model: GraphExecutorFactory) -> tuple[GraphExecutor, Callable[[], None]]:
    """Return an executor with inputs, and a callable that runs all of its kernels."""
    executor = model[model.libmod_name](cpu(0))
    fill_inputs(executor, model.params)
    thunks = [thunk for _, thunk in executor.thunks()]

    def run() -> None:
        for thunk in thunks:
            thunk()

    return executor, run
