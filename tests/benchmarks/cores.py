"""Models on one thread and on all cores, beside onnxruntime, and at most how many times as fast on machines with more.

    python -m tests.benchmarks.cores [MODEL …] [--mcpu CPU]

Times are medians by the clock, of turns in which the four alternate.  The last columns are no measurements but bounds:
of each kernel the iterations of its parallel loops, on so many cores as evenly as they can be divided, and its time
here on one thread; what is not parallel takes as long as here.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import compiler as tvm
from compiler import relay
from compiler.classic.contrib import graph_executor
from compiler.driver.relay.build import build
from compiler.ir.expr.primexpr import IntImm
from compiler.ir.functor import nodes_of
from compiler.ir.transform import PassContext
from compiler.runtime.parallel.threads import num_threads, set_num_threads
from compiler.tir.statements.stmt import For, ForKind
from tests import models
from tests.benchmarks.relay_latency import quantized, theirs

MODELS = ("resnet18", "resnet50", "mobilenetv2", "mobilenetv2 static", "unet1d", "bert", "gpt")
CORES = (8, 16, 64)
_TURNS, _RUNS = 6, 8


def row(name: str, cpu: str, cores: int) -> str:
    """Return the line of a model; a second word is how it is quantised."""
    kind, *how = name.split()
    model = models.build(kind)
    inputs = models.inputs_of(model)
    if how:
        model = quantized(model, inputs, how[0])
    mod, params = relay.frontend.from_onnx(model, {k: v.shape for k, v in inputs.items()}, freeze_params=True)
    with PassContext(opt_level=3):
        lib = build(mod, f"llvm -mcpu={cpu}", params=params)
    module = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    module.set_input(None, None, **inputs)
    runs = {
        (who, threads): run
        for threads in (1, cores)
        for who, run in (("ours", _on(threads, module.run)), ("theirs", theirs(model, inputs, threads=threads)))
    }
    found = {key: time * 1e3 for key, time in medians(runs).items()}
    ours, all_ours, other, all_other = (found[who, n] for who in ("ours", "theirs") for n in (1, cores))
    bounds = "".join(f"{bound(lib, module, n):7.1f}" for n in CORES)
    return (
        f"{name:20}{ours:9.2f}{all_ours:9.2f}{ours / all_ours:7.2f}{other:9.2f}{all_other:9.2f}{other / all_other:7.2f}"
        f"{all_ours / all_other:10.2f}{bounds}"
    )


def _on(threads: int, run: Callable[[], Any]) -> Callable[[], None]:
    def limited() -> None:
        set_num_threads(threads)
        run()

    return limited


def medians(runs: dict[tuple[str, int], Callable[[], Any]]) -> dict[tuple[str, int], float]:
    """Return the seconds of each; the first of its runs in a turn are not counted, as they find no data near."""
    times: dict[tuple[str, int], list[float]] = {key: [] for key in runs}
    for _ in range(_TURNS):
        for key, run in runs.items():
            for at in range(_RUNS):
                begin = time.perf_counter()
                run()
                if at > 1:
                    times[key].append(time.perf_counter() - begin)
    return {key: statistics.median(taken) for key, taken in times.items()}


def bound(lib: Any, module: Any, cores: int) -> float:
    """Return at most how many times as fast a model is on so many cores as on one."""
    set_num_threads(1)
    alone = shared = 0.0
    calls = module.module.thunks()
    taken = medians({(name, at): call for at, (name, call) in enumerate(calls)})
    for (name, _), seconds in taken.items():
        loops = [n for n in nodes_of(lib.kernels[name].prim_func.body, For) if n.kind is ForKind.PARALLEL]
        alone += seconds
        shared += seconds / min((at_most(loop, cores) for loop in loops), default=1.0)
    return alone / shared


def at_most(loop: For, cores: int) -> float:
    """Return how many times as fast a loop is on so many cores if all its iterations take as long."""
    iterations = loop.extent.value if isinstance(loop.extent, IntImm) else cores
    return iterations / -(-iterations // cores)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--mcpu", default="native")
    options = parser.parse_args(arguments)
    cores = num_threads()
    print(f"{'':20}{'ms here, on 1 and ' + str(cores):>25}{'ms of onnxruntime':>25}{'here /':>10}{'at most, on':>21}")
    print(
        f"{'':20}{'1':>9}{cores:>9}{'×':>7}{'1':>9}{cores:>9}{'×':>7}{'theirs':>10}{''.join(f'{n:7}' for n in CORES)}"
    )
    for name in options.models:
        print(row(name, options.mcpu, cores), flush=True)


if __name__ == "__main__":
    main()
