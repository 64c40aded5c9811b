"""Sorting and scans by kernels: what NumPy computes, without races, in steps that grow with the rows' logarithm.

``STRATA_EXAMPLES=500 python -m pytest tests/compiler/topi/gpu/test_sort_and_scan.py`` looks at that many programs.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

import compiler as tvm
from compiler.driver.emulate import emulate
from compiler.driver.sanitize import sanitize
from compiler.ir.expr.primexpr import IntImm
from compiler.ir.expr.substitute import post_order_visit
from compiler.target import Target
from compiler.target.cuda_tools import compile_cuda, missing_tools
from compiler.tir.statements.stmt import For
from compiler.topi.device import rows
from tests.compiler.topi.gpu.sorting import DTYPES, RowProgram, program

EXAMPLES = int(os.environ.get("STRATA_EXAMPLES", "8"))


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 8 threads: short rows take several merges, and totals of totals."""
    monkeypatch.setattr(rows, "_THREADS", 8)


def _check(made: RowProgram, arrays: list[np.ndarray], what: str) -> None:
    for result, expected in zip(arrays[len(made.inputs) :], made.expected, strict=True):
        np.testing.assert_array_equal(result, expected, err_msg=what)


@pytest.mark.sample(3)
@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_random_rows_under_emulation(seed: int) -> None:
    made = program("cuda", seed)
    arrays = made.arrays()
    emulate(made.schedule, made.args, Target("cuda", host="llvm -opt-level=1"))(*arrays)
    _check(made, arrays, f"seed {seed}")


@pytest.mark.usefixtures("small_blocks")
def test_kernels_have_no_races() -> None:
    for seed in range(100, 100 + EXAMPLES // 2):
        made = program("webgpu", seed, (1, 25), DTYPES[:2])
        arrays = made.arrays()
        result = sanitize(made.schedule, made.args, "webgpu", arrays)
        assert result.complete
        assert not result.reports, f"seed {seed}: {result}"
        _check(made, arrays, f"seed {seed}")


def test_work_grows_with_the_logarithm_of_rows() -> None:
    """No loop of any kernel is longer than the bits of a row's length."""
    for seed in (1, 4):
        made = program("cuda", seed, (100_000, 100_000), ("float32",))
        loops: list[For] = []
        body = tvm.lower(made.schedule, made.args)["main"].body
        post_order_visit(body, lambda n, loops=loops: loops.extend([n] if isinstance(n, For) else []))
        # Others run once more in each turn of a loop around them.
        assert all(loop.extent.value <= 17 for loop in loops if isinstance(loop.extent, IntImm))


@pytest.mark.skipif(bool(missing_tools()), reason=missing_tools() or "none")
@pytest.mark.usefixtures("small_blocks")
def test_cuda_compiles_the_kernels() -> None:
    made = program("cuda", 2)
    source = tvm.build(made.schedule, made.args, "cuda").imported_modules[0].get_source()
    for kernel in compile_cuda(source).kernels:
        assert (kernel.resources.spill_store_bytes, kernel.resources.spill_load_bytes) == (0, 0)
