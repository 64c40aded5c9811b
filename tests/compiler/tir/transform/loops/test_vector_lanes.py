"""What the innermost loop of an emulated kernel runs over: threads of any axis, or independent iterations of each."""

from __future__ import annotations

import re
import textwrap

import numpy as np
import pytest

from compiler import te
from compiler.driver.build import build
from compiler.driver.emulate import emulate, lower_for_emulation
from compiler.driver.lower import lower
from compiler.ir.module import IRModule
from compiler.target.target import Target
from tests.compiler.tir.transform.programs import program

N = 300


def _product(bind):
    a, b = te.placeholder((N, N), name="A"), te.placeholder((N, N), name="B")
    k = te.reduce_axis((0, N), name="k")
    c = te.compute((N, N), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    bind(s, c)
    return s, [a, b, c]


def _rows(s, c):
    """A thread for each row."""
    block, thread = s[c].split(c.op.axis[0], 20)
    s[c].bind(block, te.thread_axis("blockIdx.x"))
    s[c].bind(thread, te.thread_axis("threadIdx.x"))


def _columns_along_y(s, c, local=False):
    """A thread for each element; those along x are in different rows."""
    own = s.cache_write(c, "local") if local else None
    (bi, ti), (bj, tj) = (s[c].split(axis, 20) for axis in c.op.axis)
    s[c].reorder(bi, bj, ti, tj)
    for loop, tag in ((bi, "blockIdx.x"), (bj, "blockIdx.y"), (ti, "threadIdx.x"), (tj, "threadIdx.y")):
        s[c].bind(loop, te.thread_axis(tag))
    if own is not None:
        s[own].compute_at(s[c], tj)


@pytest.mark.parametrize(
    ("bind", "innermost"),
    [
        (_rows, "k, threadIdx_x, j"),
        (_columns_along_y, "k, threadIdx_x, threadIdx_y"),
        (lambda s, c: _columns_along_y(s, c, local=True), "k, threadIdx_x, threadIdx_y"),
    ],
)
def test_neighbours_are_in_the_innermost_loop(bind, innermost):
    schedule, args = _product(bind)
    assert f"for {innermost} in T.grid(" in str(lower_for_emulation(lower(schedule, args), Target("cuda")))
    rng = np.random.default_rng(0)
    a, b, c = (rng.standard_normal((N, N), "float32") for _ in range(3))
    emulate(schedule, args, "cuda")(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-3, atol=1e-4)


LOOP = """for j in range(64):
    C[{at}] = 0
    for k in range(300):
        C[{at}] = C[{at}] + {value}"""


PARAMS = 'A: T.Buffer((19200,), "int32"), C: T.Buffer((256,), "int32")'


@pytest.mark.parametrize(
    ("at", "value", "independent"),
    [
        ("tx * 64 + j", "A[k * 64 + j]", True),
        ("(3 - tx) * 64 + j", "A[k * 64 + j]", True),
        ("tx * 64 + j", "A[k * 64 + j] + C[tx * 64 + T.max(j - 1, 0)]", False),  # of the iteration before
        ("tx * 64 + j // 2", "A[k * 64 + j]", False),  # two iterations write one element
        ("tx * 64", "A[k * 64 + j]", False),
        ("tx * 64 + T.min(j, 40)", "A[k * 64 + j]", False),  # the last iterations write one element
    ],
)
def test_only_independent_iterations_stand_for_threads(at, value, independent):
    """What each thread does in order is compared with the same loops without threads."""
    text = LOOP.format(at=at, value=value)
    kernel = program(f'tx = T.launch_thread("threadIdx.x", 4)\n{text}', PARAMS).with_attr("tir.noalias", True)
    emulated = lower_for_emulation(IRModule({"main": kernel}), Target("cuda"))
    assert bool(re.search(r"for k, threadIdx_x, j in T.grid", str(emulated))) is independent
    serial = program(f"for tx in range(4):\n{textwrap.indent(text, '    ')}", PARAMS)
    a = np.random.default_rng(0).integers(-9, 9, 300 * 64).astype("int32")
    c, expected = np.zeros((2, 256), "int32")
    build(emulated, target="llvm")(a, c)
    build(serial, target="llvm")(a, expected)
    np.testing.assert_array_equal(c, expected)


def test_pointers_that_may_lead_to_the_same_memory_keep_the_order():
    text = LOOP.format(at="tx * 64 + j", value="A[k * 64 + j]")
    kernel = program(f'tx = T.launch_thread("threadIdx.x", 4)\n{text}', PARAMS)
    assert "for k in range(300)" in str(lower_for_emulation(IRModule({"main": kernel}), Target("cuda")))
