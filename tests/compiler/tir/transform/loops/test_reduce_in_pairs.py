"""Loops with the pragma ``pairwise`` reduce in pairs; what cannot be done so stays as it is."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler import te
from compiler.tir.statements.stmt import AttrStmt, For, ForKind
from compiler.tir.transform import ReduceInPairs
from tests.compiler.tir.transform.programs import apply, assert_pass, assert_same, nodes, program

MARKED = """
with T.attr(0, "pragma_pairwise", 1):
    for k in range({extent}):
        {step}
"""
OF_EIGHT = """
pairs_1 = T.allocate([2], "int32", "local")
pairs = T.allocate([4], "int32", "local")
pairs_2 = T.Buffer((4,), "int32", data=pairs, scope="local")
for k in T.vectorized(4):
    pairs_2[k] = A[k] + A[k + 4]
pairs_3 = T.Buffer((2,), "int32", data=pairs_1, scope="local")
for k in T.vectorized(2):
    pairs_3[k] = pairs_2[k] + pairs_2[k + 2]
C[0] = C[0] + (pairs_3[0] + pairs_3[1])
"""


def test_halves_are_added_until_two_elements_are_left() -> None:
    assert_pass(ReduceInPairs(), MARKED.format(extent=8, step="C[0] = C[0] + A[k]"), OF_EIGHT)


@pytest.mark.parametrize("extent", [2, 4, 6, 12, 16, 48])
@pytest.mark.parametrize(
    "value", ["C[n] + A[k]", "A[k] + C[n]", "C[n] * A[k]", "T.max(C[n], A[k])", "T.min(C[n], A[k] * 2 - k)"]
)
def test_the_result_is_the_same(extent: int, value: str) -> None:
    func = program(MARKED.format(extent=extent, step=f"C[n] = {value}"))
    after = apply(func, ReduceInPairs())
    assert ForKind.SERIAL not in {loop.kind for loop in nodes(after, For)}, "all that is left is vectors"
    assert_same(func, after, scalars={"n": 3})


@pytest.mark.parametrize(
    ("extent", "step"),
    [
        (7, "C[0] = C[0] + A[k]"),
        (1, "C[0] = C[0] + A[k]"),
        ("n", "C[0] = C[0] + A[k]"),
        (8, "C[k] = C[k] + A[k]"),
        (8, "C[0] = C[1] + A[k]"),
        (8, "C[0] = A[k] + A[k + 1]"),
        (8, "C[0] = C[0] + C[k]"),
        (8, "C[0] = C[0] - A[k]"),
        (8, "if A[k] > 3:\n            C[0] = C[0] + A[k]"),
    ],
)
def test_what_is_no_reduction_of_pairs_loses_the_pragma_only(extent: object, step: str) -> None:
    func = program(MARKED.format(extent=extent, step=step))
    after = apply(func, ReduceInPairs())
    assert not nodes(after, AttrStmt)
    (loop,) = nodes(after, For)
    assert loop is nodes(func, For)[0]
    assert_same(func, after, scalars={"n": 5})


def test_nothing_is_in_pairs_within_vectors() -> None:
    inner = MARKED.format(extent=8, step="C[i] = C[i] + A[i * 8 + k]").replace("\n", "\n    ")
    after = apply(program(f"for i in T.vectorized(4):{inner}"), ReduceInPairs())
    assert [loop.kind for loop in nodes(after, For)] == [ForKind.SERIAL, ForKind.VECTORIZED]


@pytest.mark.parametrize("target", ["cuda", "metal", "opencl"])
def test_threads_of_a_gpu_go_on_one_after_the_other(target: str) -> None:
    """Vectors as wide as half of a loop are none that a GPU has."""
    a, k = te.placeholder((4, 64), name="a"), te.reduce_axis((0, 64), "k")
    total = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="total")
    schedule = te.create_schedule(total.op)
    schedule[total].bind(total.op.axis[0], te.thread_axis("threadIdx.x"))
    schedule[total].pragma(k, "pairwise")
    (kernels,) = compiler.build(schedule, [a, total], target).imported_modules
    assert "pairs" not in kernels.get_source()


def test_without_the_pragma_a_function_stays_as_it_is() -> None:
    assert_pass(ReduceInPairs(), "for k in range(8):\n    C[0] = C[0] + A[k]")


def test_the_pragma_of_a_schedule_sums_a_row_up_in_pairs() -> None:
    a = te.placeholder((4, 64), name="a")
    k = te.reduce_axis((0, 64), "k")
    total = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="total")
    schedule = te.create_schedule(total.op)
    schedule[total].pragma(k, "pairwise")
    assert "pairs" in str(compiler.lower(schedule, [a, total]))
    values, found = np.full((4, 64), 2.0**-24, "float32"), compiler.nd.empty((4,))
    values[:, 0] = 1  # one after the other, each of the others would be lost
    compiler.build(schedule, [a, total], "llvm")(compiler.nd.array(values), found)
    np.testing.assert_allclose(found.numpy(), 1 + 63 * 2.0**-24, rtol=0, atol=2.0**-23)
    assert found.numpy()[0] > 1
