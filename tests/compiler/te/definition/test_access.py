"""Reads are proved to stay inside of their tensors, refused, or guarded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler import build, lower, te, tir
from compiler.ir.error import DTypeError
from compiler.runtime.arrays.ndarray import empty
from compiler.te.definition.access import BoundsWarning
from compiler.te.lowering.to_tir import schedule_to_prim_func
from compiler.tir.interpreter import interpret

A = te.placeholder((20, 16), name="A")
index = te.placeholder((10,), "int32", name="index")
n, m = te.var("n"), te.var("m")
X = te.placeholder((n,), name="X")
k = te.reduce_axis((0, 16), name="k")
r = te.reduce_axis((0, n), name="r")


def _text(shape: Any, fcompute: Callable[..., Any]) -> str:
    return str(te.compute(shape, fcompute, name="T").op.body[0])


@pytest.mark.parametrize(
    ("shape", "fcompute", "text"),
    [
        ((20, 16), lambda i, j: A[i, j], "A[i, j]"),
        ((320,), lambda i: A[i // 16, i % 16], "A[i // 16, i % 16]"),
        ((n,), lambda i: X[n - 1 - i], "X[n - 1 - i]"),
        ((n - 2,), lambda i: X[i + 2], "X[i + 2]"),
        ((m, n), lambda j, i: X[(i + 1) % n], "X[(i + 1) % n]"),
        (
            (20, 16),
            lambda i, j: te.if_then_else(te.all(i >= 1, j < 15), A[i - 1, j + 1], 0.0),
            "T.if_then_else(i >= 1 and j < 15, A[i - 1, j + 1], T.float32(0.0))",
        ),
        (
            (20, 16),
            lambda i, j: tir.Select(i < 1, te.const(0.0), A[i - 1, j].asobject()),
            "T.Select(i < 1, T.float32(0.0), A[i - 1, j])",
        ),
        (
            (n,),
            lambda i: te.if_then_else(te.any(i < 1, i >= n - 1), 0.0, X[i - 1] + X[i + 1]),
            "T.if_then_else(i < 1 or i >= n - 1, T.float32(0.0), X[i - 1] + X[i + 1])",
        ),
    ],
)
def test_what_is_proved_stays_as_it_is(shape: Any, fcompute: Callable[..., Any], text: str) -> None:
    assert _text(shape, fcompute) == text


@pytest.mark.parametrize(
    ("shape", "fcompute", "text"),
    [
        (
            (10,),
            lambda i: A[index[i], 3],
            "T.if_then_else(index[i] >= 0 and index[i] < 20, A[index[i], 3], T.float32(0.0))",
        ),
        ((16,), lambda i: A[0, i * i], "T.if_then_else(i * i < 16, A[0, i * i], T.float32(0.0))"),
        ((m,), lambda i: X[i], "T.if_then_else(n == 1 or i < n, X[T.if_then_else(n == 1, 0, i)], T.float32(0.0))"),
        (
            (20, 16),
            lambda i, j: te.if_then_else(i >= 1, A[i - 2, j], 1.0),
            "T.if_then_else(i >= 1, T.if_then_else(i - 2 >= 0, A[i - 2, j], T.float32(0.0)), T.float32(1.0))",
        ),
    ],
)
def test_what_is_not_proved_is_guarded(shape: Any, fcompute: Callable[..., Any], text: str) -> None:
    assert _text(shape, fcompute) == text


@pytest.mark.parametrize(
    ("shape", "fcompute", "message"),
    [
        (
            (4,),
            lambda i: A[i, i + 13],
            "compute 'T': index 1 of 'A' runs from 13 to 16, outside of its shape (20, 16), where zero is read; "
            "guard the read with te.if_then_else or change the index i + 13",
        ),
        ((20,), lambda i: te.sum(A[i, k + 1], axis=k), "index 1 of 'A' runs from 1 to 16"),
        ((4,), lambda i: A[i, -1], "index 1 of 'A' runs from -1 to -1"),
        ((4,), lambda i: A[i - 1, 0], "index 0 of 'A' runs from -1 to 2"),
        ((21, 16), lambda i, j: A[i, j], "index 0 of 'A' runs from 0 to 20"),
    ],
)
def test_what_certainly_leaves_a_tensor_is_guarded_with_a_warning(
    shape: Any, fcompute: Callable[..., Any], message: str
) -> None:
    T = te.compute(shape, fcompute, name="T")
    with pytest.warns(BoundsWarning) as caught:
        s = te.create_schedule(T.op)
    (warning,) = caught
    assert message in str(warning.message)
    assert warning.filename == __file__
    result = np.full([extent.value for extent in T.shape], np.nan, "float32")
    interpret(schedule_to_prim_func(s, [A, T]), [np.ones((20, 16), "float32"), result])
    assert np.isfinite(result).all()


def test_the_condition_of_a_reduction_guards_its_source() -> None:
    t = te.compute((18,), lambda i: te.sum(A[i + k, 0], axis=k, where=k < 3), name="T")
    assert str(t.op.body[0].source[0]) == "A[i + k, 0]"


def test_nothing_is_refused_where_nothing_is_computed() -> None:
    te.compute((0,), lambda i: A[i + 100, 0], name="T")


def test_a_gather_gives_zero_outside() -> None:
    t = te.compute((10,), lambda i: A[index[i], 3], name="T")
    func = schedule_to_prim_func(te.create_schedule(t.op), [A, index, t])
    a = np.random.default_rng(0).normal(size=(20, 16)).astype("float32")
    where = np.array([0, 19, 20, -1, 5, 2**31 - 1, -(2**31), 7, 7, 1], "int32")
    result = np.full(10, 9, "float32")
    interpret(func, [a, where, result])
    inside = (where >= 0) & (where < 20)
    np.testing.assert_array_equal(result, np.where(inside, a[np.clip(where, 0, 19), 3], 0))


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("columns", [1, 4])
def test_an_input_of_one_element_is_broadcast(rows: int, columns: int) -> None:
    Y = te.placeholder((n, m), name="Y")
    T = te.compute((3, 4), lambda i, j: Y[i, j] + 1.0, name="T")
    s = te.create_schedule(T.op)
    cached = s.cache_read(Y, "local", [T])
    s[cached].compute_at(s[T], T.op.axis[0])
    y, out = np.random.default_rng(0).random((rows, columns), np.float32), empty((3, 4))
    build(s, [Y, T])(y, out)
    np.testing.assert_array_equal(out.numpy(), np.broadcast_to(y, (3, 4)) + 1)


@pytest.mark.parametrize("size", [1, 3])
def test_only_inputs_are_broadcast_and_only_along_loops(size: int) -> None:
    """Of a stage of one element, or at an index that data says, what lies outside is zero."""
    X = te.placeholder((n,), name="X")
    Z = te.compute((n,), lambda i: X[i] * 2.0, name="Z")
    T = te.compute((5,), lambda i: Z[i] + 1.0, name="T")
    x, out = np.arange(1, size + 1, dtype=np.float32), empty((5,))
    build(te.create_schedule(T.op), [X, T])(x, out)
    np.testing.assert_array_equal(out.numpy(), np.pad(x * 2, (0, 5 - size)) + 1)
    at = te.placeholder((5,), "int32", name="at")
    G = te.compute((5,), lambda i: X[at[i]], name="G")
    places = np.array([0, 1, 2, 7, -1], np.int32)
    build(te.create_schedule(G.op), [X, at, G])(x, places, out)
    np.testing.assert_array_equal(out.numpy(), [x[p] if 0 <= p < size else 0 for p in places])


def test_an_index_is_one_integer() -> None:
    X = te.placeholder((8,), name="X")
    with pytest.raises(DTypeError, match="index 0 of 'X' must be an integer, got int32x4"):
        te.compute((2,), lambda i: X[tir.Ramp(i, 1, 4)], name="T")


def test_loops_that_begin_later_leave_their_input() -> None:
    """An axis that is no longer than the input may end behind it: where it does not begin at zero."""
    X = te.placeholder((6,), name="X")

    def text(begin: Any) -> str:
        k = te.reduce_axis((begin, 6 + begin), name="k")
        return str(te.compute((), lambda: te.sum(X[k], axis=k), name="T").op.body[0])

    assert "if_then_else" not in text(0)
    assert "if_then_else(k < 6" in text(1)
    assert "if_then_else(k >= 0 and k < 6" in text(m)


@pytest.mark.parametrize("buffer_type", ["default", "auto_broadcast"])
@pytest.mark.parametrize("size", [1, 3])
def test_a_guard_of_the_user_is_kept(size: int, buffer_type: str) -> None:
    T = te.compute((5,), lambda i: te.if_then_else(i < n, X[i], 0.0), name="T")
    view = tir.decl_buffer((n,), "float32", "view", buffer_type=buffer_type)
    x, out = np.arange(1, size + 1, dtype=np.float32), empty((5,))
    build(te.create_schedule(T.op), [X, T], binds={X: view})(x, out)
    np.testing.assert_array_equal(out.numpy(), np.pad(x, (0, 5 - size)))


def test_what_a_padding_never_reads_outside_of_has_no_second_guard() -> None:
    """The last row is not equal to 13 where the middle is read, so it is less."""
    x = te.placeholder((12,), name="x")
    padded = te.compute((14,), lambda i: te.if_then_else(te.any(i < 1, i >= 13), 0.0, x[i - 1]), name="padded")
    text = str(lower(te.create_schedule(padded.op), [x, padded]))
    assert text.count("if_then_else") == 1
