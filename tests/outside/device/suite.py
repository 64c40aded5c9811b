"""The suite's tests that emulate kernels for ``cuda``, with the device in place of emulation.

python -m pytest -p tests.outside.device.suite FILE ...
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from compiler.classic.relay import emulate as graphs
from compiler.driver import emulate as programs
from compiler.driver.build import build
from compiler.driver.relay.build import build as build_graph
from compiler.runtime.machine import available_cores
from compiler.target.target import Target
from tests.outside.device import gpu
from tests.outside.device.cases import SHARDS, Case, Record, Wrong

_OTHERWISE = (
    "test_a_launch_without_a_device_explains_itself",
    "test_a_barrier_that_not_all_threads_come_to",  # and what else emulation says of a program
    "test_what_emulation_says_of_other_warps_and_fragments",
    "test_fragments_are_emulated and float32",  # the bits of the interpreter's sums, which tensor cores round otherwise
    "test_instructions_of_warps_are_emulated",
)
"""Tests that ask for more than the values that a device computes."""
FOLDER = Path(__file__).parents[2]
_emulated, _emulated_graph = programs.emulate, graphs.emulate_graph


def _emulate(inputs: Any, args: Any = None, target: Any = None, *others: Any, **more: Any) -> Any:
    chosen = Target(target) if target is not None else Target.current() or Target("cuda")
    if chosen.kind != "cuda":
        return _emulated(inputs, args, target, *others, **more)
    return build(inputs, args, "cuda", *others, **more)


def _emulate_graph(ir_mod: Any, target: Any = "cuda", params: Any = None, *others: Any) -> Any:
    if Target(target).kind != "cuda":
        return _emulated_graph(ir_mod, target, params, *others)
    return build_graph(ir_mod, "cuda", params=params)


def pytest_configure(config: pytest.Config) -> None:
    """Put the device in the place of emulation, before tests import that."""
    programs.emulate, graphs.emulate_graph = _emulate, _emulate_graph


def files() -> list[Path]:
    """Return the test files that emulate kernels."""
    tests = sorted((FOLDER / "compiler").rglob("test_*.py"))
    return [path for path in tests if any(name in path.read_text() for name in (" emulate(", " emulate_graph("))]


def cases(shard: int) -> Iterator[Case]:
    """Yield every so many file."""
    for path in files()[shard::SHARDS]:
        yield str(path.relative_to(FOLDER)), partial(_case, path)


def _case(path: Path) -> Record:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        plugin = [] if gpu.EMULATED else ["-p", "tests.outside.device.suite"]
        workers = str(max(available_cores() // SHARDS, 1))
        asked = ["-q", "-n", workers, "-p", "no:cacheprovider", *plugin, f"--junitxml={report}", str(path)]
        asked += ["-k", " and ".join(f"not ({name})" for name in _OTHERWISE)]
        command = [sys.executable, "-m", "pytest", *asked]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=150)
        if not report.exists():
            raise Wrong(done.stdout[-500:] + done.stderr[-500:])
        tests = list(ElementTree.parse(report).getroot().iter("testcase"))
    failures = {
        str(test.get("name")): str(failure.get("message"))[:300]
        for test in tests
        for failure in (*test.findall("failure"), *test.findall("error"))
    }
    return {"status": "wrong" if failures else "ok", "tests": len(tests), "failures": failures}
