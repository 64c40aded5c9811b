"""How long a large TVMScript module takes to be read and written: ``python -m tests.benchmarks.tvmscript [--lines N]``.

One module has many functions of blocks, the other one function of many loops.  The times are of the processor: the
median of the runs.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

from compiler.ir.structural import assert_structural_equal
from compiler.tir.script import from_source

_HEADER = "from tvm.script import ir as I\nfrom tvm.script import tir as T\n\n@I.ir_module\nclass Module:\n"
_BUFFER = 'T.Buffer((128, 128), "float32")'
_MATMUL = f"""
    @T.prim_func
    def matmul_{{}}(A: {_BUFFER}, B: {_BUFFER}, C: {_BUFFER}):
        D = T.alloc_buffer((128, 128))
        for i, j, k in T.grid(128, 128, 128):
            with T.block("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(A[vi, vk], B[vk, vj])
                T.writes(D[vi, vj])
                with T.init():
                    D[vi, vj] = T.float32(0)
                D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(128, 128):
            with T.block("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(D[vi, vj])
                T.writes(C[vi, vj])
                C[vi, vj] = T.max(D[vi, vj], T.float32(0))
"""
_LOOP = "        for i in range(128):\n            B[i * 4 + {0}] = A[i * 3] * T.float32({0}) + T.exp(A[i + {0}])"


def functions(lines: int) -> str:
    """Return a module of functions with blocks."""
    return _HEADER + "".join(_MATMUL.format(index) for index in range(lines // _MATMUL.count("\n")))


def loops(lines: int) -> str:
    """Return a module with one function, which has many loops."""
    header = '    @T.prim_func\n    def main(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32")):\n'
    return _HEADER + header + "\n".join(_LOOP.format(index) for index in range(lines // 2))


def seconds(call: Callable[[], object], runs: int) -> float:
    """Return the median of the processor's time for a call."""
    times = []
    for _ in range(runs):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return statistics.median(times)


def main() -> None:
    """Print a line for each module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=5000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    for title, make in (("functions of blocks", functions), ("one function of loops", loops)):
        text = make(options.lines)
        mod = from_source(text)
        assert_structural_equal(from_source(mod.script()), mod)
        read, written = (seconds(lambda text=text: from_source(text), options.runs), seconds(mod.script, options.runs))
        count = len(text.splitlines())
        print(f"{title}, {count} lines: read in {read:.2f} s, written in {written:.2f} s")


if __name__ == "__main__":
    main()
