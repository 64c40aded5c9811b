"""Shape operators with shapes computed at run time: ``dyn.reshape``, ``dyn.tile``, ``dyn.full``, …

The public function of ``reshape`` makes ``dyn.reshape`` where the shape is not constant.  Once it is, the static form,
which the row names, takes its place (DynamicToStatic); until then the reference of the static form runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.ir.attrs import Attrs, AttrsMeta
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.broadcasting import broadcast_to
from compiler.relay.op.common import normalize_axes, normalize_axis
from compiler.relay.op.concat_split import tile
from compiler.relay.op.creation import full, ones, zeros
from compiler.relay.op.indices import one_hot
from compiler.relay.op.scatter import sparse_shape
from compiler.relay.op.shape import expand_dims, reshape, squeeze
from compiler.relay.op.slicing import strided_slice
from compiler.relay.op.sorting import TopKAttrs, top_types, topk
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, Gradient, Relation, RelationError, RelayOp, StaticForm, Types, call_op, get
from compiler.relay.ty import AnyDim, Dim, TensorType

_WAIVED = {
    "compute": "its shape is known to the running program only; DynamicToStatic replaces it where it can",
    "gradient": "DynamicToStatic replaces it before a model is differentiated",
}


def register_dynamic(
    static: RelayOp,
    arguments: Mapping[str, str],
    relation: Relation[Any],
    returns: str,
    first: int | None = None,
    gradient: Gradient | None = None,
) -> None:
    """Register the operator that has some attributes of a static one as arguments, each with its documentation.

    They come behind the inputs, or at the place ``first``.  ``gradient`` is that of a call whose arguments are not
    known.
    """
    first = len(static.inputs) if first is None else first
    form = StaticForm(static, {first + i: name for i, name in enumerate(arguments)})
    fields = {name: field for name, field in static.attributes.items() if name not in arguments}
    kind: Any = AttrsMeta(f"Dyn{static.attrs_type.__name__}", (Attrs,), fields)

    def reference(attrs: Attrs, *arrays: Array) -> Array:
        assert static.reference is not None
        behind = first + len(arguments)
        values = static.complete_attrs(form.attributes(attrs, arrays[first:behind]))
        result: Array = static.reference(values, *arrays[:first], *arrays[behind:])
        return result

    inputs = [(name, given.doc) for name, given in static.inputs.items()]

    register(
        f"dyn.{static.name}",
        doc=f"{static.doc.removesuffix('.')}; {' and '.join(arguments)} known at run time only.",
        inputs=dict([*inputs[:first], *arguments.items(), *inputs[first:]]),
        attrs=kind,
        relation=relation,
        reference=reference,
        static_form=form,
        gradient=gradient,
        returns=returns,
        waived={field: why for field, why in _WAIVED.items() if field == "compute" or gradient is None},
    )


def _length(t: Type, what: str) -> int:
    """Return how many numbers a vector has, which decides a rank and must be known."""
    extent = tensor(t, what, 1).dims[0]
    if not isinstance(extent, int):
        raise RelationError(f"the length of {what} is the rank of the result and must be known, got {t}")
    return extent


def _any(count: int) -> tuple[Dim, ...]:
    return tuple(AnyDim() for _ in range(count))  # one that stood at two places would say that they are equal


def _of_length(index: int, what: str) -> Relation[Any]:
    """Return the relation of a tensor whose rank is the length of an argument."""

    def relation(types: Types, attrs: Attrs) -> Type:
        shape = _any(_length(types[index], what))
        return TensorType(shape, attrs.get("dtype") or tensor(types[0], "data").dtype)

    return relation


def _tile_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    return TensorType(_any(max(len(data.dims), _length(types[1], "reps"))), data.dtype)


def _expand_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    tensor(types[1], "axis", 0)
    return TensorType(_any(len(data.dims) + attrs.get_int("num_newaxis")), data.dtype)


def _squeeze_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    return TensorType(_any(len(data.dims) - _length(types[1], "axis")), data.dtype)


def _slice_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    axes: Sequence[int] | None = attrs["axes"]
    chosen = range(_length(types[1], "begin")) if axes is None else normalize_axes(axes, len(data.dims))
    return TensorType(tuple(AnyDim() if d in chosen else e for d, e in enumerate(data.dims)), data.dtype)


def _topk_relation(types: Types, attrs: Attrs) -> Type:
    if len(tensor(types[1], "k").dims) > 1:
        raise RelationError(f"k must be a scalar or a vector of one number, got {types[1]}")
    return top_types(tensor(types[0], "data"), AnyDim(), TopKAttrs(**attrs))


def _one_hot_relation(types: Types, attrs: Attrs) -> Type:
    indices = tensor(types[0], "indices")
    tensor(types[3], "depth", 0)
    at = normalize_axis(attrs.get_int("axis"), len(indices.dims) + 1)
    return TensorType((*indices.shape[:at], AnyDim(), *indices.shape[at:]), attrs.get_str("dtype"))


def _sparse_relation(types: Types, attrs: Attrs) -> Type:
    return sparse_shape(_any(_length(types[3], "output_shape")), types[:3])


def _no_slope(call: Call) -> list[Call]:
    """Return the gradients of the arguments that decide the shape: zeros."""
    return [call_op("zeros_like", argument) for argument in call.args[1:]]


def _reshape_gradient(call: Call, grad: Expr) -> list[Call]:
    return [call_op("reshape_like", grad, call.args[0]), *_no_slope(call)]


def _broadcast_gradient(call: Call, grad: Expr) -> list[Call]:
    return [call_op("collapse_sum_like", grad, call.args[0]), *_no_slope(call)]


def _full_gradient(call: Call, grad: Expr) -> list[Call]:
    return [call_op("sum", grad, axis=None), *_no_slope(call)]


_SHAPE = {"shape": "Shape of the result, a vector of integers."}

register_dynamic(
    reshape.op,
    {"newshape": "Shape as ``reshape`` takes it, a vector."},
    _of_length(1, "newshape"),
    "The data.",
    gradient=_reshape_gradient,
)
register_dynamic(
    broadcast_to.op, _SHAPE, _of_length(1, "shape"), "The data, broadcast to ``shape``.", gradient=_broadcast_gradient
)
register_dynamic(full.op, _SHAPE, _of_length(1, "shape"), "A tensor of shape ``shape``.", gradient=_full_gradient)
register_dynamic(zeros.op, _SHAPE, _of_length(0, "shape"), "Zeros of shape ``shape``.")
register_dynamic(ones.op, _SHAPE, _of_length(0, "shape"), "Ones of shape ``shape``.")
register_dynamic(tile.op, {"reps": "Copies along each axis, a vector."}, _tile_relation, "The copies, as one tensor.")
register_dynamic(
    expand_dims.op,
    {"axis": "Position of the new axes, a scalar."},
    _expand_relation,
    "The data with more axes.",
    gradient=_reshape_gradient,
)
register_dynamic(
    squeeze.op,
    {"axis": "Axes to remove, a vector."},
    _squeeze_relation,
    "The data with fewer axes.",
    gradient=_reshape_gradient,
)
register_dynamic(
    strided_slice.op,
    {
        "begin": "First index along each axis, a vector.",
        "end": "Index to stop before along each axis, a vector.",
        "strides": "Step along each axis, a vector.",
    },
    _slice_relation,
    "The slice, of the rank of the data.",
)
register_dynamic(topk.op, {"k": "Number of elements, a scalar or a vector of one."}, _topk_relation, "As of ``topk``.")
register_dynamic(one_hot.op, {"depth": "Extent of the new axis, a scalar."}, _one_hot_relation, "As of ``one_hot``.")
register_dynamic(
    get("sparse_to_dense"),
    {"output_shape": "Shape of the result, a vector of integers."},
    _sparse_relation,
    "A tensor of shape ``output_shape`` with the data type of the values.",
)
