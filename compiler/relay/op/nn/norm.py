"""Normalisations: ``nn.batch_norm``, ``nn.layer_norm``, ``nn.instance_norm``, ``nn.group_norm`` and others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir.attrs import REQUIRED, Attrs
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, TupleWrapper
from compiler.relay.op.common import agree, axis_of
from compiler.relay.op.nn.common import along
from compiler.relay.op.relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, PartialTypes, RelationError, Types
from compiler.relay.ty import TensorType, TupleType
from compiler.topi.nn import norm as topi
from compiler.topi.nn.elementwise import identity

_NO_GRADIENT = {"gradient": "models are differentiated after SimplifyInference, which leaves plain arithmetic"}


def _along_data(types: tuple[Any, ...], attrs: Attrs, names: Sequence[str]) -> TensorType:
    """Return the data's type after comparing it with vectors along its axis."""
    data = tensor(types[0], "data")
    extent = data.dims[axis_of(attrs.axis, len(data.dims))]
    for name, t in zip(names, types[1:], strict=True):
        agree(extent, tensor(t, name, 1).dims[0], f"data along axis {attrs.axis} and {name}")
    return data


def vectors_along(types: PartialTypes, attrs: Attrs) -> Sequence[Type | None]:
    """All inputs after the first are vectors along an axis of it."""
    if types[0] is None:
        return types
    data = tensor(types[0], "data")
    vector = TensorType((data.dims[axis_of(attrs.axis, len(data.dims))],), data.dtype)
    return (data, *[vector if t is None else t for t in types[1:]])


# batch_norm


def _batch_relation(types: Types, attrs: Attrs) -> Type:
    data = _along_data(types, attrs, ("gamma", "beta", "moving_mean", "moving_var"))
    return TupleType((data, types[3], types[4]))


def _batch_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    x, *statistics = inputs
    axis = axis_of(attrs.axis, x.ndim)
    result = topi.batch_norm(x, statistics, axis, attrs.epsilon, attrs.center, attrs.scale)
    return [result, identity(statistics[2]), identity(statistics[3])]


def _batch_reference(attrs: Attrs, x: Any, gamma: Any, beta: Any, mean: Any, variance: Any) -> Any:
    axis = axis_of(attrs.axis, x.ndim)
    value = (x - along(mean, axis, x.ndim)) / np.sqrt(along(variance, axis, x.ndim) + x.dtype.type(attrs.epsilon))
    value = value * along(gamma, axis, x.ndim) if attrs.scale else value
    value = value + along(beta, axis, x.ndim) if attrs.center else value
    return value, mean.copy(), variance.copy()


_BATCH_NORM = register(
    "nn.batch_norm",
    doc="Normalises each channel by stored statistics; also returns these.",
    inputs=("data", "gamma", "beta", "moving_mean", "moving_var"),
    attributes={"axis": 1, "epsilon": 1e-5, "center": True, "scale": True},
    relation=_batch_relation,
    complete=vectors_along,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=_batch_compute,
    reference=_batch_reference,
    waived=_NO_GRADIENT,
)


# by the data's own statistics


def _affine_relation(types: Types, attrs: Attrs) -> Type:
    return _along_data(types, attrs, ("gamma", "beta"))


def _group_relation(types: Types, attrs: Attrs) -> Type:
    data = _along_data(types, attrs, ("gamma", "beta"))
    channels = data.dims[axis_of(attrs.axis, len(data.dims))]
    if isinstance(channels, int) and channels % attrs.num_groups:
        raise RelationError(f"the {channels} channels must be a multiple of num_groups={attrs.num_groups}")
    return data


def _layer_axes(attrs: Attrs, rank: int) -> tuple[int, ...]:
    return (axis_of(attrs.axis, rank),)


def _instance_axes(attrs: Attrs, rank: int) -> tuple[int, ...]:
    return tuple(d for d in range(1, rank) if d != axis_of(attrs.axis, rank))


def _affine_compute(axes_of: Any) -> Any:
    def compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
        x, gamma, beta = inputs
        axis = axis_of(attrs.axis, x.ndim)

        def affine(value: Any, at: Sequence[Any]) -> Any:
            value = value * gamma(at[axis]) if attrs.scale else value
            return value + beta(at[axis]) if attrs.center else value

        return [topi.normalize(x, axes_of(attrs, x.ndim), attrs.epsilon, affine)]

    return compute


def _normalized(x: Any, axes: tuple[int, ...], epsilon: float) -> Any:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + x.dtype.type(epsilon))


def _scaled(attrs: Attrs, value: Any, gamma: Any, beta: Any) -> Any:
    axis = axis_of(attrs.axis, value.ndim)
    value = value * along(gamma, axis, value.ndim) if attrs.scale else value
    return value + along(beta, axis, value.ndim) if attrs.center else value


def _affine_reference(axes_of: Any) -> Any:
    def reference(attrs: Attrs, x: Any, gamma: Any, beta: Any) -> Any:
        return _scaled(attrs, _normalized(x, axes_of(attrs, x.ndim), attrs.epsilon), gamma, beta)

    return reference


def _register_affine(name: str, doc: str, axis: int, axes_of: Any) -> Any:
    return register(
        name,
        doc=doc,
        inputs=("data", "gamma", "beta"),
        attributes={"axis": axis, "epsilon": 1e-5, "center": True, "scale": True},
        relation=_affine_relation,
        complete=vectors_along,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        compute=_affine_compute(axes_of),
        reference=_affine_reference(axes_of),
        waived=_NO_GRADIENT,
    )


_LAYER_NORM = _register_affine("nn.layer_norm", "Normalises along one axis.", -1, _layer_axes)
_INSTANCE_NORM = _register_affine(
    "nn.instance_norm", "Normalises each channel of each image over its pixels.", 1, _instance_axes
)


def _group_parts(attrs: Attrs, rank: int) -> tuple[int, tuple[int, ...]]:
    """Return the channel axis and, with it split in two (groups, channels in one), the axes to normalise over."""
    axis = axis_of(attrs.axis, rank)
    return axis, tuple(d for d in range(1, rank + 1) if d != axis)


def _group_shape(attrs: Attrs, shape: Sequence[Any]) -> tuple[Any, ...]:
    axis = axis_of(attrs.axis, len(shape))
    return (*shape[:axis], attrs.num_groups, shape[axis] // attrs.num_groups, *shape[axis + 1 :])


def _group_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    x, gamma, beta = inputs
    axis, over = _group_parts(attrs, x.ndim)
    parts = topi.split_axis(x, axis, attrs.num_groups)
    each = parts.shape[axis + 1]

    def affine(value: Any, at: Sequence[Any]) -> Any:
        channel = at[axis] * each + at[axis + 1]
        value = value * gamma(channel) if attrs.scale else value
        return value + beta(channel) if attrs.center else value

    return [topi.join_axis(topi.normalize(parts, over, attrs.epsilon, affine), axis)]


def _group_reference(attrs: Attrs, x: Any, gamma: Any, beta: Any) -> Any:
    _, over = _group_parts(attrs, x.ndim)
    parts = _normalized(x.reshape(_group_shape(attrs, x.shape)), over, attrs.epsilon)
    return _scaled(attrs, parts.reshape(x.shape), gamma, beta)


_GROUP_NORM = register(
    "nn.group_norm",
    doc="Normalises groups of channels of each image.",
    inputs=("data", "gamma", "beta"),
    attributes={"num_groups": REQUIRED, "axis": 1, "epsilon": 1e-5, "center": True, "scale": True},
    relation=_group_relation,
    complete=vectors_along,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=_group_compute,
    reference=_group_reference,
    waived=_NO_GRADIENT,
)


# by norms


def _l2_axes(attrs: Attrs, rank: int) -> tuple[int, ...]:
    return tuple(range(rank)) if attrs.axis is None else tuple(axis_of(a, rank) for a in attrs.axis)


def _l2_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    _l2_axes(attrs, len(data.dims))
    return data


def _l2_reference(attrs: Attrs, x: Any) -> Any:
    squares = (x * x).sum(_l2_axes(attrs, x.ndim), keepdims=True)
    return x / np.sqrt(np.maximum(squares, x.dtype.type(attrs.eps)))


_L2_NORMALIZE = register(
    "nn.l2_normalize",
    doc="Divides by the Euclidean norm over some axes.",
    inputs=("data",),
    attributes={"eps": REQUIRED, "axis": None},
    relation=_l2_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=lambda attrs, inputs, out_type: [topi.l2_normalize(inputs[0], _l2_axes(attrs, inputs[0].ndim), attrs.eps)],
    reference=_l2_reference,
    waived={"gradient": "not needed by any model that is trained here"},
)


def _lrn_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    axis_of(attrs.axis, len(data.dims))
    return data


def _lrn_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    axis = axis_of(attrs.axis, inputs[0].ndim)
    return [topi.lrn(inputs[0], attrs.size, axis, attrs.bias, attrs.alpha, attrs.beta)]


def _lrn_reference(attrs: Attrs, x: Any) -> Any:
    axis = axis_of(attrs.axis, x.ndim)
    before = (attrs.size - 1) // 2
    around = [(before, attrs.size - 1 - before) if d == axis else (0, 0) for d in range(x.ndim)]
    squares = np.lib.stride_tricks.sliding_window_view(np.pad(x * x, around), attrs.size, axis).sum(-1)
    return x / (attrs.bias + attrs.alpha / attrs.size * squares).astype(x.dtype) ** x.dtype.type(attrs.beta)


_LRN = register(
    "nn.lrn",
    doc="Divides by a power of the sum of squares of neighbouring channels.",
    inputs=("data",),
    attributes={"size": 5, "axis": 1, "bias": 2.0, "alpha": 1e-5, "beta": 0.75},
    relation=_lrn_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=_lrn_compute,
    reference=_lrn_reference,
    waived={"gradient": "not needed by any model that is trained here"},
)


def batch_norm(
    data: Expr,
    gamma: Expr,
    beta: Expr,
    moving_mean: Expr,
    moving_var: Expr,
    axis: int = 1,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> TupleWrapper:
    """Return ``data`` normalised by statistics of each channel, and the statistics as they were.

    Parameters
    ----------
    gamma, beta, moving_mean, moving_var : Expr
        One value for each channel: what to multiply by and to add, mean and variance.
    axis : int
        Where the channels are.
    center, scale : bool
        Whether ``beta`` and ``gamma`` are used.
    """
    call = _BATCH_NORM(
        data, gamma, beta, moving_mean, moving_var, axis=axis, epsilon=epsilon, center=center, scale=scale
    )
    return TupleWrapper(call, 3)


def layer_norm(
    data: Expr,
    gamma: Expr,
    beta: Expr,
    axis: int = -1,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> Call:
    """Return ``data`` normalised along ``axis``, times ``gamma`` plus ``beta``."""
    return _LAYER_NORM(data, gamma, beta, axis=axis, epsilon=epsilon, center=center, scale=scale)  # type: ignore[no-any-return]


def instance_norm(
    data: Expr,
    gamma: Expr,
    beta: Expr,
    axis: int = 1,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> Call:
    """Return ``data`` with each channel of each image normalised, times ``gamma`` plus ``beta``."""
    return _INSTANCE_NORM(data, gamma, beta, axis=axis, epsilon=epsilon, center=center, scale=scale)  # type: ignore[no-any-return]


def group_norm(
    data: Expr,
    gamma: Expr,
    beta: Expr,
    num_groups: int,
    axis: int = 1,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> Call:
    """Return ``data`` with each group of channels of each image normalised, times ``gamma`` plus ``beta``."""
    attrs = {"axis": axis, "epsilon": epsilon, "center": center, "scale": scale}
    return _GROUP_NORM(data, gamma, beta, num_groups=num_groups, **attrs)


def l2_normalize(data: Expr, eps: float, axis: int | Sequence[int] | None = None) -> Call:
    """Return ``data`` divided by its Euclidean norm over ``axis``; the squared norm counts as ``eps`` at least."""
    axes = None if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    return _L2_NORMALIZE(data, eps=float(eps), axis=axes)


def lrn(data: Expr, size: int = 5, axis: int = 1, bias: float = 2, alpha: float = 1e-5, beta: float = 0.75) -> Call:
    """Return ``data / (bias + alpha / size * s) ** beta``; ``s`` sums the squares of ``size`` neighbours."""
    return _LRN(data, size=size, axis=axis, bias=bias, alpha=alpha, beta=beta)
