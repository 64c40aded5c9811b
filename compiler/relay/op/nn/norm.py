"""Normalisations: ``nn.batch_norm``, ``nn.layer_norm``, ``nn.instance_norm``, ``nn.group_norm`` and others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import BOOL, FLOAT, INT, INTS, optional
from compiler.ir.expr.primexpr import PrimExpr
from compiler.ir.types import Type
from compiler.relay.op.axis_layouts import along_axes_layout, along_axis_layout, batch_norm_layout
from compiler.relay.op.common import check_same_extent, normalize_axis
from compiler.relay.op.nn.spatial import broadcast_along
from compiler.relay.op.type_relations import along_axis, tensor
from compiler.relay.op_registry import OpFunction, register, tuple_function
from compiler.relay.operator import (
    Array,
    InLayouts,
    LayoutAnswer,
    LayoutRule,
    OpPattern,
    PartialTypes,
    RelationError,
    Types,
)
from compiler.relay.ty import TensorType, TupleType
from compiler.te.definition.tensor import Tensor
from compiler.topi.nn import norm as topi
from compiler.topi.nn.elementwise import identity

_NO_GRADIENT = {"gradient": "models are differentiated after SimplifyInference, which leaves plain arithmetic"}


_EPSILON = "Number added to the variance, so that it is not zero."
_CENTER = "Whether to add ``beta``."
_SCALE = "Whether to multiply by ``gamma``."


class NormAttrs(Attrs):
    """What normalisations have in common."""

    axis: int = attr_field(INT, "Axis of the channels.", 1)
    epsilon: float = attr_field(FLOAT, _EPSILON, 1e-5)
    center: bool = attr_field(BOOL, _CENTER, True)
    scale: bool = attr_field(BOOL, _SCALE, True)


class BatchNormAttrs(NormAttrs):
    """Attributes of ``nn.batch_norm``."""


class InstanceNormAttrs(NormAttrs):
    """Attributes of ``nn.instance_norm``."""


class LayerNormAttrs(NormAttrs):
    """Attributes of ``nn.layer_norm``."""

    axis: int = attr_field(INT, "Axis to normalise.", -1)


class GroupNormAttrs(Attrs):
    num_groups: int = attr_field(INT, "Number of groups of channels.")
    axis: int = attr_field(INT, "Axis of the channels.", 1)
    epsilon: float = attr_field(FLOAT, _EPSILON, 1e-5)
    center: bool = attr_field(BOOL, _CENTER, True)
    scale: bool = attr_field(BOOL, _SCALE, True)


class L2NormalizeAttrs(Attrs):
    eps: float = attr_field(FLOAT, "Least value of the squared norm.")
    axis: tuple[int, ...] | None = attr_field(optional(INTS), "Axes of a vector; all of them if it is None.", None)


class LRNAttrs(Attrs):
    UNWRITTEN = {"alpha": 1e-4}

    size: int = attr_field(INT, "Number of neighbouring channels.", 5)
    axis: int = attr_field(INT, "Axis of the channels.", 1)
    bias: float = attr_field(FLOAT, "Number added to the sum of squares.", 2.0)
    alpha: float = attr_field(FLOAT, "Factor of the mean of squares.", 1e-5)
    beta: float = attr_field(FLOAT, "Power that the data is divided by.", 0.75)


def _along_data(types: tuple[Any, ...], attrs: NormAttrs | GroupNormAttrs, names: Sequence[str]) -> TensorType:
    """Return the data's type after comparing it with vectors along its axis."""
    data = tensor(types[0], "data")
    extent = data.dims[normalize_axis(attrs.axis, len(data.dims))]
    for name, t in zip(names, types[1:], strict=True):
        check_same_extent(extent, tensor(t, name, 1).dims[0], f"data along axis {attrs.axis} and {name}")
    return data


def vectors_along(types: PartialTypes, attrs: NormAttrs | GroupNormAttrs) -> Sequence[Type | None]:
    """All inputs after the first are vectors along an axis of it."""
    if types[0] is None:
        return types
    data = tensor(types[0], "data")
    vector = TensorType((data.dims[normalize_axis(attrs.axis, len(data.dims))],), data.dtype)
    return (data, *[vector if t is None else t for t in types[1:]])


# batch_norm


def _batch_relation(types: Types, attrs: BatchNormAttrs) -> Type:
    """A tuple: the data normalised, the mean and the variance as they were."""
    data = _along_data(types, attrs, ("gamma", "beta", "moving_mean", "moving_var"))
    return TupleType((data, types[3], types[4]))


def _batch_compute(attrs: BatchNormAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    x, gamma, beta, *stored = inputs
    options = (attrs.axis, attrs.epsilon, attrs.center, attrs.scale)
    result, mean, variance = topi.batch_norm(x, gamma, beta, stored[0], stored[1], *options)
    return [result, identity(mean), identity(variance)]


def _batch_reference(
    attrs: BatchNormAttrs, x: Array, gamma: Array, beta: Array, mean: Array, variance: Array
) -> tuple[Array, ...]:
    axis = normalize_axis(attrs.axis, x.ndim)
    value = (x - broadcast_along(mean, axis, x.ndim)) / np.sqrt(
        broadcast_along(variance, axis, x.ndim) + x.dtype.type(attrs.epsilon)
    )
    value = value * broadcast_along(gamma, axis, x.ndim) if attrs.scale else value
    value = value + broadcast_along(beta, axis, x.ndim) if attrs.center else value
    return value, mean.copy(), variance.copy()


_BATCH_NORM = register(
    "nn.batch_norm",
    doc="Normalise each channel by stored statistics, and return these as well.",
    inputs={
        "data": "The tensor to normalise.",
        "gamma": "Factor of each channel, a vector.",
        "beta": "Offset of each channel, a vector.",
        "moving_mean": "Mean of each channel, a vector.",
        "moving_var": "Variance of each channel, a vector.",
    },
    attrs=BatchNormAttrs,
    relation=_batch_relation,
    complete=vectors_along,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    layout=batch_norm_layout,
    compute=_batch_compute,
    reference=_batch_reference,
    waived=_NO_GRADIENT,
)

batch_norm = tuple_function(_BATCH_NORM, 3)


# by the data's own statistics


def _affine_relation(types: Types, attrs: NormAttrs | GroupNormAttrs) -> Type:
    """The output has the type of the data."""
    return _along_data(types, attrs, ("gamma", "beta"))


def _group_relation(types: Types, attrs: GroupNormAttrs) -> Type:
    """The output has the type of the data."""
    data = _along_data(types, attrs, ("gamma", "beta"))
    channels = data.dims[normalize_axis(attrs.axis, len(data.dims))]
    if isinstance(channels, int) and channels % attrs.num_groups:
        raise RelationError(f"the {channels} channels must be a multiple of num_groups={attrs.num_groups}")
    return data


def _layer_axes(attrs: NormAttrs, rank: int) -> tuple[int, ...]:
    return (normalize_axis(attrs.axis, rank),)


def _instance_axes(attrs: NormAttrs, rank: int) -> tuple[int, ...]:
    return tuple(d for d in range(1, rank) if d != normalize_axis(attrs.axis, rank))


AxesOf = Callable[[NormAttrs, int], tuple[int, ...]]
"""The axes that a normalisation goes over, of a tensor of a rank."""


def _affine_compute(axes_of: AxesOf, attrs: NormAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    x, gamma, beta = inputs
    axis = normalize_axis(attrs.axis, x.ndim)

    def affine(value: PrimExpr, at: Sequence[Any]) -> Any:
        value = value * gamma(at[axis]) if attrs.scale else value
        return value + beta(at[axis]) if attrs.center else value

    return [topi.normalize(x, axes_of(attrs, x.ndim), attrs.epsilon, affine)]


def _normalized(x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    result: Array = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + x.dtype.type(epsilon))
    return result


def _scaled(attrs: NormAttrs | GroupNormAttrs, value: Array, gamma: Array, beta: Array) -> Array:
    axis = normalize_axis(attrs.axis, value.ndim)
    value = value * broadcast_along(gamma, axis, value.ndim) if attrs.scale else value
    return value + broadcast_along(beta, axis, value.ndim) if attrs.center else value


def _affine_reference(axes_of: AxesOf, attrs: NormAttrs, x: Array, gamma: Array, beta: Array) -> Array:
    return _scaled(attrs, _normalized(x, axes_of(attrs, x.ndim), attrs.epsilon), gamma, beta)


def _register_affine(
    attrs: type[NormAttrs], name: str, doc: str, axes_of: AxesOf, layout: LayoutRule[Any] | None = None
) -> OpFunction:
    return register(
        name,
        doc=doc,
        inputs={
            "data": "The tensor to normalise.",
            "gamma": "Factor of each channel, a vector.",
            "beta": "Offset of each channel, a vector.",
        },
        attrs=attrs,
        relation=_affine_relation,
        complete=vectors_along,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        compute=partial(_affine_compute, axes_of),
        reference=partial(_affine_reference, axes_of),
        layout=layout,
        waived=_NO_GRADIENT,
    )


def _instance_norm_layout(
    attrs: InstanceNormAttrs, new_in: InLayouts | None, old_in: InLayouts, types: Types
) -> LayoutAnswer:
    """Along its axis of channels; the images stay along the first one."""
    old, new = old_in[0], old_in[0] if new_in is None else new_in[0]
    if old is None or new is None or old[0] != new[0]:
        return None
    return along_axis_layout(attrs, new_in, old_in, types)


layer_norm = _register_affine(
    LayerNormAttrs, "nn.layer_norm", "Normalise along one axis.", _layer_axes, along_axis_layout
)
instance_norm = _register_affine(
    InstanceNormAttrs,
    "nn.instance_norm",
    "Normalise each channel of each image over its pixels.",
    _instance_axes,
    _instance_norm_layout,
)


def _group_parts(attrs: GroupNormAttrs, rank: int) -> tuple[int, tuple[int, ...]]:
    """Return the channel axis and, with it split in two (groups, channels in one), the axes to normalise over."""
    axis = normalize_axis(attrs.axis, rank)
    return axis, tuple(d for d in range(1, rank + 1) if d != axis)


def _group_shape(attrs: GroupNormAttrs, shape: Sequence[int]) -> tuple[int, ...]:
    axis = normalize_axis(attrs.axis, len(shape))
    return (*shape[:axis], attrs.num_groups, shape[axis] // attrs.num_groups, *shape[axis + 1 :])


def _group_compute(attrs: GroupNormAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    x, gamma, beta = inputs
    axis, over = _group_parts(attrs, x.ndim)
    parts = topi.split_axis(x, axis, attrs.num_groups)
    each = parts.shape[axis + 1]

    def affine(value: PrimExpr, at: Sequence[Any]) -> Any:
        channel = at[axis] * each + at[axis + 1]
        value = value * gamma(channel) if attrs.scale else value
        return value + beta(channel) if attrs.center else value

    return [topi.join_axis(topi.normalize(parts, over, attrs.epsilon, affine), axis)]


def _group_reference(attrs: GroupNormAttrs, x: Array, gamma: Array, beta: Array) -> Array:
    _, over = _group_parts(attrs, x.ndim)
    parts = _normalized(x.reshape(_group_shape(attrs, x.shape)), over, attrs.epsilon)
    return _scaled(attrs, parts.reshape(x.shape), gamma, beta)


group_norm = register(
    "nn.group_norm",
    doc="Normalise each group of channels of each image.",
    inputs={
        "data": "The tensor to normalise.",
        "gamma": "Factor of each channel, a vector.",
        "beta": "Offset of each channel, a vector.",
    },
    attrs=GroupNormAttrs,
    relation=_group_relation,
    complete=vectors_along,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=_group_compute,
    reference=_group_reference,
    waived=_NO_GRADIENT,
)


# by norms


def _l2_axes(attrs: L2NormalizeAttrs, rank: int) -> tuple[int, ...]:
    return tuple(range(rank)) if attrs.axis is None else tuple(normalize_axis(a, rank) for a in attrs.axis)


def _l2_relation(types: Types, attrs: L2NormalizeAttrs) -> Type:
    """The output has the type of the data."""
    data = tensor(types[0], "data")
    _l2_axes(attrs, len(data.dims))
    return data


def _l2_reference(attrs: L2NormalizeAttrs, x: Array) -> Array:
    squares = (x * x).sum(_l2_axes(attrs, x.ndim), keepdims=True)
    result: Array = x / np.sqrt(np.maximum(squares, x.dtype.type(attrs.eps)))
    return result


l2_normalize = register(
    "nn.l2_normalize",
    doc="Divide by the Euclidean norm over some axes.",
    inputs={"data": "The tensor to normalise."},
    attrs=L2NormalizeAttrs,
    relation=_l2_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=lambda attrs, inputs, out_type: [topi.l2_normalize(inputs[0], _l2_axes(attrs, inputs[0].ndim), attrs.eps)],
    reference=_l2_reference,
    layout=along_axes_layout,
    waived={"gradient": "not needed by any model that is trained here"},
)


def _lrn_compute(attrs: LRNAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    axis = normalize_axis(attrs.axis, inputs[0].ndim)
    return [topi.lrn(inputs[0], attrs.size, axis, attrs.alpha, attrs.beta, attrs.bias)]


def _lrn_reference(attrs: LRNAttrs, x: Array) -> Array:
    axis = normalize_axis(attrs.axis, x.ndim)
    before = (attrs.size - 1) // 2
    around = [(before, attrs.size - 1 - before) if d == axis else (0, 0) for d in range(x.ndim)]
    squares = np.lib.stride_tricks.sliding_window_view(np.pad(x * x, around), attrs.size, axis).sum(-1)
    result: Array = x / (attrs.bias + attrs.alpha / attrs.size * squares).astype(x.dtype) ** x.dtype.type(attrs.beta)
    return result


lrn = register(
    "nn.lrn",
    doc="Local response normalisation: divide by a power of the sum of squares of neighbouring channels.",
    inputs={"data": "The tensor to normalise."},
    attrs=LRNAttrs,
    relation=along_axis,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=_lrn_compute,
    reference=_lrn_reference,
    waived={"gradient": "not needed by any model that is trained here"},
)
