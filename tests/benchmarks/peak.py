"""The largest rate of fused multiply-adds of this machine: on one thread in processor time where others disturb it.

python -m tests.benchmarks.peak [--threads N …]
"""

from __future__ import annotations

import argparse
import statistics

from compiler.runtime.device import cpu
from compiler.runtime.modules.native_code import host_cpu
from compiler.runtime.timing.clock import disturbed_words
from compiler.target.codegen import llvm_get_vector_width
from compiler.target.cpu.bandwidth import measure_bandwidth
from compiler.target.cpu.caches import machine_caches
from compiler.target.cpu.peak import fastest_run


def main() -> None:
    """Print GFLOP/s by data type, and the memory's GB/s, by number of threads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, cpu(0).multi_processor_count])
    threads = sorted(set(parser.parse_args().threads))
    print(f"{host_cpu()}, vectors of {llvm_get_vector_width()} bits, fused multiply-adds from registers")
    print(f"{'GFLOP/s':12}" + "".join(f"{f'{n} thread' + 's' * (n > 1):>12}" for n in threads))
    for dtype in ("float32", "float64"):
        runs = [[fastest_run(dtype, n) for _ in range(5)] for n in threads]
        rates = [statistics.median(operations / seconds / 1e9 for operations, seconds in row) for row in runs]
        words = disturbed_words(seconds for row in runs for _, seconds in row)
        print(f"{dtype:12}" + "".join(f"{rate:12.1f}" for rate in rates), words)
    caches = machine_caches()
    copies = [measure_bandwidth(n, caches) for n in threads]
    words = disturbed_words(copy.seconds for copy in copies)
    print(f"{'memory GB/s':12}" + "".join(f"{copy.rate / 1e9:12.1f}" for copy in copies), words)


if __name__ == "__main__":
    main()
