"""What a search over whole models gains, in processor time of one thread.

    python -m tests.benchmarks.model_search [--seconds N] [--by-clock] [--seed N] [--log F] [MODEL …]

Each model is searched for so many seconds of processor time (1200: ten minutes on two cores), of this process and of
those that measure, or by the clock.  ``default`` and ``found`` are runs of the whole model in alternating turns.  The
table of kernels says where the time of the search went.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence

import numpy as np

from compiler import relay
from compiler.ir.module import IRModule
from compiler.ir.passes.context import PassContext
from compiler.relay.function import Function
from compiler.runtime.arrays.ndarray import NDArray, array
from compiler.runtime.machine import this_machine
from compiler.runtime.parallel.threads import set_num_threads
from compiler.search import Database
from compiler.search.models import KernelTask, ModelTuning
from compiler.target.target import Target
from tests import models
from tests.benchmarks.relay_latency import quantized
from tests.benchmarks.search import DENSE, TARGET, WORKLOADS

MODELS = ("resnet18", "bert", "mobilenetv2 int8", DENSE)
"""Models, one of them quantized, and a layer whose weight is known, so that packing it is not part of a call."""


def processor_seconds() -> float:
    """Return the processor time of this process and of its children that ended."""
    return sum(os.times()[:4])


def _model(kind: str, how: str = "") -> tuple[IRModule, dict[str, NDArray]]:
    model = models.build(kind)
    inputs = models.inputs_of(model)
    if how:
        model = quantized(model, inputs, "static")
    return relay.frontend.from_onnx(model, {key: value.shape for key, value in inputs.items()})


def _layer() -> tuple[IRModule, dict[str, NDArray]]:
    expr, random = WORKLOADS[DENSE]().expr, np.random.default_rng(0)
    data, *weights = relay.analysis.free_vars(expr)
    shapes = {"w": (3072, 768), "bias": (3072,)}
    params = {name: array(random.standard_normal(shape, "float32")) for name, shape in shapes.items()}
    return IRModule.from_expr(Function((data, *weights), expr)), params


def searched(name: str, given: argparse.Namespace) -> str:
    """Search a model, print how it goes, and return a line of the table."""
    mod, params = _layer() if name == DENSE else _model(*name.split())
    clock = time.monotonic if given.by_clock else processor_seconds
    began = clock()

    def told(task: KernelTask) -> None:
        print(f"{clock() - began:6.0f} s  {task.line()}", flush=True)

    with PassContext(opt_level=3):
        log, left = Database(given.log), given.seconds - (clock() - began)
        tuning = ModelTuning(mod, Target(TARGET), params, log=log, seed=given.seed, seconds=left, clock=clock)
        found = tuning.run(told=told)
    print(found.table())
    kept = sum(task.choices is not None for task in found.tasks)
    return (
        f"{name:<20}{found.default * 1e3:>10.3f}{found.seconds * 1e3:>10.3f}{found.default / found.seconds:>8.3f}"
        f"{kept:>6d} of {len(found.tasks)}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="*", help=f"beginnings of: {', '.join(MODELS)} (all)")
    parser.add_argument("--seconds", type=float, default=1200.0)
    parser.add_argument("--by-clock", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log")
    given = parser.parse_args(arguments)
    set_num_threads(1)
    how = "by the clock" if given.by_clock else "of processor time"
    print(f"{this_machine().processor}, one thread, {given.seconds:g} s {how} each")
    chosen = [name for name in MODELS if not given.model or any(name.startswith(begun) for begun in given.model)]
    rows = [searched(name, given) for name in chosen]
    print(f"{'':<20}{'default':>10}{'found':>10}{'speed':>8}  kernels")
    print(*rows, sep="\n")


if __name__ == "__main__":
    main()
