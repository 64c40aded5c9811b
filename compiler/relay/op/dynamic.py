"""Operators whose shape is an argument: ``dyn.reshape``, ``dyn.tile``, ``dyn.full``, …

The public functions make these where a shape is no constant.  :data:`STATIC_FORMS` says how to write a call once the
arguments are known; until then the reference runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.ir.attrs import REQUIRED, Attrs, DictAttrs
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.common import axes_of, axis_of
from compiler.relay.op.newshape import resolve_shape
from compiler.relay.op.relations import tensor
from compiler.relay.op.scatter import dense, sparse_shape
from compiler.relay.op.slicing import slices
from compiler.relay.op.sorting import top_types, top_values
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types, call_op
from compiler.relay.ty import AnyDim, Dim, TensorType

_WAIVED = {
    "compute": "its shape is known to the running program only; DynamicToStatic replaces it where it can",
    "gradient": "DynamicToStatic replaces it before a model is differentiated",
}

Static = Callable[[Call, list[Any]], Expr]
"""``static(call, values)``: the call with constants, the NumPy values of the arguments in :data:`STATIC_ARGUMENTS`."""

STATIC_FORMS: dict[str, Static] = {}
"""How a call is written once the arguments that decide its shape are known."""
STATIC_ARGUMENTS: dict[str, tuple[int, ...]] = {}
"""Which arguments decide the shape."""


def _dynamic(
    name: str,
    doc: str,
    inputs: tuple[str, ...],
    decided_by: tuple[int, ...],
    static: Static,
    *,
    relation: Any,
    reference: Any,
    attributes: dict[str, Any] | None = None,
    pattern: OpPattern = OpPattern.OPAQUE,
) -> None:
    register(
        name,
        doc=doc,
        inputs=inputs,
        attributes=attributes,
        relation=relation,
        pattern=pattern,
        reference=reference,
        waived=_WAIVED,
    )
    STATIC_FORMS[name] = static
    STATIC_ARGUMENTS[name] = decided_by


def _ints(value: Any) -> tuple[int, ...]:
    return tuple(int(v) for v in np.reshape(value, -1))


def _length(t: Type, what: str) -> int:
    """Return how many numbers a vector has, which decides a rank and must be known."""
    found = tensor(t, what, 1).dims[0]
    if not isinstance(found, int):
        raise RelationError(f"the length of {what} is the rank of the result and must be known, got {t}")
    return found


def _any(count: int) -> tuple[Dim, ...]:
    return (AnyDim(),) * count


def _of_length(index: int, what: str) -> Any:
    """Return the relation of a tensor whose rank is the length of an argument."""

    def relation(types: Types, attrs: Attrs) -> Type:
        data = tensor(types[0], "data")
        return TensorType(_any(_length(types[index], what)), attrs.get("dtype") or data.dtype)

    return relation


_dynamic(
    "dyn.reshape",
    "The elements in their order in a shape that is an argument.",
    ("data", "newshape"),
    (1,),
    lambda call, values: call_op("reshape", call.args[0], newshape=_ints(values[0]), allowzero=call.attrs.allowzero),
    relation=_of_length(1, "newshape"),
    reference=lambda attrs, x, shape: x.reshape(resolve_shape(x.shape, _ints(shape), attrs.allowzero)),
    attributes={"allowzero": False},
)

_dynamic(
    "dyn.broadcast_to",
    "Repeated to a shape that is an argument.",
    ("data", "shape"),
    (1,),
    lambda call, values: call_op("broadcast_to", call.args[0], shape=_ints(values[0])),
    relation=_of_length(1, "shape"),
    reference=lambda attrs, x, shape: np.broadcast_to(x, _ints(shape)).copy(),
)

_dynamic(
    "dyn.full",
    "One value everywhere in a shape that is an argument.",
    ("fill_value", "shape"),
    (1,),
    lambda call, values: call_op("full", call.args[0], shape=_ints(values[0]), dtype=call.attrs.dtype),
    relation=_of_length(1, "shape"),
    reference=lambda attrs, value, shape: np.full(_ints(shape), value, attrs.dtype or value.dtype),
    attributes={"dtype": ""},
)


def _tile_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    return TensorType(_any(max(len(data.dims), _length(types[1], "reps"))), data.dtype)


_dynamic(
    "dyn.tile",
    "So many copies along each axis as an argument says.",
    ("data", "reps"),
    (1,),
    lambda call, values: call_op("tile", call.args[0], reps=_ints(values[0])),
    relation=_tile_relation,
    reference=lambda attrs, x, reps: np.tile(x, _ints(reps)),
)


def _expand_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    tensor(types[1], "axis", 0)
    return TensorType(_any(len(data.dims) + attrs.num_newaxis), data.dtype)


def _expand_reference(attrs: Attrs, x: Any, axis: Any) -> Any:
    at = axis_of(int(axis), x.ndim + 1)
    return x.reshape(*x.shape[:at], *[1] * attrs.num_newaxis, *x.shape[at:])


_dynamic(
    "dyn.expand_dims",
    "New axes of extent 1 where an argument says.",
    ("data", "axis"),
    (1,),
    lambda call, values: call_op("expand_dims", call.args[0], axis=int(values[0]), num_newaxis=call.attrs.num_newaxis),
    relation=_expand_relation,
    reference=_expand_reference,
    attributes={"num_newaxis": 1},
)


def _squeeze_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    return TensorType(_any(len(data.dims) - _length(types[1], "axis")), data.dtype)


_dynamic(
    "dyn.squeeze",
    "Without the axes, of extent 1, that an argument names.",
    ("data", "axis"),
    (1,),
    lambda call, values: call_op("squeeze", call.args[0], axis=_ints(values[0])),
    relation=_squeeze_relation,
    reference=lambda attrs, x, axis: np.squeeze(x, axes_of(_ints(axis), x.ndim)),
)


def _slice_attrs(attrs: Attrs, begin: Any, end: Any, strides: Any) -> Attrs:
    found = {"begin": _ints(begin), "end": _ints(end), "strides": _ints(strides)}
    return DictAttrs({**found, "slice_mode": attrs.slice_mode, "axes": attrs.axes})


def _slice_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    chosen = range(_length(types[1], "begin")) if attrs.axes is None else axes_of(attrs.axes, len(data.dims))
    return TensorType(tuple(AnyDim() if d in chosen else e for d, e in enumerate(data.dims)), data.dtype)


_dynamic(
    "dyn.strided_slice",
    "Every so many elements from a begin up to an end that are arguments.",
    ("data", "begin", "end", "strides"),
    (1, 2, 3),
    lambda call, values: call_op("strided_slice", call.args[0], **_slice_attrs(call.attrs, *values)),
    relation=_slice_relation,
    reference=lambda attrs, x, begin, end, strides: x[slices(x.shape, _slice_attrs(attrs, begin, end, strides))].copy(),
    attributes={"slice_mode": "end", "axes": None},
)


def _topk_relation(types: Types, attrs: Attrs) -> Type:
    return top_types(tensor(types[0], "data"), AnyDim(), attrs)


_dynamic(
    "dyn.topk",
    "The largest elements along an axis, as many as an argument says.",
    ("data", "k"),
    (1,),
    lambda call, values: call_op("topk", call.args[0], k=_ints(values[0])[0], **call.attrs),
    relation=_topk_relation,
    reference=lambda attrs, x, k: top_values(attrs, x, _ints(k)[0]),
    attributes={"axis": -1, "ret_type": "both", "is_ascend": False, "dtype": "int32"},
)


def _one_hot_relation(types: Types, attrs: Attrs) -> Type:
    indices = tensor(types[0], "indices")
    at = axis_of(attrs.axis, len(indices.dims) + 1)
    return TensorType((*indices.shape[:at], AnyDim(), *indices.shape[at:]), attrs.dtype)


def _one_hot_reference(attrs: Attrs, indices: Any, on: Any, off: Any, depth: Any) -> Any:
    at = attrs.axis % (indices.ndim + 1)
    places = np.arange(_ints(depth)[0]).reshape([-1 if d == at else 1 for d in range(indices.ndim + 1)])
    return np.where(np.expand_dims(indices, at) == places, on, off).astype(attrs.dtype)


_dynamic(
    "dyn.one_hot",
    "One value where the place along a new axis is the index; how long that axis is, is an argument.",
    ("indices", "on_value", "off_value", "depth"),
    (3,),
    lambda call, values: call_op("one_hot", *call.args[:3], depth=_ints(values[0])[0], **call.attrs),
    relation=_one_hot_relation,
    reference=_one_hot_reference,
    attributes={"axis": REQUIRED, "dtype": REQUIRED},
)


def _dense_relation(types: Types, attrs: Attrs) -> Type:
    return sparse_shape(_any(_length(types[3], "output_shape")), types[:3])


_dynamic(
    "dyn.sparse_to_dense",
    "Values at indices, a default elsewhere, in a shape that is an argument.",
    ("sparse_indices", "sparse_values", "default_value", "output_shape"),
    (3,),
    lambda call, values: call_op("sparse_to_dense", *call.args[:3], output_shape=_ints(values[0])),
    relation=_dense_relation,
    reference=lambda attrs, indices, values, default, shape: dense(indices, _ints(shape), values, default),
)
