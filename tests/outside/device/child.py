"""Runs one step in this process: ``python -m tests.outside.device.child STEP FILE [--emulated]``."""

from __future__ import annotations

import sys
from pathlib import Path

import compiler.classic  # noqa: F401  (TVM's names beside those of the core)
from tests.outside.device import gpu
from tests.outside.device.cases import run_cases
from tests.outside.device.steps import STEPS


def main(name: str, record: str, *options: str) -> None:
    """Run the cases of a step that are not recorded yet."""
    gpu.EMULATED = "--emulated" in options
    [step] = [step for step in STEPS if step.name == name]
    run_cases(step.load()(), Path(record))


if __name__ == "__main__":
    main(*sys.argv[1:])
