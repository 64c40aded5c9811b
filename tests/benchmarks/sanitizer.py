"""Time that the checking interpreter takes for an access, with blocks of 256 threads.

    python -m tests.benchmarks.sanitizer [--accesses N]

The kernel is the matrix multiplication of :mod:`tests.benchmarks.gpu_code`, with tiles in shared memory; lowering it
for a device is not counted.
"""

from __future__ import annotations

import argparse
import time

import compiler as tvm
from compiler.driver.device_pipeline import synchronize
from compiler.driver.sanitize import random_arguments
from compiler.target.target import Target
from compiler.tir.sanitizer import sanitize
from tests.benchmarks.gpu_code import names_of_script


def main() -> None:
    """Print the least time of five runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accesses", type=int, default=100_000)
    accesses = parser.parse_args().accesses
    names = names_of_script()
    func = synchronize(tvm.lower(names["s"], [names["A"], names["B"], names["C"]]), Target("cuda"))["main"]
    taken = []
    for _ in range(5):
        arrays = random_arguments(func)
        started = time.process_time()
        result = sanitize(func, arrays, max_accesses=accesses)
        taken.append(time.process_time() - started)
        assert not result.reports, result
    print(f"{min(taken) / accesses * 1e6:.2f} µs an access of {result.threads} threads ({accesses:,} accesses)")


if __name__ == "__main__":
    main()
