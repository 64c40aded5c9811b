"""Kernels of extents that no vector divides, beside the same at the next extent that one divides.

    python -m tests.benchmarks.tails [WORD …] [--mcpu NAME] [--count N] [--seed N]

A random sample of extents for each kind of kernel, compiled by the default schedules of operators.  The time of an
element is that of the kernel by its operations; both kernels take turns on one thread, in processor time.  Printed are
the least times, and the least and median ratios by element; where both ratios exceed the goal, a star says so.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from compiler import relay
from compiler.classic.contrib import graph_executor
from compiler.driver.relay.build import build
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.relay.expr import Expr
from compiler.runtime.device import cpu
from compiler.runtime.parallel.threads import set_num_threads
from tests.benchmarks.against_classic.__main__ import measure

_VECTOR = 16
_GOAL = 1.25


def _known(*shape: int) -> Expr:
    return relay.const(np.random.default_rng(0).standard_normal(shape, "float32"))


def _data(*shape: int) -> Expr:
    return relay.var("x", shape=shape)


def _pool(n: int) -> Expr:
    return relay.nn.max_pool2d(_data(1, 16, n, n), (3, 3), (1, 1), padding=(1, 1))


def _depthwise(n: int) -> Expr:
    return relay.nn.conv2d(_data(1, 32, n, n), _known(32, 1, 3, 3), padding=1, groups=32, channels=32, kernel_size=3)


def _norm(n: int) -> Expr:
    return relay.nn.layer_norm(_data(64, n), _known(n), _known(n))


KINDS: dict[str, tuple[Callable[[int], Expr], int]] = {
    "matmul, columns": (lambda n: relay.nn.dense(_data(96, 128), _known(n, 128)), 1),
    "matmul, rows": (lambda n: relay.nn.dense(_data(n, 128), _known(96, 128)), 1),
    "matmul, depth": (lambda n: relay.nn.dense(_data(96, n), _known(96, n)), 1),
    "depthwise": (_depthwise, 2),
    "pool": (_pool, 2),
    "softmax": (lambda n: relay.nn.softmax(_data(64, n)), 1),
    "norm": (_norm, 1),
    "elementwise": (lambda n: relay.sigmoid(_data(50 * n)), 1),
}
"""Kernels by an extent, and the power of it that their work grows with."""


def call_of(define: Callable[[int], Expr], extent: int, target: str) -> Callable[[], Any]:
    """Return what runs a kernel once."""
    module = IRModule.from_expr(define(extent))
    with PassContext(opt_level=3):
        lib = build(module, target)
    executor = graph_executor.GraphModule(lib["default"](cpu(0)))
    (x,) = relay.analysis.free_vars(define(extent))
    executor.set_input(
        "x", np.random.default_rng(0).standard_normal([int(d) for d in x.type_annotation.shape], "float32")
    )
    return executor.run  # type: ignore[no-any-return]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--mcpu", default="native")
    parser.add_argument("--count", type=int, default=4, help="extents of each kind")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    set_num_threads(1)
    chosen, above, total = random.Random(given.seed), 0, 0
    print(f"{'kernel':20}{'extent':>8}{'next':>8}{'µs':>10}{'µs':>10}{'least':>8}{'median':>8}")
    for kind, (define, power) in KINDS.items():
        extents = chosen.sample([n for n in range(17, 260) if n % _VECTOR], given.count)
        if given.words and not any(word in kind for word in given.words):
            continue
        for extent in sorted(extents):
            after = -(-extent // _VECTOR) * _VECTOR
            times = measure([call_of(define, n, f"llvm -mcpu={given.mcpu}") for n in (extent, after)], given.rounds)
            grown = (after / extent) ** power
            least = min(times[0]) / min(times[1]) * grown
            middle = statistics.median(a / b for a, b in zip(*times, strict=True)) * grown
            total, above = total + 1, above + (min(least, middle) > _GOAL)
            mine, other = (min(t) * 1e6 for t in times)
            star = " *" * (min(least, middle) > _GOAL)
            print(f"{kind:20}{extent:8}{after:8}{mine:10.1f}{other:10.1f}{least:8.2f}{middle:8.2f}{star}", flush=True)
    print(f"{above} of {total} above {_GOAL}")


if __name__ == "__main__":
    main()
