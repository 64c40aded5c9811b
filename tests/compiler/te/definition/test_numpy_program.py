"""NumPy programs, recorded once and run again: they compute from their inputs, by the calls that a person makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler import te, tir, topi
from compiler.te.definition.numpy_reference import evaluate, numpy_program

Array = np.ndarray[Any, Any]
A = te.placeholder((6, 8), name="A")
B = te.placeholder((8, 6), name="B")
I = te.placeholder((6,), name="I", dtype="int32")  # noqa: E741


def axis(extent: int = 8) -> tir.IterVar:
    return te.reduce_axis((0, extent), name="k")


def definition(body: Callable[[tir.IterVar], Callable[..., Any]], shape: tuple[int, ...], extent: int = 8) -> te.Tensor:
    """Return a tensor whose elements are a reduction over one axis."""
    k = axis(extent)
    return te.compute(shape, body(k), name="C")


PROGRAMS = {
    "(A + A)": te.compute((6, 8), lambda i, j: A[i, j] + A[i, j]),
    "(A @ B)": definition(lambda k: lambda i, j: te.sum(A[i, k] * B[k, j], k), (6, 6)),
    "(B.T @ A.T)": definition(lambda k: lambda i, j: te.sum(B[k, i] * A[j, k], k), (6, 6)),
    "(A @ A.T)": definition(lambda k: lambda i, j: te.sum(A[i, k] * A[j, k], k), (6, 6)),
    "np.einsum('ij->i', A)": definition(lambda k: lambda i: te.sum(A[i, k], k), (6,)),
    "np.maximum.reduce(A, axis=(1,))": definition(lambda k: lambda i: te.max(A[i, k], k), (6,)),
    "np.ascontiguousarray(A.T)": te.compute((8, 6), lambda i, j: A[j, i]),
    "np.astype(A, 'int32')": te.compute((6, 8), lambda i, j: A[i, j].astype("int32")),
    "np.where((A < 0.0), 0.0, A)": te.compute((6, 8), lambda i, j: tir.Select(A[i, j] < 0, tir.const(0.0), A[i, j])),
    "np.exp(A)": te.compute((6, 8), lambda i, j: te.exp(A[i, j])),
}
OTHERS = {
    "softmax": topi.nn.softmax(A, axis=1),
    "gather": te.compute((6,), lambda i: A[I[i], i]),
    "a sum of all": definition(lambda k: lambda *_: te.sum(A[0, k], k), ()),
    "half": te.compute((6, 8), lambda i, j: A[i, j].astype("float16") * tir.const(3, "float16")),
    "argmax": topi.argmax(A, axis=1),
    "shifted": te.compute((6, 7), lambda i, j: A[i, j + 1] - A[i, j]),
    "two steps": definition(lambda k: lambda i: te.sum(topi.nn.relu(A)[i, k] * A[i, k], k), (6,)),
}


def inputs(seed: int) -> dict[te.Tensor, Array]:
    rng = np.random.default_rng(seed)
    return {
        A: rng.normal(size=(6, 8)).astype("float32"),
        B: rng.normal(size=(8, 6)).astype("float32"),
        I: rng.integers(0, 6, size=6).astype("int32"),
    }


@pytest.mark.parametrize("tensor", [*PROGRAMS.values(), *OTHERS.values()], ids=[*PROGRAMS, *OTHERS])
def test_a_program_computes_from_its_inputs(tensor: te.Tensor) -> None:
    arrays, later = inputs(0), inputs(1)
    (first,), program = numpy_program([tensor], arrays)
    np.testing.assert_array_equal(program()[0], first)
    for key, array in arrays.items():
        array[...] = later[key]
    (again,) = program()
    np.testing.assert_array_equal(again, evaluate([tensor], later)[0])
    assert not np.array_equal(again, first)
    assert again.dtype == tensor.dtype
    assert again.flags.c_contiguous


@pytest.mark.parametrize("source", PROGRAMS)
def test_a_program_says_what_it_calls(source: str) -> None:
    assert numpy_program([PROGRAMS[source]], inputs(0))[1].source == source
