"""Rules of SimplifyExpr, as data: each names the operator it looks at, and says what it does as an equation.

A rule gets a call whose operands are simplified, and returns what replaces it, or None.  Every expression has its type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Call, Constant, GraphExpr, array_const
from compiler.relay.op.cast import CastAttrs
from compiler.relay.op.shape import LayoutTransformAttrs, TransposeAttrs
from compiler.relay.op.unary import ClipAttrs
from compiler.relay.operator import call_op, operator_of
from compiler.relay.transform.fold_constant import FoldConstantExpr
from compiler.relay.transform.rewriter import call_of, const_like, op_name, scalar_value, tensor_type, type_of
from compiler.relay.ty import TensorType
from compiler.tir.data_layout import Layout, layout


@dataclass(frozen=True, slots=True)
class Rule:
    """One rewrite.

    Attributes
    ----------
    operator : str
        What the outermost call calls.
    equation : str
        What is replaced by what.
    apply : callable
    """

    operator: str
    equation: str
    apply: Callable[[Call], Any]


def _inner(call: Call, name: str) -> Any:
    """Return the first operand if it calls an operator of that name."""
    inner = call.args[0]
    return inner if op_name(inner) == name else None


def _static(expr: GraphExpr) -> TensorType | None:
    t = tensor_type(expr)
    return t if t is not None and t.is_static else None


def _same_type(call: Call, replacement: RelayExpr) -> Any:
    """Return the replacement if it has the type of the call."""
    return replacement if type_of(replacement) == type_of(call) else None


# shapes


def _reshape_of_reshape(call: Call) -> Any:
    t, source = _static(call), _source(call)
    if t is None or source is call.args[0]:
        return None
    return call_op("reshape", source, newshape=t.concrete_shape)


def _undone_reshape(call: Call) -> Any:
    return _same_type(call, _source(call)) if _static(call) is not None else None


def _source(call: Call) -> Any:
    source: Any = call
    while op_name(source) in _RESHAPES:
        source = source.args[0]
    return source


_RESHAPES = ("expand_dims", "contrib_reverse_reshape", "nn.batch_flatten", "reshape", "squeeze")
"""Operators that keep all elements in their order."""


def _no_reshape(call: Call) -> Any:
    return call.args[0] if _static(call) is not None and type_of(call.args[0]) == type_of(call) else None


def _axes(call: Call, rank: int) -> tuple[int, ...]:
    axes = TransposeAttrs.of(call).axes
    return tuple(reversed(range(rank))) if axes is None else tuple(a % rank for a in axes)


def _transpose_of_transpose(call: Call) -> Any:
    inner, t = _inner(call, "transpose"), tensor_type(call)
    if inner is None or t is None:
        return None
    rank = len(t.dims)
    first = _axes(inner, rank)
    return call_op("transpose", inner.args[0], axes=tuple(first[a] for a in _axes(call, rank)))


def _no_transpose(call: Call) -> Any:
    t = tensor_type(call)
    same = t is not None and _axes(call, len(t.dims)) == tuple(range(len(t.dims)))
    return call.args[0] if same else None


def _transpose_of_ones(call: Call) -> Any:
    """Axes of extent 1 can be moved without moving an element."""
    t = _static(call)
    source = _static(call.args[0])
    if t is None or source is None:
        return None
    moved = [a for a in _axes(call, len(t.dims)) if source.dims[a] != 1]
    return call_op("reshape", call.args[0], newshape=t.concrete_shape) if moved == sorted(moved) else None


def _layout_of_layout(call: Call) -> Any:
    inner = _inner(call, "layout_transform")
    if inner is None or _padded(inner):
        return None
    first, second = LayoutTransformAttrs.of(inner), LayoutTransformAttrs.of(call)
    if first.dst_layout != second.src_layout:
        return None
    return _moved(call, inner.args[0], layout(first.src_layout), layout(second.dst_layout))


def _layout_of_transpose(call: Call) -> Any:
    """The layout of the data before it was transposed follows from the one after."""
    inner, attrs = _inner(call, "transpose"), LayoutTransformAttrs.of(call)
    after = layout(attrs.src_layout)
    if inner is None or any(a.factor for a in after.axes):
        return None
    axes = _axes(inner, len(after))
    before = after.take(axes.index(at) for at in range(len(after)))
    return None if before is None else _moved(call, inner.args[0], before, layout(attrs.dst_layout))


def _transpose_of_layout(call: Call) -> Any:
    inner = _inner(call, "layout_transform")
    if inner is None or _padded(inner):
        return None
    attrs = LayoutTransformAttrs.of(inner)
    between = layout(attrs.dst_layout)
    if any(a.factor for a in between.axes):
        return None
    after = between.take(_axes(call, len(between)))
    return None if after is None else _moved(call, inner.args[0], layout(attrs.src_layout), after)


def _moved(call: Call, source: RelayExpr, before: Layout, after: Layout) -> Any:
    """Return a value in another layout, by a transposition where no dimension is in blocks."""
    if before == after:
        return _same_type(call, source)
    if any(a.factor for a in (*before.axes, *after.axes)):
        return call_op("layout_transform", source, src_layout=str(before), dst_layout=str(after))
    return call_op("transpose", source, axes=[before.index_of(axis.name) for axis in after.axes])


def _padded(call: Call) -> bool:
    """Return whether blocks were filled up, so that the elements differ in number."""
    before, after = _static(call.args[0]), _static(call)
    return before is None or after is None or prod(before.concrete_shape) != prod(after.concrete_shape)


def _layout_of_ones(call: Call) -> Any:
    """Transforming a layout that moves only axes of extent 1 is a reshape."""
    source, t = _static(call.args[0]), _static(call)
    if source is None or t is None or _padded(call):
        return None
    attrs = LayoutTransformAttrs.of(call)
    before, after = layout(attrs.src_layout), layout(attrs.dst_layout)
    if any(a.factor for a in (*before.axes, *after.axes)):
        return None
    extents = before.extents(source.dims)
    wide = [[letter for letter in each.letters if extents[letter] != 1] for each in (before, after)]
    return call_op("reshape", call.args[0], newshape=t.concrete_shape) if wide[0] == wide[1] else None


# data types


def _no_cast(call: Call) -> Any:
    return _same_type(call, call.args[0])


def _cast_of_cast(call: Call) -> Any:
    """A widening cast before another one changes nothing; what narrows does."""
    inner = _inner(call, "cast")
    if inner is None:
        return None
    source, between = tensor_type(inner.args[0]), tensor_type(inner)
    if source is None or between is None or not _holds(source.dtype, between.dtype):
        return None
    return call_op("cast", inner.args[0], dtype=CastAttrs.of(call).dtype)


def _holds(narrow: str, wide: str) -> bool:
    """Return whether every value of one data type is a value of the other."""
    if narrow == "bool":
        return True
    a, b = dt.parse(narrow), dt.parse(wide)
    if "bfloat16" in (narrow, wide):
        return narrow == "bfloat16" and wide in ("bfloat16", "float32", "float64")
    if dt.is_float(narrow) or dt.is_float(wide):
        return dt.is_float(narrow) and dt.is_float(wide) and a.bits <= b.bits
    if narrow.startswith("uint") == wide.startswith("uint"):
        return a.bits <= b.bits
    return narrow.startswith("uint") and a.bits < b.bits


# arithmetic


def _neutral(value: float, sides: tuple[int, ...]) -> Callable[[Call], Any]:
    """Return the rule that drops an operand all of whose elements are ``value``."""

    def apply(call: Call) -> Any:
        for side in sides:
            scalar = scalar_value(call.args[side])
            if scalar is not None and scalar == value and (other := _same_type(call, call.args[1 - side])) is not None:
                return other
        return None

    return apply


def _constant_side(call: Call) -> tuple[Any, Any] | None:
    """Return the operand that is no constant and the one that is."""
    a, b = call.args
    if isinstance(b, Constant) and not isinstance(a, Constant):
        return a, b
    return (b, a) if isinstance(a, Constant) and not isinstance(b, Constant) else None


def _gather_constants(name: str) -> Callable[[Call], Any]:
    """Return the rule that applies an associative operator to two constants before anything else."""

    def apply(call: Call) -> Any:
        outer = _constant_side(call)
        inner = _constant_side(outer[0]) if outer is not None and op_name(outer[0]) == name else None
        if outer is None or inner is None:
            return None
        # Constants of different shapes may be one bigger than both.
        if inner[1].data.shape != outer[1].data.shape and () not in (inner[1].data.shape, outer[1].data.shape):
            return None
        return _same_type(call, call_op(name, inner[0], FoldConstantExpr(call_op(name, inner[1], outer[1]))))

    return apply


def _twice(name: str) -> Callable[[Call], Any]:
    """Return the rule for an operator that undoes itself."""

    def apply(call: Call) -> Any:
        inner = _inner(call, name)
        return None if inner is None else inner.args[0]

    return apply


def _idempotent(name: str) -> Callable[[Call], Any]:
    return lambda call: _inner(call, name)


def _clip_of_clip(call: Call) -> Any:
    inner = _inner(call, "clip")
    if inner is None:
        return None
    outer, limits = ClipAttrs.of(call), ClipAttrs.of(inner)
    low, high = max(outer.a_min, limits.a_min), min(outer.a_max, limits.a_max)
    return call_op("clip", inner.args[0], a_min=low, a_max=high) if low <= high else None


def _divide_by_root(call: Call) -> Any:
    root, numerator = call_of(call.args[1], "sqrt"), call.args[0]
    if root is None:
        return None
    inverse = call_op("rsqrt", root.args[0])
    is_one = scalar_value(numerator) == 1 and type_of(inverse) == type_of(call)
    return inverse if is_one else call_op("multiply", numerator, inverse)


def _multiply_first(call: Call) -> Any:
    outer = _constant_side(call)
    inner = _constant_side(outer[0]) if outer is not None and op_name(outer[0]) == "add" else None
    if outer is None or inner is None:
        return None
    product, shift = (call_op("multiply", term, outer[1]) for term in inner)
    return _same_type(call, call_op("add", product, FoldConstantExpr(shift)))


def _power(call: Call) -> Any:
    exponent = scalar_value(call.args[1])
    base = call.args[0]
    if exponent is None or type_of(base) != type_of(call):
        return None
    if exponent == 1:
        return base
    return call_op("multiply", base, base) if exponent == 2 else None


# order


def _of_quantized(call: Call) -> Any:
    """Dequantizing all elements by one positive scale keeps their order."""
    inner = _inner(call, "qnn.dequantize")
    scale = scalar_value(inner.args[1]) if inner is not None else None
    is_increasing = scale is not None and scale > 0 and scalar_value(inner.args[2]) is not None
    return call_op(operator_of(call).name, inner.args[0], **call.attrs) if is_increasing else None


# what follows from types


def _filled(name: str) -> Callable[[Call], Any]:
    """Return the rule that writes down the type of a tensor of zeros, or ones."""

    def apply(call: Call) -> Any:
        t = _static(call)
        return None if t is None else call_op(name, shape=t.concrete_shape, dtype=t.dtype)

    return apply


def _full_like(call: Call) -> Any:
    t = _static(call)
    if t is None:
        return None
    return call_op("full", call.args[1], shape=t.concrete_shape, dtype=t.dtype)


def _like(name: str, attribute: str) -> Callable[[Call], Any]:
    """Return the rule that writes down the shape that another tensor was there for."""

    def apply(call: Call) -> Any:
        t = _static(call)
        return None if t is None else call_op(name, call.args[0], **{attribute: t.concrete_shape})

    return apply


def _cast_like(call: Call) -> Any:
    t = tensor_type(call)
    return None if t is None else call_op("cast", call.args[0], dtype=t.dtype)


def _number_in(expr: GraphExpr) -> Constant | None:
    """Return the number that all elements of a filled tensor are, if it is a constant."""
    t, name = tensor_type(expr), op_name(expr)
    if t is None or name not in ("full", "ones", "zeros"):
        return None
    if name != "full":
        return const_like(float(name == "ones"), t.dtype)
    value = expr.args[0] if isinstance(expr, Call) else None
    return array_const(np.asarray(value.value.astype(t.dtype))) if isinstance(value, Constant) else None


def _with_full(name: str) -> Callable[[Call], Any]:
    """Return the rule that broadcasts a number instead of a tensor that holds nothing else."""

    def apply(call: Call) -> Any:
        for side in (0, 1):
            value, other = _number_in(call.args[side]), call.args[1 - side]
            if value is not None:
                pair = (value, other) if side == 0 else (other, value)
                return _same_type(call, call_op(name, *pair))
        return None

    return apply


RULES: tuple[Rule, ...] = (
    *(Rule(name, f"{name}(reshape(x)) = x, where the shape is that of x", _undone_reshape) for name in _RESHAPES),
    # Not for expand_dims, which can be fused into what broadcasts its result.
    *(Rule(name, f"{name}(reshape(x)) = reshape(x)", _reshape_of_reshape) for name in _RESHAPES[1:]),
    Rule("transpose", "transpose(transpose(x, p), q) = transpose(x, p[q])", _transpose_of_transpose),
    Rule("transpose", "transpose(x, (0, 1, …)) = x", _no_transpose),
    Rule("transpose", "transpose(transform(x, a, b), p) = transform(x, a, b[p])", _transpose_of_layout),
    Rule(
        "layout_transform",
        "transform(transform(x, a, b), b, c) = transform(x, a, c)",
        _layout_of_layout,
    ),
    Rule("layout_transform", "transform(transpose(x, p), a[p], b) = transform(x, a, b)", _layout_of_transpose),
    Rule("cast", "cast(x, dtype of x) = x", _no_cast),
    Rule("cast", "cast(cast(x, wider), t) = cast(x, t)", _cast_of_cast),
    Rule("cast_like", "cast_like(x, y) = cast(x, dtype of y)", _cast_like),
    Rule("add", "x + 0 = x", _neutral(0, (0, 1))),
    Rule("subtract", "x - 0 = x", _neutral(0, (1,))),
    Rule("multiply", "x * 1 = x", _neutral(1, (0, 1))),
    Rule("divide", "x / 1 = x", _neutral(1, (1,))),
    Rule("divide", "a / sqrt(x) = a * rsqrt(x), 1 / sqrt(x) = rsqrt(x)", _divide_by_root),
    Rule("power", "x ** 1 = x, x ** 2 = x * x", _power),
    Rule("add", "(x + a) + b = x + (a + b)", _gather_constants("add")),
    Rule("multiply", "(x * a) * b = x * (a * b)", _gather_constants("multiply")),
    Rule("multiply", "(x + a) * b = x * b + a * b", _multiply_first),
    *(Rule(n, f"{n}(dequantize(x)) = {n}(x)", _of_quantized) for n in ("argmax", "argmin", "argsort")),
    Rule("negative", "-(-x) = x", _twice("negative")),
    Rule("nn.relu", "relu(relu(x)) = relu(x)", _idempotent("nn.relu")),
    Rule("abs", "abs(abs(x)) = abs(x)", _idempotent("abs")),
    Rule("clip", "clip(clip(x, a, b), c, d) = clip(x, max(a, c), min(b, d))", _clip_of_clip),
    Rule("zeros_like", "zeros_like(x) = zeros(shape of x)", _filled("zeros")),
    Rule("ones_like", "ones_like(x) = ones(shape of x)", _filled("ones")),
    Rule("full_like", "full_like(x, v) = full(v, shape of x)", _full_like),
    Rule("reshape_like", "reshape_like(x, y) = reshape(x, shape of y)", _like("reshape", "newshape")),
    Rule("broadcast_to_like", "broadcast_to_like(x, y) = broadcast_to(x, shape of y)", _like("broadcast_to", "shape")),
    Rule(
        "collapse_sum_like",
        "collapse_sum_like(x, y) = collapse_sum_to(x, …)",
        _like("collapse_sum_to", "shape"),
    ),
    *(Rule(n, f"{n}(x, full(v)) = {n}(x, v)", _with_full(n)) for n in ("add", "subtract", "multiply", "divide")),
)
"""In the order in which they are tried."""

NO_OP_RULES: tuple[Rule, ...] = (
    Rule("transpose", "transpose(x) = reshape(x), where only extents of 1 move", _transpose_of_ones),
    Rule("layout_transform", "transform(x) = reshape(x), where only extents of 1 move", _layout_of_ones),
    Rule("broadcast_to", "broadcast_to(x, shape of x) = x", _no_reshape),
    Rule("collapse_sum_to", "collapse_sum_to(x, shape of x) = x", _no_reshape),
)
"""What builds do as well: no element moves, so that nothing need be computed."""
