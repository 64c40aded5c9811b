"""Spoils the barriers, indices and memory of random kernels, and asks whether the sanitizer says so.

    python -m tests.outside.kernel_mutations [FIRST] [COUNT]

A spoilt kernel is run with its threads in several orders.  Where its results depend on the order, or it leaves its
memory, the sanitizer must report it, in the order that it always takes.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any
from unittest import mock

import compiler as tvm
from compiler.ir.expr.substitute import post_order_visit
from compiler.ir.node import rebuild
from compiler.tir import BufferLoad, BufferStore, Evaluate, PrimFunc
from compiler.tir.analysis.uniformity import is_barrier
from compiler.tir.sanitizer import Fault, SanitizerResult, program, sanitize
from compiler.tir.sanitizer.program import RunningThread, run_block
from compiler.tir.statements.stmt import Allocate, SeqStmt, no_op
from compiler.tir.statements.stmt_functor import StmtMutator
from tests.outside.classic_kernels import NUMBERS, from_here
from tests.outside.kernel_scripts import Kernel, kernel

__all__ = ["mutants", "unreported"]

ORDERS = 4
"""In so many orders the threads of a block take turns."""


class _Replace(StmtMutator):
    def __init__(self, old: Any, new: Any) -> None:
        self._old, self._new = old, new

    def visit(self, n: Any) -> Any:
        return self._new if n is self._old else super().visit(n)


def mutants(func: PrimFunc, random: Random) -> Iterator[tuple[str, PrimFunc]]:
    """Yield kernels that differ in one place: a barrier is gone or comes later, an index is another, memory is less."""
    nodes: list[Any] = []
    post_order_visit(func.body, nodes.append)

    def replaced(old: Any, new: Any) -> PrimFunc:
        return func.with_body(_Replace(old, new).visit(func.body))

    for n in nodes:
        if isinstance(n, Evaluate) and is_barrier(n):
            yield "barrier removed", replaced(n, no_op())
        elif isinstance(n, SeqStmt):
            for at, (first, second) in enumerate(zip(n.seq, n.seq[1:], strict=False)):
                if is_barrier(first) and not is_barrier(second):
                    yield "barrier moved", replaced(n, SeqStmt((*n.seq[:at], second, first, *n.seq[at + 2 :])))
        elif isinstance(n, BufferLoad | BufferStore) and n.buffer.scope().startswith("shared"):
            other = (n.indices[0] + random.choice((1, 3))) % n.buffer.shape[0]
            yield "index changed", replaced(n, rebuild(n, indices=(other,)))
        elif isinstance(n, Allocate):
            yield "memory halved", replaced(n, rebuild(n, extents=(n.extents[0] // 2,)))


def _run(made: Kernel, func: PrimFunc, n: int, order: int) -> tuple[SanitizerResult, list[int]]:
    """Run a kernel whose threads take turns in an order, the first of which is that of their positions."""
    shuffle = Random(order)

    def run_shuffled(threads: Sequence[RunningThread], result: SanitizerResult) -> None:
        run_block(shuffle.sample(threads, len(threads)) if order else threads, result)

    arguments = made.arrays(0, n)
    with mock.patch.object(program, "run_block", run_shuffled):
        result = sanitize(func, arguments)
    return result, arguments[2].tolist()


def unreported(made: Kernel, func: PrimFunc) -> list[str]:
    """Return what differs between the orders of threads without a report."""
    found = []
    for n in NUMBERS:
        result, first = _run(made, func, n, 0)
        if not result.reports:
            others = [_run(made, func, n, order)[1] for order in range(1, ORDERS)]
            found += [f"n = {n}: {first}, in another order {other}" for other in others if other != first]
    return found


def reports(made: Kernel, func: PrimFunc) -> set[Fault]:
    """Return the kinds of faults that the sanitizer reports of a kernel."""
    return {report.fault for n in NUMBERS for report in _run(made, func, n, 0)[0].reports}


def main() -> None:
    """Print how many mutants of each kind are reported, and those that should be, and are not."""
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    outcomes: Counter[str] = Counter()
    for seed in range(first, first + count):
        made = kernel(seed)
        (answer,) = from_here([made.script()])
        if "error" in answer:
            continue
        for kind, mutant in mutants(tvm.script.from_source(answer["text"]), Random(seed)):
            reported = bool(reports(made, mutant))
            missed = [] if reported else unreported(made, mutant)
            outcomes[f"{kind}, {'reported' if reported else 'missed' if missed else 'harmless'}"] += 1
            if missed:
                print(f"--- {seed}: {kind}: {missed[0]}\n{mutant}")
    print(dict(sorted(outcomes.items())))


if __name__ == "__main__":
    main()
