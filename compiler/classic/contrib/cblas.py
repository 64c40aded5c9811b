"""``tvm.contrib.cblas``: matrix products by NumPy's BLAS."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler import te, tir
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import PrimExpr
from compiler.runtime.arrays.ndarray import NDArray
from compiler.runtime.modules.packed_func import register_func
from compiler.te.definition.tensor import Tensor


def matmul(lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False, **kwargs: str) -> Tensor:
    """Declare the product of two matrices of float32 or float64, which BLAS computes.

    Other options are those of :func:`tvm.te.extern`.
    """
    rows, columns = lhs.shape[1 if transa else 0], rhs.shape[0 if transb else 1]
    return _product("matmul", (rows, columns), lhs, rhs, (transa, transb), kwargs)


def batch_matmul(
    lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False, iterative: bool = False, **kwargs: str
) -> Tensor:
    """Declare the products of the matrices of two batches, which BLAS computes.

    If ``iterative``, it is called for one matrix after the other.  Other options are those of :func:`tvm.te.extern`.
    """
    shape = (lhs.shape[0], lhs.shape[2 if transa else 1], rhs.shape[1 if transb else 2])
    name = "batch_matmul_iterative" if iterative else "batch_matmul"
    return _product(name, shape, lhs, rhs, (transa, transb), kwargs)


def _product(
    name: str,
    shape: Sequence[PrimExpr],
    lhs: Tensor,
    rhs: Tensor,
    transposed: tuple[bool, bool],
    options: dict[str, str],
) -> Tensor:
    if len(lhs.shape) != len(shape) or len(rhs.shape) != len(shape):
        raise ArgumentError(f"cblas.{name}: expected tensors of rank {len(shape)}, got {lhs} and {rhs}")
    result = te.extern(
        tuple(shape),
        [lhs, rhs],
        lambda ins, outs: tir.call_packed(
            f"tvm.contrib.cblas.{name}", ins[0], ins[1], outs[0], *(tir.const(t, "bool") for t in transposed)
        ),
        name=options.get("name", "C"),
        tag=options.get("tag", ""),
    )
    assert isinstance(result, Tensor)
    return result


def _transposed(x: NDArray, transpose: bool) -> np.ndarray:
    matrices = x.view()
    return matrices.swapaxes(-1, -2) if transpose else matrices


def _multiply(lhs: NDArray, rhs: NDArray, out: NDArray, transa: bool, transb: bool) -> None:
    """Write the product of matrices, or of batches of them."""
    out.copyfrom(np.matmul(_transposed(lhs, bool(transa)), _transposed(rhs, bool(transb))))


for _name in ("matmul", "batch_matmul", "batch_matmul_iterative"):
    register_func(f"tvm.contrib.cblas.{_name}", _multiply, override=True)
