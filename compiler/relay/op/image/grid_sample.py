"""Image sampling at the points of a grid: ``image.grid_sample``, and the grids of ``image.affine_grid``."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler import tir
from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import BOOL, SHAPE, one_of
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.ir.types import Type
from compiler.relay.op.common import check_same_extent, int_of, is_symbolic
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, RelationError, Types
from compiler.relay.ty import TensorType
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.nn import sampling
from compiler.topi.nn.resize import AxisResize
from compiler.topi.operands import dims
from compiler.topi.schedules.x86.sampling import schedule_resampling
from compiler.topi.tag import Tag


class GridSampleAttrs(Attrs):
    method: str = attr_field(one_of("nearest", "bilinear", "bicubic"), "Interpolation between pixels.", "bilinear")
    layout: str = attr_field(one_of("NCHW", "NCDHW"), "Layout of the data.", "NCHW")
    padding_mode: str = attr_field(
        one_of("zeros", "border", "reflection"),
        "What is outside of the data: zeros, its border, or its reflection.",
        "zeros",
    )
    align_corners: bool = attr_field(
        BOOL, "Whether -1 and 1 are the centres of the outermost elements, else their outer edges.", True
    )


def _grid_relation(types: Types, attrs: GridSampleAttrs) -> Type:
    """The data with the spatial extents of the grid."""
    data, grid = tensor(types[0], "data"), tensor(types[1], "grid")
    rank = len(data.dims) - 2
    if rank not in (2, 3):
        raise RelationError(f"data must have 2 or 3 spatial dimensions, got {data}")
    tensor(grid, "grid", 2 + rank)
    check_same_extent(grid.dims[1], rank, "the coordinates of a place of the grid and the spatial dimensions of data")
    check_same_extent(grid.dims[0], data.dims[0], "the batch of the grid and that of data")
    if any(is_symbolic(d) for d in data.dims[2:]):
        raise RelationError(f"the spatial extents of data must be known, got {data}")
    return TensorType((*data.dims[:2], *grid.dims[2:]), data.dtype)


def _grid_reference(attrs: GridSampleAttrs, x: Array, grid: Array) -> Array:
    rank = x.ndim - 2
    extents, low_index, weights = x.shape[2:], [], []
    spline = {"bilinear": "linear", "bicubic": "cubic"}.get(attrs.method, "nearest_neighbor")
    axis = AxisResize(1, 1, spline, "asymmetric", cubic_alpha=-0.75)
    for d, extent in enumerate(extents):
        place = grid[:, rank - 1 - d].astype("float64")
        place = (place + 1) * (extent - 1) / 2 if attrs.align_corners else ((place + 1) * extent - 1) / 2
        place = _inside(place, extent, attrs) if attrs.method != "bicubic" else place
        if attrs.method == "nearest":
            low_index.append(np.rint(place).astype(int)[None])
            weights.append(np.ones((1, *place.shape)))
            continue
        base = np.floor(place)
        weights.append(np.stack(axis.weights(place - base, np.minimum, np.maximum)))
        taps = np.arange(len(weights[-1])).reshape(-1, *[1] * base.ndim) + axis.first_tap()
        low_index.append(base.astype(int)[None] + taps)
    result = np.zeros((*x.shape[:2], *grid.shape[2:]))
    image = np.arange(len(x)).reshape(-1, *[1] * rank)
    for combination in np.ndindex(*[len(w) for w in weights]):
        index = [low_index[d][t] for d, t in enumerate(combination)]
        weight = np.prod([weights[d][t] for d, t in enumerate(combination)], axis=0)
        if attrs.padding_mode == "zeros":
            outside = [(i < 0) | (i >= e) for i, e in zip(index, extents, strict=True)]
            weight = np.where(np.any(outside, axis=0), 0, weight)
        index = [np.clip(_inside(i, e, attrs), 0, e - 1).astype(int) for i, e in zip(index, extents, strict=True)]
        result += weight[:, None] * np.moveaxis(x[(image, slice(None), *index)], -1, 1)
    return result.astype(x.dtype)


def _inside(place: Array, extent: int, attrs: GridSampleAttrs) -> Array:
    """Return coordinates as the padding mode brings them back into the data."""
    if attrs.padding_mode == "zeros":
        return place
    if attrs.padding_mode == "reflection":
        low, high = (0, extent - 1) if attrs.align_corners else (-0.5, extent - 0.5)
        span = high - low
        turns, rest = np.divmod(np.abs(place - low), span) if span > 0 else (place * 0, place * 0)
        place = np.where(turns % 2 == 1, high - rest, low + rest)
    return np.clip(place, 0, extent - 1)


grid_sample = register(
    "image.grid_sample",
    doc="Sample images at the points of a grid, by the nearest element or by interpolation.",
    inputs={
        "data": "Images, ``(N, C, spatial…)``.",
        "grid": "Coordinates from -1 to 1, ``(N, rank, out…)``; those of the last dimension come first.",
    },
    attrs=GridSampleAttrs,
    relation=_grid_relation,
    pattern=OpPattern.INJECTIVE,
    definition=sampling.grid_sample,
    schedule=schedule_resampling,
    reference=_grid_reference,
    waived={"gradient": "adds up what places were interpolated from, which no operator here does"},
)


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
