"""SimplifyExpr rules for reshapes, transposes and layout transforms."""

from __future__ import annotations

from functools import partial
from math import prod

from compiler.ir.expr import RelayExpr
from compiler.relay.analysis.aliases import RESHAPES
from compiler.relay.expr import Call
from compiler.relay.op.image.resize import Resize2DAttrs
from compiler.relay.op.shape import LayoutTransformAttrs, TransposeAttrs
from compiler.relay.operator import call_of, call_op, reshaped
from compiler.relay.transform.rewriter import tensor_type, type_of
from compiler.relay.transform.simplify.simplify_rule import Rule, inner_call, of_same_type, static_type
from compiler.tir.layout.data_layout import Layout, layout

_NAMED_RESHAPES = ("contrib_reverse_reshape", "reshape")
"""Those that name the extents of their result."""
_MANY_ROWS = 32
"""Rows of a matrix from which on a product is as fast for several such matrices as for one of all rows."""


def _source(call: Call, operators: tuple[str, ...]) -> RelayExpr:
    source: RelayExpr = call
    while (inner := call_of(source, *operators)) is not None:
        source = inner.args[0]
    return source


def _reshape_of(operators: tuple[str, ...], call: Call) -> RelayExpr | None:
    """Let the last of several reshapes do what all do."""
    t, source = static_type(call), _source(call, operators)
    if t is None or source is call.args[0]:
        return None
    return reshaped(source, t.concrete_shape)


def _undone_reshape(call: Call) -> RelayExpr | None:
    return of_same_type(call, _source(call, RESHAPES)) if static_type(call) is not None else None


def _no_reshape(call: Call) -> RelayExpr | None:
    return call.args[0] if static_type(call) is not None and type_of(call.args[0]) == type_of(call) else None


def _reshaped_rows(call: Call) -> RelayExpr | None:
    """A dense layer takes rows in any number of axes: what computes with its result can be fused with it then."""
    product, t = inner_call(call, "nn.dense"), static_type(call)
    if product is None or t is None:
        return None
    rows = product.args[0]
    source = _source(rows, RESHAPES) if isinstance(rows, Call) else rows
    before = static_type(source)
    if before is None or len(before.dims) < 2 or source is rows or before.dims[:-1] != t.dims[:-1]:
        return None
    *outer, count, _ = before.concrete_shape
    if prod(outer) > 1 and count < _MANY_ROWS:
        return None
    return of_same_type(call, call_op("nn.dense", source, product.args[1], **product.attrs))


def _axes(call: Call, rank: int) -> tuple[int, ...]:
    axes = TransposeAttrs.of(call).axes
    return tuple(reversed(range(rank))) if axes is None else tuple(a % rank for a in axes)


def _transpose_of_transpose(call: Call) -> RelayExpr | None:
    inner, t = inner_call(call, "transpose"), tensor_type(call)
    if inner is None or t is None:
        return None
    rank = len(t.dims)
    first = _axes(inner, rank)
    return call_op("transpose", inner.args[0], axes=tuple(first[a] for a in _axes(call, rank)))


def _no_transpose(call: Call) -> RelayExpr | None:
    t = tensor_type(call)
    same = t is not None and _axes(call, len(t.dims)) == tuple(range(len(t.dims)))
    return call.args[0] if same else None


def _transpose_of_ones(call: Call) -> RelayExpr | None:
    """Axes of extent 1 can be moved without moving an element."""
    t = static_type(call)
    source = static_type(call.args[0])
    if t is None or source is None:
        return None
    moved = [a for a in _axes(call, len(t.dims)) if source.dims[a] != 1]
    return reshaped(call.args[0], t.concrete_shape) if moved == sorted(moved) else None


def _no_layout(call: Call) -> RelayExpr | None:
    attrs = LayoutTransformAttrs.of(call)
    return call.args[0] if layout(attrs.src_layout) == layout(attrs.dst_layout) else None


def _layout_of_layout(call: Call) -> RelayExpr | None:
    inner = inner_call(call, "layout_transform")
    if inner is None or _padded(inner):
        return None
    first, second = LayoutTransformAttrs.of(inner), LayoutTransformAttrs.of(call)
    if first.dst_layout != second.src_layout:
        return None
    before, after = layout(first.src_layout), layout(second.dst_layout)
    if before != after and any(a.factor for a in layout(first.dst_layout).axes):
        return _in_layout(inner.args[0], before, after)
    return _moved(call, inner.args[0], before, after)


def _layout_of_transpose(call: Call) -> RelayExpr | None:
    """The layout of the data before it was transposed follows from the one after."""
    inner, attrs = inner_call(call, "transpose"), LayoutTransformAttrs.of(call)
    after = layout(attrs.src_layout)
    if inner is None or any(a.factor for a in after.axes):
        return None
    axes = _axes(inner, len(after))
    before = after.take(axes.index(at) for at in range(len(after)))
    return None if before is None else _moved(call, inner.args[0], before, layout(attrs.dst_layout))


def _transpose_of_layout(call: Call) -> RelayExpr | None:
    inner = inner_call(call, "layout_transform")
    if inner is None or _padded(inner):
        return None
    attrs = LayoutTransformAttrs.of(inner)
    between = layout(attrs.dst_layout)
    if any(a.factor for a in between.axes):
        return None
    after = between.take(_axes(call, len(between)))
    return None if after is None else _moved(call, inner.args[0], layout(attrs.src_layout), after)


def _moved(call: Call, source: RelayExpr, before: Layout, after: Layout) -> RelayExpr | None:
    """Return a value in another layout, by a transposition where no dimension is in blocks."""
    if before == after:
        return of_same_type(call, source)
    if any(a.factor for a in (*before.axes, *after.axes)):
        return _in_layout(source, before, after)
    return call_op("transpose", source, axes=[before.index_of(axis.name) for axis in after.axes])


def _in_layout(source: RelayExpr, before: Layout, after: Layout) -> RelayExpr:
    return call_op("layout_transform", source, src_layout=str(before), dst_layout=str(after))


def _padded(call: Call) -> bool:
    """Return whether blocks were filled up, so that the elements differ in number."""
    before, after = static_type(call.args[0]), static_type(call)
    return before is None or after is None or prod(before.concrete_shape) != prod(after.concrete_shape)


def _layout_of_resize(call: Call) -> RelayExpr | None:
    """Channels that leave their blocks do so after a resize, in whose vectors they stand: a mean is not by element."""
    inner, attrs = inner_call(call, "image.resize2d"), LayoutTransformAttrs.of(call)
    before, after = layout(attrs.src_layout), layout(attrs.dst_layout)
    if inner is None or Resize2DAttrs.of(inner).method == "nearest_neighbor":
        return None
    if any(a.factor for a in after.axes) or not any(a.factor for a in before.axes):
        return None
    return _in_layout(call_op("annotation.stop_fusion", inner), before, after)


def _layout_of_ones(call: Call) -> RelayExpr | None:
    """Transforming a layout that moves only axes of extent 1 is a reshape."""
    source, t = static_type(call.args[0]), static_type(call)
    if source is None or t is None or _padded(call):
        return None
    attrs = LayoutTransformAttrs.of(call)
    before, after = layout(attrs.src_layout), layout(attrs.dst_layout)
    if any(a.factor for a in (*before.axes, *after.axes)):
        return None
    extents = before.extents(source.dims)
    wide = [[letter for letter in each.letters if extents[letter] != 1] for each in (before, after)]
    return reshaped(call.args[0], t.concrete_shape) if wide[0] == wide[1] else None


SHAPE_RULES: tuple[Rule, ...] = (
    *(Rule(n, f"{n}(reshape(x)) = reshape(x)", partial(_reshape_of, _NAMED_RESHAPES)) for n in _NAMED_RESHAPES),
    Rule("transpose", "transpose(transpose(x, p), q) = transpose(x, p[q])", _transpose_of_transpose),
    Rule("transpose", "transpose(x, (0, 1, …)) = x", _no_transpose),
    Rule("transpose", "transpose(transform(x, a, b), p) = transform(x, a, b[p])", _transpose_of_layout),
    Rule("layout_transform", "transform(x, a, a) = x", _no_layout),
    Rule("layout_transform", "transform(transform(x, a, b), b, c) = transform(x, a, c)", _layout_of_layout),
    Rule("layout_transform", "transform(transpose(x, p), a[p], b) = transform(x, a, b)", _layout_of_transpose),
)

BUILD_SHAPE_RULES: tuple[Rule, ...] = (
    *(Rule(n, f"{n}(reshape(x)) = x, where the shape is that of x", _undone_reshape) for n in RESHAPES),
    # Not for expand_dims, which can be fused into what broadcasts its result.
    *(Rule(n, f"{n}(squeeze(x)) = reshape(x)", partial(_reshape_of, RESHAPES)) for n in RESHAPES[1:]),
    Rule("reshape", "reshape(dense(reshape(x), w)) = dense(x, w), where rows of x stay such", _reshaped_rows),
    Rule("transpose", "transpose(x) = reshape(x), where only extents of 1 move", _transpose_of_ones),
    Rule("layout_transform", "transform(x) = reshape(x), where only extents of 1 move", _layout_of_ones),
    Rule("layout_transform", "transform(resize2d(x)) in two kernels, where blocks end", _layout_of_resize),
    Rule("broadcast_to", "broadcast_to(x, shape of x) = x", _no_reshape),
    Rule("collapse_sum_to", "collapse_sum_to(x, shape of x) = x", _no_reshape),
)
