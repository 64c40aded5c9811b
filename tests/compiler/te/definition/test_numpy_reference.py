"""Tensor expressions as NumPy programs, compared with NumPy written by hand; and the operations they count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import te, tir
from compiler.te.definition import numpy_reference
from compiler.te.definition.flops import schedule_flops
from compiler.te.definition.numpy_reference import NoNumPyProgram, evaluate
from tests.compiler.te.programs import matmul

Array = np.ndarray[Any, Any]
rng = np.random.default_rng(0)
A = te.placeholder((6, 8), name="A")
k = te.reduce_axis((0, 8), name="k")
data = rng.normal(size=(6, 8)).astype("float32")


def value_of(tensor: te.Tensor, **inputs: Array) -> Array:
    """Return what one tensor is for the values of placeholders by name."""
    found: dict[str, te.Tensor] = {}
    todo = [tensor]
    while todo:
        t = todo.pop()
        found[t.name] = t
        todo.extend(t.op.input_tensors)
    (result,) = evaluate([tensor], {found[name]: array for name, array in inputs.items()})
    return result


def test_matrix_multiplication() -> None:
    a, b, c = matmul(5, 7, 9)
    x, y = rng.normal(size=(5, 9)).astype("float32"), rng.normal(size=(9, 7)).astype("float32")
    (result,) = evaluate([c], {a: x, b: y})
    np.testing.assert_allclose(result, x @ y, rtol=1e-5)
    assert result.flags.c_contiguous


def test_a_packed_operand_is_read_where_it_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    b = te.placeholder((8, 12), name="B")
    packed = te.compute((3, 8, 4), lambda p, r, c: b[r, p * 4 + c], name="packed")
    c = te.compute((6, 12), lambda i, j: te.sum(A[i, k] * packed[j // 4, k, j % 4], axis=k), name="C")
    y = rng.normal(size=(8, 12)).astype("float32")
    monkeypatch.setattr(numpy_reference, "MAX_TEMPORARY_ELEMENTS", 100)  # neither a copy of B nor a product fits
    np.testing.assert_allclose(value_of(c, A=data, B=y), data @ y, rtol=1e-5)


def test_a_copy_may_be_read_at_places_of_another_integer_type() -> None:
    places = te.placeholder((4,), "int64", name="places")
    flat = te.compute((48,), lambda i: A[i // 8, i % 8], name="flat")
    read = te.compute((4,), lambda i: flat[places[i]], name="read")
    where = np.array([40, 3, 17, 8])
    np.testing.assert_array_equal(value_of(read, A=data, places=where), data.ravel()[where])


def test_a_transposed_intermediate_is_read_in_its_order() -> None:
    turned = te.compute((8, 6), lambda i, j: A[j, i], name="turned")
    total = te.compute((8,), lambda i: te.sum(turned[i, m], axis=m), name="total")
    np.testing.assert_allclose(value_of(total, A=data), data.sum(axis=0), rtol=1e-5)


m = te.reduce_axis((0, 6), name="m")


@pytest.mark.parametrize(
    ("reduce", "expected"), [(te.sum, np.sum), (te.max, np.max), (te.min, np.min), (te.prod, np.prod)]
)
def test_reductions(reduce: Any, expected: Any) -> None:
    t = te.compute((6,), lambda i: reduce(A[i, k], axis=k), name="T")
    np.testing.assert_allclose(value_of(t, A=data), expected(data, axis=1), rtol=1e-5)


def test_a_condition_and_a_start() -> None:
    t = te.compute((6,), lambda i: te.sum(A[i, k], axis=k, where=A[i, k] > 0, init=1.0), name="T")
    np.testing.assert_allclose(value_of(t, A=data), np.maximum(data, 0).sum(axis=1) + 1, rtol=1e-5)


def test_a_reduction_over_nothing_is_the_identity() -> None:
    nothing = te.reduce_axis((0, 0), name="nothing")
    t = te.compute((6,), lambda i: te.max(A[i, nothing], axis=nothing), name="T")
    assert (value_of(t, A=data) == np.finfo("float32").min).all()


def test_any_combiner_is_folded() -> None:
    later = te.comm_reducer(
        lambda x, y: (tir.Select(y[1] > x[1], y[0], x[0]), te.max(x[1], y[1])),
        lambda t, u: (te.const(-1, t), te.min_value(u)),
        name="argmax",
    )
    index, value = te.compute((6,), lambda i: later((k, A[i, k]), axis=k), name="T")
    found, largest = evaluate([index, value], {A: data})
    np.testing.assert_array_equal(found, data.argmax(axis=1))
    np.testing.assert_array_equal(largest, data.max(axis=1))
    assert found.dtype == np.int32


def test_a_scalar_has_no_dimensions() -> None:
    t = te.compute((), lambda: te.sum(A[m, k], axis=[m, k]), name="T")
    result = value_of(t, A=data)
    assert result.shape == ()
    np.testing.assert_allclose(result, data.sum(), rtol=1e-5)


def test_what_has_no_sensible_program_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_reference, "MAX_TEMPORARY_ELEMENTS", 10)
    t = te.compute((6,), lambda i: te.max(A[i, k], axis=k), name="T")
    with pytest.raises(NoNumPyProgram, match=r"needs a temporary of \(6, 8\) elements"):
        value_of(t, A=data)
    n = te.var("n")
    symbolic = te.compute((n,), lambda i: A[0, 0], name="T")
    with pytest.raises(NoNumPyProgram, match="symbolic extent"):
        value_of(symbolic, A=data)


@pytest.mark.parametrize(
    ("define", "reason"),
    [
        (lambda i: A[i, 0] + te.placeholder((6,), name="other")[i], "no value is given for placeholder 'other'"),
        (lambda i: A[i, 0] + te.var("stray", "float32"), "variable 'stray' has no value"),
        (lambda i: tir.call_pure_extern("float32", "expf", A[i, 0]), "tir.call_pure_extern has no NumPy counterpart"),
        (lambda i: te.extern((6,), [A], lambda i, o: tir.call_packed("f", *o), name="E")[i], "'E' is not a compute"),
    ],
)
def test_what_numpy_does_not_know_is_refused(define: Any, reason: str) -> None:
    with pytest.raises(NoNumPyProgram, match=reason):
        evaluate([te.compute((6,), define, name="B")], {A: data})


def test_operations_are_those_of_the_definition() -> None:
    _, _, c = matmul(4, 5, 6)
    relu = te.compute(c.shape, lambda i, j: te.max(c[i, j] * 2.0, 0.0), name="relu")
    s = te.create_schedule(relu.op)
    whole = 2 * 4 * 5 * 6 + 2 * 4 * 5
    assert schedule_flops(s) == whole
    s.cache_write(relu, "local")
    s[c].split(c.op.axis[0], 3)
    assert schedule_flops(s) == whole
    n = te.var("n")
    x = te.placeholder((n,), name="X")
    assert schedule_flops(te.create_schedule(te.compute((n,), lambda i: x[i] + 1, name="T").op)) is None


def test_operations_of_integers_count_but_not_those_of_indices_and_conditions() -> None:
    x, y = te.placeholder((4, 8), "int8", "x"), te.placeholder((8, 5), "int8", "y")
    r = te.reduce_axis((0, 8), "r")
    product = te.compute((4, 5), lambda i, j: te.sum(x[i, r].astype("int32") * y[r, j].astype("int32"), axis=r))
    assert schedule_flops(te.create_schedule(product.op)) == 2 * 4 * 5 * 8
    moved = te.compute((4, 7), lambda i, j: tir.if_then_else(j + 1 < 7, x[3 - i, j + 1], tir.const(0, "int8")))
    assert schedule_flops(te.create_schedule(moved.op)) == 0


def test_a_product_of_three_is_no_product_of_matrices() -> None:
    b, c = (te.placeholder((8, 5), name=name) for name in "BC")
    product = te.compute((6, 5), lambda i, j: te.sum(A[i, k] * b[k, j] * c[k, j], axis=k), name="product")
    x, y = (rng.normal(size=(8, 5)).astype("float32") for _ in range(2))
    np.testing.assert_allclose(value_of(product, A=data, B=x, C=y), data @ (x * y), rtol=1e-4)


@pytest.mark.parametrize("by", [1, -1])
def test_a_read_that_would_leave_its_tensor_is_no_view(monkeypatch: pytest.MonkeyPatch, by: int) -> None:
    def beside(i: tir.Var, j: tir.Var) -> Any:
        inside = j < 7 if by > 0 else j > 0
        return tir.if_then_else(inside, A[i, j + by], tir.const(0.0, "float32"))

    shifted = te.compute((6, 8), beside, name="shifted")
    monkeypatch.setattr(numpy_reference, "strided_view", None)
    expected = np.zeros_like(data)
    expected[:, max(0, -by) : 8 - max(0, by)] = data[:, max(0, by) : 8 - max(0, -by)]
    np.testing.assert_array_equal(value_of(shifted, A=data), expected)
