"""Time that chains of operators and of tensor expressions take, by their length: it should grow in step with it.

    python -m tests.benchmarks.long_chains [--lengths 250 500 1000 2000]

Seconds of processor time of each step.  A chain of Relay alternates ``exp`` and ``nn.relu``; one of tensor expressions
has a stage for each, which are placed as the row says.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import compiler as tvm
from compiler import relay, te, tir

ROW = "{:<18} {:>7} {:>8} {:>8} {:>8}"


class Stopwatch:
    """Processor time of one step after the other."""

    def __init__(self) -> None:
        self._last = time.process_time()

    def lap(self) -> str:
        """Return the seconds since the last step ended, as text."""
        before, self._last = self._last, time.process_time()
        return f"{self._last - before:.2f}"


def relay_chain(length: int) -> list[str]:
    """Parse, optimise and build a chain of operators."""
    y = x = relay.var("x", shape=(4,))
    for i in range(length):
        y = relay.nn.relu(y) if i % 2 else relay.exp(y)
    text = tvm.IRModule.from_expr(relay.Function([x], y)).astext()
    watch = Stopwatch()
    mod = relay.fromtext(text)
    parsed = watch.lap()
    relay.optimize(mod, "llvm")
    optimised = watch.lap()
    relay.build(mod, "llvm")
    return [parsed, optimised, watch.lap()]


def next_elements(before: te.Tensor, number: int) -> Callable[[tir.Var], tir.PrimExpr]:
    """Return what a tensor of a chain computes of the one before it."""
    return (lambda j: te.exp(before[j])) if number % 2 else (lambda j: before[j] + 1.0)


def tensor_chain(length: int, place: Callable[[te.Stage, te.Stage], object]) -> list[str]:
    """Define a chain of tensors, place all stages but the last, and lower it."""
    watch = Stopwatch()
    A = te.placeholder((64,), name="A")
    chain = [A]
    for i in range(length):
        chain.append(te.compute((64,), next_elements(chain[-1], i), name=f"T{i}"))
    defined = watch.lap()
    s = te.create_schedule(chain[-1].op)
    for t in chain[1:-1]:
        place(s[t], s[chain[-1]])
    scheduled = watch.lap()
    tvm.lower(s, [A, chain[-1]])
    return [defined, scheduled, watch.lap()]


PLACES: dict[str, Callable[[te.Stage, te.Stage], object]] = {
    "compute_root": lambda stage, last: stage.compute_root(),
    "compute_inline": lambda stage, last: stage.compute_inline(),
    "compute_at": lambda stage, last: stage.compute_at(last, last.op.axis[0]),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=[250, 500, 1000, 2000])
    lengths = parser.parse_args().lengths
    print(ROW.format("Relay", "length", "parse", "optimise", "build"))
    for length in lengths:
        print(ROW.format("relay.build", length, *relay_chain(length)))
    print(ROW.format("TE", "length", "define", "schedule", "lower"))
    for name, place in PLACES.items():
        for length in lengths:
            print(ROW.format(name, length, *tensor_chain(length, place)))


if __name__ == "__main__":
    main()
