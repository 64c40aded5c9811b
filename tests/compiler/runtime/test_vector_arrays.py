"""Arrays of vectors: NumPy sees the lanes as one more dimension."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import build, nd, register_func, te, tir
from compiler.ir.error import ArgumentError


def test_lanes_are_a_dimension_of_the_elements() -> None:
    values = np.arange(8, dtype="float32").reshape(4, 2)
    vectors = nd.empty((4,), "float32x2").copyfrom(values)
    assert (vectors.shape, vectors.ndim, vectors.dtype) == ((4,), 1, "float32x2")
    np.testing.assert_array_equal(vectors.numpy(), values)
    for shape in ((8,), (2, 4), (4,)):
        with pytest.raises(ArgumentError, match=r"copyfrom: source_array must have shape \(4, 2\)"):
            vectors.copyfrom(np.zeros(shape, "float32"))


def _increment(extent: object) -> tuple[te.Schedule, list[te.Tensor]]:
    a = te.placeholder((extent,), "float32x2", name="a")
    b = te.compute((extent,), lambda i: a[i] + te.const(1, "float32x2"), name="b")
    return te.create_schedule(b.op), [a, b]


@pytest.mark.parametrize("extent", [4, te.size_var("n")])
def test_functions_take_arrays_of_vectors(extent: object) -> None:
    values = np.arange(8, dtype="float32").reshape(4, 2)
    result = nd.empty((4,), "float32x2")
    function = build(*_increment(extent))
    function(nd.empty((4,), "float32x2").copyfrom(values), result)
    np.testing.assert_array_equal(result.numpy(), values + 1)
    with pytest.raises(ArgumentError, match="must have 2 dimensions"):
        function(np.zeros(4, "float32"), np.zeros(4, "float32"))


def test_called_functions_get_arrays_of_vectors() -> None:
    received = []
    register_func("tests.vectors", lambda array: received.append(array.numpy()), override=True)
    buffer = tir.decl_buffer((4,), "float32x2")
    values = np.arange(8, dtype="float32").reshape(4, 2)
    build(tir.PrimFunc([buffer], tir.Evaluate(tir.call_packed("tests.vectors", buffer))))(values)
    np.testing.assert_array_equal(received, [values])


def test_neighbouring_vectors_are_loaded_and_stored_at_once() -> None:
    A = te.placeholder((16,), dtype="float32x2", name="A")
    B = te.compute((16,), lambda i: A[i], name="B")
    C = te.compute((16,), lambda i: B[i] + tir.const(1, "float32x2"), name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=2)
    s[C].vectorize(inner)
    s[B].compute_at(s[C], outer)
    s[B].vectorize(B.op.axis[0])
    data = np.arange(32, dtype="float32").reshape(16, 2)
    source, result = (nd.empty((16,), "float32x2") for _ in range(2))
    build(s, [A, C], "llvm")(source.copyfrom(data), result)
    np.testing.assert_array_equal(result.numpy(), data + 1)
