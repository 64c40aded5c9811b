"""Sparse matrices as one argument, against NumPy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import compiler as tvm
from compiler import te, topi
from compiler.ir.error import ArgumentError, UnavailableError
from compiler.te.definition.tensor import Tensor
from compiler.topi import sparse_tensors as sparse

Matrix = npt.NDArray[np.float32]


def _matrix(rows: int, columns: int, seed: int) -> Matrix:
    return np.maximum(np.random.default_rng(seed).integers(-4, 5, (rows, columns)), 0).astype("float32")


def _parts(matrix: object) -> list[object]:
    if isinstance(matrix, (sparse.CSRNDArray, sparse.CSRPlaceholderOp)):
        return [matrix.data, matrix.indices, matrix.indptr]
    return [matrix]


def _run(output: Tensor, placeholders: list[object], arrays: list[object], shape: tuple[int, int]) -> Matrix:
    """Build a product and run it; a sparse matrix is its three parts."""
    result = tvm.nd.array(np.zeros(shape, "float32"))
    parameters = [t for p in placeholders for t in _parts(p)]
    values = [tvm.nd.array(v) if isinstance(v, np.ndarray) else v for a in arrays for v in _parts(a)]
    tvm.build(te.create_schedule(output.op), [*parameters, output], "llvm")(*values, result)
    return result.numpy()


def test_a_matrix_survives_its_compression() -> None:
    matrix = _matrix(5, 7, 0)
    matrix[2] = 0
    packed = sparse.array(matrix, tvm.cpu())
    assert packed.data.shape == (np.count_nonzero(matrix),)
    assert packed.indptr.shape == (6,)
    assert (packed.stype, packed.shape, packed.dtype) == ("csr", (5, 7), "float32")
    np.testing.assert_array_equal(packed.numpy(), matrix)
    parts = (packed.data, packed.indices.numpy(), packed.indptr)
    np.testing.assert_array_equal(sparse.array(parts, shape=(5, 7)).numpy(), matrix)


@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("columns", [1, 6])
def test_products_with_a_sparse_left_side(with_bias: bool, columns: int) -> None:
    a, b = _matrix(5, 7, 1), _matrix(7, columns, 2)
    c = np.arange(100, 105, dtype="float32")
    rows = te.var("rows")
    A = sparse.placeholder((rows, 7), nonzeros=te.var("count"), name="A")
    B, C = te.placeholder(b.shape, name="B"), te.placeholder((rows,), name="C")
    product = (topi.sparse.csrmv if columns == 1 else topi.sparse.csrmm)(A, B, C if with_bias else None)
    result = _run(product, [rows, A, B, C], [5, sparse.array(a), b, c], (5, columns))
    np.testing.assert_allclose(result, a @ b + (c[:, None] if with_bias else 0))


@pytest.mark.parametrize("sparse_data", [True, False])
@pytest.mark.parametrize("with_bias", [True, False])
def test_dense_with_either_side_sparse(sparse_data: bool, with_bias: bool) -> None:
    data, weight = _matrix(3, 7, 3), _matrix(4, 7, 4)
    bias = np.arange(100, 104, dtype="float32")
    D = sparse.placeholder((3, 7), np.count_nonzero(data), name="D") if sparse_data else te.placeholder((3, 7))
    W = te.placeholder((4, 7)) if sparse_data else sparse.placeholder((4, 7), np.count_nonzero(weight), name="W")
    C = te.placeholder((4,), name="C")
    product = topi.sparse.dense(D, W, C if with_bias else None)
    arrays = [sparse.array(data), weight] if sparse_data else [data, sparse.array(weight)]
    result = _run(product, [D, W, C], [*arrays, bias], (3, 4))
    np.testing.assert_allclose(result, data @ weight.T + (bias if with_bias else 0))


def test_what_is_refused() -> None:
    A = sparse.placeholder((3, 4), 2)
    with pytest.raises(ArgumentError, match="needs a dense matrix"):
        topi.sparse.csrmm(A, te.placeholder((4,)))
    with pytest.raises(UnavailableError, match="one of data and weight"):
        topi.sparse.dense(te.placeholder((4, 4)), te.placeholder((4, 4)))
    with pytest.raises(UnavailableError, match="stype must be 'csr'"):
        sparse.placeholder((3, 4), stype="coo")
    with pytest.raises(ArgumentError, match="must be a matrix"):
        sparse.array(np.zeros((2, 2, 2), "float32"))
    with pytest.raises(ArgumentError, match="got 2 parts"):
        sparse.array((np.zeros(2), np.zeros(2)), shape=(2, 2))  # type: ignore[arg-type]
