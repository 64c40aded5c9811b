"""Gradients of tensor expressions, compared with differences and with formulas."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir, topi
from tests.compiler.classic.te.gradient_programs import random_definition

Array = np.ndarray[Any, Any]


def evaluator(outputs: list[te.Tensor], inputs: list[te.Tensor]) -> Any:
    """Return a function from arrays to the values of some tensors."""
    built = tvm.build(te.create_schedule([t.op for t in outputs]), [*inputs, *outputs], "llvm")

    def evaluate(*arrays: Array) -> list[Array]:
        results = [tvm.nd.array(np.full([int(e) for e in t.shape], 7, t.dtype)) for t in outputs]
        built(*map(tvm.nd.array, arrays), *results)
        return [r.numpy() for r in results]

    return evaluate


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(10))
def test_jacobians_are_differences(seed: int) -> None:
    rng = random.Random(seed)
    output, inputs = random_definition(rng)
    values = np.random.default_rng(seed)
    arrays = [values.uniform(0.5, 1.5, [int(e) for e in t.shape]) for t in inputs]
    value = evaluator([output], inputs)
    jacobians = evaluator(te.gradient(output, inputs), inputs)(*arrays)
    step = 1e-6
    for at, (array, jacobian) in enumerate(zip(arrays, jacobians, strict=True)):
        expected = np.zeros(jacobian.shape)
        for place in np.ndindex(*array.shape):
            ends = []
            for sign in (1, -1):
                moved = [a.copy() for a in arrays]
                moved[at][place] += sign * step
                ends.append(value(*moved)[0])
            expected[(..., *place)] = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(jacobian, expected, rtol=1e-4, atol=1e-4)


def test_a_jacobian_may_have_more_elements_than_32_bits_count() -> None:
    x, w = te.placeholder((4096, 2048), name="x"), te.placeholder((1024, 2048), name="w")
    k, j = te.reduce_axis((0, 2048), "k"), te.reduce_axis((0, 2), "j")
    y = te.compute((4096, 1024), lambda i, f: te.sum(x[i, k] * w[f, k], axis=k), name="y")
    z = te.compute((4096, 1023), lambda i, f: te.sum(y[i, f + j], axis=j), name="z")
    [dx] = te.gradient(z, [x])
    assert dx.shape == (4096, 1023, 4096, 2048)


def test_a_gradient_sums_up_the_iterations_that_read_an_element() -> None:
    x, w = te.placeholder((1, 2, 9, 9), name="X"), te.placeholder((3, 2, 3, 3), name="W")
    y = topi.nn.conv2d(x, w, 2, 0, 1)
    (dx,) = te.gradient(y, x, te.placeholder(y.shape, name="H"))
    extents = sorted(int(axis.dom.extent) for axis in dx.op.reduce_axis)
    assert extents[-1] <= 3  # the channels; two of the three rows of the filter, which are at a distance of two


def test_head_is_multiplied_from_the_left() -> None:
    a, b = te.placeholder((4, 5), name="A"), te.placeholder((5, 6), name="B")
    k = te.reduce_axis((0, 5), name="k")
    c = te.compute((4, 6), lambda i, j: te.sum(a[i, k] * b[k, j], k), name="C")
    head = te.placeholder((2, 4, 6), name="H")
    da, db = te.gradient(c, [a, b], head)
    assert [tuple(map(int, t.shape)) for t in (da, db)] == [(2, 4, 5), (2, 5, 6)]
    rng = np.random.default_rng(0)
    x, y, h = (rng.random([int(e) for e in t.shape]).astype("float32") for t in (a, b, head))
    results = evaluator([da, db], [a, b, head])(x, y, h)
    np.testing.assert_allclose(results[0], np.einsum("hij,kj->hik", h, y), rtol=1e-5)
    np.testing.assert_allclose(results[1], np.einsum("hij,ik->hkj", h, x), rtol=1e-5)


def test_triangular_sums() -> None:
    a = te.placeholder((6,), "float64", name="A")

    def prefix(i: tir.Var) -> tir.PrimExpr:
        k = te.reduce_axis((0, i + 1), name="k")
        return te.sum(a[k] * a[k], k)

    (jacobian,) = te.gradient(te.compute((6,), prefix, name="B"), a)
    values = np.arange(1.0, 7.0)
    np.testing.assert_allclose(evaluator([jacobian], [a])(values)[0], np.tril(np.tile(2 * values, (6, 1))))


def test_reads_by_index_tensors_and_of_integers() -> None:
    a, i = te.placeholder((5,), "float64", name="A"), te.placeholder((4,), "int32", name="I")
    (da,) = te.gradient(topi.take(a, i), a)
    places = np.array([3, 0, 3, 4], "int32")
    np.testing.assert_array_equal(evaluator([da], [a, i])(np.ones(5), places)[0], np.eye(5)[places])
    twice = te.compute((4,), lambda j: i[j] * 2, name="B")
    (di,) = te.gradient(twice, [i])
    assert di.dtype == "int32"
    np.testing.assert_array_equal(evaluator([di], [i])(places)[0], 2 * np.eye(4))


def test_inputs_may_be_computed_unrelated_or_the_output() -> None:
    a, other = te.placeholder((3,), "float64", name="A"), te.placeholder((2,), "float64", name="O")
    b = te.compute((3,), lambda i: a[i] * 3.0, name="B")
    c = te.compute((3,), lambda i: b[i] * b[i], name="C")
    results = evaluator(te.gradient(c, [b, other, c]), [a, other])(np.array([1.0, 2.0, 3.0]), np.zeros(2))
    np.testing.assert_allclose(results[0], np.diag([6.0, 12.0, 18.0]))
    np.testing.assert_array_equal(results[1], np.zeros((3, 2)))
    np.testing.assert_array_equal(results[2], np.eye(3))


def test_symbolic_shapes() -> None:
    n = te.var("n")
    a, head = te.placeholder((n,), "float64", name="A"), te.placeholder((n,), "float64", name="H")
    b = te.compute((n,), lambda i: a[n - 1 - i] * a[i], name="B")
    (grad,) = te.gradient(b, [a], head)
    built = tvm.build(te.create_schedule(grad.op), [a, head, grad], "llvm")
    x, h = np.array([1.0, 2.0, 5.0]), np.array([1.0, 10.0, 100.0])
    result = tvm.nd.array(np.zeros(3))
    built(tvm.nd.array(x), tvm.nd.array(h), result)
    np.testing.assert_allclose(result.numpy(), (h + h[::-1]) * x[::-1])


def test_what_has_no_gradient_is_refused() -> None:
    a = te.placeholder((3,), name="A")
    b = te.compute((3,), lambda i: te.fmod(a[i], 2.0), name="B")
    with pytest.raises(tvm.TVMError, match=r"no derivative of .*fmod"):
        te.gradient(b, [a])
    with pytest.raises(tvm.TVMError, match="head must end with the dimensions"):
        te.gradient(te.compute((3,), lambda i: a[i] * 2.0, name="B"), [a], te.placeholder((4,), name="H"))
    copied = te.extern((3,), [a], lambda ins, outs: tir.Evaluate(0), name="E", dtype="float32")
    with pytest.raises(tvm.TVMError, match="ExternOp 'E' has no derivative"):
        te.gradient(copied, [a])


@pytest.mark.parametrize("axes", [0, 1, 2, (2, 1), ((1, 2), (1, 0)), ((-1,), (0,)), [[0], [2]]])
def test_tensordot(axes: Any) -> None:
    a, b = te.placeholder((2, 3, 4), "float64", name="A"), te.placeholder((4, 3, 2), "float64", name="B")
    rng = np.random.default_rng(1)
    x, y = rng.random((2, 3, 4)), rng.random((4, 3, 2))
    if axes in (2, (2, 1)):
        with pytest.raises(tvm.TVMError, match=r"tensordot: axis .* has the extent"):
            topi.tensordot(a, b, axes)
        return
    np.testing.assert_allclose(evaluator([topi.tensordot(a, b, axes)], [a, b])(x, y)[0], np.tensordot(x, y, axes))
