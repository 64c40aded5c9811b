"""Sliding-window operators: convolutions and pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.integers import product_on_integers
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.registry import converter
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import Array, constant, dims_of, dtype_of, ops, rank_of
from compiler.relay.frontend.shared.tensors import bounded, cast, pad, slice_axis, static_dims
from compiler.relay.frontend.shared.windows import greatest, places_in, sum_of_windows, unfold, windows_along

_LAYOUTS = {1: "W", 2: "HW", 3: "DHW"}


@dataclass(frozen=True, slots=True)
class Windows:
    """The geometry of windows, with an entry per spatial axis."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def padding(self) -> tuple[int, ...]:
        """The padding in Relay's order: before all axes, then after all axes."""
        return (*self.before, *self.after)

    @property
    def reach(self) -> tuple[int, ...]:
        """The extents of the dilated window."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))


def windows_of(node: Node, x: RelayExpr, kernel: Sequence[int]) -> Windows:
    """Read the window attributes of a node, resolving automatic padding."""
    count = len(kernel)
    if rank_of(x) != count + 2:
        raise ConversionError(f"a kernel of {count} dimensions needs an input of {count + 2}, got {rank_of(x)}")
    strides = tuple(node.attr("strides", [1] * count))
    dilations = tuple(node.attr("dilations", [1] * count))
    pads = node.attr("pads", [0] * (2 * count))
    windows = Windows(tuple(kernel), strides, dilations, tuple(pads[:count]), tuple(pads[count:]))
    if any(len(part) != count for part in (strides, dilations, windows.before, windows.after)):
        raise ConversionError(f"strides, dilations and pads must fit a kernel of {count} dimensions")
    auto = node.attr("auto_pad", "NOTSET")
    if auto == "VALID":
        return Windows(windows.kernel, strides, dilations, (0,) * count, (0,) * count)
    if auto not in ("SAME_UPPER", "SAME_LOWER"):
        return windows
    decisive = [i + 2 for i, s in enumerate(strides) if s != 1]
    static_dims(x, "the input", decisive)
    extents = [d if isinstance(d, int) else 1 for d in dims_of(x)[2:]]
    total = [max((-(-e // s) - 1) * s + r - e, 0) for e, s, r in zip(extents, strides, windows.reach, strict=True)]
    small, large = tuple(t // 2 for t in total), tuple(t - t // 2 for t in total)
    before, after = (small, large) if auto == "SAME_UPPER" else (large, small)
    return Windows(windows.kernel, strides, dilations, before, after)


def _kernel(node: Node, weight: RelayExpr) -> tuple[int, ...]:
    extents = static_dims(weight, "the weight")[2:]
    declared = node.attributes.get("kernel_shape")
    if declared is not None and tuple(declared) != extents:
        raise ConversionError(f"kernel_shape is {tuple(declared)}, but the weight has {extents}")
    return extents


def conv(node: Node, x: RelayExpr, weight: RelayExpr, out_dtype: str = "") -> RelayExpr:
    """Build the convolution that the attributes of a node describe."""
    kernel = _kernel(node, weight)
    if len(kernel) not in _LAYOUTS:
        raise ConversionError(f"a convolution over {len(kernel)} dimensions is not supported, only over 1, 2 or 3")
    w = windows_of(node, x, kernel)
    return ops.nn[f"conv{len(kernel)}d"](
        x,
        weight,
        strides=w.strides,
        padding=w.padding,
        dilation=w.dilations,
        groups=node.attr("group", 1),
        channels=dims_of(weight)[0],
        kernel_size=kernel,
        out_dtype=out_dtype,
    )


@converter("Conv")
def _conv(node: Node) -> RelayExpr:
    (x, weight), bias = node.inputs[:2], node.input(2)
    depth = _depth(weight)
    result = product_on_integers(x, weight, depth, (0, 1), lambda a, b, out_dtype: conv(node, a, b, out_dtype))
    if result is None:
        result = conv(node, x, weight)
    return result if bias is None else ops.nn.bias_add(result, bias, axis=1)


def _depth(weight: RelayExpr) -> int | None:
    """Return how many products a convolution sums for each element, None if that is not constant."""
    dims = dims_of(weight)[1:]
    known = [d for d in dims if isinstance(d, int)]
    return math.prod(known) if len(known) == len(dims) else None


@converter("ConvTranspose")
def _conv_transpose(node: Node) -> RelayExpr:
    (x, weight), bias = node.inputs[:2], node.input(2)
    kernel, groups = _kernel(node, weight), node.attr("group", 1)
    count = len(kernel)
    w = windows_of(_without_auto_pad(node), x, kernel)
    more = tuple(node.attr("output_padding", [0] * count))
    before, after = _transposed_padding(node, w, more)
    shrinks = min(*before, *after) >= 0
    result = ops.nn[f"conv{count}d_transpose"](
        x,
        weight,
        strides=w.strides,
        padding=(*before, *after) if shrinks else (0,) * (2 * count),
        dilation=w.dilations,
        output_padding=more if shrinks else (0,) * count,
        groups=groups,
        channels=static_dims(weight, "the weight")[1] * groups,
        kernel_size=kernel,
    )
    if not shrinks:
        result = pad(result, [(0, 0)] * 2 + [(-b, o - a) for b, a, o in zip(before, after, more, strict=True)])
    return result if bias is None else ops.nn.bias_add(result, bias, axis=1)


def _without_auto_pad(node: Node) -> Node:
    """Of a transposed convolution automatic padding is about the result, not about the input."""
    attrs = {name: value for name, value in node.attributes.items() if name != "auto_pad"}
    return Node(node.operator, node.inputs, attrs, node.outputs, node.opset, node.run)


def _transposed_padding(node: Node, w: Windows, more: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    """Return what is cut off before and after each axis; ``more`` is the padding of the result."""
    auto, count = node.attr("auto_pad", "NOTSET"), len(w.kernel)
    wanted = node.attributes.get("output_shape")
    if wanted is not None:
        extents = static_dims(node.inputs[0], "the input", range(2, count + 2))
        whole = [(e - 1) * s + r + o for e, s, r, o in zip(extents, w.strides, w.reach, more, strict=True)]
        total = [have - want for have, want in zip(whole, wanted[-count:], strict=True)]
    elif auto in ("SAME_UPPER", "SAME_LOWER"):
        total = [r + o - s for s, r, o in zip(w.strides, w.reach, more, strict=True)]  # for a stride times the extent
    else:
        return w.before, w.after
    small = [t // 2 for t in total]
    large = [t - t // 2 for t in total]
    return (small, large) if auto == "SAME_UPPER" else (large, small)


@converter("MaxPool")
def _max_pool(node: Node) -> RelayExpr | list[RelayExpr]:
    x = node.inputs[0]
    w = windows_of(node, x, node.required("kernel_shape"))
    dtype = dtype_of(x)
    ceil = _ceil(node)
    if node.wants(1):
        return _max_pool_with_places(node, x, w, ceil)
    return cast(pool(node, "max", cast(x, "int32") if dtype in ("int8", "uint8") else x, w), dtype)


def pool(node: Node, kind: str, x: RelayExpr, w: Windows, **more: object) -> RelayExpr:
    """Pool; a last window that would begin behind the image, in the padding, is left out."""
    if len(w.kernel) not in (1, 2, 3):
        raise ConversionError(f"pooling over {len(w.kernel)} dimensions is not supported, only over 1, 2 or 3")
    ceil = _ceil(node)
    pooled = ops.nn[f"{kind}_pool{len(w.kernel)}d"](
        x, w.kernel, strides=w.strides, dilation=w.dilations, padding=w.padding, ceil_mode=ceil, **more
    )
    if not ceil:
        return pooled
    for axis in range(len(w.kernel)):
        if w.strides[axis] - 1 + w.after[axis] < w.reach[axis]:
            continue  # it begins in the image, whatever its extent
        (extent,), (count,) = (static_dims(part, "the input", [axis + 2]) for part in (x, pooled))
        if (count - 1) * w.strides[axis] >= extent + w.before[axis]:
            pooled = slice_axis(pooled, axis + 2, 0, count - 1)
    return pooled


def _ceil(node: Node) -> bool:
    return bool(node.attr("ceil_mode", 0)) and node.attr("auto_pad", "NOTSET") in ("NOTSET", "VALID")


def positions(extents: Sequence[int], w: Windows, ceil: bool = False) -> tuple[tuple[int, ...], Array]:
    """Return how many windows there are along each axis, and the flat place of each of their elements.

    Places outside of the image are -1; the array is (windows, elements of one).
    """
    after = [a + s - 1 if ceil else a for a, s in zip(w.after, w.strides, strict=True)]
    axes = list(map(windows_along, extents, w.kernel, w.strides, w.dilations, w.before, after))
    if ceil:  # the last window must begin within the image or the padding before it
        axes = [places[places[:, 0] < extent] for places, extent in zip(axes, extents, strict=True)]
    return tuple(len(a) for a in axes), places_in(axes, extents)


def _max_pool_with_places(node: Node, x: RelayExpr, w: Windows, ceil: bool) -> list[RelayExpr]:
    n, c, *extents = static_dims(x, "the input")
    counts, places = positions(extents, w, ceil)
    named = places
    if node.attr("storage_order", 0):
        named = np.ravel_multi_index(np.unravel_index(np.maximum(places, 0), extents)[::-1], extents[::-1])
    most, flat = greatest(x, places, named)
    offsets = constant((np.arange(n * c) * math.prod(extents)).reshape(n, c, 1))
    shape = (n, c, *counts)
    return [ops.reshape(most, shape), ops.reshape(ops.add(flat, offsets), shape)]


@converter("MaxUnpool")
def _max_unpool(node: Node) -> RelayExpr:
    x, places = node.inputs[:2]
    w = windows_of(node, x, node.required("kernel_shape"))
    n, c, *extents = static_dims(x, "the input")
    wanted = [
        (e - 1) * s + k - b - a for e, s, k, b, a in zip(extents, w.strides, w.kernel, w.before, w.after, strict=True)
    ]
    given = node.ints(2, "output_shape")
    bounded(n, c, *wanted)
    empty = constant(np.zeros((n * c * math.prod(wanted),), dtype_of(x)))
    flat_places, flat = ops.reshape(places, (-1,)), ops.reshape(x, (-1,))
    unpooled = ops.scatter_elements(empty, flat_places, flat, axis=0, reduction="update")
    unpooled = ops.reshape(unpooled, (n, c, *wanted))
    if given is None:
        return unpooled
    return pad(unpooled, [(0, g - h) for g, h in zip(given, (n, c, *wanted), strict=True)])


@converter("AveragePool")
def _average_pool(node: Node) -> RelayExpr:
    x = node.inputs[0]
    w = windows_of(node, x, node.required("kernel_shape"))
    return pool(node, "avg", x, w, count_include_pad=bool(node.attr("count_include_pad", 0)))


@converter("LpPool")
def _lp_pool(node: Node) -> RelayExpr:
    x, p = node.inputs[0], float(node.attr("p", 2))
    n, c, *extents = static_dims(x, "the input")
    counts, places = positions(extents, windows_of(node, x, node.required("kernel_shape")), _ceil(node))
    powers = ops.power(ops.abs(unfold(x, places, 0)), p)
    return ops.reshape(ops.power(ops.sum(powers, axis=3), 1 / p), (n, c, *counts))


@converter("GlobalLpPool")
def _global_lp_pool(node: Node) -> RelayExpr:
    x, p = node.inputs[0], float(node.attr("p", 2))
    axes = tuple(range(2, rank_of(x)))
    return ops.power(ops.sum(ops.power(ops.abs(x), p), axis=axes, keepdims=True), 1 / p)


@converter("GlobalAveragePool", "GlobalMaxPool")
def _global_pool(node: Node) -> RelayExpr:
    x = node.inputs[0]
    kind = "avg" if node.operator == "GlobalAveragePool" else "max"
    count = rank_of(x) - 2
    if count in _LAYOUTS:
        return ops.nn[f"global_{kind}_pool{count}d"](x)
    reduce = ops.mean if kind == "avg" else ops.max
    return reduce(x, axis=tuple(range(2, rank_of(x))), keepdims=True)


@converter("Col2Im")
def _col2im(node: Node) -> RelayExpr:
    """Convert ``Col2Im``: sum windows at their positions."""
    image, block = node.ints(1, "image_shape") or [], node.ints(2, "block_shape") or []
    w = windows_of(node, constant(np.zeros((1, 1, *image), "bool")), block)
    windows = map(windows_along, image, w.kernel, w.strides, w.dilations, w.before, w.after)
    return sum_of_windows(node.inputs[0], image, list(windows))
