"""``tvm.topi.sparse``: products with a sparse matrix."""

from __future__ import annotations

from collections.abc import Callable

from compiler.ir.error import ArgumentError, UnavailableError
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.ir.extension import public_module
from compiler.te.definition.tensor import Tensor
from compiler.topi.arrays.transform import transpose
from compiler.topi.compute import compute
from compiler.topi.nn.sparse import sparse_dense_sp_lhs, sparse_dense_sp_rhs
from compiler.topi.operands import dims
from compiler.topi.sparse_tensors import CSRPlaceholderOp
from compiler.topi.tag import Tag

__all__ = ["csrmm", "csrmv", "dense"]

__getattr__, __dir__ = public_module("tvm.topi.sparse", __all__)


def csrmv(a: CSRPlaceholderOp, x: Tensor, y: Tensor | None = None) -> Tensor:
    """Return the product of a sparse matrix ``(m, k)`` and a vector ``(k, 1)``, plus ``y``, ``(m,)``."""
    return _product("csrmv", a, x, y)


def csrmm(a: CSRPlaceholderOp, b: Tensor, c: Tensor | None = None) -> Tensor:
    """Return the product of a sparse matrix ``(m, k)`` and a dense one, plus a number for each row, ``(m,)``."""
    return _product("csrmm", a, b, c)


def _product(name: str, a: CSRPlaceholderOp, b: Tensor, c: Tensor | None) -> Tensor:
    _check_dimensions(name, b, c)
    product = sparse_dense_sp_lhs(a.data, a.indices, a.indptr, transpose(b))
    return product if c is None else _added(name, product, lambda i, j: c(i))


def dense(data: CSRPlaceholderOp | Tensor, weight: CSRPlaceholderOp | Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``data @ weight.T + bias`` where one of the matrices is sparse.

    Raises UnavailableError if none or both of them are sparse. Raises ArgumentError if the dense one is not a matrix,
    or ``bias`` no vector.
    """
    if isinstance(data, CSRPlaceholderOp) and isinstance(weight, Tensor):
        _check_dimensions("dense", weight, bias)
        product = sparse_dense_sp_lhs(data.data, data.indices, data.indptr, weight)
    elif isinstance(data, Tensor) and isinstance(weight, CSRPlaceholderOp):
        _check_dimensions("dense", data, bias)
        product = sparse_dense_sp_rhs(data, weight.data, weight.indices, weight.indptr)
    else:
        raise UnavailableError("sparse.dense: one of data and weight must be a sparse matrix, the other one a tensor")
    return product if bias is None else _added("dense", product, lambda i, j: bias(j))


def _check_dimensions(name: str, matrix: Tensor, vector: Tensor | None) -> None:
    if len(matrix.shape) != 2:
        raise ArgumentError(f"sparse.{name}: needs a dense matrix, got {len(matrix.shape)} dimensions")
    if vector is not None and len(vector.shape) != 1:
        raise ArgumentError(f"sparse.{name}: needs a vector to add, got {len(vector.shape)} dimensions")


def _added(name: str, product: Tensor, term: Callable[[Var, Var], PrimExpr]) -> Tensor:
    return compute(dims(product), lambda i, j: product(i, j) + term(i, j), name=name, tag=Tag.BROADCAST)
