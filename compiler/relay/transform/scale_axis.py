"""Scales along one axis: which operators they move through, and how they are folded into weights.

A scale is a factor for each channel.  Convolutions and matrix products are linear, so that a scale of their result or
of their data is as well a scale of their weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.ir.dtype import is_float
from compiler.ir.expr import RelayExpr
from compiler.ir.node import rebuild
from compiler.relay.expr import Call, Constant, GraphExpr, Var
from compiler.relay.op.nn.conv_attrs import ConvAttrs, ConvTransposeAttrs
from compiler.relay.op.nn.dense import MatmulAttrs
from compiler.relay.operator import OpPattern, call_op
from compiler.relay.transform.rewriter import along_axis, call_of, dims_of, op_name, relay_op, tensor_type, type_of
from compiler.relay.ty import Dim, TensorType
from compiler.tir.data_layout import layout

EVERY_AXIS = -1
"""The axis of a scale that is one number."""


@dataclass(frozen=True, slots=True)
class ScaleMessage:
    """How an expression takes a scale, passed along the graph: the axis, and whether factors must be positive."""

    axis: int
    require_positive: bool = False


@dataclass(frozen=True, slots=True)
class Weights:
    """How a linear operator puts a scale into its weights: the scale's axis, and the one of the weights."""

    axis: int
    weight_axis: int
    weight_rank: int

    def scaled(self, weight: RelayExpr, scales: Sequence[Any]) -> Any:
        """Return the weights with vectors (or scalars) multiplied in."""
        for scale in scales:
            weight = call_op("multiply", weight, broadcast_along(scale, self.weight_axis, self.weight_rank))
        return weight


def scale_axis(scale: RelayExpr, value: RelayExpr) -> int | None:
    """Return along which axis of ``value`` the factors of ``scale`` differ; None if it is no scale of one axis."""
    factors, dims = dims_of(scale), dims_of(value)
    if factors is None or dims is None or len(factors) > len(dims):
        return None
    before = len(dims) - len(factors)
    wide = [d for d, extent in enumerate(factors) if not _is_int(extent, 1)]
    if not wide:
        return EVERY_AXIS
    extent = factors[wide[0]]
    same = len(wide) == 1 and isinstance(extent, int) and _is_int(dims[before + wide[0]], extent)
    return before + wide[0] if same else None


def _is_int(extent: Dim, value: int) -> bool:
    """Compare an extent that may be an expression, of which ``==`` would make another."""
    return isinstance(extent, int) and extent == value


def as_vector(scale: RelayExpr, factors: tuple[Dim, ...]) -> Any:
    """Return a scale of shape ``factors`` as a vector; as a scalar if it is one number."""
    wide = tuple(d for d in factors if not _is_int(d, 1))
    if len(factors) == len(wide):
        return scale
    expanded = call_of(scale, "expand_dims")
    inner = None if expanded is None else tensor_type(expanded.args[0])
    if expanded is not None and inner is not None and inner == TensorType(wide, inner.dtype):
        return expanded.args[0]
    return call_op("squeeze", scale, axis=[d for d, extent in enumerate(factors) if _is_int(extent, 1)])


def broadcast_along(vector: RelayExpr, axis: int, rank: int) -> Any:
    """Return a scale that broadcasts along an axis of a tensor."""
    return vector if dims_of(vector) == () else along_axis(vector, axis, rank)


def is_positive(scale: RelayExpr) -> bool:
    """Return whether all factors are known to be positive."""
    return isinstance(scale, Constant) and bool((scale.value > 0).all())


def same_axis(scale: int, axis: int) -> bool:
    """Return whether a scale of one axis can be taken by what takes scales of another."""
    return scale in (axis, EVERY_AXIS)


class CheapExprs:
    """Tells what is cheap to compute from variables and constants, so that it may be computed anew with the weights."""

    def __init__(self) -> None:
        self._known: dict[Any, bool] = {}

    def add(self, expr: GraphExpr) -> None:
        """Take up an expression whose operands have been taken up."""
        op = relay_op(expr)
        simple = op is not None and op.pattern <= OpPattern.INJECTIVE and not op.stateful
        parts = expr.args if simple and isinstance(expr, Call) else ()
        leaf = isinstance(expr, (Constant, Var))
        self._known[expr] = leaf or (simple and all(self._known.get(p, False) for p in parts))

    def __contains__(self, expr: GraphExpr) -> bool:
        return self._known.get(expr, False)


def scale_of(call: Any) -> tuple[int, Any, int] | None:
    """Return the number of the operand that a multiplication scales, the scale, and its axis; None if it is none."""
    if op_name(call) != "multiply":
        return None
    for at in (0, 1):
        value, scale = call.args[at], call.args[1 - at]
        axis = scale_axis(scale, value)
        if axis is not None and type_of(value) == type_of(call) and not isinstance(value, Constant):
            return at, scale, axis
    return None


@dataclass(frozen=True, slots=True)
class Shift:
    """A vector along one axis that is added to a value, or subtracted: the number of the value's operand, the axis."""

    at: int
    axis: int

    def unscaled(self, call: Call, scales: Sequence[Any]) -> Call:
        """Return the sum for a value that lacks vectors (or scalars) of factors: the shift is divided by them."""
        args = list(call.args)
        rank = len(dims_of(args[self.at]) or ())
        for scale in scales:
            factors = broadcast_along(scale, self.axis, rank)
            args[1 - self.at] = call_op("divide", args[1 - self.at], factors)
        return rebuild(call, args=tuple(args))


def shift_of(call: Any) -> Shift | None:
    """Return how a sum or difference of floats shifts one of its operands along an axis; None if it does not."""
    result = tensor_type(call) if op_name(call) in ("add", "subtract") else None
    if result is None or not is_float(result.dtype):
        return None
    for at in (0, 1):
        axis = scale_axis(call.args[1 - at], call.args[at])
        if axis not in (None, EVERY_AXIS) and type_of(call.args[at]) == result:
            return Shift(at, axis)
    return None


# linear operators


def _plain_axis(name: str, letter: str) -> int | None:
    """Return the axis of a dimension in a layout that splits no axis; None for other layouts."""
    axes = layout(name)
    return None if any(a.factor for a in axes.axes) else axes.letters.index(letter)


def _conv(call: Call, of_result: bool) -> Weights | None:
    attrs = ConvAttrs.of(call)
    weight = dims_of(call.args[1])
    data_layout = attrs.result_layout if of_result else attrs.data_layout
    axis, o, i = (
        _plain_axis(data_layout, "C"),
        _plain_axis(attrs.kernel_layout, "O"),
        _plain_axis(attrs.kernel_layout, "I"),
    )
    if weight is None or axis is None or o is None or i is None:
        return None
    depthwise = weight[i] == 1 and weight[o] == attrs.groups
    if of_result or depthwise:
        return Weights(axis, o, len(weight))
    return Weights(axis, i, len(weight)) if attrs.groups == 1 else None


def _conv_transpose(call: Call, of_result: bool) -> Weights | None:
    attrs = ConvTransposeAttrs.of(call)
    if attrs.groups != 1:
        return None
    axis = _plain_axis(attrs.data_layout, "C")
    at = _plain_axis(attrs.kernel_layout, "O" if of_result else "I")
    return None if axis is None or at is None else Weights(axis, at, len(attrs.kernel_layout))


def _dense(call: Call, of_result: bool) -> Weights | None:
    dims = dims_of(call)
    return None if dims is None else Weights(len(dims) - 1, 0 if of_result else 1, 2)


def _matmul(call: Call, of_result: bool) -> Weights | None:
    dims, weight, attrs = dims_of(call), dims_of(call.args[1]), MatmulAttrs.of(call)
    if dims is None or weight is None or len(weight) != 2 or attrs.transpose_a:
        return None
    return Weights(len(dims) - 1, 0 if of_result == attrs.transpose_b else 1, 2)


_LINEAR: dict[str, Callable[[Call, bool], Weights | None]] = {
    "nn.conv1d": _conv,
    "nn.conv2d": _conv,
    "nn.conv3d": _conv,
    "nn.conv2d_transpose": _conv_transpose,
    "nn.dense": _dense,
    "nn.matmul": _matmul,
}
"""By operator: ``rule(call, of_result)`` returns the axes of a scale of the result, or else of the data."""


def weights_of(call: Any, of_result: bool) -> Weights | None:
    """Return how a linear operator takes a scale of its result, or of its data; None if it does not."""
    rule = _LINEAR.get(op_name(call))
    if rule is None:
        return None
    result, weight = tensor_type(call), tensor_type(call.args[1])
    same = result is not None and weight is not None and result.dtype == weight.dtype
    return rule(call, of_result) if same else None


POSITIVE = frozenset(
    {"nn.relu", "nn.leaky_relu", "nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d", "nn.global_max_pool2d"}
)
"""Operators of one operand through which positive factors of channels go."""
LINEAR = frozenset({"negative", "nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d", "nn.global_avg_pool2d"})
"""Operators of one operand through which all factors of channels go."""


def passed_through(call: Any, message: ScaleMessage | None) -> ScaleMessage | None:
    """Return the message that an operator of one operand passes on."""
    name = op_name(call)
    if message is None or name not in POSITIVE | LINEAR:
        return None
    pooled = "layout" in call.attrs
    if pooled and message.axis not in (EVERY_AXIS, _plain_axis(call.attrs.layout, "C")):
        return None
    return ScaleMessage(message.axis, message.require_positive or name in POSITIVE)
