"""Reductions over some axes: ``sum``, ``mean``, ``variance``, ``max``, ``argmax``, ``all``, …"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.attrs import Attrs
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, Tuple, TupleWrapper, const
from compiler.relay.op.common import NOT_SMOOTH, OpFunction, axes_of, ints_of, total
from compiler.relay.op.relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types, call_op
from compiler.relay.ty import TensorType
from compiler.topi import reduction as topi

_AXES: dict[str, Any] = {"axis": None, "keepdims": False, "exclude": False}

Axis = int | Sequence[int] | None


def reduced_axes(attrs: Attrs, rank: int) -> tuple[int, ...]:
    """Return the axes that a reduction goes over, in order."""
    if attrs.axis is None:
        return tuple(range(rank))
    given = axes_of(attrs.axis, rank)
    return tuple(d for d in range(rank) if (d in given) != attrs.exclude)


def _reduced_shape(attrs: Attrs, data: TensorType) -> tuple[Any, ...]:
    over = reduced_axes(attrs, len(data.shape))
    if attrs.keepdims:
        return tuple(1 if d in over else e for d, e in enumerate(data.shape))
    return tuple(e for d, e in enumerate(data.shape) if d not in over)


def reduction(types: Types, attrs: Attrs) -> Type:
    """The output has the axes that are not reduced, and with ``keepdims`` the others with extent 1."""
    data = tensor(types[0], "data")
    return TensorType(_reduced_shape(attrs, data), data.dtype)


def _arg_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    return TensorType(_reduced_shape(attrs, data), "int32")


def _logical_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    if not dt.is_bool(data.dtype):
        raise RelationError(f"data must be of type bool, got {data}; cast it first")
    return reduction(types, attrs)


def spread(value: Any, call: Call) -> Any:
    """Return the result of a reduction, or the gradient of it, with the reduced axes put back as extent 1."""
    rank = len(call.args[0].checked_type.shape)
    if call.attrs.keepdims or rank == 0:
        return value
    for d in reduced_axes(call.attrs, rank):
        value = call_op("expand_dims", value, axis=d)
    return value


def _elements(call: Call) -> Any:
    """Return, as a constant, how many elements each result is made of."""
    data = call.args[0].checked_type
    count: Any = total(data.dims[d] for d in reduced_axes(call.attrs, len(data.dims)))
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
    name: str,
    compute: Callable[..., Any],
    reference: Callable[..., Any],
    doc: str,
    gradient: Any = None,
    relation: Any = reduction,
) -> OpFunction:
    """Register a reduction and return what calls it."""

    def run(attrs: Attrs, x: Any) -> Any:
        found = reference(x, axis=reduced_axes(attrs, x.ndim), keepdims=attrs.keepdims)
        return np.asarray(found, x.dtype)

    op = register(
        name,
        doc=doc,
        inputs=("data",),
        attributes=_AXES,
        relation=relation,
        pattern=OpPattern.COMM_REDUCE,
        compute=lambda attrs, inputs, out_type: [
            compute(inputs[0], reduced_axes(attrs, inputs[0].ndim), attrs.keepdims)
        ],
        reference=run,
        gradient=gradient,
        waived={} if gradient else NOT_SMOOTH,
    )

    def build(data: Expr, axis: Axis = None, keepdims: bool = False, exclude: bool = False) -> Call:
        return op(data, **_axes(axis, keepdims, exclude))

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"""{doc}

    Parameters
    ----------
    axis : int or sequence of int, optional
        The axes to reduce over; all when left out.
    keepdims : bool
        Whether these axes stay, with extent 1.
    exclude : bool
        Whether ``axis`` names the axes that are not reduced.
    """
    return build


def _axes(axis: Axis, keepdims: bool, exclude: bool) -> dict[str, Any]:
    axes = None if axis is None else ints_of(axis, "axis")
    return {"axis": axes, "keepdims": bool(keepdims), "exclude": bool(exclude)}


def _mean(x: Any, axis: Any, keepdims: bool) -> Any:
    if x.dtype.kind == "f":
        return np.mean(x, axis=axis, keepdims=keepdims)
    whole = np.sum(x, axis=axis, keepdims=keepdims, dtype="int64")
    return np.trunc(whole / np.prod([x.shape[d] for d in axis]))


def _sum(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.sum(x, axis=axis, keepdims=keepdims, dtype=None if x.dtype.kind == "b" else x.dtype)


def _prod(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.prod(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


sum = _reduction("sum", topi.sum, _sum, "Sum over some axes.", _sum_gradient)
mean = _reduction("mean", topi.mean, _mean, "Mean over some axes.", _mean_gradient)
prod = _reduction("prod", topi.prod, _prod, "Product over some axes.", _prod_gradient)
max = _reduction("max", topi.max, np.max, "The largest element over some axes.", _choice_gradient)
min = _reduction("min", topi.min, np.min, "The smallest element over some axes.", _choice_gradient)
all = _reduction("all", topi.all, np.all, "Whether all hold over some axes.", relation=_logical_relation)
any = _reduction("any", topi.any, np.any, "Whether at least one holds over some axes.", relation=_logical_relation)


def _arg_reference(find: Callable[..., Any]) -> Callable[..., Any]:
    def run(attrs: Attrs, x: Any) -> Any:
        over = reduced_axes(attrs, x.ndim)
        kept = [d for d in range(x.ndim) if d not in over]
        rows = np.transpose(x, [*kept, *over]).reshape([x.shape[d] for d in kept] + [-1])
        found = rows.shape[-1] - 1 - find(rows[..., ::-1], -1) if attrs.select_last_index else find(rows, -1)
        shape = [1 if d in over else e for d, e in enumerate(x.shape)] if attrs.keepdims else found.shape
        return np.asarray(found, "int32").reshape(shape)

    return run


def _arg(name: str, compute: Callable[..., Any], find: Callable[..., Any], which: str) -> OpFunction:
    """Register a search for the best element and return what calls it."""
    doc = f"Where the {which} element over some axes stands, counted as if these axes were one."
    op = register(
        name,
        doc=doc,
        inputs=("data",),
        attributes={**_AXES, "select_last_index": False},
        relation=_arg_relation,
        pattern=OpPattern.COMM_REDUCE,
        compute=lambda attrs, inputs, out_type: [
            compute(inputs[0], reduced_axes(attrs, inputs[0].ndim), attrs.keepdims, attrs.select_last_index)
        ],
        reference=_arg_reference(find),
        waived=NOT_SMOOTH,
    )

    def build(
        data: Expr, axis: Axis = None, keepdims: bool = False, exclude: bool = False, select_last_index: bool = False
    ) -> Call:
        return op(data, **_axes(axis, keepdims, exclude), select_last_index=bool(select_last_index))

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc + "  Of several the first one, or with ``select_last_index`` the last."
    return build


argmax = _arg("argmax", topi.argmax, np.argmax, "largest")
argmin = _arg("argmin", topi.argmin, np.argmin, "smallest")


def _variance_relation(types: Types, attrs: Attrs) -> Type:
    data, middle = tensor(types[0], "data"), tensor(types[1], "with_mean")
    over = reduced_axes(attrs, len(data.shape))
    wanted = TensorType(tuple(1 if d in over else e for d, e in enumerate(data.shape)), data.dtype)
    if len(middle.shape) != len(data.shape) or (middle.is_static and data.is_static and middle != wanted):
        raise RelationError(f"with_mean must be the mean with keepdims, {wanted}, got {middle}")
    return reduction(types, attrs)


def _variance_compute(attrs: Attrs, inputs: list[Any], out_type: Type) -> list[Any]:
    data, middle = inputs
    return [topi.variance(data, middle, reduced_axes(attrs, data.ndim), attrs.keepdims, attrs.unbiased)]


def _variance_reference(attrs: Attrs, x: Any, middle: Any) -> Any:
    over = reduced_axes(attrs, x.ndim)
    squares = ((x - middle) ** 2).sum(axis=over, keepdims=attrs.keepdims)
    count = int(np.prod([x.shape[d] for d in over])) - attrs.unbiased
    return np.asarray(squares / x.dtype.type(count), x.dtype)


def _variance_gradient(call: Call, grad: Expr) -> list[Expr]:
    """The mean is an argument of its own: its gradient is the sum of the distances, which is zero for the true mean."""
    data, middle = call.args
    dtype = data.checked_type.dtype
    count = call_op("subtract", _elements(call), const(int(call.attrs.unbiased), dtype))
    away = call_op("multiply", const(2, dtype), call_op("subtract", data, middle))
    to_data = call_op("multiply", call_op("divide", away, count), spread(grad, call))
    return [to_data, call_op("negative", call_op("collapse_sum_like", to_data, middle))]


_VARIANCE = register(
    "variance",
    doc="Mean squared distance from a mean over some axes.",
    inputs=("data", "with_mean"),
    attributes={**_AXES, "unbiased": False},
    relation=_variance_relation,
    pattern=OpPattern.COMM_REDUCE,
    compute=_variance_compute,
    reference=_variance_reference,
    gradient=_variance_gradient,
)


def variance(
    data: Expr,
    axis: Axis = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
    with_mean: Expr | None = None,
) -> Call:
    """Return the mean squared distance from the mean over some axes.

    Parameters
    ----------
    unbiased : bool
        Whether to divide by one less than the number of elements.
    with_mean : Expr, optional
        The mean with ``keepdims`` where it is known already.
    """
    middle = mean(data, axis, True, exclude) if with_mean is None else with_mean
    return _VARIANCE(data, middle, **_axes(axis, keepdims, exclude), unbiased=bool(unbiased))


def std(data: Expr, axis: Axis = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False) -> Call:
    """Return the standard deviation over some axes: the root of the variance."""
    return call_op("sqrt", variance(data, axis, keepdims, exclude, unbiased))


def mean_variance(
    data: Expr, axis: Axis = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False
) -> TupleWrapper:
    """Return mean and variance over some axes."""
    middle = mean(data, axis, True, exclude)
    spread_out = variance(data, axis, keepdims, exclude, unbiased, with_mean=middle)
    shown = middle if keepdims else mean(data, axis, False, exclude)
    return TupleWrapper(Tuple((shown, spread_out)), 2)


def mean_std(data: Expr, axis: Axis = None, keepdims: bool = False, exclude: bool = False) -> TupleWrapper:
    """Return mean and standard deviation over some axes."""
    middle, spread_out = mean_variance(data, axis, keepdims, exclude)
    return TupleWrapper(Tuple((middle, call_op("sqrt", spread_out))), 2)


def logsumexp(data: Expr, axis: Axis = None, keepdims: bool = False) -> Call:
    """Return the logarithm of the sum of e to the power of the elements; the largest is taken out first."""
    top = max(data, axis, True)
    powers = call_op("exp", call_op("subtract", data, top))
    found = call_op("add", call_op("log", sum(powers, axis, True)), top)
    if keepdims:
        return found
    return call_op("squeeze", found, axis=None if axis is None else ints_of(axis, "axis"))
