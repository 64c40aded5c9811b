"""Order along an axis: ``sort``, ``argsort``, ``topk``; and what is unique or not zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs
from compiler.ir.error import ArgumentError, show
from compiler.ir.types import Type
from compiler.relay.expr import Call, Constant, Expr, TupleWrapper
from compiler.relay.op.common import NOT_SMOOTH, axis_of, int_of
from compiler.relay.op.relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types, call_op
from compiler.relay.ty import AnyDim, Dim, TensorType, TupleType
from compiler.topi import sorting as topi


def order(x: Any, axis: int, ascending: bool) -> Any:
    """Return where the elements stand in their order; of equal ones the first comes first, in either direction."""
    if ascending:
        return np.argsort(x, axis=axis, kind="stable")
    last = x.shape[axis] - 1
    return np.flip(last - np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)


def _sort_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    axis_of(attrs.axis, len(data.dims))
    return data


def _place_gradient(call: Call, grad: Expr) -> list[Expr]:
    """Each gradient goes back to where its value came from."""
    data, attrs = call.args[0], call.attrs
    places = call_op("argsort", data, axis=attrs.axis, is_ascend=attrs.is_ascend, dtype="int32")
    zeros = call_op("zeros_like", data)
    return [call_op("scatter_elements", zeros, places, grad, axis=attrs.axis, reduction="add")]


_SORT = register(
    "sort",
    doc="The elements in their order along an axis.",
    inputs=("data",),
    attributes={"axis": -1, "is_ascend": True},
    relation=_sort_relation,
    pattern=OpPattern.OPAQUE,
    compute=lambda attrs, inputs, out_type: [topi.sort(inputs[0], attrs.axis, attrs.is_ascend)],
    reference=lambda attrs, x: np.take_along_axis(x, order(x, attrs.axis, attrs.is_ascend), attrs.axis),
    gradient=_place_gradient,
)


def sort(data: Expr, axis: int = -1, is_ascend: bool = True) -> Call:
    """Return the elements in their order along ``axis``, from the smallest up where ``is_ascend`` holds."""
    return _SORT(data, axis=int_of(axis, "axis"), is_ascend=bool(is_ascend))


def _argsort_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    axis_of(attrs.axis, len(data.dims))
    return TensorType(data.shape, attrs.dtype)


_ARGSORT = register(
    "argsort",
    doc="Where the elements stand in their order along an axis.",
    inputs=("data",),
    attributes={"axis": -1, "is_ascend": True, "dtype": "int32"},
    spelt_out=("dtype",),
    relation=_argsort_relation,
    pattern=OpPattern.OPAQUE,
    compute=lambda attrs, inputs, out_type: [topi.argsort(inputs[0], attrs.axis, attrs.is_ascend, attrs.dtype)],
    reference=lambda attrs, x: order(x, attrs.axis, attrs.is_ascend).astype(attrs.dtype),
    waived=NOT_SMOOTH,
)


def argsort(data: Expr, axis: int = -1, is_ascend: bool = True, dtype: str = "int32") -> Call:
    """Return where the elements stand in their order along ``axis``; of equal ones the first comes first."""
    return _ARGSORT(data, axis=int_of(axis, "axis"), is_ascend=bool(is_ascend), dtype=dtype)


def top_types(data: TensorType, count: Dim, attrs: Attrs) -> Type:
    """Return the type of the first ``count`` values in order, of their places, or of both."""
    at = axis_of(attrs.axis, len(data.dims))
    shape = (*data.shape[:at], count, *data.shape[at + 1 :])
    found = {"values": TensorType(shape, data.dtype), "indices": TensorType(shape, attrs.dtype)}
    return TupleType(tuple(found.values())) if attrs.ret_type == "both" else found[attrs.ret_type]


def _topk_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    extent = data.dims[axis_of(attrs.axis, len(data.dims))]
    if isinstance(extent, int) and attrs.k > extent:
        raise RelationError(f"k must be at most the extent {extent} of axis {attrs.axis}, got {attrs.k}")
    return top_types(data, extent if attrs.k < 1 else attrs.k, attrs)


def top_values(attrs: Attrs, x: Any, count: int) -> Any:
    """Return the first ``count`` elements of a NumPy array in order, their places, or both."""
    places = order(x, attrs.axis, attrs.is_ascend)
    places = np.take(places, np.arange(x.shape[attrs.axis] if count < 1 else count), attrs.axis)
    values = np.take_along_axis(x, places, attrs.axis)
    found = {"values": values, "indices": places.astype(attrs.dtype)}
    return tuple(found.values()) if attrs.ret_type == "both" else found[attrs.ret_type]


_TOPK_ATTRIBUTES: dict[str, Any] = {"axis": -1, "ret_type": "both", "is_ascend": False, "dtype": "int32"}


def _topk_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    return topi.topk(inputs[0], attrs.k, attrs.axis, attrs.ret_type, attrs.is_ascend, attrs.dtype)


def _topk_gradient(call: Call, grad: Expr) -> list[Expr]:
    data, attrs = call.args[0], call.attrs
    if attrs.ret_type == "indices":
        return [call_op("zeros_like", data)]
    values = TupleWrapper(grad, 2)[0] if attrs.ret_type == "both" else grad
    places = _TOPK(data, **{**attrs, "ret_type": "indices"})
    return [call_op("scatter_elements", call_op("zeros_like", data), places, values, axis=attrs.axis, reduction="add")]


_TOPK = register(
    "topk",
    doc="The largest elements along an axis, or the smallest, and where they stand.",
    inputs=("data",),
    attributes={"k": 1, **_TOPK_ATTRIBUTES},
    spelt_out=("dtype",),
    relation=_topk_relation,
    pattern=OpPattern.OPAQUE,
    compute=_topk_compute,
    reference=lambda attrs, x: top_values(attrs, x, attrs.k),
    gradient=_topk_gradient,
)


def topk(
    data: Expr, k: Any = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False, dtype: str = "int32"
) -> Any:
    """Return the ``k`` largest elements along ``axis`` in their order, and where they stand.

    Parameters
    ----------
    k : int or Expr
        All where it is less than 1.
    ret_type : {"both", "values", "indices"}
        ``both`` gives a tuple.
    is_ascend : bool
        Whether the smallest ones are wanted.
    dtype : str
        The data type of the places.
    """
    if ret_type not in ("both", "values", "indices"):
        raise ArgumentError(f"topk: ret_type must be 'both', 'values' or 'indices', got {show(ret_type)}")
    attrs = {"axis": int_of(axis, "axis"), "ret_type": ret_type, "is_ascend": bool(is_ascend), "dtype": dtype}
    if isinstance(k, Constant):
        k = k.value.item()
    found = call_op("dyn.topk", data, k, **attrs) if isinstance(k, Expr) else _TOPK(data, k=int_of(k, "k"), **attrs)
    return TupleWrapper(found, 2) if ret_type == "both" else found


# results whose size depends on the values


def _unique_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data", 1)
    places = TensorType(data.shape, "int32")
    counts = (places,) if attrs.return_counts else ()
    return TupleType((data, places, places, TensorType((1,), "int32"), *counts))


def _unique_reference(attrs: Attrs, x: Any) -> Any:
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    if not attrs.sorted:
        by_place = np.argsort(first)
        values, first, counts = values[by_place], first[by_place], counts[by_place]
        inverse = np.argsort(by_place)[inverse]
    room = (0, len(x) - len(values))
    found = [np.pad(values, room), np.pad(first, room), inverse, np.array([len(values)])]
    whole = [f.astype("int32") for f in [*found[1:], *([np.pad(counts, room)] if attrs.return_counts else [])]]
    return (found[0].astype(x.dtype), *whole)


_UNIQUE = register(
    "unique",
    doc="Each value once; filled up behind the number of them that it also returns.",
    inputs=("data",),
    attributes={"sorted": True, "return_counts": False},
    relation=_unique_relation,
    pattern=OpPattern.OPAQUE,
    reference=_unique_reference,
    waived={"compute": "how much is written depends on the values; the reference runs", **NOT_SMOOTH},
)


def unique(data: Expr, is_sorted: bool = True, return_counts: bool = False) -> TupleWrapper:
    """Return each value of a vector once, in order of size or of first appearance.

    Returns
    -------
    values, first, inverse, count, counts
        The values, filled up to the size of ``data``; where each stands first; which one each element of ``data`` is;
        how many there are; and, if ``return_counts`` holds, how often each appears.
    """
    found = _UNIQUE(data, sorted=bool(is_sorted), return_counts=bool(return_counts))
    return TupleWrapper(found, 5 if return_counts else 4)


def _argwhere_relation(types: Types, attrs: Attrs) -> Type:
    condition = tensor(types[0], "condition")
    return TensorType((AnyDim(), len(condition.dims)), "int32")


_ARGWHERE = register(
    "argwhere",
    doc="The coordinates of all elements that are not zero.",
    inputs=("condition",),
    relation=_argwhere_relation,
    pattern=OpPattern.OPAQUE,
    reference=lambda attrs, x: np.argwhere(x).astype("int32"),
    waived={"compute": "the number of rows depends on the values; the reference runs", **NOT_SMOOTH},
)


def argwhere(condition: Expr) -> Call:
    """Return the coordinates of all elements that are not zero, a row for each."""
    return _ARGWHERE(condition)
