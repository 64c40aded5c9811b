"""Kernels that lowering makes of schedules have no fault; without one of their barriers they have."""

from __future__ import annotations

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.driver.device_pipeline import synchronize
from compiler.driver.sanitize import sanitize
from compiler.ir.error import ArgumentError
from compiler.ir.expr.substitute import post_order_visit
from compiler.target.target import Target
from compiler.tir import Evaluate, Stmt
from compiler.tir.analysis.uniformity import is_barrier
from compiler.tir.sanitizer import Fault
from compiler.tir.sanitizer import sanitize as sanitize_function
from compiler.tir.statements.stmt import no_op
from compiler.tir.statements.stmt_functor import StmtMutator
from tests.compiler.driver.gpu_programs import KINDS, random_program
from tests.compiler.driver.gpu_types import typed_program


@pytest.mark.parametrize("first", [1000, pytest.param(1010, marks=pytest.mark.long)])
def test_lowered_programs_have_no_fault(first: int) -> None:
    for seed in range(first, first + 10):
        made = (random_program if seed % 5 else typed_program)(seed)
        arrays = made.arrays(seed)
        result = sanitize(made.schedule, made.args, KINDS[seed % len(KINDS)], arrays)
        assert result.complete
        assert not result.reports, f"seed {seed}: {result}"
        np.testing.assert_allclose(arrays[-1], made.reference(*arrays[:-1]), rtol=1e-5, err_msg=f"seed {seed}")


class _Without(StmtMutator):
    def __init__(self, barrier: Stmt) -> None:
        self._barrier = barrier

    def visit_Evaluate(self, n: Evaluate) -> Stmt:
        return no_op() if n is self._barrier else n


def test_every_barrier_of_shared_tiles_is_needed() -> None:
    checked = 0
    for seed in range(2000, 2020):
        made = random_program(seed)
        func = synchronize(tvm.lower(made.schedule, made.args), Target("cuda"))["main"]
        if "red_buf" in str(func):
            continue  # a reduction across threads brings its own barriers
        barriers: dict[Stmt, None] = {}
        post_order_visit(func.body, lambda n, barriers=barriers: barriers.update({n: None} if is_barrier(n) else {}))
        for barrier in barriers:
            result = sanitize_function(func.with_body(_Without(barrier).visit(func.body)), made.arrays(seed))
            assert Fault.DATA_RACE in {report.fault for report in result.reports}, f"seed {seed}: {func}"
            checked += 1
    assert checked > 3


def test_two_kernels_are_ordered() -> None:
    a = te.placeholder((8, 8), name="A")
    b = te.compute((8, 8), lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute((8, 8), lambda i, j: b[j, i], name="C")
    s = te.create_schedule(c.op)
    for tensor in (b, c):
        s[tensor].bind(tensor.op.axis[0], te.thread_axis("blockIdx.x"))
        s[tensor].bind(tensor.op.axis[1], te.thread_axis("threadIdx.x"))
    assert not sanitize(s, [a, b, c], "cuda").reports


def test_sizes_that_nothing_says() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="B")
    s = te.create_schedule(b.op)
    s[b].bind(b.op.axis[0], te.thread_axis("blockIdx.x"))
    with pytest.raises(ArgumentError, match=r"nothing says the size or value of .*; give the arrays"):
        sanitize(s, [a, b], "cuda")
    arrays = [np.arange(5, dtype="float32"), np.zeros(5, "float32")]
    assert not sanitize(s, [a, b], "cuda", arrays).reports
    np.testing.assert_array_equal(arrays[1], arrays[0] + 1)
