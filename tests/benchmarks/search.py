"""What a search finds, beside the schedules of ``relay.build``, NumPy and the searches of classic TVM.

    python -m tests.benchmarks.search [--seconds N] [--seed N] [--log F] [WORKLOAD …]

A workload is searched for so many seconds by the clock (60), for one thread; what is found is told in processor time of
one thread.  The default is the kernel that ``relay.build`` makes of the same operators, with the same arguments:
weights are parameters, so that packing them is part of every call, for both.  ``found`` was compared with the default
in alternating turns, and so are the others with what was found: NumPy, and what classic TVM finds in as many seconds,
if ``STRATA_CLASSIC_TVM`` is the path of an interpreter that has it.  Numbers are how many times as fast found is.
Regret is how much slower the best of the first trials was than the best of all; the rank correlation is that of a model
of the first half of the trials with the times of the second half.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import erf
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
from compiler.runtime.modules.native_code import host_cpu
from compiler.runtime.numpy_types import NumPyArray
from compiler.runtime.parallel.threads import set_num_threads
from compiler.search import LearnedModel, Outcome, Patience, paired, rank_correlation, tune
from compiler.search.tuning import random_arrays
from compiler.target.target import Target
from compiler.te.lowering.create_prim_func import create_prim_func
from tests.benchmarks.against_classic.__main__ import CLASSIC, aligned, call_classic

TARGET = "llvm -mcpu=native"
DENSE = "dense+bias+GELU 128x768x3072"
STEPS = (16, 64, 256)
"""Trials after which the regret is told."""
THEIRS = ("auto_scheduler", "meta_schedule")
TURNS = Patience(turn=0.005, most=30, seconds=5.0, matters=0)


class Workload(NamedTuple):
    """What is computed: an expression of Relay, and a function of NumPy's arrays, in the order of its variables."""

    expr: Expr
    numpy: Callable[..., NumPyArray]


def _matmul(size: int) -> Workload:
    a, b = (relay.var(name, shape=(size, size)) for name in "ab")
    return Workload(relay.nn.matmul(a, b), np.matmul)


def _dense_gelu() -> Workload:
    x, w, bias = relay.var("x", shape=(128, 768)), relay.var("w", shape=(3072, 768)), relay.var("bias", shape=(3072,))
    y = relay.nn.bias_add(relay.nn.dense(x, w), bias)
    half, root = np.float32(0.5), np.float32(0.5**0.5)

    def numpy(x: NumPyArray, w: NumPyArray, bias: NumPyArray) -> NumPyArray:
        y = x @ w.T + bias
        made: NumPyArray = y * half * (1 + erf(y * root))
        return made

    return Workload(y * relay.const(0.5) * (relay.const(1.0) + relay.erf(y * relay.const(0.5**0.5))), numpy)


def _softmax() -> Workload:
    def numpy(x: NumPyArray) -> NumPyArray:
        powers = np.exp(x - x.max(1, keepdims=True))
        made: NumPyArray = powers / powers.sum(1, keepdims=True)
        return made

    return Workload(relay.nn.softmax(relay.var("x", shape=(128, 1024))), numpy)


def _layer_norm() -> Workload:
    x, gamma, beta = relay.var("x", shape=(128, 768)), relay.var("gamma", shape=(768,)), relay.var("beta", shape=(768,))

    def numpy(x: NumPyArray, gamma: NumPyArray, beta: NumPyArray) -> NumPyArray:
        scale = 1 / np.sqrt(x.var(1, keepdims=True) + np.float32(1e-5))
        made: NumPyArray = (x - x.mean(1, keepdims=True)) * scale * gamma + beta
        return made

    return Workload(relay.nn.layer_norm(x, gamma, beta), numpy)


def _attention() -> Workload:
    q, k = (relay.var(name, shape=(12, 128, 64)) for name in "qk")
    return Workload(relay.nn.batch_matmul(q, k), lambda q, k: q @ k.transpose(0, 2, 1))


def _convolution(channels: int, size: int) -> Workload:
    x, w = relay.var("x", shape=(1, channels, size, size)), relay.var("w", shape=(channels, channels, 3, 3))
    y = relay.nn.conv2d(x, w, padding=(1, 1), channels=channels, kernel_size=(3, 3))

    def numpy(x: NumPyArray, w: NumPyArray) -> NumPyArray:
        padded = np.pad(x[0], ((0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
        made: NumPyArray = np.maximum(np.tensordot(w, windows, ((1, 2, 3), (0, 3, 4))), 0)[None]
        return made

    return Workload(relay.nn.relu(y), numpy)


WORKLOADS: dict[str, Callable[[], Workload]] = {
    "matmul 512": partial(_matmul, 512),
    "matmul 1024": partial(_matmul, 1024),
    DENSE: _dense_gelu,
    "softmax 128x1024": _softmax,
    "layer norm 128x768": _layer_norm,
    "attention 12x128x64": _attention,
    "conv2d 64x56x56 3x3 + relu": partial(_convolution, 64, 56),
    "conv2d 128x28x28 3x3 + relu": partial(_convolution, 128, 28),
    "conv2d 256x14x14 3x3 + relu": partial(_convolution, 256, 14),
    "conv2d 512x7x7 3x3 + relu": partial(_convolution, 512, 7),
}


def kernel_of(expr: Expr) -> KernelDefinition:
    """Return the kernel that ``relay.build`` makes of operators that it fuses into one."""
    with PassContext(opt_level=3, disabled_pass=["AlterOpLayout", "SimplifyInference"]):
        built = build_graph(IRModule.from_expr(Function(relay.analysis.free_vars(expr), expr)), Target(TARGET))
    (kernel,) = built.kernels.values()
    return kernel.usual


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


def theirs(search: str, name: str, seconds: float, folder: Path) -> str:
    """Let a search of classic TVM run for some time; return the library of what it found, empty if that is nothing."""
    script, target = Path(__file__).with_name("search_in_tvm.py"), f"llvm -mcpu={host_cpu()} -num-cores=1"
    command, alone = [CLASSIC, str(script), name, target, str(folder), search], os.environ | {"TVM_NUM_THREADS": "1"}
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=nowhere, stderr=nowhere, env=alone, start_new_session=True) as searching:
        with suppress(subprocess.TimeoutExpired):
            searching.wait(seconds)
        with suppress(ProcessLookupError):
            os.killpg(searching.pid, signal.SIGKILL)  # its workers, too
    subprocess.run([*command, "build"], check=False, stdout=nowhere, stderr=nowhere, env=alone)
    library = folder / "found.so"
    return str(library) if library.exists() else ""


def beside(found: Callable[[], object], other: Callable[[], object]) -> str:
    """Return how many times as fast as another kernel what was found is."""
    with threadpool_limits(1):
        return f"{1 / paired(found, other, TURNS).ratio:>17.2f}"


def searched(name: str, given: argparse.Namespace) -> str:
    """Search a workload and return a line of the table."""
    workload = WORKLOADS[name]()
    kernel = kernel_of(workload.expr)
    args = [*kernel.inputs, *kernel.outputs]
    func = create_prim_func(args)
    found = tune(
        func, TARGET, seconds=given.seconds, seed=given.seed, log=given.log,
        default=lambda: build(kernel.schedule, args, TARGET),
    )  # fmt: skip
    arrays = [aligned(array) for array in random_arrays(func, 0)]
    numpy = partial(workload.numpy, *arrays[:-1])
    best = build(kernel.schedule, args, TARGET) if found.schedule is None else build(found.schedule.mod, target=TARGET)
    call = best.entry_func.prepare(tuple(arrays))
    others = beside(call, numpy)
    expected = numpy()
    np.testing.assert_allclose(arrays[-1], expected, rtol=1e-3, atol=1e-3)
    for search in THEIRS if CLASSIC else ():
        with tempfile.TemporaryDirectory() as folder:
            library = theirs(search, name, given.seconds, Path(folder))
            their_call = call_classic(library, arrays) if library else None
            others += beside(call, their_call) if their_call else f"{'none':>17}"
            if their_call:
                their_call()
                np.testing.assert_allclose(arrays[-1], expected, rtol=1e-3, atol=1e-3)
    regrets = " ".join(f"{regret(found, count):>6.0%}" for count in STEPS)
    kept = "" if found.schedule else "  the default stays"
    return (
        f"{name:<30}{found.default_seconds * 1e3:>10.3f}{found.seconds * 1e3:>10.3f}"
        f"{found.default_seconds / found.seconds:>10.2f}{others}{len(found.trials):>8d}  {regrets}"
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
    set_num_threads(1)  # the default has parallel loops
    print(f"{this_machine().processor}, one thread, {given.seconds:g} s by the clock each")
    after = " ".join(f"{'@' + str(count):>6}" for count in STEPS)
    others = "".join(f"{'x ' + each:>17}" for each in ("NumPy", *THEIRS * bool(CLASSIC)))
    print(f"{'ms':<30}{'default':>10}{'found':>10}{'speed':>10}{others}{'trials':>8}  {after}{'rank':>8}")
    for name in WORKLOADS:
        if not given.workload or any(name.startswith(begun) for begun in given.workload):
            print(searched(name, given), flush=True)


if __name__ == "__main__":
    main()
