"""Images sampled at any places: by a grid of coordinates, or over the parts of regions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any

from compiler import te, tir
from compiler.topi.nn.resize import AxisResize
from compiler.topi.tag import Tag
from compiler.topi.util import dims


def grid_sample(data: Any, grid: Any, method: str, padding_mode: str, align_corners: bool) -> Any:
    """Return ``data`` ``(N, C, spatial…)`` at the places of ``grid`` ``(N, rank, out…)``.

    A place has its last spatial coordinate first, each from -1 to 1: between the centres of the outermost elements if
    ``align_corners``, else between their outer edges.  Which elements count there, and how much, is the same for all
    channels and computed once.
    """
    batch, channels, *extents = dims(data)
    _, rank, *out = dims(grid)
    names = [f"i{d}" for d in range(len(out))]

    def place(d: int) -> Any:
        def element(n: Any, *at: Any) -> Any:
            found = _unnormalized(grid(n, rank - 1 - d, *at), extents[d], align_corners)
            return found if method == "bicubic" else _kept(found, extents[d], padding_mode, align_corners)

        return te.compute((batch, *out), element, name="place", tag=Tag.STAGED, varargs_names=names)

    axes = [_taps(place(d), extents[d], method, padding_mode, align_corners) for d in range(rank)]

    def element(n: Any, c: Any, *at: Any) -> Any:
        terms = []
        for taps in product(*axes):
            indices = [index(n, *at) for index, _ in taps]
            value = data(n, c, *[te.max(te.min(i, e - 1), 0) for i, e in zip(indices, extents, strict=True)])
            for _, weight in taps:
                value = value if weight is None else value * weight(n, *at).astype(data.dtype)
            if padding_mode == "zeros":
                value = te.if_then_else(te.all(*[i >= 0 for i in indices]), value, tir.const(0, data.dtype))
            terms.append(value)
        return reduce(lambda a, b: a + b, terms)

    return te.compute((batch, channels, *out), element, name="grid_sample", tag=Tag.INJECTIVE, varargs_names=names)


def _unnormalized(x: Any, extent: int, align_corners: bool) -> Any:
    if align_corners:
        return (x + 1.0) * (0.5 * (extent - 1))
    return ((x + 1.0) * float(extent) - 1.0) * 0.5


def _kept(x: Any, extent: int, padding_mode: str, align_corners: bool) -> Any:
    """Return a coordinate as the padding mode brings it back into the data."""
    if padding_mode == "zeros":
        return x
    if padding_mode == "reflection":
        x = _reflected(x, extent, align_corners)
    return te.max(te.min(x, float(extent - 1)), 0.0)


def _reflected(x: Any, extent: int, align_corners: bool) -> Any:
    low, high = (0.0, extent - 1.0) if align_corners else (-0.5, extent - 0.5)
    span = high - low
    if span <= 0:
        return x * 0.0
    away = te.abs(x - low)
    turns = te.floor(away / span)
    rest = away - turns * span
    odd = turns - 2.0 * te.floor(turns * 0.5) > 0.5
    return tir.Select(odd, high - rest, rest + low)


def _taps(place: Any, extent: int, method: str, mode: str, align: bool) -> list[tuple[Any, Any]]:
    """Return tensors of the elements of one axis that count, -1 where it is none, and of their weights.

    The nearest element has no weight.
    """

    def indexed(value: Any) -> Any:
        def element(*at: Any) -> Any:
            tap = value(place(*at))
            if mode == "zeros":
                return te.if_then_else(te.all(tap >= 0, tap < extent), tap, -1)
            if mode == "reflection":
                tap = _kept(tap.astype("float32"), extent, mode, align).astype("int32")
            return te.max(te.min(tap, extent - 1), 0)

        return te.compute(place.shape, element, name="tap", tag=Tag.STAGED)

    if method == "nearest":
        return [(indexed(lambda x: te.nearbyint(x).astype("int32")), None)]
    spline = AxisResize(1, 1, "linear" if method == "bilinear" else "cubic", "asymmetric", cubic_alpha=-0.75)

    def weight(k: int) -> Any:
        def element(*at: Any) -> Any:
            x = place(*at)
            return spline.weights(x - te.floor(x), te.min, te.max)[k]

        return te.compute(place.shape, element, name="weight", tag=Tag.STAGED)

    first = spline.first_tap()
    return [
        (indexed(lambda x, k=k: te.floor(x).astype("int32") + (first + k)), weight(k)) for k in range(2 - 2 * first)
    ]


@dataclass(frozen=True, slots=True)
class RoiSpec:
    """What an alignment of regions is besides its tensors.

    Attributes
    ----------
    pooled : tuple of int
        Rows and columns of parts of each region.
    scale : float
        Elements of the data for one unit of the regions' coordinates.
    ratio : int
        Places along each side of a part; where it is not positive about one for each element.
    mode : str
        ``avg`` or ``max``.
    aligned : bool
        Whether coordinates are shifted by half an element; regions are then as small as they are given.
    """

    pooled: tuple[int, int]
    scale: float
    ratio: int
    mode: str
    aligned: bool


def roi_align(data: Any, rois: Any, spec: RoiSpec) -> Any:
    """Return each region of ``rois`` ``(K, 5)``: image, x1, y1, x2, y2; as parts of its image.

    Where the number of places follows from a region's size, it is bounded by what twice the data's size needs.
    """
    _, channels, *extents = dims(data)
    bounds = [spec.ratio if spec.ratio > 0 else -(-2 * e // p) for e, p in zip(extents, spec.pooled, strict=True)]
    window = [te.reduce_axis((0, b), name=n) for b, n in zip(bounds, ("ry", "rx"), strict=True)]
    shift = 0.5 if spec.aligned else 0.0

    def region(k: Any, d: int) -> tuple[Any, Any]:
        """Return where a region begins and the size of its parts."""
        first = 2 - d
        start = rois(k, first) * spec.scale - shift
        size = rois(k, first + 2) * spec.scale - shift - start
        return start, (size if spec.aligned else te.max(size, 1.0)) / float(spec.pooled[d])

    def places(k: Any, d: int) -> Any:
        _, size = region(k, d)
        return tir.const(spec.ratio, "int32") if spec.ratio > 0 else te.max(te.ceil(size).astype("int32"), 1)

    def element(k: Any, c: Any, *part: Any) -> Any:
        taps, inside, counted = [], [], []
        for d, extent in enumerate(extents):
            start, size = region(k, d)
            step = (window[d].var.astype("float32") + 0.5) / places(k, d).astype("float32")
            place = start + (part[d].astype("float32") + step) * size
            taps.append(_edge_taps(place, extent))
            inside += [place >= -1.0, place <= float(extent)]
            counted.append(window[d].var < places(k, d))
        image = rois(k, 0).astype("int32")
        values = [data(image, c, i, j) * (a * b).astype(data.dtype) for (i, a), (j, b) in product(taps[0], taps[1])]
        total = reduce(te.max if spec.mode == "max" else (lambda a, b: a + b), values)
        zero = tir.const(0, data.dtype)
        value = te.if_then_else(te.all(*inside), total, zero)
        if spec.mode == "max":
            return te.max(te.if_then_else(te.all(*counted), value, tir.min_value(data.dtype)), axis=window)
        return te.sum(te.if_then_else(te.all(*counted), value, zero), axis=window)

    whole = te.compute((dims(rois)[0], channels, *spec.pooled), element, name="roi_align", tag=Tag.COMM_REDUCE)
    if spec.mode == "max":
        return whole

    def mean(k: Any, c: Any, i: Any, j: Any) -> Any:
        return whole(k, c, i, j) / (places(k, 0) * places(k, 1)).astype(data.dtype)

    return te.compute(whole.shape, mean, name="roi_mean", tag=Tag.ELEMWISE)


def _edge_taps(x: Any, extent: int) -> list[tuple[Any, Any]]:
    """Return both neighbours of a coordinate with their weights; beyond the outermost elements there is only these."""
    kept = te.max(te.min(x, float(extent - 1)), 0.0)
    base = te.floor(kept)
    low = base.astype("int32")
    return [(low, 1.0 - (kept - base)), (te.min(low + 1, extent - 1), kept - base)]
