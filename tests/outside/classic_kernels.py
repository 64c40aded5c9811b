"""Compares the barriers of random kernels with those of classic TVM, in a process of its own.

    STRATA_CLASSIC_TVM=/path/to/python python -m tests.outside.classic_kernels [FIRST] [COUNT] [schedules]

The path is that of an interpreter that has ``tvm`` and NumPy installed.  The sanitizer runs what either side makes of a
kernel, and says whether threads race; NumPy says what they compute.  ``schedules`` compares random schedules of tensor
expressions instead, by the outlines of their functions after each pass; from a negative number on, definitions under
the default schedule of GPUs.
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np

import compiler as tvm
from compiler.tir.sanitizer import sanitize
from compiler.tir.statements.function import PrimFunc
from tests.outside.classic_te import Answer, from_classic
from tests.outside.kernel_scripts import Kernel, kernel
from tests.outside.run_kernel_scripts import run

__all__ = ["barriers", "faults", "from_here", "outcome"]

RUNNER = "run_kernel_scripts.py"
NUMBERS = (0, 1, 3)
"""The values of ``n`` that kernels are run with: loops that nobody enters, once, and again."""


def from_here(programs: list[str] | list[int]) -> list[Answer]:
    """Return what this compiler answers."""
    return [run(program, tvm) for program in programs]


def faults(made: Kernel, func: PrimFunc) -> list[str]:
    """Return what is wrong with a kernel whose threads wait for each other: reports, and results that NumPy has not."""
    found: list[str] = []
    for n in NUMBERS:
        arguments = made.arrays(0, n)
        expected = made.expected(arguments)
        found += map(str, sanitize(func, arguments).reports)
        if not np.array_equal(arguments[2], expected):
            found.append(f"n = {n}: {arguments[2].tolist()}, expected {expected.tolist()}")
    return found


def barriers(answer: Answer) -> int:
    """Return how many barriers the text of an answer has."""
    return int(answer["text"].count("tvm_storage_sync"))


def outcome(made: Kernel, here: Answer, classic: Answer) -> str:
    """Return how the two sides compare."""
    if "error" in here:
        return "both refuse" if "error" in classic else "refused here"
    if faults(made, tvm.script.from_source(here["text"])):
        return "wrong here"
    if "error" in classic:
        return "refused there"
    if faults(made, tvm.script.from_source(classic["text"])):
        return "wrong there"
    more = barriers(here) - barriers(classic)
    return "more barriers here" if more > 0 else "fewer barriers here" if more < 0 else "as many barriers"


def compare_schedules(seeds: range) -> Counter[str]:
    """Compare schedules, print those that differ, and return after which passes they do."""
    outcomes: Counter[str] = Counter()
    programs = list(seeds)
    for seed, here, classic in zip(seeds, from_here(programs), from_classic(programs, RUNNER), strict=True):
        if "error" in here or "error" in classic:
            outcomes["refused" + " here" * ("error" in here) + " there" * ("error" in classic)] += 1
            print(f"--- {seed}: here {here.get('error')}, there {classic.get('error')}")
            continue
        pairs = ((step, lines, classic["outlines"][step]) for step, lines in here["outlines"].items())
        other = next(((step, lines, theirs) for step, lines, theirs in pairs if lines != theirs), None)
        outcomes["same" if other is None else f"other after {other[0]}"] += 1
        if other is not None:
            print(f"--- {seed}: {other[0]}\nhere:  {other[1]}\nthere: {other[2]}")
    return outcomes


def compare_kernels(seeds: range) -> Counter[str]:
    """Compare kernels, print those that are wrong here, and return how many came out how."""
    outcomes: Counter[str] = Counter()
    made = [kernel(seed) for seed in seeds]
    scripts = [each.script() for each in made]
    for seed, each, here, classic in zip(seeds, made, from_here(scripts), from_classic(scripts, RUNNER), strict=True):
        found = outcome(each, here, classic)
        outcomes[found] += 1
        if found in ("wrong here", "refused here"):
            print(f"--- {seed}: {found}\n{each.script()}here: {here}\n")
    return outcomes


def main() -> None:
    """Print how programs compare, and those that differ."""
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    compare = compare_schedules if "schedules" in sys.argv else compare_kernels
    print(dict(compare(range(first, first + count))))


if __name__ == "__main__":
    main()
