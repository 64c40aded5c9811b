"""Helpers for scales and zero points, per tensor or per channel."""

from __future__ import annotations

import numpy as np

from compiler.ir.attrs import Attrs
from compiler.ir.types import Type
from compiler.relay.op.common import check_same_extent, normalize_axis
from compiler.relay.op.nn.spatial import broadcast_along
from compiler.relay.op.type_relations import tensor
from compiler.relay.operator import Array, Relation, RelationError, Types
from compiler.relay.ty import TensorType

NO_GRADIENT = {"gradient": "integers have none"}
"""Waives the gradient of what computes with integers."""
REWRITTEN = {
    **NO_GRADIENT,
    "compute": "qnn.transform.CanonicalizeOps writes it with other operators before kernels are made",
}
"""Waives the tensor expression of what has a canonical form."""

SCALE = "Scale, a scalar or a vector along ``axis``."
ZERO_POINT = "Zero point, a scalar or a vector along ``axis``."
AXIS_DOC = "Axis that scales and zero points belong to."


class QuantizationAttrs(Attrs):
    """What conversions from and to integers have in common."""

    axis: int
    out_dtype: str


def axis_of(axis: int, rank: int) -> int:
    """Return the axis that parameters belong to, counted from the front; 0 of a scalar.

    Raises RelationError if there is no such axis.
    """
    return normalize_axis(axis, rank) if rank else 0


def check_parameter(t: Type, what: str, data: TensorType, axis: int) -> None:
    """Compare the type of a scale or zero point with the data: a scalar, or a vector along the axis."""
    parameter = tensor(t, what)
    if len(parameter.dims) > 1:
        raise RelationError(f"{what} must be a scalar or a vector, got {parameter}")
    if parameter.dims and parameter.dims[0] != 1 and data.dims:
        check_same_extent(parameter.dims[0], data.dims[axis], f"{what} and the data along axis {axis}")


def conversion(names: tuple[str, ...]) -> Relation[QuantizationAttrs]:
    """Return the type relation of a conversion whose scales and zero points have these names."""

    def relation(types: Types, attrs: QuantizationAttrs) -> Type:
        """The shape of the data, and the data type ``out_dtype``."""
        data = tensor(types[0], "data")
        axis = axis_of(attrs.axis, len(data.dims))
        for name, t in zip(names, types[1:], strict=True):
            check_parameter(t, name, data, axis)
        return TensorType(data.shape, attrs.out_dtype)

    return relation


def spread_parameter(value: Array, axis: int, rank: int) -> Array:
    """Return a scale or zero point as an array that broadcasts against the data."""
    if np.ndim(value) == 1 and value.size > 1:
        return broadcast_along(value, axis, rank)
    return np.asarray(value).reshape(())


def saturated_array(value: Array, dtype: str) -> Array:
    """Return numbers as an integer type: the nearest that it has."""
    limits = np.iinfo(dtype)
    return np.clip(value, limits.min, limits.max).astype(dtype)


def round_away(x: Array) -> Array:
    """Return the nearest whole numbers, halves away from zero."""
    whole = np.trunc(x)
    return np.asarray(whole + np.sign(x) * (np.abs(x - whole) >= 0.5), x.dtype)
