"""Linear algebra besides matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.converters.reductions import vector_norm
from compiler.relay.frontend.pytorch.registry import converter
from compiler.relay.frontend.pytorch.tensors import (
    axes_of,
    axis_of,
    constant,
    dtype_of,
    ops,
    rank_of,
    reshape,
    static_shape,
)
from compiler.relay.frontend.pytorch.values import Scalar
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.tensors import bounded

_MAX_POWER = 64


@converter("cross", "linalg_cross")
def _cross(x: RelayExpr, other: Scalar, dim: int | None = None) -> RelayExpr:
    """Compute the cross product along an axis, by default the first of extent 3."""
    dims = static_shape(x)
    axis = axis_of(dim, rank_of(x)) if dim is not None else dims.index(3)
    turns = [constant((np.arange(3) + shift) % 3, "int64") for shift in (1, 2)]
    (a1, a2), (b1, b2) = ([ops.take(v, turn, axis=axis) for turn in turns] for v in (x, other))
    return ops.subtract(ops.multiply(a1, b2), ops.multiply(a2, b1))


@converter("linalg_matrix_power", "matrix_power")
def _matrix_power(x: RelayExpr, n: int) -> RelayExpr:
    if not 0 <= n <= _MAX_POWER:
        raise ConversionError(f"powers from 0 to {_MAX_POWER} are supported, got {n}")
    *batch, rows, columns = static_shape(x)
    flat = reshape(x, [-1, rows, columns])
    count = static_shape(flat)[0]
    if n == 0:
        bounded(count, rows, rows)
        return constant(np.broadcast_to(np.eye(rows), [*batch, rows, rows]), dtype_of(x))
    product = reduce(lambda a, b: ops.nn.batch_matmul(a, b, transpose_a=False, transpose_b=False), [flat] * n)
    return reshape(product, [*batch, rows, columns])


@converter("linalg_matrix_norm")
def _matrix_norm(
    x: RelayExpr, ord: float | str = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False
) -> RelayExpr:
    if ord not in ("fro", None):
        raise ConversionError(f"norms of order {ord!r} are not supported, 'fro' is")
    return vector_norm(x, p=2, dim=axes_of(list(dim), rank_of(x)), keepdim=keepdim)
