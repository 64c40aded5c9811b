"""Sparse matrix operators: ``nn.sparse_dense``, ``nn.sparse_add``, ``nn.sparse_transpose``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import BOOL, one_of
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, TupleWrapper, array_const, as_expr
from compiler.relay.op.common import check_same_extent, has_any_dim
from compiler.relay.op.indexing import index_tensor
from compiler.relay.op.nn.spatial import POSITIVE_SPATIAL, SpatialAttrs
from compiler.relay.op.type_relations import same_dtype, tensor
from compiler.relay.op_registry import public_function, register
from compiler.relay.operator import Array, Input, OpPattern, RelationError, Types
from compiler.relay.ty import AnyDim, Dim, TensorType, TupleType
from compiler.te.definition.tensor import Tensor
from compiler.topi.nn import sparse as topi

_NO_GRADIENT = {"gradient": "a sparse matrix has no gradient of its own shape"}
_MATRIX: dict[str, str | Input] = {
    "sparse_data": "Elements, a vector, or blocks, ``(blocks, rows, columns)``, of a sparse matrix.",
    "sparse_indices": "The column of each.",
    "sparse_indptr": "Where each row of them begins, and where the last one ends.",
}


class SparseDenseAttrs(Attrs):
    sparse_lhs: bool = attr_field(BOOL, "Whether to return the transposed result, ``sparse @ dense.T``.", False)


def _matrix(types: Sequence[Type]) -> tuple[TensorType, Dim]:
    """Return the data of a sparse matrix, and its number of rows."""
    data, indices, begins = (
        tensor(types[0], "sparse_data"),
        index_tensor(types[1], "sparse_indices"),
        index_tensor(types[2], "sparse_indptr"),
    )
    if len(data.dims) not in (1, 3):
        raise RelationError(f"sparse_data must be elements or blocks, got {data}")
    check_same_extent(data.dims[0], tensor(indices, "sparse_indices", 1).dims[0], "the elements and their columns")
    lines = tensor(begins, "sparse_indptr", 1).dims[0]
    if has_any_dim(lines, *data.dims[1:2]):
        return data, AnyDim()
    return data, (lines - 1) * (data.dims[1] if len(data.dims) == 3 else 1)


def _dense_relation(types: Types, attrs: SparseDenseAttrs) -> Type:
    """``(rows, N)`` with the rows of the dense matrix and those of the sparse one, or the other way round."""
    dense = tensor(types[0], "dense_data", 2)
    data, rows = _matrix(types[1:])
    same_dtype(dense, data)
    return TensorType((rows, dense.dims[0]) if attrs.sparse_lhs else (dense.dims[0], rows), dense.dtype)


def as_dense(columns: int, data: Array, indices: Array, begins: Array) -> Array:
    """Return a sparse matrix as a dense one with at least the columns that its elements have."""
    blocks = data.reshape(-1, 1, 1) if data.ndim == 1 else data
    _, height, width = blocks.shape
    made = np.zeros(((len(begins) - 1) * height, columns), data.dtype)
    for row in range(len(begins) - 1):
        for e in range(int(begins[row]), int(begins[row + 1])):
            at = int(indices[e]) * width
            made[row * height : (row + 1) * height, at : at + width] += blocks[e]
    return made


def _dense_reference(attrs: SparseDenseAttrs, dense: Array, *matrix: Array) -> Array:
    sparse = as_dense(dense.shape[1], *matrix)
    return sparse @ dense.T if attrs.sparse_lhs else dense @ sparse.T


_SPARSE_DENSE = register(
    "nn.sparse_dense",
    doc="Multiply a dense matrix and a transposed sparse one.",
    inputs={"dense_mat": "``(rows, K)``.", **_MATRIX},
    attrs=SparseDenseAttrs,
    relation=_dense_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    definition=topi.sparse_dense,
    reference=_dense_reference,
    waived=_NO_GRADIENT,
)


class SparseConv2DAttrs(SpatialAttrs):
    RANK = 2
    layout: str = attr_field(one_of("NHWC", "NCHW"), "Layout of the data and of the result.", "NHWC")
    kernel_size: tuple[int, ...] = attr_field(
        POSITIVE_SPATIAL, "Extents of the window, which is centred on each pixel.", 1
    )


def _conv_relation(types: Types, attrs: SparseConv2DAttrs) -> Type:
    """The type of the data, with a channel for each row of the weight."""
    data = tensor(types[0], "dense_data", 4)
    blocks = tensor(types[1], "sparse_data")
    index_tensor(types[2], "sparse_indices")
    begins = tensor(index_tensor(types[3], "sparse_indptr"), "sparse_indptr", 1).dims[0]
    same_dtype(data, blocks)
    if len(blocks.dims) not in (2, 3):
        raise RelationError(f"sparse_data must be blocks, got {blocks}")
    outputs = AnyDim() if has_any_dim(begins, blocks.dims[1]) else (begins - 1) * blocks.dims[1]
    channel = attrs.layout.index("C")
    return TensorType((*data.dims[:channel], outputs, *data.dims[channel + 1 :]), data.dtype)


def _conv_compute(attrs: SparseConv2DAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    data, blocks, indices, begins = inputs
    return [topi.sparse_conv2d(data, blocks, indices, begins, attrs.layout, attrs.kernel_size[0])]


def _conv_reference(attrs: SparseConv2DAttrs, data: Array, blocks: Array, indices: Array, begins: Array) -> Array:
    pixels = data if attrs.layout == "NHWC" else data.transpose(0, 2, 3, 1)
    height, width = attrs.kernel_size
    padded = np.pad(pixels, ((0, 0), (height // 2,) * 2, (width // 2,) * 2, (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (height, width), (1, 2))
    rows = windows.transpose((0, 1, 2, 4, 5, 3) if attrs.layout == "NHWC" else (0, 1, 2, 3, 4, 5))
    rows = rows.reshape(*pixels.shape[:3], -1)
    result = rows @ as_dense(rows.shape[-1], np.atleast_3d(blocks), indices, begins).T
    return result if attrs.layout == "NHWC" else result.transpose(0, 3, 1, 2)


_SPARSE_CONV2D = register(
    "nn.sparse_conv2d",
    doc="Convolve images by a sparse weight; the result has their extents.",
    inputs={"dense_data": "Images.", **_MATRIX},
    attrs=SparseConv2DAttrs,
    relation=_conv_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=_conv_compute,
    reference=_conv_reference,
    waived={**_NO_GRADIENT, "layout": "the order of the columns of the weight is that of the images' dimensions"},
)


def _add_relation(types: Types, attrs: Attrs) -> Type:
    """The type of the dense matrix."""
    dense = tensor(types[0], "dense_data", 2)
    data, rows = _matrix(types[1:])
    same_dtype(dense, data)
    check_same_extent(dense.dims[0], rows, "the rows of both matrices")
    return dense


_SPARSE_ADD = register(
    "nn.sparse_add",
    doc="Add a dense matrix and a sparse one.",
    inputs={"dense_mat": "``(rows, columns)``.", **_MATRIX},
    relation=_add_relation,
    definition=topi.sparse_add,
    reference=lambda attrs, dense, *matrix: dense + as_dense(dense.shape[1], *matrix),
    waived=_NO_GRADIENT,
)


def _transpose_relation(types: Types, attrs: Attrs) -> Type:
    """The elements of the transpose, their columns, and where its rows begin."""
    _matrix(types)
    tensor(types[0], "sparse_data", 1)
    return TupleType(tuple(types))


def _transpose_reference(attrs: Attrs, data: Array, indices: Array, begins: Array) -> tuple[Array, Array, Array]:
    rows = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
    order = np.argsort(indices, kind="stable")
    counts = np.bincount(indices, minlength=len(begins) - 1)
    ends = np.concatenate([[0], np.cumsum(counts)])
    return data[order], rows[order].astype(indices.dtype), ends.astype(begins.dtype)


_SPARSE_TRANSPOSE = register(
    "nn.sparse_transpose",
    doc="Transpose a square sparse matrix.",
    inputs=_MATRIX,
    relation=_transpose_relation,
    definition=topi.sparse_transpose,
    reference=_transpose_reference,
    waived=_NO_GRADIENT,
)


def _parts(function: str, matrix: Any) -> list[RelayExpr]:
    """Return the three arrays of a sparse matrix: of a tuple of expressions, or of a matrix of SciPy."""
    if hasattr(matrix, "indptr"):
        matrix = (matrix.data, matrix.indices, matrix.indptr)
    if not isinstance(matrix, (tuple, list)) or len(matrix) != 3:
        raise ArgumentError(
            f"{function}: a sparse matrix is (data, indices, indptr), or has these attributes, got {show(matrix)}"
        )
    return [array_const(part) if isinstance(part, np.ndarray) else as_expr(part) for part in matrix]


_MATRIX_DOC = (
    "tuple of Expr, or scipy.sparse matrix: ``sparse_data``, elements or blocks; ``sparse_indices``, the column of "
    "each; and ``sparse_indptr``, where each row begins and the last one ends."
)


@public_function(_SPARSE_DENSE, sparse_mat=_MATRIX_DOC)
def sparse_dense(dense_mat: RelayExpr, sparse_mat: Any, sparse_lhs: bool = False) -> Call:
    """Multiply a dense matrix and a transposed sparse one."""
    matrix = _parts("nn.sparse_dense", sparse_mat)
    return _SPARSE_DENSE.op(as_expr(dense_mat), *matrix, sparse_lhs=sparse_lhs)


@public_function(_SPARSE_ADD, sparse_mat=_MATRIX_DOC)
def sparse_add(dense_mat: RelayExpr, sparse_mat: Any) -> Call:
    """Add a dense matrix and a sparse one."""
    return _SPARSE_ADD.op(as_expr(dense_mat), *_parts("nn.sparse_add", sparse_mat))


@public_function(_SPARSE_TRANSPOSE, x=_MATRIX_DOC)
def sparse_transpose(x: Any) -> TupleWrapper:
    """Transpose a square sparse matrix."""
    return TupleWrapper(_SPARSE_TRANSPOSE.op(*_parts("nn.sparse_transpose", x)), 3)
