"""Resizing of images: Resize and Upsample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.registry import converter
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import dims_of, dtype_of, ops, rank_of
from compiler.relay.frontend.shared.tensors import reshape, static_dims, transpose

_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "bilinear": "linear", "cubic": "cubic"}


@dataclass(slots=True)
class _Plan:
    """What to do along each of the axes."""

    axes: list[int]
    sizes: list[int]
    scales: list[float]
    method: str
    mode: str = "asymmetric"
    rounding: str = "floor"
    roi: list[float] | None = None
    more: dict[str, Any] = field(default_factory=dict)


@converter("Upsample")
def _upsample(node: Node) -> Any:
    scales = node.attributes["scales"] if "scales" in node.attributes else _floats(node, 1, "scales")
    return _by_scales(node, scales or [])


@converter("Resize", since=10)
def _resize_by_scales(node: Node) -> Any:
    return _by_scales(node, _floats(node, 1, "scales") or [])


def _by_scales(node: Node, scales: Sequence[float]) -> Any:
    x = node.inputs[0]
    sizes = [math.floor(d * s) for d, s in zip(static_dims(x, "the input"), scales, strict=True)]
    return _resized(x, _Plan(list(range(rank_of(x))), sizes, list(scales), _method(node)))


def _method(node: Node) -> str:
    mode = node.attr("mode", "nearest")
    if mode not in _METHODS:
        raise ConversionError(f"mode {mode!r} is unknown; expected one of {', '.join(_METHODS)}")
    return _METHODS[mode]


def _floats(node: Node, index: int, what: str) -> list[float] | None:
    value = node.value(index, what)
    return None if value is None or value.size == 0 else [float(v) for v in value.reshape(-1)]


@converter("Resize", since=11)
def _resize(node: Node) -> Any:
    x, rank = node.inputs[0], rank_of(node.inputs[0])
    axes = [a % rank for a in node.attr("axes", list(range(rank)))]
    sizes, scales = _extents(node, axes)
    mode = node.attr("coordinate_transformation_mode", "half_pixel")
    plan = _Plan(axes, sizes, scales, _method(node), mode, _rounding(node))
    if mode == "tf_crop_and_resize":
        plan.roi = _floats(node, 1, "roi")
    plan.more = {
        "cubic_alpha": node.attr("cubic_coeff_a", -0.75),
        "cubic_exclude": node.attr("exclude_outside", 0),
        "extrapolation_value": node.attr("extrapolation_value", 0.0),
        "antialias": bool(node.attr("antialias", 0)),
    }
    return _resized(x, plan)


def _rounding(node: Node) -> str:
    return str(node.attr("nearest_mode", "round_prefer_floor"))


def _extents(node: Node, axes: list[int]) -> tuple[list[int], list[float]]:
    """Return the new extents, and by how much the axes grow."""
    old = [static_dims(node.inputs[0], "the input")[a] for a in axes]
    scales = _floats(node, 2, "scales")
    if scales is not None:
        return [math.floor(d * s) for d, s in zip(old, scales, strict=True)], scales
    sizes = node.ints(3, "sizes")
    if not sizes:
        raise ConversionError("scales or sizes must be given")
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return sizes, [s / d for s, d in zip(sizes, old, strict=True)]
    choose = min if policy == "not_larger" else max
    scale = choose(s / d for s, d in zip(sizes, old, strict=True))
    return [math.floor(scale * d + 0.5) for d in old], [scale] * len(old)


def _resized(x: RelayExpr, plan: _Plan) -> Any:
    """Resize up to three axes in one call, more in several: each axis is its own matter."""
    dims = static_dims(x, "the input")
    places = [i for i, a in enumerate(plan.axes) if plan.sizes[i] != dims[a] or plan.scales[i] != 1 or plan.roi]
    if plan.roi:
        count = len(plan.axes)
        places = [i for i in places if (dims[plan.axes[i]], plan.roi[i], plan.roi[i + count]) != (plan.sizes[i], 0, 1)]
    for start in range(0, len(places), 3):
        x = _some_axes(x, plan, places[start : start + 3])
    return x


def _some_axes(x: RelayExpr, plan: _Plan, places: list[int]) -> Any:
    axes = sorted(plan.axes[i] for i in places)
    places = sorted(places, key=lambda i: plan.axes[i])
    rank, dims = rank_of(x), dims_of(x)
    others = [a for a in range(rank) if a not in axes]
    order = [*others, *axes]
    moved = transpose(x, order)
    channels = math.prod(dims[a] for a in others)
    images = moved if len(others) == 2 else reshape(moved, [1, channels, *(dims[a] for a in axes)])
    count = len(plan.axes)
    roi = None if plan.roi is None else [plan.roi[i] for i in places] + [plan.roi[i + count] for i in places]
    resized = getattr(ops.image, f"resize{len(axes)}d")(
        images,
        [plan.sizes[i] for i in places],
        roi,
        method=plan.method,
        coordinate_transformation_mode=plan.mode,
        rounding_method=plan.rounding if plan.method == "nearest_neighbor" else "",
        scales=[plan.scales[i] for i in places],
        out_dtype=dtype_of(x),
        **plan.more,
    )
    back = reshape(resized, [*(dims[a] for a in others), *(plan.sizes[i] for i in places)])
    return transpose(back, [order.index(a) for a in range(rank)])
