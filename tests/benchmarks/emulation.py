"""512³ float32 matrix multiplications for a GPU, emulated on the CPU, against the gallery's schedule for the CPU.

    python -m tests.benchmarks.emulation [--rounds N]

One has tiles in shared memory and in the registers of its threads; the other, the gallery's naive one, a thread for
each row.  They take turns; the ratio is the median over the rounds, by the clock and by the processor time of all
threads, which other programs hardly spoil.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import compiler as tvm
from compiler import te
from compiler.classic import alias
from compiler.driver.emulate import emulate
from compiler.runtime.modules.module import Module
from tests.benchmarks.matmul import CALLS, SCRIPT, turn

SIZE = 512
LIMIT = 20
"""Times that emulation may take of the CPU's schedule."""
BLOCK, TILE, STEP = 64, 4, 8
"""Rows and columns of a block's and of a thread's tile, and how much of the reduction is staged at a time."""


def cpu_matmul() -> Module:
    """Return the gallery's packed multiplication for this size."""
    alias.install()
    text = SCRIPT.read_text().replace("1024", str(SIZE))
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(text, str(SCRIPT), "exec"), names)
    return names["matmul"]  # type: ignore[no-any-return]


def gpu_schedule() -> tuple[te.Schedule, list[te.Tensor]]:
    """Return a schedule with tiles in shared memory and in registers."""
    a, b = te.placeholder((SIZE, SIZE), name="A"), te.placeholder((SIZE, SIZE), name="B")
    k = te.reduce_axis((0, SIZE), name="k")
    c = te.compute((SIZE, SIZE), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    staged, local = [s.cache_read(tensor, "shared", [c]) for tensor in (a, b)], s.cache_write(c, "local")
    tx, ty = te.thread_axis("threadIdx.x"), te.thread_axis("threadIdx.y")
    rows, columns, i, j = s[c].tile(*c.op.axis, BLOCK, BLOCK)
    ti, tj, i, j = s[c].tile(i, j, TILE, TILE)
    for loop, axis in (
        (rows, te.thread_axis("blockIdx.y")),
        (columns, te.thread_axis("blockIdx.x")),
        (ti, ty),
        (tj, tx),
    ):
        s[c].bind(loop, axis)
    s[local].compute_at(s[c], tj)
    outer, inner = s[local].split(s[local].op.reduce_axis[0], factor=STEP)
    s[local].reorder(outer, inner, *s[local].op.axis)
    for tensor in staged:
        s[tensor].compute_at(s[local], outer)
        fused = s[tensor].fuse(*s[tensor].op.axis)
        for axis in (tx, ty):
            fused, thread = s[tensor].split(fused, factor=BLOCK // TILE)
            s[tensor].bind(thread, axis)
    return s, [a, b, c]


def naive_schedule() -> tuple[te.Schedule, list[te.Tensor]]:
    """Return the gallery's first schedule for a GPU: a thread for each row."""
    a, b = te.placeholder((SIZE, SIZE), name="A"), te.placeholder((SIZE, SIZE), name="B")
    k = te.reduce_axis((0, SIZE), name="k")
    c = te.compute((SIZE, SIZE), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    block, thread = s[c].split(c.op.axis[0], factor=64)
    s[c].bind(block, te.thread_axis("blockIdx.x"))
    s[c].bind(thread, te.thread_axis("threadIdx.x"))
    return s, [a, b, c]


def processor_seconds(call: Callable[[], object]) -> float:
    """Return the processor time of one call, the median of some, in all threads of this process."""
    seconds = []
    for _ in range(CALLS):
        started = time.process_time()
        call()
        seconds.append(time.process_time() - started)
    return statistics.median(seconds)


def ratio(times: dict[str, list[float]], name: str) -> float:
    """Return the median ratio of neighbouring rounds."""
    return statistics.median(e / c for e, c in zip(times[name], times["cpu"], strict=True))


def main() -> None:
    """Measure, check both results, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((SIZE, SIZE), dtype="float32") for _ in range(2))
    args = [tvm.nd.array(array) for array in (x, y, np.zeros((SIZE, SIZE), "float32"))]
    schedules = {"tiled": gpu_schedule(), "naive": naive_schedule()}
    runs = {name: emulate(*schedule, target="cuda") for name, schedule in schedules.items()} | {"cpu": cpu_matmul()}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    processor: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, function in runs.items():
            seconds[name].append(turn(lambda function=function: function(*args)))  # type: ignore[misc]
            processor[name].append(processor_seconds(lambda function=function: function(*args)))  # type: ignore[misc]
            np.testing.assert_allclose(args[2].numpy(), x @ y, rtol=1e-3, atol=1e-3)
    for name, each in seconds.items():
        median = statistics.median(each)
        own = statistics.median(processor[name])
        print(
            f"{name:8} {median * 1e3:7.2f} ms  {2 * SIZE**3 / median / 1e9:6.1f} GFLOP/s  {own * 1e3:7.2f} ms of CPUs"
        )
    for name in schedules:
        print(
            f"emulation of the {name} one takes {ratio(seconds, name):.1f} x the time of the CPU's schedule (at most "
            f"{LIMIT}), {ratio(processor, name):.1f} x its processor time"
        )


if __name__ == "__main__":
    main()
