"""Compares random graphs under random passes with classic TVM, in a process of its own.

    STRATA_CLASSIC_TVM=/path/to/python python -m tests.outside.classic_relay [FIRST] [COUNT] [operators]

With ``operators`` each graph is the call of one operator, with drawn attributes and data types.
The path is that of an interpreter that has ``tvm`` and NumPy installed.
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np

import compiler as tvm
from compiler import relay
from tests.outside.classic_te import Answer, compare, from_classic
from tests.outside.operator_scripts import operator_script
from tests.outside.relay_scripts import relay_script
from tests.outside.run_relay_scripts import run

__all__ = ["compare_closely", "from_both", "from_here"]


def from_here(scripts: list[str]) -> list[Answer]:
    """Return what this compiler answers."""
    return [run(script, tvm, relay) for script in scripts]


def from_both(scripts: list[str]) -> list[tuple[str, Answer, Answer]]:
    """Return each script with what this compiler answers, and classic TVM."""
    return list(zip(scripts, from_here(scripts), from_classic(scripts, "run_relay_scripts.py"), strict=True))


def compare_closely(here: Answer, classic: Answer) -> str:
    """Return what :func:`compare` does, where real numbers may differ by rounding."""
    outcome = compare(here, classic)
    if outcome != "other values" or [len(a) for a in here["output"]] != [len(a) for a in classic["output"]]:
        return outcome
    pairs = zip(here["output"], classic["output"], strict=True)
    close = all(np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True) for a, b in pairs)
    return "same" if close else outcome


def main() -> None:
    """Print how many scripts differ, and those that do."""
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    outcomes: Counter[str] = Counter()
    draw = operator_script if "operators" in sys.argv[3:] else relay_script
    for script, here, classic in from_both([draw(seed) for seed in range(first, first + count)]):
        outcome = compare_closely(here, classic)
        outcomes[outcome] += 1
        if outcome in ("other values", "refused here"):
            print(f"--- {outcome}\n{script}here: {here}\nthere: {classic}\n")
    print(dict(outcomes))


if __name__ == "__main__":
    main()
