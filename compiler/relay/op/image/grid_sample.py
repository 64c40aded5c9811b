"""Image sampling at the points of a grid: ``image.grid_sample``."""

from __future__ import annotations

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import BOOL, one_of
from compiler.ir.types import Type
from compiler.relay.op.common import check_same_extent, is_symbolic
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, RelationError, Types
from compiler.relay.ty import TensorType
from compiler.topi.nn import sampling
from compiler.topi.nn.resize import AxisResize
from compiler.topi.schedules.x86.sampling import schedule_resampling


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
