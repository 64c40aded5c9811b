"""What a search finds, beside the schedules of ``relay.build`` and NumPy, in processor time of one thread.

    python -m tests.benchmarks.search [--seconds N] [--seed N] [--log F] [WORKLOAD …]

A workload is searched for so many seconds of processor time of this process and of those that measure (60).  The
default is the kernel that ``relay.build`` makes of the same operators, with the same arguments: weights are parameters,
so that packing them is part of every call, for both.  ``found`` was compared with the default in alternating turns, and
so is NumPy with what was found.  Regret is how much slower the best of the first trials was than the best of all; the
rank correlation is that of a model of the first half of the trials with the times of the second half.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from compiler import relay
from compiler.driver.build import build
from compiler.driver.relay.build import build_graph
from compiler.driver.relay.lower import KernelDefinition
from compiler.ir.module import IRModule
from compiler.ir.passes.context import PassContext
from compiler.relay.expr import Expr
from compiler.relay.function import Function
from compiler.runtime.machine import this_machine
from compiler.search import LearnedModel, Outcome, Patience, paired, rank_correlation, tune
from compiler.search.tuning import random_arrays
from compiler.target.target import Target
from compiler.te.definition.numpy_reference import numpy_program
from compiler.te.lowering.create_prim_func import create_prim_func

TARGET = "llvm -mcpu=native"
STEPS = (16, 64)
"""Trials after which the regret is told."""


def _matmul() -> Expr:
    a, b = (relay.var(name, shape=(512, 512)) for name in "ab")
    return relay.nn.matmul(a, b)


def _dense_gelu() -> Expr:
    x, w, bias = relay.var("x", shape=(128, 768)), relay.var("w", shape=(3072, 768)), relay.var("bias", shape=(3072,))
    y = relay.nn.bias_add(relay.nn.dense(x, w), bias)
    return y * relay.const(0.5) * (relay.const(1.0) + relay.erf(y * relay.const(0.5**0.5)))


def _softmax() -> Expr:
    return relay.nn.softmax(relay.var("x", shape=(128, 1024)))


def _layer_norm() -> Expr:
    x, gamma, beta = relay.var("x", shape=(128, 768)), relay.var("gamma", shape=(768,)), relay.var("beta", shape=(768,))
    return relay.nn.layer_norm(x, gamma, beta)


def _convolution() -> Expr:
    x, w = relay.var("x", shape=(1, 64, 56, 56)), relay.var("w", shape=(64, 64, 3, 3))
    return relay.nn.relu(relay.nn.conv2d(x, w, padding=(1, 1), channels=64, kernel_size=(3, 3)))


WORKLOADS: dict[str, Callable[[], Expr]] = {
    "matmul 512": _matmul,
    "dense+bias+GELU 128x768x3072": _dense_gelu,
    "softmax 128x1024": _softmax,
    "layer norm 128x768": _layer_norm,
    "conv2d 64x56x56 3x3 + relu": _convolution,
}


def kernel_of(expr: Expr) -> KernelDefinition:
    """Return the kernel that ``relay.build`` makes of operators that it fuses into one."""
    with PassContext(opt_level=3, disabled_pass=["AlterOpLayout", "SimplifyInference"]):
        built = build_graph(IRModule.from_expr(Function(relay.analysis.free_vars(expr), expr)), Target(TARGET))
    (kernel,) = built.kernels.values()
    return kernel.usual


def processor_seconds() -> float:
    """Return the processor time of this process and of its children that ended."""
    return sum(os.times()[:4])


def regret(found: Outcome, count: int) -> float:
    """Return by what share the best of the first trials is slower than the best of all."""
    seconds = [trial.seconds for trial in found.trials]
    return min(seconds[:count], default=float("inf")) / min(seconds, default=float("nan")) - 1


def correlation(found: Outcome) -> float:
    """Return the rank correlation of what a model of the first half expects of the second, with its times."""
    timed = [trial for trial in found.trials if np.isfinite(trial.seconds)]
    first, second = timed[: len(timed) // 2], timed[len(timed) // 2 :]
    model = LearnedModel()
    model.update("", [trial.row for trial in first], [trial.seconds for trial in first])
    return rank_correlation(model.predict([t.row for t in second]), [t.seconds for t in second])


def searched(name: str, given: argparse.Namespace) -> str:
    """Search a workload and return a line of the table."""
    kernel = kernel_of(WORKLOADS[name]())
    args = [*kernel.inputs, *kernel.outputs]
    func = create_prim_func(args)
    found = tune(
        func, TARGET, seconds=given.seconds, seed=given.seed, log=given.log, clock=processor_seconds,
        default=lambda: build(kernel.schedule, args, TARGET),
    )  # fmt: skip
    arrays = random_arrays(func, 0)
    _, numpy = numpy_program(kernel.outputs, dict(zip(kernel.inputs, arrays[: len(kernel.inputs)], strict=True)))
    best = build(func if found.schedule is None else found.schedule.mod, target=TARGET)
    if found.schedule is None:
        best = build(kernel.schedule, args, TARGET)
    with threadpool_limits(1):
        beside = paired(lambda: best(*arrays), numpy, Patience(turn=0.005, most=30, seconds=5.0, matters=0))
    regrets = " ".join(f"{regret(found, count):>6.0%}" for count in STEPS)
    kept = "" if found.schedule else "  the default stays"
    return (
        f"{name:<30}{found.default_seconds * 1e3:>10.3f}{found.seconds * 1e3:>10.3f}"
        f"{found.default_seconds / found.seconds:>10.2f}{1 / beside.ratio:>10.2f}{len(found.trials):>8d}  {regrets}"
        f"{correlation(found):>8.2f}{kept}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", nargs="*", help=f"beginnings of: {', '.join(WORKLOADS)} (all)")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log")
    given = parser.parse_args(arguments)
    print(f"{this_machine().processor}, one thread, {given.seconds:g} s of processor time each")
    after = " ".join(f"{'@' + str(count):>6}" for count in STEPS)
    print(f"{'':<30}{'default':>10}{'found':>10}{'speed':>10}{'x NumPy':>10}{'trials':>8}  {after}{'rank':>8}")
    for name in WORKLOADS:
        if not given.workload or any(name.startswith(begun) for begun in given.workload):
            print(searched(name, given), flush=True)


if __name__ == "__main__":
    main()
