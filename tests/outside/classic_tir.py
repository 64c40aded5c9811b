"""Compares random expressions of loop IR with classic TVM, in a process of its own, and with NumPy.

    STRATA_CLASSIC_TVM=/path/to/python python -m tests.outside.classic_tir [FIRST] [COUNT]

The path is that of an interpreter that has ``tvm`` and NumPy installed.
"""

from __future__ import annotations

import sys
from collections import Counter

import compiler as tvm
from compiler import te, tir
from tests.outside.classic_te import Answer, from_classic
from tests.outside.run_tir_scripts import FORMS, run
from tests.outside.tir_scripts import tir_script, values_of

__all__ = ["faults", "from_here", "precision"]


def from_here(scripts: list[str]) -> list[Answer]:
    """Return what this compiler answers."""
    return [run(script, tvm, te, tir) for script in scripts]


def faults(script: str, answer: Answer) -> list[str]:
    """Return what of an answer is not so, as NumPy says."""
    values = values_of(script)
    if "error" in answer:
        return [answer["error"]]
    wrong = [form for form in FORMS if answer[form] != values.tolist()]
    low, high = answer["bound"]
    if low > values.min() or high < values.max():
        wrong.append(f"bound {low} to {high}, values {values.min()} to {values.max()}")
    coeff, base = answer["modular"]
    if any((values - base) % coeff) if coeff else any(values != base):
        wrong.append(f"modular set {coeff} * k + {base}")
    return wrong


def precision(here: Answer, classic: Answer) -> str:
    """Return how the bounds of the values compare: ``same``, ``tighter here``, ``tighter there`` or ``other``."""
    (low, high), (classic_low, classic_high) = here["bound"], classic["bound"]
    if (low, high) == (classic_low, classic_high):
        return "same"
    if low >= classic_low and high <= classic_high:
        return "tighter here"
    return "tighter there" if low <= classic_low and high >= classic_high else "other"


def main() -> None:
    """Print how many scripts are computed rightly on each side, and those that are not here."""
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    scripts = [tir_script(seed) for seed in range(first, first + count)]
    outcomes: Counter[str] = Counter()
    for script, here, classic in zip(
        scripts, from_here(scripts), from_classic(scripts, "run_tir_scripts.py"), strict=True
    ):
        wrong, wrong_there = faults(script, here), faults(script, classic)
        outcomes["wrong here"] += bool(wrong)
        outcomes["wrong there"] += bool(wrong_there)
        if wrong:
            print(f"--- {wrong}, there {wrong_there}\n{script}")
        if "error" not in here and "error" not in classic:
            outcomes[f"bounds: {precision(here, classic)}"] += 1
    print(dict(outcomes))


if __name__ == "__main__":
    main()
