"""Image sampling at arbitrary positions: grids and regions of interest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from itertools import product
from operator import add

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.nn.resize import AxisResize, Tap
from compiler.topi.operands import constant, dims
from compiler.topi.tag import Tag


def grid_sample(data: Tensor, grid: Tensor, method: str, padding_mode: str, align_corners: bool) -> Tensor:
    """Return ``data``, ``(N, C, spatial…)`` with constant extents, at the places of a grid.

    Which elements count at a place, and how much, is the same for all channels and computed once.  The grid is
    ``(N, rank, out…)``: a place has its last spatial coordinate first, each from -1 to 1: between the centres of the
    outermost elements if ``align_corners``, else between their outer edges.

    References
    ----------
    Jaderberg et al., "Spatial Transformer Networks", NIPS 2015, section 3.3.
    """
    batch, channels, *spatial = dims(data)
    extents = [constant(e, "grid_sample") for e in spatial]
    rank, out = len(extents), dims(grid)[2:]
    names = [f"i{d}" for d in range(len(out))]

    def place(d: int) -> Tensor:
        def element(n: Var, *at: Var) -> PrimExpr:
            coordinate = _unnormalized(grid(n, rank - 1 - d, *at), extents[d], align_corners)
            if method == "bicubic":
                return coordinate
            return _padded(coordinate, extents[d], padding_mode, align_corners)

        return compute((batch, *out), element, name="place", tag=Tag.STAGED, varargs_names=names)

    axes = [_taps(place(d), extents[d], method, padding_mode, align_corners) for d in range(rank)]

    def element(n: Var, c: Var, *at: Var) -> PrimExpr:
        terms: list[PrimExpr] = []
        for taps in product(*axes):
            indices = [index(n, *at) for index, _ in taps]
            value = data(n, c, *[te.max(te.min(i, e - 1), 0) for i, e in zip(indices, extents, strict=True)])
            for _, weight in taps:
                value = value if weight is None else value * weight(n, *at).astype(data.dtype)
            if padding_mode == "zeros":
                value = te.if_then_else(te.all(*[i >= 0 for i in indices]), value, tir.const(0, data.dtype))
            terms.append(value)
        return reduce(add, terms)

    return compute((batch, channels, *out), element, name="grid_sample", tag=Tag.INJECTIVE, varargs_names=names)


def _unnormalized(x: PrimExpr, extent: int, align_corners: bool) -> PrimExpr:
    if align_corners:
        return (x + 1.0) * (0.5 * (extent - 1))
    return ((x + 1.0) * float(extent) - 1.0) * 0.5


def _padded(x: PrimExpr, extent: int, padding_mode: str, align_corners: bool) -> PrimExpr:
    """Return a coordinate as the padding mode brings it back into the data."""
    if padding_mode == "zeros":
        return x
    if padding_mode == "reflection":
        x = _reflected(x, extent, align_corners)
    return te.max(te.min(x, float(extent - 1)), 0.0)


def _reflected(x: PrimExpr, extent: int, align_corners: bool) -> PrimExpr:
    low, high = (0.0, extent - 1.0) if align_corners else (-0.5, extent - 0.5)
    span = high - low
    if span <= 0:
        return x * 0.0
    away = te.abs(x - low)
    turns = te.floor(away / span)
    rest = away - turns * span
    odd = turns - 2.0 * te.floor(turns * 0.5) > 0.5
    return tir.Select(odd, high - rest, rest + low)


def _taps(place: Tensor, extent: int, method: str, mode: str, align: bool) -> list[Tap]:
    """Return tensors of the elements of one axis that count, -1 if it is none, and of their weights.

    The nearest element has no weight.
    """

    def indexed(value: Callable[[PrimExpr], PrimExpr]) -> Tensor:
        def element(*at: Var) -> PrimExpr:
            tap = value(place(*at))
            if mode == "zeros":
                return te.if_then_else(te.all(tap >= 0, tap < extent), tap, -1)
            if mode == "reflection":
                tap = _padded(tap.astype("float32"), extent, mode, align).astype("int32")
            return te.max(te.min(tap, extent - 1), 0)

        return compute(place.shape, element, name="tap", tag=Tag.STAGED)

    if method == "nearest":
        return [(indexed(lambda x: te.nearbyint(x).astype("int32")), None)]
    spline = AxisResize(1, 1, "linear" if method == "bilinear" else "cubic", "asymmetric", cubic_alpha=-0.75)

    def weight(k: int) -> Tensor:
        def element(*at: Var) -> PrimExpr:
            x = place(*at)
            return spline.weights(x - te.floor(x), te.min, te.max)[k]

        return compute(place.shape, element, name="weight", tag=Tag.STAGED)

    first = spline.first_tap()

    def index(k: int) -> Tensor:
        return indexed(lambda x: te.floor(x).astype("int32") + (first + k))

    return [(index(k), weight(k)) for k in range(2 - 2 * first)]


@dataclass(frozen=True, slots=True)
class RoiSpec:
    """The attributes of an alignment of regions.

    A region has ``pooled`` rows and columns of parts, with ``ratio`` places along each side of a part, or where it is
    not positive about one for each element; ``scale`` is elements of the data for one unit of the regions' coordinates.
    Mode ``avg`` or ``max`` is of what is interpolated, ``max_weighted`` of the weighted elements that make it up. If
    ``aligned``, coordinates are shifted by half an element; regions are then as small as they are given.
    """

    pooled: tuple[int, int]
    scale: float
    ratio: int
    mode: str
    aligned: bool


def roi_align(data: Tensor, rois: Tensor, spec: RoiSpec) -> Tensor:
    """Return regions of images as parts of one size each, every part the mean or the maximum of places inside.

    Where the number of places follows from a region's size, it is bounded by what twice the data's size needs, which is
    a constant.  A region is ``(image, x1, y1, x2, y2)``.

    References
    ----------
    He et al., "Mask R-CNN", ICCV 2017, section 3.
    """
    channels = dims(data)[1]
    extents = [constant(e, "roi_align") for e in dims(data)[2:]]
    bounds = [spec.ratio if spec.ratio > 0 else -(-2 * e // p) for e, p in zip(extents, spec.pooled, strict=True)]
    window = [te.reduce_axis((0, b), name=n) for b, n in zip(bounds, ("ry", "rx"), strict=True)]
    shift = 0.5 if spec.aligned else 0.0

    def region(k: Var, d: int) -> tuple[PrimExpr, PrimExpr]:
        """Return where a region begins and the size of its parts."""
        first = 2 - d
        start = rois(k, first) * spec.scale - shift
        size = rois(k, first + 2) * spec.scale - shift - start
        return start, (size if spec.aligned else te.max(size, 1.0)) / float(spec.pooled[d])

    def places(k: Var, d: int) -> PrimExpr:
        _, size = region(k, d)
        return tir.const(spec.ratio, "int32") if spec.ratio > 0 else te.max(te.ceil(size).astype("int32"), 1)

    def staged(name: str, d: int, value: Callable[..., PrimExpr]) -> Tensor:
        """Return what is the same for all channels, of each place in each part along an axis."""
        return compute((dims(rois)[0], spec.pooled[d], bounds[d]), value, name=name, tag=Tag.STAGED)

    def place(d: int, k: Var, part: Var, at: Var) -> PrimExpr:
        start, size = region(k, d)
        step = (at.astype("float32") + 0.5) / places(k, d).astype("float32")
        return start + (part.astype("float32") + step) * size

    where = [staged("place", d, partial(place, d)) for d in range(2)]

    def taps(d: int, n: int) -> tuple[Tensor, Tensor]:
        def tap(*at: Var) -> tuple[PrimExpr, PrimExpr]:
            return _edge_taps(where[d](*at), extents[d])[n]

        return staged("tap", d, lambda *at: tap(*at)[0]), staged("weight", d, lambda *at: tap(*at)[1])

    axes = [[taps(d, n) for n in range(2)] for d in range(2)]

    def element(k: Var, c: Var, *part: Var) -> PrimExpr:
        y, x = ((k, part[d], window[d].var) for d in range(2))
        inside = [t for d, at in enumerate((y, x)) for t in (where[d](*at) >= -1.0, where[d](*at) <= float(extents[d]))]
        counted = [window[d].var < places(k, d) for d in range(2)]
        image = rois(k, 0).astype("int32")
        pairs = [(i(*y), j(*x), a(*y) * b(*x)) for (i, a), (j, b) in product(*axes)]
        values = [data(image, c, i, j) * weight.astype(data.dtype) for i, j, weight in pairs]
        total = reduce(te.max if spec.mode == "max_weighted" else add, values)
        zero = tir.const(0, data.dtype)
        value = te.if_then_else(te.all(*inside), total, zero)
        if spec.mode != "avg":
            return te.max(te.if_then_else(te.all(*counted), value, tir.min_value(data.dtype)), axis=window)
        return te.sum(te.if_then_else(te.all(*counted), value, zero), axis=window)

    aligned = compute((dims(rois)[0], channels, *spec.pooled), element, name="roi_align", tag=Tag.COMM_REDUCE)
    if spec.mode != "avg":
        return aligned

    def mean(k: Var, c: Var, i: Var, j: Var) -> PrimExpr:
        return aligned(k, c, i, j) / (places(k, 0) * places(k, 1)).astype(data.dtype)

    return compute(aligned.shape, mean, name="roi_mean", tag=Tag.ELEMWISE)


def _edge_taps(x: PrimExpr, extent: int) -> list[tuple[PrimExpr, PrimExpr]]:
    """Return both neighbours of a coordinate with their weights; beyond the outermost elements there is only these."""
    inner = te.max(te.min(x, float(extent - 1)), 0.0)
    base = te.floor(inner)
    low = base.astype("int32")
    return [(low, 1.0 - (inner - base)), (te.min(low + 1, extent - 1), inner - base)]
