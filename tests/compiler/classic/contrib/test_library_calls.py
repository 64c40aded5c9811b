"""Calls of NumPy's libraries out of compiled programs: ``tvm.contrib.cblas`` and ``tvm.contrib.random``."""

from __future__ import annotations

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.classic.contrib import cblas, dlpack, random
from compiler.ir.error import ArgumentError


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("transa", "transb"), [(False, False), (True, False), (False, True), (True, True)])
def test_blas_multiplies_matrices(transa: bool, transb: bool, dtype: str) -> None:
    a = np.random.default_rng(0).random((5, 4) if transa else (4, 5)).astype(dtype)
    b = np.random.default_rng(1).random((3, 5) if transb else (5, 3)).astype(dtype)
    A, B = te.placeholder(a.shape, dtype, name="A"), te.placeholder(b.shape, dtype, name="B")
    C = cblas.matmul(A, B, transa, transb)
    D = te.compute(C.shape, lambda i, j: C[i, j] + 1, name="D")
    out = tvm.nd.array(np.zeros((4, 3), dtype))
    tvm.build(te.create_schedule(D.op), [A, B, D], "llvm")(tvm.nd.array(a), tvm.nd.array(b), out)
    np.testing.assert_allclose(out.numpy(), (a.T if transa else a) @ (b.T if transb else b) + 1, rtol=1e-5)


@pytest.mark.parametrize("iterative", [False, True])
def test_blas_multiplies_batches(iterative: bool) -> None:
    a, b = np.random.default_rng(0).random((2, 3, 4)), np.random.default_rng(1).random((2, 5, 4))
    A, B = te.placeholder(a.shape, "float64", name="A"), te.placeholder(b.shape, "float64", name="B")
    C = cblas.batch_matmul(A, B, transb=True, iterative=iterative, name="P")
    assert C.op.name == "P"
    out = tvm.nd.array(np.zeros((2, 3, 5)))
    tvm.build(te.create_schedule(C.op), [A, B, C], "llvm")(tvm.nd.array(a), tvm.nd.array(b), out)
    np.testing.assert_allclose(out.numpy(), a @ b.swapaxes(1, 2))
    with pytest.raises(ArgumentError, match="rank 2"):
        cblas.matmul(A, B)


def test_random_numbers_follow_their_distribution() -> None:
    shape = (64, 64)
    tensors = [random.randint(-2, 3, shape), random.uniform(1, 2, shape), random.normal(3, 0.5, shape)]
    draw = tvm.build(te.create_schedule([t.op for t in tensors]), tensors, "llvm")
    seed = tvm.get_global_func("tvm.contrib.random.seed")
    runs = []
    for _ in range(2):
        seed(7)
        outs = [tvm.nd.array(np.zeros(shape, t.dtype)) for t in tensors]
        draw(*outs)
        runs.append([out.numpy() for out in outs])
    integers, uniform, normal = runs[0]
    assert set(np.unique(integers)) == {-2, -1, 0, 1, 2}
    assert (uniform.min() >= 1, uniform.max() < 2, abs(uniform.mean() - 1.5) < 0.02) == (True, True, True)
    assert (abs(normal.mean() - 3) < 0.05, abs(normal.std() - 0.5) < 0.05) == (True, True)
    assert all((a == b).all() for a, b in zip(*runs, strict=True))
    with pytest.raises(ArgumentError, match="float32"):
        random.randint(0, 1, shape, "float32")


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint8", "int64", "bool"])
def test_arrays_are_filled_for_measurements(dtype: str) -> None:
    array = tvm.nd.array(np.zeros(512, dtype))
    tvm.get_global_func("tvm.contrib.random.random_fill")(array)
    filled = array.numpy()
    assert len(np.unique(filled)) > 1
    if dtype.startswith("float"):
        assert (filled.min() >= 1, filled.max() <= 10) == (True, True)


class _Foreign:
    """A tensor of another library."""

    def __init__(self, data: np.ndarray) -> None:
        self.data = data


def test_functions_take_the_tensors_of_other_libraries() -> None:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] * 2, name="B")
    double = tvm.build(te.create_schedule(B.op), [A, B], "llvm")
    a, b = _Foreign(np.arange(4, dtype="float32")), _Foreign(np.zeros(4, "float32"))
    dlpack.convert_func(double, _Foreign, lambda t: tvm.nd.array(t.data) if t is a else t.data)(a, b)
    assert b.data.tolist() == [0, 2, 4, 6]
