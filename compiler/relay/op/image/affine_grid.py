"""Sampling grids of affine transforms: ``image.affine_grid``."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler import tir
from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import SHAPE
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.ir.types import Type
from compiler.relay.op.common import check_same_extent, int_of
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, RelationError, Types
from compiler.relay.ty import TensorType
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.operands import dims
from compiler.topi.tag import Tag


class AffineGridAttrs(Attrs):
    target_shape: tuple[Any, ...] = attr_field(SHAPE, "Height and width of the grid.")


def _relation(types: Types, attrs: AffineGridAttrs) -> Type:
    """``(batch, 2, height, width)``."""
    data = tensor(types[0], "data", 3)
    for d, extent in ((1, 2), (2, 3)):
        check_same_extent(data.dims[d], extent, "an affine map is a matrix of 2 rows and 3 columns")
    if len(attrs.target_shape) != 2:
        raise RelationError(f"target_shape must have a height and a width, got {attrs.target_shape}")
    return TensorType((data.dims[0], 2, *attrs.target_shape), data.dtype)


def affine_grid(data: Tensor, target_shape: tuple[int, int]) -> Tensor:
    """Return where affine maps move the points of a grid over [-1, 1] in both directions.

    Parameters
    ----------
    data : Tensor
        ``(batch, 2, 3)``: maps from ``(x, y, 1)`` to ``(x, y)``.

    Returns
    -------
    Tensor
        ``(batch, 2, height, width)``: x, then y of each point.

    References
    ----------
    Jaderberg et al., "Spatial Transformer Networks", NIPS 2015, section 3.2.
    """
    height, width = (int_of(e, "affine_grid: target_shape") for e in target_shape)

    def coordinate(i: Var, extent: int) -> PrimExpr:
        step = 2.0 / (extent - 1) if extent > 1 else 0.0
        return tir.const(-1.0, data.dtype) + i.astype(data.dtype) * tir.const(step, data.dtype)

    def element(n: Var, d: Var, i: Var, j: Var) -> PrimExpr:
        x, y = coordinate(j, width), coordinate(i, height)
        return data(n, d, 0) * x + data(n, d, 1) * y + data(n, d, 2)

    return compute((dims(data)[0], 2, height, width), element, name="affine_grid", tag=Tag.INJECTIVE)


def _reference(attrs: AffineGridAttrs, maps: Array) -> Array:
    y, x = (np.linspace(-1, 1, e) if e > 1 else np.array([-1.0]) for e in map(int, attrs.target_shape))
    points = np.stack([*np.broadcast_arrays(x, y[:, None]), np.ones((len(y), len(x)))])
    result: Array = np.einsum("ndk,kij->ndij", maps, points).astype(maps.dtype)
    return result


_AFFINE = register(
    "image.affine_grid",
    doc="Move the points of a regular grid by affine maps, for ``image.grid_sample``.",
    inputs={"data": "A map for each image, ``(batch, 2, 3)``."},
    attrs=AffineGridAttrs,
    relation=_relation,
    pattern=OpPattern.INJECTIVE,
    compute=lambda attrs, inputs, out_type: [affine_grid(inputs[0], attrs.target_shape)],
    topi=affine_grid,
    reference=_reference,
    waived={"gradient": "no operator here sums over the points of the grid by their coordinates"},
)
