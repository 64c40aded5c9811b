"""Images of another size, ``image.resize2d``, and at other places, ``image.grid_sample``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir.attrs import REQUIRED, Attrs
from compiler.ir.error import ArgumentError, show
from compiler.ir.types import Type
from compiler.relay.expr import Call, Constant, Expr
from compiler.relay.op.common import agree, symbolic
from compiler.relay.op.nn.common import ints, positive
from compiler.relay.op.nn.conv import extents
from compiler.relay.op.nn.interpolate import resized
from compiler.relay.op.relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types
from compiler.relay.ty import TensorType
from compiler.topi.layout import layout
from compiler.topi.nn import resize as topi
from compiler.topi.nn import sampling
from compiler.topi.nn.conv import spatial_letters
from compiler.topi.schedules.x86.sampling import schedule_resampling
from compiler.topi.util import dims

_LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def _relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    x = extents(data, layout(attrs.layout), "data")
    letters = spatial_letters(attrs.layout)
    if any(symbolic(x[letter]) for letter in letters):
        raise RelationError(f"the spatial extents of data must be known, got {data}")
    shape = layout(attrs.layout).shape(x | dict(zip(letters, attrs.size, strict=True)))
    return TensorType(shape, attrs.out_dtype or data.dtype)


def _axes(attrs: Attrs, shape: Sequence[Any]) -> list[topi.AxisResize]:
    x = layout(attrs.layout).extents(shape)
    rank = len(attrs.size)
    roi = attrs.roi or (0.0,) * rank + (1.0,) * rank
    return [
        topi.AxisResize(
            source=x[letter],
            target=attrs.size[d],
            method=attrs.method,
            mode=attrs.coordinate_transformation_mode,
            rounding=attrs.rounding_method,
            cubic_alpha=attrs.cubic_alpha,
            exclude_outside=bool(attrs.cubic_exclude),
            scale=attrs.scales[d] if attrs.scales else None,
            region=(roi[d], roi[d + rank]),
            antialias=bool(attrs.antialias),
        )
        for d, letter in enumerate(spatial_letters(attrs.layout))
    ]


def _compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    (data,) = inputs
    letters = spatial_letters(attrs.layout)
    axes = _axes(attrs, dims(data))
    dtype = attrs.out_dtype or data.dtype
    return [topi.resize(data, attrs.layout, axes, letters, attrs.extrapolation_value, dtype)]


def _reference(attrs: Attrs, x: Any) -> Any:
    letters = spatial_letters(attrs.layout)
    result = layout(attrs.layout).to_plain(x, "NC" + letters)
    blend = attrs.method != "nearest_neighbor" and x.dtype.kind != "f"
    result = result.astype("float32") if blend else result
    for d, axis in enumerate(_axes(attrs, x.shape)):
        if not axis.keeps:
            result = np.moveaxis(resized(np.moveaxis(result, 2 + d, -1), axis, attrs.extrapolation_value), -1, 2 + d)
    dtype = attrs.out_dtype or x.dtype
    return layout(attrs.layout).from_plain(np.ascontiguousarray(result).astype(dtype), "NC" + letters)


def _register(rank: int) -> Any:
    return register(
        f"image.resize{rank}d",
        doc=f"Images of another size in {rank} dimension{'s' * (rank > 1)}, by the nearest element or interpolated.",
        inputs=("data",),
        attributes={
            "size": REQUIRED,
            "roi": None,
            "layout": _LAYOUTS[rank],
            "method": "linear",
            "coordinate_transformation_mode": "half_pixel",
            "rounding_method": "",
            "cubic_alpha": -0.5,
            "cubic_exclude": 0,
            "extrapolation_value": 0.0,
            "out_dtype": "",
            "scales": None,
            "antialias": False,
        },
        relation=_relation,
        pattern=OpPattern.INJECTIVE,
        compute=_compute,
        schedule=schedule_resampling,
        reference=_reference,
        waived={"gradient": "adds up what elements were spread to, which no operator here does"},
    )


_RESIZE = {rank: _register(rank) for rank in _LAYOUTS}


def _one_of(what: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise ArgumentError(f"image: {what} must be one of {', '.join(map(repr, known))}, got {show(value)}")
    return value


def _region(roi: Any, rank: int) -> tuple[float, ...] | None:
    if roi is None:
        return None
    values = tuple(float(v) for v in (roi.value.ravel() if isinstance(roi, Constant) else roi))
    if len(values) not in (0, 2 * rank):
        raise ArgumentError(
            f"image.resize: roi must be {2 * rank} numbers, all beginnings and then all ends, got {roi}"
        )
    return values or None


def _resize(rank: int, data: Expr, size: Any, roi: Any, method: str, mode: str, rounding: str, **attrs: Any) -> Call:
    scales = attrs.pop("scales")
    return _RESIZE[rank](  # type: ignore[no-any-return]
        data,
        size=positive("size", ints(size, rank, "size")),
        roi=_region(roi, rank),
        method=_one_of("method", method, topi.METHODS),
        coordinate_transformation_mode=_one_of("coordinate_transformation_mode", mode, topi.MODES),
        rounding_method=_one_of("rounding_method", rounding, topi.ROUNDING),
        scales=None if scales is None else tuple(float(s) for s in scales),
        **attrs,
    )


def resize1d(
    data: Expr,
    size: Any,
    roi: Any = None,
    layout: str = "NCW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    cubic_alpha: float = -0.5,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: str | None = None,
    scales: Sequence[float] | None = None,
    antialias: bool = False,
) -> Call:
    """Return ``data`` with its spatial extents changed to ``size``; see :func:`resize2d`."""
    attrs = {"layout": layout, "cubic_alpha": cubic_alpha, "cubic_exclude": cubic_exclude}
    attrs |= {"extrapolation_value": extrapolation_value, "out_dtype": out_dtype or ""}
    attrs |= {"scales": scales, "antialias": antialias}
    return _resize(1, data, size, roi, method, coordinate_transformation_mode, rounding_method, **attrs)


def resize2d(
    data: Expr,
    size: Any,
    roi: Any = None,
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    cubic_alpha: float = -0.5,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: str | None = None,
    scales: Sequence[float] | None = None,
    antialias: bool = False,
) -> Call:
    """Return ``data`` with its spatial extents changed to ``size``.

    Parameters
    ----------
    size : int or sequence of int
    roi : sequence of float, optional
        The part to show, from 0 to 1: all beginnings, then all ends; for ``tf_crop_and_resize``.
    method : str
        ``nearest_neighbor``, ``linear`` or ``cubic``.
    coordinate_transformation_mode : str
        As the ONNX operator Resize names them.
    rounding_method : str
        Of the nearest neighbour; when empty ``round`` for ``align_corners``, else ``floor``.
    cubic_alpha, cubic_exclude : float, bool
        The parameter of cubic weights, and whether elements outside have none.
    extrapolation_value : float
        What is outside of the data, for ``tf_crop_and_resize``.
    scales : sequence of float, optional
        New elements for an old one, where that is not the quotient of the extents.
    antialias : bool
        Whether weights reach further where the result is smaller.
    """
    attrs = {"layout": layout, "cubic_alpha": cubic_alpha, "cubic_exclude": cubic_exclude}
    attrs |= {"extrapolation_value": extrapolation_value, "out_dtype": out_dtype or ""}
    attrs |= {"scales": scales, "antialias": antialias}
    return _resize(2, data, size, roi, method, coordinate_transformation_mode, rounding_method, **attrs)


def resize3d(
    data: Expr,
    size: Any,
    roi: Any = None,
    layout: str = "NCDHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    cubic_alpha: float = -0.5,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: str | None = None,
    scales: Sequence[float] | None = None,
    antialias: bool = False,
) -> Call:
    """Return ``data`` with its spatial extents changed to ``size``; see :func:`resize2d`."""
    attrs = {"layout": layout, "cubic_alpha": cubic_alpha, "cubic_exclude": cubic_exclude}
    attrs |= {"extrapolation_value": extrapolation_value, "out_dtype": out_dtype or ""}
    attrs |= {"scales": scales, "antialias": antialias}
    return _resize(3, data, size, roi, method, coordinate_transformation_mode, rounding_method, **attrs)


# at the places of a grid

_SAMPLING = ("nearest", "bilinear", "bicubic")
_PADDING = ("zeros", "border", "reflection")


def _grid_relation(types: Types, attrs: Attrs) -> Type:
    data, grid = tensor(types[0], "data"), tensor(types[1], "grid")
    rank = len(data.dims) - 2
    tensor(grid, "grid", 2 + rank)
    agree(grid.dims[1], rank, "the coordinates of a place of the grid and the spatial dimensions of data")
    agree(grid.dims[0], data.dims[0], "the batch of the grid and that of data")
    if any(symbolic(d) for d in data.dims[2:]):
        raise RelationError(f"the spatial extents of data must be known, got {data}")
    return TensorType((*data.dims[:2], *grid.dims[2:]), data.dtype)


def _grid_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    return [sampling.grid_sample(inputs[0], inputs[1], attrs.method, attrs.padding_mode, attrs.align_corners)]


def _grid_reference(attrs: Attrs, x: Any, grid: Any) -> Any:
    rank = x.ndim - 2
    extents, low_index, weights = x.shape[2:], [], []
    spline = {"bilinear": "linear", "bicubic": "cubic"}.get(attrs.method, "nearest_neighbor")
    axis = topi.AxisResize(1, 1, spline, "asymmetric", cubic_alpha=-0.75)
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


def _inside(place: Any, extent: int, attrs: Attrs) -> Any:
    """Return coordinates as the padding mode brings them back into the data."""
    if attrs.padding_mode == "zeros":
        return place
    if attrs.padding_mode == "reflection":
        low, high = (0, extent - 1) if attrs.align_corners else (-0.5, extent - 0.5)
        span = high - low
        turns, rest = np.divmod(np.abs(place - low), span) if span > 0 else (place * 0, place * 0)
        place = np.where(turns % 2 == 1, high - rest, low + rest)
    return np.clip(place, 0, extent - 1)


_GRID_SAMPLE = register(
    "image.grid_sample",
    doc="Images at the places that a grid names, by the nearest element or interpolated.",
    inputs=("data", "grid"),
    attributes={"method": "bilinear", "layout": "NCHW", "padding_mode": "zeros", "align_corners": True},
    relation=_grid_relation,
    pattern=OpPattern.INJECTIVE,
    compute=_grid_compute,
    schedule=schedule_resampling,
    reference=_grid_reference,
    waived={"gradient": "adds up what places were interpolated from, which no operator here does"},
)


def grid_sample(
    data: Expr,
    grid: Expr,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> Call:
    """Return ``data`` ``(N, C, spatial...)`` at the places of ``grid`` ``(N, rank, out...)``.

    Parameters
    ----------
    grid : Expr
        Coordinates from -1 to 1 along its second axis, that of the last dimension first.
    method : str
        ``nearest``, ``bilinear`` or ``bicubic``.
    padding_mode : str
        What is outside: ``zeros``, the ``border``, or the ``reflection`` of the data.
    align_corners : bool
        Whether -1 and 1 are the centres of the outermost elements, else their outer edges.
    """
    _one_of("layout", layout, ("NCHW", "NCDHW"))
    attrs = {"method": _one_of("method", method, _SAMPLING), "layout": layout, "align_corners": bool(align_corners)}
    return _GRID_SAMPLE(data, grid, padding_mode=_one_of("padding_mode", padding_mode, _PADDING), **attrs)
