"""Sparse tensors in coordinate format: ``sparse_reshape``, ``sparse_fill_empty_rows``."""

from __future__ import annotations

import numpy as np

from compiler import topi
from compiler.ir.attrs import Attrs
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Tuple, TupleGetItem
from compiler.relay.op.common import NOT_SMOOTH, check_same_extent
from compiler.relay.op.indexing import index_tensor
from compiler.relay.op.type_relations import same_dtype, tensor
from compiler.relay.op_registry import public_function, register, tuple_function
from compiler.relay.operator import Array, OpPattern, RelationError, Types
from compiler.relay.ty import AnyDim, TensorType, TupleType

# reshaping


def _reshape_relation(types: Types, attrs: Attrs) -> Type:
    """``(count, new rank)`` coordinates in the new shape; and the new shape, without a -1."""
    indices, old, new = (
        index_tensor(t, n) for t, n in zip(types, ("sparse_indices", "prev_shape", "new_shape"), strict=True)
    )
    tensor(indices, "sparse_indices", 2)
    tensor(old, "prev_shape", 1)
    tensor(new, "new_shape", 1)
    check_same_extent(indices.dims[1], old.dims[0], "the coordinates of a point and the dimensions of prev_shape")
    return TupleType((TensorType((indices.dims[0], new.dims[0]), indices.dtype), new))


def _reshape_reference(attrs: Attrs, indices: Array, old: Array, new: Array) -> tuple[Array, Array]:
    shape = new.copy()
    if (shape < 0).any():
        shape[shape < 0] = old.prod() // shape[shape >= 0].prod()
    if np.array_equal(shape, old):
        return indices, shape
    flat = np.zeros(len(indices), "int64")
    for d, extent in enumerate(old):
        flat = flat * int(extent) + indices[:, d]
    columns = []
    for extent in shape[:0:-1]:
        columns.append(flat % int(extent))
        flat = flat // int(extent)
    return np.stack([flat, *columns[::-1]], 1).astype(indices.dtype), shape


_RESHAPE = register(
    "sparse_reshape",
    doc="Return the coordinates that the elements of a sparse tensor have in another shape.",
    inputs={
        "sparse_indices": "Coordinates, ``(count, rank)`` integers.",
        "prev_shape": "The shape that they are in, a vector.",
        "new_shape": "The other shape, a vector; one extent may be -1, and follows from the others.",
    },
    relation=_reshape_relation,
    pattern=OpPattern.INJECTIVE,
    definition=topi.sparse_reshape,
    reference=_reshape_reference,
    waived=NOT_SMOOTH,
)

sparse_reshape = tuple_function(_RESHAPE, 2)

# rows without elements


def _fill_relation(types: Types, attrs: Attrs) -> Type:
    """Coordinates and values in the order of rows, and for each row whether it was empty; counts by the values."""
    indices, values = index_tensor(types[0], "sparse_indices"), tensor(types[1], "sparse_values", 1)
    shape, default = index_tensor(types[2], "dense_shape"), tensor(types[3], "default_value")
    tensor(indices, "sparse_indices", 2)
    tensor(shape, "dense_shape", 1)
    if len(default.dims) > 1 or any(isinstance(extent, int) and extent != 1 for extent in default.dims):
        raise RelationError(f"default_value must be one value, got {default}")
    same_dtype(values, default)
    check_same_extent(indices.dims[0], values.dims[0], "the number of coordinates and of values")
    check_same_extent(indices.dims[1], shape.dims[0], "the coordinates of a point and the dimensions of dense_shape")
    coordinates = TensorType((AnyDim(), indices.dims[1]), indices.dtype)
    return TupleType((coordinates, TensorType((AnyDim(),), values.dtype), TensorType((AnyDim(),), "bool")))


def _fill_reference(
    attrs: Attrs, indices: Array, values: Array, shape: Array, default: Array
) -> tuple[Array, Array, Array]:
    empty = np.ones(int(shape[0]), bool)
    empty[indices[:, 0]] = False
    added = np.zeros((int(empty.sum()), indices.shape[1]), indices.dtype)
    added[:, 0] = np.flatnonzero(empty)
    rows = np.concatenate([indices, added])
    order = np.argsort(rows[:, 0], kind="stable")
    filled = np.concatenate([values, np.full(len(added), default.reshape(()), values.dtype)])
    return rows[order], filled[order], empty


_FILL = register(
    "sparse_fill_empty_rows",
    doc="Give each empty row of a sparse matrix an element in its first column.",
    inputs={
        "sparse_indices": "Coordinates, ``(count, rank)`` integers.",
        "sparse_values": "A value for each.",
        "dense_shape": "The shape of the dense tensor, a vector.",
        "default_value": "The value of added elements: a scalar, or a vector of one element.",
    },
    relation=_fill_relation,
    reference=_fill_reference,
    waived={"compute": "the number of rows depends on the values; the reference runs", **NOT_SMOOTH},
)


@public_function(_FILL)
def sparse_fill_empty_rows(
    sparse_indices: RelayExpr, sparse_values: RelayExpr, dense_shape: RelayExpr, default_value: RelayExpr
) -> Tuple:
    """Give each empty row of a sparse matrix an element in its first column.

    The result is a tuple of coordinates, of values and, for each row, whether it was empty.
    """
    call = _FILL(sparse_indices, sparse_values, dense_shape, default_value)
    return Tuple(tuple(TupleGetItem(call, index) for index in range(3)))
