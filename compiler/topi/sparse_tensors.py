"""``tvm.contrib.sparse``: CSR matrices and their placeholders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from compiler.ir.deprecation import deprecated
from compiler.ir.error import ArgumentError, UnavailableError, show
from compiler.ir.expr.primexpr import PrimExpr
from compiler.runtime.arrays.ndarray import NDArray
from compiler.runtime.arrays.ndarray import array as dense_array
from compiler.runtime.device import Device
from compiler.te.definition.operation import placeholder as dense_placeholder

__all__ = ["CSRNDArray", "CSRPlaceholderOp", "array", "placeholder"]

Array = npt.NDArray[Any]
Parts = tuple[Array | NDArray, Array | NDArray, Array | NDArray]
_INDEX = "int32"
_CSR = "csr"


class CSRNDArray:
    """A sparse matrix: its nonzero elements row by row, the column of each, and where each row begins.

    It is made of a dense matrix, or of ``(data, indices, indptr)`` and a shape. Raises ArgumentError if it is neither a
    matrix nor three parts with a shape.
    """

    stype = _CSR

    def __init__(self, arg1: Array | Parts, device: Device | None = None, shape: tuple[int, int] | None = None) -> None:
        if isinstance(arg1, tuple):
            if len(arg1) != 3 or shape is None:
                raise ArgumentError(f"sparse.array: needs data, indices, indptr and a shape, got {len(arg1)} parts")
            parts: Parts = arg1
        else:
            if np.ndim(arg1) != 2:
                raise ArgumentError(f"sparse.array: source_array must be a matrix, got {np.ndim(arg1)} dimensions")
            rows, columns = np.nonzero(arg1)
            begins = np.searchsorted(rows, np.arange(len(arg1) + 1))
            parts, shape = (arg1[rows, columns], columns.astype(_INDEX), begins.astype(_INDEX)), arg1.shape
        self.data, self.indices, self.indptr = (
            part if isinstance(part, NDArray) else dense_array(part, device) for part in parts
        )
        self.shape = tuple(shape)
        self.dtype = str(self.data.dtype)

    def numpy(self) -> Array:
        """Return the dense matrix."""
        dense = np.zeros(self.shape, self.dtype)
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr.numpy()))
        dense[rows, self.indices.numpy()] = self.data.numpy()
        return dense

    def asnumpy(self) -> Array:
        """Return the dense matrix, as releases before 0.8 spelled :meth:`numpy`."""
        deprecated("CSRNDArray.asnumpy", "CSRNDArray.numpy")
        return self.numpy()


class CSRPlaceholderOp:
    """A sparse matrix that a computation is given, as the three tensors of a :class:`CSRNDArray`."""

    stype = _CSR

    def __init__(self, shape: Sequence[int | PrimExpr], nonzeros: int | PrimExpr, dtype: str, name: str) -> None:
        self.shape, self.dtype, self.name = tuple(shape), dtype, name
        self.data = dense_placeholder((nonzeros,), dtype, f"{name}_data")
        self.indices = dense_placeholder((nonzeros,), _INDEX, f"{name}_indices")
        self.indptr = dense_placeholder((self.shape[0] + 1,), _INDEX, f"{name}_indptr")


def array(
    source_array: Array | Parts, device: Device | None = None, shape: tuple[int, int] | None = None, stype: str = _CSR
) -> CSRNDArray:
    """Return a dense matrix, or ``(data, indices, indptr)`` and a shape, as compressed rows.

    Raises UnavailableError if it is to be stored in another way. Raises ArgumentError if it is neither a matrix nor
    three parts with a shape.
    """
    _check_storage("array", stype)
    return CSRNDArray(source_array, device, shape)


def placeholder(
    shape: Sequence[int | PrimExpr],
    nonzeros: int | PrimExpr | None = None,
    dtype: str | None = None,
    name: str = "placeholder",
    stype: str | None = None,
) -> CSRPlaceholderOp:
    """Declare a sparse matrix, of float32 by default, that a computation is given.

    Raises UnavailableError if it is to be stored in another way.
    """
    _check_storage("placeholder", stype or _CSR)
    return CSRPlaceholderOp(shape, 0 if nonzeros is None else nonzeros, dtype or "float32", name)


def _check_storage(function: str, stype: str) -> None:
    if stype != _CSR:
        raise UnavailableError(f"sparse.{function}: stype must be 'csr', got {show(stype)}")
