"""InjectRollingBuffer: what is computed once is not computed again, and all of it is right."""

from __future__ import annotations

import numpy as np
import pytest

import compiler as tvm
from compiler import nd, te, tir
from compiler.classic.build_module import schedule_to_module
from compiler.te.definition.tensor import Tensor
from compiler.te.scheduling.schedule import Schedule


def windows(size: int, reach: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return A, B = A * 2, and C, each element of which is the sum of ``reach`` elements of B."""
    a = te.placeholder((size,), "int32", name="A")
    b = te.compute((size,), lambda i: a[i] * 2, name="B")
    c = te.compute((size - reach + 1,), lambda i: sum((b[i + r] for r in range(1, reach)), b[i]), name="C")
    return a, b, c


def rolled(schedule: Schedule, args: list[Tensor]) -> tvm.IRModule:
    return tir.transform.InjectRollingBuffer()(schedule_to_module(schedule, args))


def test_a_window_that_moves_by_one_element() -> None:
    a, b, c = windows(10, 3)
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], c.op.axis[0])
    s[b].rolling_buffer()
    text = str(rolled(s, [a, c]))
    assert "T.realize(B[0:3])" in text
    assert "if T.likely(i < 1 or i_1 >= 2):" in text
    assert "B[(i_1 + i) % 3] = A[i_1 + i] * 2" in text
    assert "C[i] = B[i % 3] + B[(i + 1) % 3] + B[(i + 2) % 3]" in text


def test_the_outermost_loop_with_overlapping_windows_wraps_around_and_both_are_guarded() -> None:
    a = te.placeholder((10, 12), "int32", name="A")
    b = te.compute((10, 12), lambda i, j: a[i, j] * 2, name="B")
    c = te.compute((8, 8), lambda i, j: b[i, j] + b[i + 2, j + 4], name="C")
    s = te.create_schedule(c.op)
    i, j = c.op.axis
    outer, inner = s[c].split(j, 4)
    s[c].reorder(outer, i, inner)
    s[b].compute_at(s[c], i)
    s[b].rolling_buffer()
    text = str(rolled(s, [a, c]))
    assert "T.realize(B[0:10, 0:8])" in text
    assert "if T.likely(j_outer < 1 or j >= 4):" in text
    assert "if T.likely(i < 1 or i_1 >= 2):" in text


@pytest.mark.parametrize("how", ["parallel", "distinct windows", "no mark"])
def test_what_does_not_follow_its_last_iteration_is_computed_anew(how: str) -> None:
    a, b, c = windows(10, 1 if how == "distinct windows" else 3)
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], c.op.axis[0])
    if how == "parallel":
        s[c].parallel(c.op.axis[0])
    if how != "no mark":
        s[b].rolling_buffer()
    text = str(rolled(s, [a, c]))
    assert "T.likely" not in text
    assert " % " not in text


def random_program(rng: np.random.Generator) -> tuple[Schedule, Tensor, Tensor, list[tuple[int, int]], tuple[int, int]]:
    """Return a schedule of sums over windows, with the offsets within a window and the steps between them."""
    rows, columns = (int(e) for e in rng.integers(3, 9, 2))
    step = (int(rng.integers(1, 3)), int(rng.integers(1, 3)))
    offsets = [(int(y), int(x)) for y, x in rng.integers(0, 4, (int(rng.integers(1, 4)), 2))]
    height = (rows - 1) * step[0] + max(y for y, _ in offsets) + 1
    width = (columns - 1) * step[1] + max(x for _, x in offsets) + 1
    a = te.placeholder((height + 2, width), "int32", name="A")
    k = te.reduce_axis((0, 3), name="k")
    b = te.compute((height, width), lambda y, x: te.sum(a[y + k, x], axis=k), name="B")
    c = te.compute(
        (rows, columns),
        lambda y, x: sum((b[y * step[0] + dy, x * step[1] + dx] for dy, dx in offsets), tir.const(0, "int32")),
        name="C",
    )
    s = te.create_schedule(c.op)
    loops = [loop for axis in c.op.axis for loop in (s[c].split(axis, 3) if rng.random() < 0.5 else [axis])]
    s[c].reorder(*[loops[i] for i in rng.permutation(len(loops))])
    s[b].compute_at(s[c], loops[int(rng.integers(len(loops)))])
    s[b].rolling_buffer()
    return s, a, c, offsets, step


@pytest.mark.parametrize("seed", range(12))
def test_random_windows_are_summed_right(seed: int) -> None:
    rng = np.random.default_rng(seed)
    s, a, c, offsets, (down, right) = random_program(rng)
    rows, columns = (int(e) for e in c.shape)
    data = rng.integers(-50, 50, [int(e) for e in a.shape]).astype("int32")
    sums = data[:-2] + data[1:-1] + data[2:]
    expected = sum(
        sums[dy : dy + (rows - 1) * down + 1 : down, dx : dx + (columns - 1) * right + 1 : right] for dy, dx in offsets
    )
    out = nd.array(np.zeros((rows, columns), "int32"))
    tvm.build(s, [a, c], "llvm")(nd.array(data), out)
    np.testing.assert_array_equal(out.numpy(), expected)
