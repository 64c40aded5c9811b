"""Elements put where indices say: ``scatter_elements``, ``scatter_nd``, ``sparse_to_dense``, ``segment_sum``."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir.attrs import REQUIRED, Attrs
from compiler.ir.error import ArgumentError, show
from compiler.ir.types import Type
from compiler.relay.expr import Call, Constant, Expr, const
from compiler.relay.op.common import agree, axis_of, int_of, shape_of_attr
from compiler.relay.op.indexing import index_tensor
from compiler.relay.op.relations import same_dtype, tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types, call_op
from compiler.relay.ty import TensorType
from compiler.topi import scatter as topi

_UFUNCS = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def _put(found: Any, where: Any, updates: Any, reduction: str) -> Any:
    """Put updates into an array at a place for each of them; of several at one place the last one counts."""
    if reduction == "update":
        found[where] = updates
    elif reduction == "mean":
        count = np.ones(found.shape, found.dtype)
        np.add.at(found, where, updates)
        np.add.at(count, where, np.ones_like(updates))
        found = (found / count).astype(found.dtype)
    else:
        _UFUNCS[reduction].at(found, where, updates)
    return found


def _reduction(value: str, what: str) -> str:
    if value not in topi.REDUCTIONS:
        raise ArgumentError(f"{what} must be one of {', '.join(topi.REDUCTIONS)}, got {show(value)}")
    return value


# scatter_elements


def _elements_relation(types: Types, attrs: Attrs) -> Type:
    data, indices, updates = tensor(types[0], "data"), index_tensor(types[1], "indices"), tensor(types[2], "updates")
    same_dtype(data, updates)
    axis_of(attrs.axis, len(data.dims))
    if not len(data.dims) == len(indices.dims) == len(updates.dims):
        raise RelationError(f"data, indices and updates must have one rank, got {data}, {indices} and {updates}")
    for d, (i, u) in enumerate(zip(indices.dims, updates.dims, strict=True)):
        agree(i, u, f"indices {indices} and updates {updates} along axis {d}")
    return data


def _elements_reference(attrs: Attrs, x: Any, indices: Any, updates: Any) -> Any:
    where = list(np.indices(indices.shape, sparse=True))
    where[attrs.axis] = indices.astype("int64")
    return _put(x.copy(), tuple(where), updates, attrs.reduction)


def _elements_gradient(call: Call, grad: Expr) -> list[Expr]:
    _, indices, updates = call.args
    attrs = call.attrs
    to_updates = call_op("gather", grad, indices, axis=attrs.axis)
    if attrs.reduction == "add":
        return [grad, call_op("zeros_like", indices), to_updates]
    if attrs.reduction != "update":
        raise ArgumentError(f"gradient of scatter_elements: reduction must be update or add, got {attrs.reduction!r}")
    cleared = call_op("scatter_elements", grad, indices, call_op("zeros_like", updates), **attrs)
    return [cleared, call_op("zeros_like", indices), to_updates]


_SCATTER_ELEMENTS = register(
    "scatter_elements",
    doc="Updates put at their own place but for one axis, where indices say where.",
    inputs=("data", "indices", "updates"),
    attributes={"axis": REQUIRED, "reduction": "update"},
    relation=_elements_relation,
    pattern=OpPattern.OPAQUE,
    compute=lambda attrs, inputs, out_type: [
        topi.scatter_elements(inputs[0], inputs[1], inputs[2], attrs.axis, attrs.reduction)
    ],
    reference=_elements_reference,
    gradient=_elements_gradient,
)


def scatter_elements(data: Expr, indices: Expr, updates: Expr, axis: int = 0, reduction: str = "update") -> Call:
    """Return ``data`` with each update put at its own place but for ``axis``, where ``indices`` say where.

    Parameters
    ----------
    reduction : {"update", "add", "mul", "min", "max", "mean"}
        How values at one place, that of ``data`` too, become one; ``update`` takes the last update.
    """
    return _SCATTER_ELEMENTS(
        data, indices, updates, axis=int_of(axis, "axis"), reduction=_reduction(reduction, "reduction")
    )


# scatter_nd


def _nd_relation(types: Types, attrs: Attrs) -> Type:
    data, indices, updates = tensor(types[0], "data"), index_tensor(types[1], "indices"), tensor(types[2], "updates")
    same_dtype(data, updates)
    count = indices.dims[0] if indices.dims else None
    if not isinstance(count, int) or count > len(data.dims):
        raise RelationError(f"the first dimension of indices must be a number of coordinates in {data}, got {indices}")
    wanted = (*indices.dims[1:], *data.dims[count:])
    if len(updates.dims) != len(wanted):
        raise RelationError(f"updates must have the shape {wanted}, got {updates}")
    for u, w in zip(updates.dims, wanted, strict=True):
        agree(u, w, f"updates {updates} and the shape {wanted} of what the indices name")
    return data


def _nd_gradient(call: Call, grad: Expr) -> list[Expr]:
    _, indices, updates = call.args
    to_updates = call_op("gather_nd", grad, indices)
    if call.attrs.mode == "add":
        return [grad, call_op("zeros_like", indices), to_updates]
    if call.attrs.mode != "update":
        raise ArgumentError(f"gradient of scatter_nd: mode must be update or add, got {call.attrs.mode!r}")
    cleared = call_op("scatter_nd", grad, indices, call_op("zeros_like", updates), mode="update")
    return [cleared, call_op("zeros_like", indices), to_updates]


_SCATTER_ND = register(
    "scatter_nd",
    doc="Slices put at points, whose coordinates stand along the first axis of the indices.",
    inputs=("data", "indices", "updates"),
    attributes={"mode": "update"},
    relation=_nd_relation,
    pattern=OpPattern.OPAQUE,
    compute=lambda attrs, inputs, out_type: [topi.scatter_nd(inputs[0], inputs[1], inputs[2], attrs.mode)],
    reference=lambda attrs, x, indices, updates: _put(x.copy(), tuple(indices.astype("int64")), updates, attrs.mode),
    gradient=_nd_gradient,
)


def scatter_nd(data: Expr, indices: Expr, updates: Expr, mode: str = "update") -> Call:
    """Return ``data`` with slices put at points, whose coordinates stand along the first axis of ``indices``."""
    return _SCATTER_ND(data, indices, updates, mode=_reduction(mode, "mode"))


# built on these


def sparse_shape(shape: tuple[Any, ...], types: tuple[Any, ...]) -> Type:
    """Return the type of a dense tensor of a shape, made of sparse indices, values and a default."""
    indices, values = index_tensor(types[0], "sparse_indices"), tensor(types[1], "sparse_values")
    default = tensor(types[2], "default_value", 0)
    same_dtype(values, default)
    if len(indices.dims) > 2 or len(values.dims) > 1:
        raise RelationError(f"there must be a vector of values with a point for each, got {indices} and {values}")
    width = indices.dims[1] if len(indices.dims) == 2 else 1
    agree(width, len(shape), f"the coordinates of {indices} and the dimensions of {shape}")
    return TensorType(shape, values.dtype)


def dense(indices: Any, shape: Any, values: Any, default: Any) -> Any:
    """Return a NumPy array of a shape with values at indices, and a default elsewhere."""
    found = np.full(shape, default, values.dtype)
    points = indices.astype("int64")
    found[tuple(points.T) if points.ndim == 2 else points] = values
    return found


def _dense_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    return [topi.sparse_to_dense(inputs[0], attrs.output_shape, inputs[1], inputs[2])]


_SPARSE_TO_DENSE = register(
    "sparse_to_dense",
    doc="Values at indices, a default elsewhere.",
    inputs=("sparse_indices", "sparse_values", "default_value"),
    attributes={"output_shape": REQUIRED},
    relation=lambda types, attrs: sparse_shape(attrs.output_shape, types),
    pattern=OpPattern.OPAQUE,
    compute=_dense_compute,
    reference=lambda attrs, indices, values, default: dense(indices, attrs.output_shape, values, default),
    waived={"gradient": "not needed by any model that is trained here"},
)


def sparse_to_dense(sparse_indices: Expr, output_shape: Any, sparse_values: Expr, default_value: Any = 0) -> Call:
    """Return a tensor of ``output_shape`` with values at indices, and a default elsewhere.

    Parameters
    ----------
    sparse_indices : Expr
        One index, a vector of them, or ``(count, rank)`` points.
    default_value : Expr or number
        A number becomes one of the values' data type, which must then be known to be the number's own.
    """
    default = default_value if isinstance(default_value, Expr) else const(default_value, _dtype_of(sparse_values))
    if isinstance(output_shape, Constant):
        output_shape = output_shape.value.reshape(-1).tolist()
    if isinstance(output_shape, Expr):
        return call_op("dyn.sparse_to_dense", sparse_indices, sparse_values, default, output_shape)
    shape = shape_of_attr(output_shape, "output_shape")
    return _SPARSE_TO_DENSE(sparse_indices, sparse_values, default, output_shape=shape)


def _dtype_of(value: Any) -> str | None:
    """Return the data type of a constant, or of an expression whose type is known."""
    if isinstance(value, Constant):
        return str(value.data.dtype)
    known = value.checked_type_ or getattr(value, "type_annotation", None)
    return known.dtype if isinstance(known, TensorType) else None


def segment_sum(data: Expr, segment_ids: Expr, num_segments: int | None = None) -> Call:
    """Return the sums of the slices along the first axis that have one segment number.

    Parameters
    ----------
    num_segments : int, optional
        The largest number and one more when left out, known to the running program only.
    """
    count: Expr = const(np.array([num_segments or 0], "int64"))
    if num_segments is None:
        top = call_op("cast", call_op("max", segment_ids, axis=None), dtype="int64")
        count = call_op("expand_dims", call_op("add", top, const(1, "int64")), axis=0)
    shape = call_op("shape_of", data, dtype="int64")
    rest = call_op("strided_slice", shape, begin=(1,), end=(1 << 30,))
    whole = call_op("concatenate", [count, rest], axis=0)
    zeros = call_op("cast_like", call_op("dyn.full", const(0.0), whole), data)
    points = call_op("expand_dims", segment_ids, axis=0)
    return call_op("scatter_nd", zeros, points, data, mode="add")
