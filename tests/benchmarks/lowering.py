"""How long lowering, simplification and graph optimization take: ``python -m tests.benchmarks.lowering [--runs N]``.

The schedule is a 1024³ float32 matrix multiplication with two tiles, reorder, vectorize, parallel and unroll; the
expression has a division, a remainder and terms that cancel; the models are the small ones of the tests.  The times are
of the processor, for one call: the median of the runs, and the fastest.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Iterator

import compiler as tvm
import compiler.classic  # has relay.optimize
from compiler import relay, te
from compiler.arith import Analyzer
from compiler.ir.expr.substitute import substitute
from compiler.ir.origin import OriginTable, recording
from compiler.ir.transform import PassContext
from tests import models

Case = tuple[str, int, Callable[[], object]]
"""What is measured, how many calls are timed together, and the call."""


def matmul(size: int = 1024) -> tuple[te.Schedule, list[te.Tensor]]:
    """Return the schedule of a matrix multiplication, and its arguments."""
    a = te.placeholder((size, size), name="A")
    b = te.placeholder((size, size), name="B")
    k = te.reduce_axis((0, size), name="k")
    c = te.compute((size, size), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    schedule = te.create_schedule(c.op)
    i, j = c.op.axis
    rows, row = schedule[c].split(i, factor=32)
    columns, column = schedule[c].split(j, factor=32)
    steps, step = schedule[c].split(k, factor=4)
    schedule[c].reorder(rows, columns, steps, row, step, column)
    schedule[c].vectorize(column)
    schedule[c].parallel(rows)
    schedule[c].unroll(step)
    return schedule, [a, b, c]


def tensor_cases() -> Iterator[Case]:
    """Yield what happens to a kernel."""
    schedule, args = matmul()
    body = tvm.lower(schedule, args)["main"].body
    x, y = te.var("x"), te.var("y")
    index = (x * 8 + y) // 4 + x % 3 - y + x * 2 - x

    def lower_recorded() -> None:
        with recording(OriginTable()):
            tvm.lower(schedule, args)

    yield "create the schedule of matmul", 10, matmul
    yield "lower matmul", 10, lambda: tvm.lower(schedule, args)
    yield "lower matmul, origins recorded", 10, lower_recorded
    yield "substitute a variable in matmul", 50, lambda: substitute(body, {body.loop_var: x})
    yield "simplify an index", 100, lambda: Analyzer().simplify(index)


def graph_cases() -> Iterator[Case]:
    """Yield what happens to a graph."""
    for name in ("resnet18", "mobilenetv2", "bert", "lstm"):
        mod, params = relay.frontend.from_onnx(models.build(name, small=True), freeze_params=True)

        def optimize(mod: tvm.IRModule = mod, params: dict[str, tvm.nd.NDArray] = params) -> None:
            with PassContext(opt_level=3):
                relay.optimize(mod, target="llvm -mcpu=haswell", params=params)

        yield f"relay.optimize {name}", 1, optimize


def measure(calls: int, run: Callable[[], object], runs: int) -> list[float]:
    """Return the milliseconds of processor time of a call, one for each run."""
    run()
    times = []
    for _ in range(runs):
        gc.collect()
        start = time.process_time()
        for _ in range(calls):
            run()
        times.append((time.process_time() - start) / calls * 1e3)
    return times


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    print(f"{'milliseconds':<34}{'median':>10}{'fastest':>10}")
    for cases in (tensor_cases(), graph_cases()):
        for name, calls, run in cases:
            times = measure(calls, run, runs)
            print(f"{name:<34}{statistics.median(times):>10.3f}{min(times):>10.3f}", flush=True)


if __name__ == "__main__":
    main()
