"""Operators that sample images at computed positions: GridSample, RoiAlign, DeformConv, AffineGrid."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.converters.matmul import matmul
from compiler.relay.frontend.onnx.converters.windows import Windows, windows_of
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.registry import converter
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dtype_of, ops, rank_of, scalar
from compiler.relay.frontend.shared.tensors import bounded, cast, reshape, slice_axis, static_dims


def pick(x: RelayExpr, places: Sequence[RelayExpr], outside: str = "zeros") -> RelayExpr:
    """Gather elements of images at integer positions."""
    n, c, *extents = static_dims(x, "the input")
    nears: list[RelayExpr] = []
    index = "int32" if math.prod(extents) < 1 << 31 else "int64"
    inside: RelayExpr | None = None
    for place, extent in zip(places, extents, strict=True):
        if outside == "zeros":
            ok = ops.logical_and(ops.greater_equal(place, 0.0), ops.less_equal(place, float(extent - 1)))
            inside = ok if inside is None else ops.logical_and(inside, ok)
        nears.append(ops.cast(ops.minimum(ops.maximum(place, 0.0), float(extent - 1)), index))
    flat = nears[0]
    for near, extent in zip(nears[1:], extents[1:], strict=True):
        flat = ops.add(ops.multiply(flat, extent), near)
    count = static_dims(flat, "the places")[1]
    elements = ops.take(ops.reshape(x, (n, c, math.prod(extents))), flat, axis=2, batch_dims=1)
    return elements if inside is None else ops.where(reshape(inside, [n, 1, count]), elements, scalar(0, x))


def blend(x: RelayExpr, places: Sequence[RelayExpr], outside: str = "zeros") -> RelayExpr:
    """Interpolate linearly at fractional positions; see :func:`pick`."""
    return _weighted(x, places, outside, (0, 1), lambda rest: [ops.subtract(1.0, rest), rest])


def _weighted(
    x: RelayExpr,
    places: Sequence[RelayExpr],
    outside: str,
    around: Sequence[int],
    weigh: Callable[[RelayExpr], list[RelayExpr]],
) -> RelayExpr:
    n, count = static_dims(places[0], "the places")
    floors = [ops.floor(p) for p in places]
    weights = [weigh(ops.subtract(p, f)) for p, f in zip(places, floors, strict=True)]
    parts: list[RelayExpr] = []
    for corner in itertools.product(range(len(around)), repeat=len(places)):
        at = [ops.add(f, float(around[i])) for f, i in zip(floors, corner, strict=True)]
        weight = functools.reduce(ops.multiply, (weights[axis][i] for axis, i in enumerate(corner)))
        parts.append(ops.multiply(_mapped(x, at, outside), cast(reshape(weight, [n, 1, count]), dtype_of(x))))
    return functools.reduce(ops.add, parts)


def _mapped(x: RelayExpr, at: list[RelayExpr], outside: str) -> RelayExpr:
    if outside.startswith("reflection"):
        extents = static_dims(x, "the input", range(2, rank_of(x)))
        at = [ops.nearbyint(_reflected(p, e, outside.endswith("corners"))) for p, e in zip(at, extents, strict=True)]
    return pick(x, at, "zeros" if outside == "zeros" else "border")


def _reflected(place: RelayExpr, extent: int, corners: bool) -> RelayExpr:
    """Reflect positions at the borders of the image until they are inside."""
    low, high = (0.0, extent - 1.0) if corners else (-0.5, extent - 0.5)
    span = high - low
    if span <= 0:
        return ops.multiply(place, 0.0)
    away = ops.floor_mod(ops.subtract(place, low), 2 * span)
    return ops.add(ops.subtract(span, ops.abs(ops.subtract(away, span))), low)


def _cubic(a: float) -> Callable[[RelayExpr], list[RelayExpr]]:
    def near(d: RelayExpr) -> RelayExpr:
        return ops.add(ops.multiply(ops.multiply(ops.subtract(ops.multiply(d, a + 2), a + 3), d), d), 1.0)

    def far(d: RelayExpr) -> RelayExpr:
        inner = ops.add(ops.multiply(ops.subtract(ops.multiply(d, a), 5 * a), d), 8 * a)
        return ops.subtract(ops.multiply(inner, d), 4 * a)

    def weigh(rest: RelayExpr) -> list[RelayExpr]:
        other = ops.subtract(1.0, rest)
        return [far(ops.add(rest, 1.0)), near(rest), near(other), far(ops.add(other, 1.0))]

    return weigh


@converter("GridSample")
def _grid_sample(node: Node) -> RelayExpr:
    x, grid = node.inputs
    n, c, *extents = static_dims(x, "the input")
    out = static_dims(grid, "the grid")[1:-1]
    corners = bool(node.attr("align_corners", 0))
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(node.attr("mode", "linear"), node.attr("mode", "linear"))
    outside = node.attr("padding_mode", "zeros")
    places = []
    for axis, extent in enumerate(extents):
        raw = slice_axis(grid, -1, len(extents) - 1 - axis, len(extents) - axis)
        raw = reshape(raw, [n, math.prod(out)])
        if corners:
            places.append(ops.multiply(ops.add(raw, 1.0), (extent - 1) / 2))
        else:
            places.append(ops.divide(ops.subtract(ops.multiply(ops.add(raw, 1.0), float(extent)), 1.0), 2.0))
    if outside == "reflection":
        if mode != "cubic":
            places = [_reflected(p, e, corners) for p, e in zip(places, extents, strict=True)]
        outside = "reflection_corners" if corners else "reflection"
    if outside == "border" and mode != "cubic":
        places = [ops.minimum(ops.maximum(p, 0.0), e - 1.0) for p, e in zip(places, extents, strict=True)]
    return ops.reshape(_sampled(x, places, mode, outside), (n, c, *out))


def _sampled(x: RelayExpr, places: list[RelayExpr], mode: str, outside: str) -> RelayExpr:
    if mode == "nearest":
        return _mapped(x, [ops.nearbyint(p) for p in places], outside)
    if mode == "linear":
        return blend(x, places, outside)
    if mode == "cubic":
        return _weighted(x, places, outside, (-1, 0, 1, 2), _cubic(-0.75))
    raise ConversionError(f"mode {mode!r} is unknown; expected one of nearest, linear and cubic")


@converter("MaxRoiPool")
def _max_roi_pool(node: Node) -> RelayExpr:
    x, rois = node.inputs
    size, scale = node.required("pooled_shape"), node.attr("spatial_scale", 1.0)
    return ops.vision.roi_pool(x, rois, pooled_size=size, spatial_scale=scale)


@converter("RoiAlign")
def _roi_align(node: Node) -> RelayExpr:
    x, rois, batch = node.inputs
    half = node.opset >= 16 and node.attr("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    mode = node.attr("mode", "avg")
    return ops.vision.roi_align(
        x,
        ops.concatenate([reshape(cast(batch, dtype_of(rois)), [-1, 1]), rois], 1),
        (node.attr("output_height", 1), node.attr("output_width", 1)),
        float(node.attr("spatial_scale", 1.0)),
        sample_ratio=node.attr("sampling_ratio", 0),
        mode={"max": "max_weighted"}.get(mode, mode),  # as in ONNX Runtime
        aligned=half,
    )


@converter("NonMaxSuppression")
def _non_max_suppression(node: Node) -> RelayExpr:
    (boxes, scores), (limit, overlap, least) = node.inputs[:2], node.take(5)[2:]
    if node.attr("center_point_box", 0):
        middle, half = slice_axis(boxes, 2, 0, 2), ops.multiply(slice_axis(boxes, 2, 2, 4), 0.5)
        boxes = ops.concatenate([ops.subtract(middle, half), ops.add(middle, half)], 2)
    rows, count = ops.vision.all_class_non_max_suppression(
        boxes,
        scores,
        constant(0, "int64") if limit is None else reshape(limit, []),
        constant(0.0, "float32") if overlap is None else reshape(overlap, []),
        constant(-math.inf, "float32") if least is None else reshape(least, []),
    )
    first, step = (constant(np.array(v, np.int64)) for v in ([0], [1]))
    return ops.strided_slice(rows, first, count, step, axes=[0])


@converter("AffineGrid")
def _affine_grid(node: Node) -> RelayExpr:
    theta, size = node.inputs[0], node.ints(1, "size") or []
    n, extents = size[0], size[2:]
    axes = []
    bounded(*size)
    for extent in extents:
        if node.attr("align_corners", 0):
            axes.append(np.linspace(-1, 1, extent) if extent > 1 else np.zeros(1))
        else:
            axes.append((2 * np.arange(extent) + 1) / extent - 1)
    mesh = np.meshgrid(*axes, indexing="ij")
    points = np.stack([m.reshape(-1) for m in (*mesh[::-1], np.ones(extents))]).astype(dtype_of(theta))
    grid = matmul(theta, constant(np.broadcast_to(points, (n, *points.shape)).copy()))
    return ops.reshape(ops.transpose(grid, axes=[0, 2, 1]), (n, *extents, len(extents)))


@converter("DeformConv")
def _deform_conv(node: Node) -> RelayExpr:
    (x, weight, offset), (bias, mask) = node.inputs[:3], node.take(5)[3:]
    w = windows_of(node, x, static_dims(weight, "the weight")[2:])
    groups, parts = node.attr("group", 1), node.attr("offset_group", 1)
    return deformable_convolution(x, weight, offset, bias, mask, w, groups, parts)


def deformable_convolution(
    x: RelayExpr,
    weight: RelayExpr,
    offset: RelayExpr,
    bias: RelayExpr | None,
    mask: RelayExpr | None,
    w: Windows,
    groups: int,
    parts: int,
) -> RelayExpr:
    """Sample each element of each window at its own offset, scaled by a mask, then multiply by the weights."""
    n, c, *extents = static_dims(x, "the input")
    outputs, per_group, *kernel = static_dims(weight, "the weight")
    out = static_dims(offset, "the offsets")[2:]
    taps, pixels = math.prod(kernel), math.prod(out)
    shifts = ops.reshape(offset, (n * parts, taps, len(kernel), pixels))
    grids = []
    bounded(taps, pixels)
    for axis in range(len(kernel)):
        tap = np.arange(kernel[axis]) * w.dilations[axis] - w.before[axis]
        pixel = np.arange(out[axis]) * w.strides[axis]
        tap = np.broadcast_to(tap.reshape([-1 if a == axis else 1 for a in range(len(kernel))]), kernel).reshape(-1)
        pixel = np.broadcast_to(pixel.reshape([-1 if a == axis else 1 for a in range(len(out))]), out).reshape(-1)
        base = (tap[:, None] + pixel[None]).astype(dtype_of(x))
        own = ops.squeeze(slice_axis(shifts, 2, axis, axis + 1), axis=[2])
        grids.append(ops.reshape(ops.add(own, constant(base)), (n * parts, taps * pixels)))
    images = ops.reshape(x, (n * parts, c // parts, *extents))
    sampled = ops.reshape(blend(images, grids, "zeros"), (n, parts, c // parts, taps, pixels))
    if mask is not None:
        sampled = ops.multiply(sampled, ops.reshape(mask, (n, parts, 1, taps, pixels)))
    rows = ops.reshape(sampled, (n, groups, per_group * taps, pixels))
    weights = ops.reshape(weight, (1, groups, outputs // groups, per_group * taps))
    result = ops.reshape(matmul(weights, rows), (n, outputs, *out))
    return result if bias is None else ops.nn.bias_add(result, bias, axis=1)
