"""What quantised operators share: scales and zero points, for all of the data or one for each channel."""

from __future__ import annotations

import numpy as np

from compiler.ir.types import Type
from compiler.relay.op.common import check_same_extent
from compiler.relay.op.nn.spatial import broadcast_along
from compiler.relay.op.type_relations import tensor
from compiler.relay.operator import Array, RelationError
from compiler.relay.ty import TensorType

NO_GRADIENT = {"gradient": "integers have none"}
"""Waives the gradient of what computes with integers."""


def check_parameter(t: Type, what: str, data: TensorType, axis: int) -> None:
    """Compare the type of a scale or zero point with the data: a scalar, or a vector along the axis."""
    parameter = tensor(t, what)
    if len(parameter.dims) > 1:
        raise RelationError(f"{what} must be a scalar or a vector, got {parameter}")
    if parameter.dims and parameter.dims[0] != 1:
        check_same_extent(parameter.dims[0], data.dims[axis], f"{what} and the data along axis {axis}")


def spread_parameter(value: Array, axis: int, rank: int) -> Array:
    """Return a scale or zero point so that it broadcasts against the data."""
    return (
        broadcast_along(value, axis, rank) if np.ndim(value) == 1 and value.size > 1 else np.asarray(value).reshape(())
    )
