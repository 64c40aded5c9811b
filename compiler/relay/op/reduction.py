"""Reductions: ``sum``, ``mean``, ``variance``, ``max``, ``argmax``, ``all``, …"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import BOOL, INTS, optional
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, Constant, Expr, Tuple, TupleWrapper, const
from compiler.relay.op.axis_layouts import reduction_layout
from compiler.relay.op.common import NOT_SMOOTH, normalize_axes, num_elements
from compiler.relay.op.type_relations import tensor, tensor_of_kind
from compiler.relay.op_registry import OpFunction, composite, public_function, register
from compiler.relay.operator import Array, Gradient, OpPattern, Relation, RelationError, Types, call_op
from compiler.relay.ty import Dim, TensorType
from compiler.te.definition.tensor import Tensor
from compiler.topi import extrema
from compiler.topi import reduction as topi
from compiler.topi.definitions import summary_of

Axis = int | Sequence[int] | None


class ReduceAttrs(Attrs):
    """Attributes of reductions."""

    axis: tuple[int, ...] | None = attr_field(optional(INTS), "Axes to reduce over; all of them if it is None.", None)
    keepdims: bool = attr_field(BOOL, "Whether reduced axes stay, with extent 1.", False)
    exclude: bool = attr_field(BOOL, "Whether ``axis`` names the axes that are not reduced.", False)


class ArgReduceAttrs(ReduceAttrs):
    """Attributes of ``argmax`` and ``argmin``."""

    select_last_index: bool = attr_field(BOOL, "Whether to take the last of several equal elements.", False)


class VarianceAttrs(ReduceAttrs):
    unbiased: bool = attr_field(BOOL, "Whether to divide by one less than the number of elements.", False)


def reduced_axes(attrs: ReduceAttrs, rank: int) -> tuple[int, ...]:
    """Return the axes that a reduction goes over, in order."""
    if attrs.axis is None:
        return tuple(range(rank))
    given = normalize_axes(attrs.axis, rank)
    return tuple(d for d in range(rank) if (d in given) != attrs.exclude)


def _reduced_shape(attrs: ReduceAttrs, data: TensorType) -> tuple[Dim, ...]:
    over = reduced_axes(attrs, len(data.shape))
    if attrs.keepdims:
        return tuple(1 if d in over else e for d, e in enumerate(data.shape))
    return tuple(e for d, e in enumerate(data.shape) if d not in over)


def reduction(types: Types, attrs: ReduceAttrs) -> Type:
    """The output has the axes that are not reduced, and with ``keepdims`` the others with extent 1."""
    data = tensor(types[0], "data")
    return TensorType(_reduced_shape(attrs, data), data.dtype)


def _index_type(attrs: ReduceAttrs, dims: Sequence[Dim]) -> str:
    """Return the data type that holds the place of an element among those reduced over."""
    counts = [dims[d] for d in reduced_axes(attrs, len(dims))]
    known = [count for count in counts if isinstance(count, int)]
    return "int32" if math.prod(known) <= dt.int_range("int32")[1] else "int64"


def _arg_relation(types: Types, attrs: ArgReduceAttrs) -> Type:
    """The output has the axes that are not reduced, and data type int32, or int64 where that does not hold an index."""
    data = tensor(types[0], "data")
    return TensorType(_reduced_shape(attrs, data), _index_type(attrs, data.dims))


def _logical_relation(types: Types, attrs: ReduceAttrs) -> Type:
    """The output has the axes that are not reduced, and data type bool."""
    tensor_of_kind(types[0], dt.is_bool, "of type bool")
    return reduction(types, attrs)


def spread(value: RelayExpr, call: Call) -> RelayExpr:
    """Return the result of a reduction, or the gradient of it, with the reduced axes put back as extent 1."""
    rank = len(call.args[0].checked_type.shape)
    attrs = ReduceAttrs.of(call)
    if attrs.keepdims or rank == 0:
        return value
    for d in reduced_axes(attrs, rank):
        value = call_op("expand_dims", value, axis=d)
    return value


def _elements(call: Call) -> Constant:
    """Return, as a constant, how many elements each result is made of."""
    data = call.args[0].checked_type
    count: Any = num_elements(data.dims[d] for d in reduced_axes(ReduceAttrs.of(call), len(data.dims)))
    return const(count, data.dtype)


def _sum_gradient(call: Call, grad: Expr) -> list[Expr]:
    return [call_op("broadcast_to_like", spread(grad, call), call.args[0])]


def _mean_gradient(call: Call, grad: Expr) -> list[Expr]:
    return [call_op("divide", _sum_gradient(call, grad)[0], _elements(call))]


def _choice_gradient(call: Call, grad: Expr) -> list[Expr]:
    """The gradient goes in equal parts to the elements that are as large, or as small, as the result."""
    data = call.args[0]
    chosen = call_op("equal", data, spread(call, call))
    ones = call_op("cast", chosen, dtype=data.checked_type.dtype)
    attrs = {**call.attrs, "keepdims": True}
    share = call_op("divide", ones, call_op("sum", ones, **attrs))
    return [call_op("multiply", share, spread(grad, call))]


def _prod_gradient(call: Call, grad: Expr) -> list[Expr]:
    data = call.args[0]
    return [call_op("divide", spread(call_op("multiply", grad, call), call), data)]


def _reduction(
    compute: Callable[..., Tensor],
    reference: Callable[..., Array],
    gradient: Gradient | None = None,
    relation: Relation[ReduceAttrs] = reduction,
) -> OpFunction:
    """Register a reduction, with the name and the documentation of its definition."""

    def run(attrs: ReduceAttrs, x: Array) -> Array:
        return np.asarray(reference(x, axis=reduced_axes(attrs, x.ndim), keepdims=attrs.keepdims), x.dtype)

    return register(
        compute.__name__,
        doc=summary_of(compute),
        inputs={"data": "The tensor to reduce."},
        attrs=ReduceAttrs,
        relation=relation,
        pattern=OpPattern.COMM_REDUCE,
        layout=reduction_layout(),
        compute=lambda attrs, inputs, out_type: [
            compute(inputs[0], reduced_axes(attrs, inputs[0].ndim), attrs.keepdims)
        ],
        reference=run,
        gradient=gradient,
        waived={} if gradient else NOT_SMOOTH,
    )


def _kept(reduced: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    """Return a result whose dimensions were all kept as ``keepdims`` asks; NumPy's types know only its constants."""
    return reduced if keepdims else reduced.squeeze(axis)


def _mean(x: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    if x.dtype.kind not in "iub":
        return _kept(np.mean(x, axis=axis, keepdims=True), axis, keepdims)
    whole = _kept(np.sum(x, axis=axis, keepdims=True, dtype="int64"), axis, keepdims)
    made: Array = np.trunc(whole / np.prod([x.shape[d] for d in axis]))
    return made


def _sum(x: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    return _kept(np.sum(x, axis=axis, keepdims=True, dtype=None if x.dtype.kind == "b" else x.dtype), axis, keepdims)


def _prod(x: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    return _kept(np.prod(x, axis=axis, keepdims=True, dtype=x.dtype), axis, keepdims)


sum = _reduction(topi.sum, _sum, _sum_gradient)
mean = _reduction(topi.mean, _mean, _mean_gradient)
prod = _reduction(topi.prod, _prod, _prod_gradient)
max = _reduction(extrema.max, np.max, _choice_gradient)
min = _reduction(extrema.min, np.min, _choice_gradient)
all = _reduction(topi.all, np.all, relation=_logical_relation)
any = _reduction(topi.any, np.any, relation=_logical_relation)


def _arg_reference(find: Callable[..., Array], attrs: ArgReduceAttrs, x: Array) -> Array:
    over = reduced_axes(attrs, x.ndim)
    kept = [d for d in range(x.ndim) if d not in over]
    rows = np.transpose(x, [*kept, *over]).reshape([x.shape[d] for d in kept] + [-1])
    index = rows.shape[-1] - 1 - find(rows[..., ::-1], -1) if attrs.select_last_index else find(rows, -1)
    shape = [1 if d in over else e for d, e in enumerate(x.shape)] if attrs.keepdims else index.shape
    return np.asarray(index, _index_type(attrs, x.shape)).reshape(shape)


def _arg(name: str, compute: Callable[..., Tensor], find: Callable[..., Array], which: str) -> OpFunction:
    """Register a search for the best element."""
    return register(
        name,
        doc=f"Return the index of the {which} element over some axes, counted as if these axes were one.",
        inputs={"data": "The tensor to search."},
        attrs=ArgReduceAttrs,
        relation=_arg_relation,
        pattern=OpPattern.COMM_REDUCE,
        layout=reduction_layout(ordered=True),
        compute=lambda attrs, inputs, out_type: [
            compute(
                inputs[0],
                reduced_axes(attrs, inputs[0].ndim),
                attrs.keepdims,
                attrs.select_last_index,
                tensor(out_type, "the index").dtype,
            )
        ],
        reference=partial(_arg_reference, find),
        waived=NOT_SMOOTH,
    )


argmax = _arg("argmax", extrema.argmax, np.argmax, "largest")
argmin = _arg("argmin", extrema.argmin, np.argmin, "smallest")


def _variance_relation(types: Types, attrs: VarianceAttrs) -> Type:
    """The output has the axes that are not reduced, and with ``keepdims`` the others with extent 1."""
    data, middle = tensor(types[0], "data"), tensor(types[1], "with_mean")
    over = reduced_axes(attrs, len(data.shape))
    wanted = TensorType(tuple(1 if d in over else e for d, e in enumerate(data.shape)), data.dtype)
    if len(middle.shape) != len(data.shape) or (middle.is_static and data.is_static and middle != wanted):
        raise RelationError(f"with_mean must be the mean with keepdims, {wanted}, got {middle}")
    return reduction(types, attrs)


def _variance_compute(attrs: VarianceAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    data, middle = inputs
    return [topi.variance(data, middle, reduced_axes(attrs, data.ndim), attrs.keepdims, attrs.unbiased)]


def _variance_reference(attrs: VarianceAttrs, x: Array, middle: Array) -> Array:
    over = reduced_axes(attrs, x.ndim)
    squares = _kept(np.sum((x - middle) ** 2, axis=over, keepdims=True), over, attrs.keepdims)
    count = int(np.prod([x.shape[d] for d in over])) - attrs.unbiased
    return np.asarray(squares / x.dtype.type(count), x.dtype)


def _variance_gradient(call: Call, grad: Expr) -> list[Expr]:
    """The mean is an argument of its own: its gradient is the sum of the distances, which is zero for the true mean."""
    data, middle = call.args
    dtype = data.checked_type.dtype
    count = call_op("subtract", _elements(call), const(int(VarianceAttrs.of(call).unbiased), dtype))
    away = call_op("multiply", const(2, dtype), call_op("subtract", data, middle))
    to_data = call_op("multiply", call_op("divide", away, count), spread(grad, call))
    return [to_data, call_op("negative", call_op("collapse_sum_like", to_data, middle))]


_VARIANCE = register(
    "variance",
    doc="Return the mean squared distance from the mean over some axes.",
    inputs={"data": "The tensor to reduce.", "with_mean": "The mean with ``keepdims``; computed if it is left out."},
    attrs=VarianceAttrs,
    relation=_variance_relation,
    pattern=OpPattern.COMM_REDUCE,
    layout=reduction_layout(),
    compute=_variance_compute,
    reference=_variance_reference,
    gradient=_variance_gradient,
)


@public_function(_VARIANCE)
def variance(
    data: RelayExpr,
    axis: Axis = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
    with_mean: RelayExpr | None = None,
) -> Call:
    """Return the mean squared distance from the mean over some axes."""
    middle = mean(data, axis, True, exclude) if with_mean is None else with_mean
    return _VARIANCE(data, middle, axis=axis, keepdims=keepdims, exclude=exclude, unbiased=unbiased)


@composite
def std(
    data: RelayExpr, axis: Axis = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False
) -> Call:
    """Return the standard deviation over some axes, by default all: the root of the variance.

    With ``keepdims`` reduced axes stay, with extent 1; with ``exclude``, ``axis`` names those that are not reduced.
    ``unbiased`` divides by one less than the number of elements.
    """
    return call_op("sqrt", variance(data, axis, keepdims, exclude, unbiased))


@composite
def mean_variance(
    data: RelayExpr, axis: Axis = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False
) -> TupleWrapper:
    """Return mean and variance over some axes, by default all.

    With ``keepdims`` reduced axes stay, with extent 1; with ``exclude``, ``axis`` names those that are not reduced.
    ``unbiased`` divides the variance by one less than the number of elements.
    """
    middle = mean(data, axis, True, exclude)
    squares = variance(data, axis, keepdims, exclude, unbiased, with_mean=middle)
    return TupleWrapper(Tuple((middle if keepdims else mean(data, axis, False, exclude), squares)), 2)


@composite
def mean_std(data: RelayExpr, axis: Axis = None, keepdims: bool = False, exclude: bool = False) -> TupleWrapper:
    """Return mean and standard deviation over some axes, by default all.

    With ``keepdims`` reduced axes stay, with extent 1; with ``exclude``, ``axis`` names those that are not reduced.
    """
    middle, squares = mean_variance(data, axis, keepdims, exclude)
    return TupleWrapper(Tuple((middle, call_op("sqrt", squares))), 2)


@composite
def logsumexp(data: RelayExpr, axis: Axis = None, keepdims: bool = False) -> Call:
    """Return the logarithm of the sum of exponentials over some axes, by default all; the largest element is factored
    out.

    With ``keepdims`` reduced axes stay, with extent 1.
    """
    largest = max(data, axis, True)
    powers = call_op("exp", call_op("subtract", data, largest))
    logarithm = call_op("add", call_op("log", sum(powers, axis, True)), largest)
    if keepdims:
        return logarithm
    return call_op("squeeze", logarithm, axis=axis)
