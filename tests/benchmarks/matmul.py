"""The 1024³ float32 matrix multiplication of the gallery against NumPy's, in the same run.

    python -m tests.benchmarks.matmul [--rounds N] [--threads N …]

Packing is part of what is measured.  The two take turns, so that a machine that gets busy or hot does so for both; the
ratio is the median over the rounds.  Before each turn there is a pause: the threads of both libraries wait for more
work by spinning, and would take the other's cores.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import runpy
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from compiler.classic import alias
from compiler.runtime.arrays.ndarray import array, empty
from compiler.runtime.modules.native_code import host_cpu
from compiler.runtime.parallel.threads import set_num_threads
from compiler.runtime.timing.clock import Duration, disturbed_words, stopwatch
from compiler.target.cpu.peak import measure_peak

SCRIPT = Path(__file__).parents[2] / "app" / "gallery" / "05_matmul_packed.py"
SIZE = 1024
OPERATIONS = 2 * SIZE**3
PAUSE = 0.05
"""Seconds until threads that spin have gone to sleep."""
WARM_UP = 0.15
"""Seconds of calls that are not measured: the system moves threads that it woke on one core to cores of their own."""
CALLS = 5
"""Measured calls of one turn."""


def gallery_matmul() -> Any:
    """Return the function that the gallery's script builds."""
    alias.install()
    with contextlib.redirect_stdout(io.StringIO()):
        return runpy.run_path(str(SCRIPT))["matmul"]


def turn(call: Callable[[], object]) -> Duration:
    """Return the time of one call, the median of a turn."""
    time.sleep(PAUSE)
    warm = time.perf_counter() + WARM_UP
    while time.perf_counter() < warm:
        call()
    seconds = []
    for _ in range(CALLS):
        elapsed = stopwatch()
        call()
        seconds.append(elapsed())
    return statistics.median_low(seconds)


def compare(matmul: Any, threads: int, rounds: int) -> None:
    """Print one line: GFLOP/s of both and the ratio, on a number of threads."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((SIZE, SIZE), dtype="float32") for _ in range(2))
    product, wanted = empty((SIZE, SIZE)), np.empty((SIZE, SIZE), "float32")
    args = array(a), array(b), product
    set_num_threads(threads)
    with threadpool_limits(threads):
        pairs = [(turn(lambda: np.matmul(a, b, out=wanted)), turn(lambda: matmul(*args))) for _ in range(rounds)]
    np.testing.assert_allclose(product.numpy(), wanted, rtol=1e-3, atol=1e-3)
    numpy, ours = (OPERATIONS / statistics.median(times) / 1e9 for times in zip(*pairs, strict=True))
    low, ratio, high = statistics.quantiles((n / o for n, o in pairs), n=4, method="inclusive")
    peak = measure_peak("float32", threads)
    words = disturbed_words(seconds for pair in pairs for seconds in pair)
    print(f"{threads:7} {peak:9.1f} {numpy:9.1f} {ours:9.1f} {ratio:9.3f} {low:9.3f} {high:9.3f} {words}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    options = parser.parse_args()
    matmul = gallery_matmul()
    blas = ", ".join(f"{i['internal_api']} {i['version']}" for i in threadpool_info() if i["user_api"] == "blas")
    print(f"{host_cpu()}; NumPy {np.__version__} with {blas}; GFLOP/s, medians of {options.rounds} rounds")
    print(f"{'threads':>7} {'peak':>9} {'NumPy':>9} {'ours':>9} {'ratio':>9} {'25 %':>9} {'75 %':>9}")
    for threads in options.threads:
        compare(matmul, threads, options.rounds)


if __name__ == "__main__":
    main()
