"""Resizing of images: Resize and Upsample."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.partial import partial_of
from compiler.relay.frontend.onnx.registry import converter, converters
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import Operators, constant, dims_of, dtype_of, ops, rank_of
from compiler.relay.frontend.shared.tensors import Extent, reshape, static_dims, transpose, unsqueeze
from compiler.relay.ty import Dim

_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "bilinear": "linear", "cubic": "cubic"}


@dataclass(slots=True)
class _Plan:
    """What to do along each of the axes."""

    axes: list[int]
    sizes: Sequence[int | None]
    scales: Sequence[float | None]
    method: str
    mode: str = "asymmetric"
    rounding: str = "floor"
    roi: list[float] | None = None
    given: RelayExpr | None = None
    more: dict[str, object] = field(default_factory=dict)


@converter("Upsample")
def _upsample(node: Node) -> RelayExpr:
    scales = node.attributes["scales"] if "scales" in node.attributes else _floats(node, 1, "scales")
    return _by_scales(node, scales or [])


def _by_scales(node: Node, scales: Sequence[float]) -> RelayExpr:
    x = node.inputs[0]
    sizes = [_scaled(d, s) for d, s in zip(dims_of(x), scales, strict=True)]
    return _resized(x, _Plan(list(range(rank_of(x))), sizes, list(scales), _method(node)))


def _scaled(extent: Dim, scale: float) -> int | None:
    """Return a new extent; None for one that the running program computes."""
    return math.floor(extent * scale) if isinstance(extent, int) else None


def _method(node: Node) -> str:
    mode = node.attr("mode", "nearest")
    if mode not in _METHODS:
        raise ConversionError(f"mode {mode!r} is unknown; expected one of {', '.join(_METHODS)}")
    return _METHODS[mode]


def _floats(node: Node, index: int, what: str) -> list[float] | None:
    value = node.value(index, what)
    return None if value is None or value.size == 0 else [float(v) for v in value.reshape(-1)]


converters({"Resize": lambda node: _by_scales(node, _floats(node, 1, "scales") or [])}, since=10)


@converter("Resize", since=11)
def _resize(node: Node) -> RelayExpr:
    x, rank = node.inputs[0], rank_of(node.inputs[0])
    axes = [a % rank for a in node.attr("axes", list(range(rank)))]
    sizes, scales = _extents(node, axes)
    mode = node.attr("coordinate_transformation_mode", "half_pixel")
    rounding = str(node.attr("nearest_mode", "round_prefer_floor"))
    plan = _Plan(axes, sizes, scales, _method(node), mode, rounding)
    plan.given = None if _floats(node, 2, "scales") else node.input(3)
    if mode == "tf_crop_and_resize":
        plan.roi = _floats(node, 1, "roi")
    plan.more = {
        "cubic_alpha": node.attr("cubic_coeff_a", -0.75),
        "cubic_exclude": node.attr("exclude_outside", 0),
        "extrapolation_value": node.attr("extrapolation_value", 0.0),
        "antialias": bool(node.attr("antialias", 0)),
    }
    return _resized(x, plan)


def _extents(node: Node, axes: list[int]) -> tuple[Sequence[int | None], Sequence[float | None]]:
    """Return the new extents, and by how much the axes grow; None for what the running program computes."""
    dims = dims_of(node.inputs[0])
    scales = _floats(node, 2, "scales")
    if scales is not None:
        return [_scaled(dims[a], s) for a, s in zip(axes, scales, strict=True)], scales
    given = node.input(3)
    if given is None:
        raise ConversionError("scales or sizes must be given")
    sizes = partial_of(given) or [None] * len(axes)
    old = [dims[a] for a in axes]
    if node.attr("keep_aspect_ratio_policy", "stretch") == "stretch":
        pairs = list(zip(sizes, old, strict=True))
        return [s if isinstance(s, int) else None for s in sizes], [_scale(s, d) for s, d in pairs]
    wanted = [s for s in sizes if isinstance(s, int)]
    if len(wanted) < len(sizes):
        raise ConversionError("sizes must be known while importing where the aspect ratio is kept; give `shape`")
    own = static_dims(node.inputs[0], "the input", axes)
    choose = min if node.attr("keep_aspect_ratio_policy") == "not_larger" else max
    scale = choose(s / d for s, d in zip(wanted, own, strict=True))
    return [math.floor(scale * d + 0.5) for d in own], [scale] * len(own)


def _scale(size: Extent, extent: Dim) -> float | None:
    """Return by how much an axis grows, None if only the running program knows."""
    if size is extent:
        return 1.0
    return size / extent if isinstance(size, int) and isinstance(extent, int) else None


def _resized(x: RelayExpr, plan: _Plan) -> RelayExpr:
    """Resize up to three axes in one call, more in several: each axis is its own matter."""
    dims = dims_of(x)
    places = [i for i in range(len(plan.axes)) if _changes(plan, i, dims[plan.axes[i]])]
    for start in range(0, len(places), 3):
        x = _some_axes(x, plan, places[start : start + 3])
    return x


def _changes(plan: _Plan, i: int, extent: Dim) -> bool:
    """Return whether an axis is resized."""
    kept = isinstance(extent, int) and plan.sizes[i] == extent
    if plan.roi:
        return not kept or (plan.roi[i], plan.roi[i + len(plan.axes)]) != (0, 1)
    return plan.scales[i] != 1 or not (kept or plan.sizes[i] is None)


def _some_axes(x: RelayExpr, plan: _Plan, places: list[int]) -> RelayExpr:
    axes = sorted(plan.axes[i] for i in places)
    places = sorted(places, key=lambda i: plan.axes[i])
    rank = rank_of(x)
    others = [a for a in range(rank) if a not in axes]
    order = [*others, *axes]
    moved = transpose(x, order)
    images, back = _as_images(moved, len(others))
    resized = back(_images_resized(images, plan, places))
    return transpose(resized, [order.index(a) for a in range(rank)])


def _as_images(x: RelayExpr, count: int) -> tuple[RelayExpr, Callable[[RelayExpr], RelayExpr]]:
    """Return a tensor whose first ``count`` axes, which stay, have become two, and what undoes that."""
    if count <= 2:
        missing = list(range(2 - count))
        return unsqueeze(x, missing), lambda resized: ops.squeeze(resized, missing) if missing else resized
    if count <= 4:
        images = ops.reshape(x, [-3, -3 if count == 4 else 0, *[0] * (rank_of(x) - count)])  # -3 makes one of two
    else:
        images = reshape(x, [1, -1, *dims_of(x)[count:]])
    return images, lambda resized: ops.reshape_like(resized, x, lhs_begin=0, lhs_end=2, rhs_begin=0, rhs_end=count)


def _images_resized(images: RelayExpr, plan: _Plan, places: list[int]) -> RelayExpr:
    """Resize all axes of ``images`` but the first two, which are ``places`` in the plan."""
    count = len(plan.axes)
    roi = None if plan.roi is None else [plan.roi[i] for i in places] + [plan.roi[i + count] for i in places]
    scales, sizes = [plan.scales[i] for i in places], [plan.sizes[i] for i in places]
    package: Operators = ops.image
    given: tuple[object, object] = (sizes, roi)
    if None in sizes or not all(isinstance(d, int) for d in dims_of(images)[2:]):
        size = _size_at_run_time(images, plan, places) if None in sizes else constant(sizes, "int64")
        whole = constant(np.asarray(roi or [0] * len(places) + [1] * len(places), np.float32))
        package, given = ops.dyn.image, (size, whole)
    return package[f"resize{len(places)}d"](
        images,
        *given,
        method=plan.method,
        coordinate_transformation_mode=plan.mode,
        rounding_method=plan.rounding if plan.method == "nearest_neighbor" else "",
        scales=None if None in scales else scales,
        out_dtype=dtype_of(images),
        **plan.more,
    )


def _size_at_run_time(images: RelayExpr, plan: _Plan, places: list[int]) -> RelayExpr:
    """Return the extents that are given, or those of images times the scales, rounded down."""
    if plan.given is not None:
        return ops.take(ops.cast(plan.given, "int64"), constant(places, "int64"), axis=0)
    old = ops.strided_slice(ops.shape_of(images, dtype="int64"), [2], [2 + len(places)], strides=[1])
    scales = constant(np.asarray([plan.scales[i] for i in places], np.float64))
    return ops.cast(ops.floor(ops.multiply(ops.cast(old, "float64"), scales)), "int64")
