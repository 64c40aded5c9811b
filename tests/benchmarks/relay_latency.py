"""Latency of models, one thread, beside onnxruntime in the same run.

    python -m tests.benchmarks.relay_latency [MODEL ...] [--rounds N]

The two take turns, and the median of each one's CPU time is printed: with one thread that is the wall time of a free
core, whatever else the machine does.  Results are compared as well (rtol 1e-3, atol 1e-4).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime

import compiler as tvm
from compiler import relay
from compiler.contrib import graph_executor
from compiler.driver.relay.build import build
from compiler.ir.transform import PassContext
from compiler.runtime.threads import set_num_threads
from tests import models

TARGET = "llvm -mcpu=native"


def ours(model: Any, inputs: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[], list[Any]], int]:
    """Return what runs a model here, what its results are, and the floating-point operations of a run."""
    shapes = {key: value.shape for key, value in inputs.items()}
    mod, params = relay.frontend.from_onnx(model, shapes, freeze_params=True)
    with PassContext(opt_level=3):
        lib = build(mod, TARGET, params=params)
    module = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    module.set_input(None, None, **inputs)
    names = [name for name, _ in module.module.thunks()]
    flops = sum(lib.kernels[n].flops or 0 for n in names if n in lib.kernels)
    return module.run, lambda: [module.get_output(i).numpy() for i in range(module.get_num_outputs())], flops


def theirs(model: Any, inputs: dict[str, Any]) -> Callable[[], list[Any]]:
    """Return what runs a model in onnxruntime on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)  # type: ignore[no-any-return]


def turns(first: Callable[[], Any], second: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """Return the median CPU milliseconds of each."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for run, found in zip((first, second), times, strict=True):
            run()  # the caches are this one's again
            started = time.process_time()
            run()
            found.append((time.process_time() - started) * 1e3)
    return statistics.median(times[0]), statistics.median(times[1])


def row(name: str, rounds: int) -> str:
    """Return the line of one model."""
    model = models.build(name)
    inputs = models.inputs_of(model)
    run, results, flops = ours(model, inputs)
    reference = theirs(model, inputs)
    run()
    same = all(np.allclose(a, b, 1e-3, 1e-4) for a, b in zip(results(), reference(), strict=True))
    mine, other = turns(run, reference, rounds)
    verdict = "same" if same else "OTHER"
    return f"{name:12}{mine:12.2f}{other:14.2f}{mine / other:8.2f}{flops / mine / 1e6:10.1f}  {verdict}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["resnet18", "mobilenetv2", "bert", "gpt", "lstm"])
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    set_num_threads(1)
    print(f"{'CPU ms':12}{'here':>12}{'onnxruntime':>14}{'ratio':>8}{'GFLOP/s':>10}  results")
    for name in given.models:
        print(row(name, given.rounds), flush=True)


if __name__ == "__main__":
    main()
