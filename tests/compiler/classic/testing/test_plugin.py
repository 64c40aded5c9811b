"""The pytest plugin gives tests their targets, and parameters that belong together."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import tvm
import tvm.testing

height, width = tvm.testing.parameters((1, 2), (3, 4))
dtype = tvm.testing.parameter("float32", "int8")
made = []


@tvm.testing.fixture(cache_return_value=True)
def data(height):
    made.append(height)
    return [height]


def test_together(target, dev, height, width, dtype, data):
    assert (height, width) in ((1, 2), (3, 4)) and dev == tvm.cpu(0) and data == [height]
    data.append(0)


class TestOfClass:
    rows, columns = tvm.testing.parameters((5, 6))
    layout = tvm.testing.parameter("NCHW")

    def test_in_a_class(self, rows, columns, layout):
        assert (rows, columns, layout) == (5, 6, "NCHW")


def test_cached():
    assert sorted(made) == [1, 3]


@tvm.testing.fixture(cache_return_value=True)
def stream():
    return (n for n in ())


def test_refused(stream):
    raise AssertionError


@tvm.testing.parametrize_targets("llvm -mcpu=native", "cuda")
def test_own_targets(target):
    assert target == "llvm -mcpu=native"


@tvm.testing.known_failing_targets("llvm")
def test_fails(target):
    raise AssertionError


@tvm.testing.exclude_targets("llvm")
def test_excluded(target):
    raise AssertionError


@tvm.testing.requires_cuda
def test_needs_cuda():
    raise AssertionError


@tvm.testing.requires_llvm
@tvm.testing.uses_gpu
def test_needs_llvm():
    pass


@tvm.testing.skip_parameterizations("float32", reason="not this one")
@tvm.testing.xfail_parameterizations("int8", reason="wrong")
def test_some(dtype):
    raise AssertionError
"""

EXPECTED = [
    "PASSED TestOfClass::test_in_a_class[NCHW-5-6]",
    "PASSED test_cached",
    "PASSED test_needs_llvm",
    "PASSED test_own_targets[llvm -mcpu=native]",
    "PASSED test_together[float32-1-2-llvm]",
    "PASSED test_together[float32-3-4-llvm]",
    "PASSED test_together[int8-1-2-llvm]",
    "PASSED test_together[int8-3-4-llvm]",
    "XFAIL test_fails[llvm]",
    "XFAIL test_some[int8]",
]


def test_a_file_of_tests(tmp_path: Path) -> None:
    (tmp_path / "test_program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "compiler", "-m", "pytest", "-q", "-rA", "-c", os.devnull, "--rootdir", tmp_path]
    root = Path(__file__).parents[4]
    environment = {**os.environ, "PYTHONPATH": str(root), "TVM_TEST_TARGETS": "llvm;cuda"}
    ran = subprocess.run([*command, tmp_path], env=environment, cwd=tmp_path, capture_output=True, text=True)
    lines = [line.replace("test_program.py::", "").split(" - ")[0] for line in ran.stdout.splitlines()]
    assert sorted(line for line in lines if line.startswith(("PASSED", "XFAIL", "FAILED"))) == EXPECTED
    assert [line for line in lines if line.startswith("ERROR test")] == ["ERROR test_refused"]
    assert "a value of type generator cannot be cached" in ran.stdout
    assert "nothing runs on a GPU here" in ran.stdout
    assert "8 passed" in ran.stdout
