"""Compares random scripts of tensor expressions with classic TVM, in a process of its own.

    STRATA_CLASSIC_TVM=/path/to/python python -m tests.outside.classic_te [FIRST] [COUNT]

The path is that of an interpreter that has ``tvm`` and NumPy installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import compiler as tvm
from compiler import te, tir
from tests.outside.run_te_scripts import run
from tests.outside.te_scripts import te_script

__all__ = ["CLASSIC", "Answer", "compare", "from_classic", "from_here"]

CLASSIC = os.environ.get("STRATA_CLASSIC_TVM", "")
"""The interpreter that has classic TVM; empty where there is none."""

Answer = dict[str, Any]
"""``output`` with the elements, or ``error``."""


def from_here(scripts: list[str]) -> list[Answer]:
    """Return what this compiler answers."""
    return [run(script, tvm, te, tir) for script in scripts]


def from_classic(scripts: list[str], runner_name: str = "run_te_scripts.py") -> list[Answer]:
    """Return what classic TVM answers; a script that ends the process is an error, and the next ones go on."""
    answers: list[Answer] = []
    while len(answers) < len(scripts):
        rest = scripts[len(answers) :]
        runner = Path(__file__).with_name(runner_name)
        command = [CLASSIC, str(runner)]
        done = subprocess.run(command, input=json.dumps(rest), capture_output=True, text=True, timeout=600, check=False)
        answers += [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if len(answers) < len(scripts) and done.returncode:
            answers.append({"error": f"the process ended with {done.returncode}: {done.stderr[-200:]}"})
    return answers


def compare(here: Answer, classic: Answer) -> str:
    """Return ``same``, ``other values``, ``both refuse``, ``refused here`` or ``refused there``."""
    if "error" in here:
        return "both refuse" if "error" in classic else "refused here"
    if "error" in classic:
        return "refused there"
    return "same" if here["output"] == classic["output"] else "other values"


def main() -> None:
    """Print how many scripts differ, and those that do."""
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    seeds = range(first, first + count)
    scripts = [te_script(seed) for seed in seeds]
    outcomes: Counter[str] = Counter()
    for seed, script, here, classic in zip(seeds, scripts, from_here(scripts), from_classic(scripts), strict=True):
        outcome = compare(here, classic)
        outcomes[outcome] += 1
        if outcome in ("other values", "refused here"):
            print(f"--- {seed}: {outcome}\n{script}here: {here}\nthere: {classic}\n")
    print(dict(outcomes))


if __name__ == "__main__":
    main()
