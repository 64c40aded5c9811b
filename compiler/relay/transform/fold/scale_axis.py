"""Channel scales: which operators they move through, and how they fold into weights.

A scale is a factor for each channel.  Convolutions and matrix products are linear, so that a scale of their result or
of their data is as well a scale of their weights.  The channels lie along one axis, or along two in a layout that
splits them, such as ``NCHW8c``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.ir.dtype import is_float
from compiler.ir.expr import RelayExpr
from compiler.ir.node import rebuild
from compiler.relay.expr import Call, Constant, GraphExpr, Var
from compiler.relay.op.nn.conv import multiplies_depth
from compiler.relay.op.nn.conv_attrs import ConvAttrs, ConvTransposeAttrs
from compiler.relay.op.nn.dense import MatmulAttrs
from compiler.relay.operator import OpPattern, call_op, reshaped
from compiler.relay.transform.rewriter import along_axis, call_of, dims_of, op_name, relay_op, tensor_type, type_of
from compiler.relay.ty import Dim, TensorType
from compiler.tir.layout.data_layout import layout

EVERY_AXIS: tuple[int, ...] = ()
"""The axes of a scale that is one number."""


@dataclass(frozen=True, slots=True)
class ScaleMessage:
    """How an expression takes a scale, passed along the graph: the axes, and whether factors must be positive."""

    axes: tuple[int, ...]
    require_positive: bool = False


@dataclass(frozen=True, slots=True)
class Weights:
    """How a linear operator puts a scale into its weights: the scale's axes, those of the weights and their extents."""

    axes: tuple[int, ...]
    weight_axes: tuple[int, ...]
    weight_dims: tuple[Dim, ...]

    def scaled(self, weight: RelayExpr, scales: Sequence[RelayExpr]) -> RelayExpr:
        """Return the weights with factors of channels (or scalars) multiplied in."""
        for scale in scales:
            weight = call_op("multiply", weight, broadcast_along(scale, self.weight_axes, self.weight_dims))
        return weight


def scale_axes(scale: RelayExpr, value: RelayExpr) -> tuple[int, ...] | None:
    """Return along which axes of ``value`` the factors of ``scale`` differ; None if it does not broadcast to it."""
    factors, dims = dims_of(scale), dims_of(value)
    if factors is None or dims is None or len(factors) > len(dims):
        return None
    before = len(dims) - len(factors)
    wide = [d for d, extent in enumerate(factors) if not _is_int(extent, 1)]
    same = all(isinstance(e := factors[d], int) and _is_int(dims[before + d], e) for d in wide)
    return tuple(before + d for d in wide) if same else None


def _is_int(extent: Dim, value: int) -> bool:
    """Compare an extent that may be an expression, of which ``==`` would make another."""
    return isinstance(extent, int) and extent == value


def as_vector(scale: RelayExpr, factors: tuple[Dim, ...]) -> RelayExpr:
    """Return a scale of shape ``factors`` without the axes of extent 1."""
    wide = tuple(d for d in factors if not _is_int(d, 1))
    if len(factors) == len(wide):
        return scale
    expanded = call_of(scale, "expand_dims")
    inner = None if expanded is None else tensor_type(expanded.args[0])
    if expanded is not None and inner is not None and inner == TensorType(wide, inner.dtype):
        return expanded.args[0]
    return call_op("squeeze", scale, axis=[d for d, extent in enumerate(factors) if _is_int(extent, 1)])


def broadcast_along(factors: RelayExpr, axes: tuple[int, ...], dims: tuple[Dim, ...]) -> RelayExpr:
    """Return factors of channels so that they broadcast along the axes of a tensor of shape ``dims``."""
    if dims_of(factors) == ():
        return factors
    if len(axes) == 1:
        return along_axis(factors, axes[0], len(dims))
    shape = tuple(extent if d in axes else 1 for d, extent in enumerate(dims))
    return reshaped(factors, shape)


def is_positive(scale: RelayExpr) -> bool:
    """Return whether all factors are known to be positive: those of a constant, in whatever shape."""
    while op_name(scale) in _MOVEMENT and isinstance(scale, Call):
        scale = scale.args[0]
    return isinstance(scale, Constant) and bool((scale.value > 0).all())


_MOVEMENT = frozenset({"broadcast_to", "copy", "expand_dims", "layout_transform", "reshape", "squeeze", "transpose"})
"""Operators whose elements are those of their first operand."""


def is_scale_of(scale: tuple[int, ...], axes: tuple[int, ...], value: RelayExpr) -> bool:
    """Return whether a scale along some axes of a value can be taken by what takes scales along others.

    It can where it is one number, or has a factor for every channel.
    """
    dims = dims_of(value) or ()
    return scale == EVERY_AXIS or (
        set(scale) <= set(axes) and all(axis in scale or _is_int(dims[axis], 1) for axis in axes)
    )


class CheapExprs:
    """Tells what is cheap to compute from variables and constants, so that it may be computed anew with the weights."""

    def __init__(self) -> None:
        self._known: dict[GraphExpr, bool] = {}

    def add(self, expr: GraphExpr) -> None:
        op = relay_op(expr)
        simple = op is not None and op.pattern <= OpPattern.INJECTIVE and not op.stateful
        parts = expr.args if simple and isinstance(expr, Call) else ()
        leaf = isinstance(expr, (Constant, Var))
        self._known[expr] = leaf or (simple and all(self._known.get(p, False) for p in parts))

    def __contains__(self, expr: GraphExpr) -> bool:
        return self._known.get(expr, False)


def scale_of(call: GraphExpr) -> tuple[int, RelayExpr, tuple[int, ...]] | None:
    """Return the number of the operand that a multiplication scales, the scale, and its axes; None if it is not one."""
    if not isinstance(call, Call) or op_name(call) != "multiply":
        return None
    for at in (0, 1):
        value, scale = call.args[at], call.args[1 - at]
        axes = scale_axes(scale, value)
        if axes is not None and type_of(value) == type_of(call) and not isinstance(value, Constant):
            return at, scale, axes
    return None


@dataclass(frozen=True, slots=True)
class Shift:
    """A bias of channels that is added to a value, or subtracted: the number of the value's operand, the axes."""

    at: int
    axes: tuple[int, ...]

    def unscaled(self, call: Call, scales: Sequence[RelayExpr]) -> Call:
        """Return the sum for a value that lacks factors of channels (or scalars): the shift is divided by them."""
        args = list(call.args)
        dims = dims_of(call) or ()
        for scale in scales:
            factors = broadcast_along(scale, self.axes, dims)
            args[1 - self.at] = call_op("divide", args[1 - self.at], factors)
        return rebuild(call, args=tuple(args))


def shift_of(call: GraphExpr) -> Shift | None:
    """Return how a sum or difference of floats shifts one of its operands along an axis; None if it does not."""
    result = tensor_type(call) if op_name(call) in ("add", "subtract") else None
    if not isinstance(call, Call) or result is None or not is_float(result.dtype):
        return None
    for at in (0, 1):
        axes = scale_axes(call.args[1 - at], call.args[at])
        if axes and type_of(call.args[at]) == result:
            return Shift(at, axes)
    return None


# linear operators


def _axes(name: str, letter: str) -> tuple[int, ...] | None:
    """Return the axes of a dimension in a layout: the outer one, and the blocks' where it is split once.

    None for layouts that split it more often, or have the blocks first.
    """
    axes = [at for at, axis in enumerate(layout(name).axes) if axis.name.upper() == letter]
    outer_first = bool(axes) and not layout(name).axes[axes[0]].factor
    return tuple(axes) if outer_first and len(axes) <= 2 else None


def _extent(dims: tuple[Dim, ...], axes: tuple[int, ...]) -> int:
    """Return the extent of a dimension that lies along some axes; 0 if it is unknown."""
    extents = [dims[axis] for axis in axes]
    return math.prod(e if isinstance(e, int) else 0 for e in extents)


def _conv(call: Call, of_result: bool) -> Weights | None:
    attrs = ConvAttrs.of(call)
    weight = dims_of(call.args[1])
    channels = _axes(attrs.result_layout if of_result else attrs.data_layout, "C")
    o, i = _axes(attrs.kernel_layout, "O"), _axes(attrs.kernel_layout, "I")
    if weight is None or channels is None or o is None or i is None:
        return None
    data, inputs = dims_of(call.args[0]), _axes(attrs.data_layout, "C")
    if data is None or inputs is None:
        return None
    if multiplies_depth(_extent(data, inputs), _extent(weight, o), _extent(weight, i), attrs):
        return None  # the output channels lie along two axes of the weight
    depthwise = _extent(weight, i) == 1 and _extent(weight, o) == attrs.groups
    if of_result or depthwise:
        return Weights(channels, o, weight)
    return Weights(channels, i, weight) if attrs.groups == 1 else None


def _conv_transpose(call: Call, of_result: bool) -> Weights | None:
    attrs = ConvTransposeAttrs.of(call)
    weight = dims_of(call.args[1])
    if attrs.groups != 1 or weight is None:
        return None
    channels = _axes(attrs.data_layout, "C")
    at = _axes(attrs.kernel_layout, "O" if of_result else "I")
    return None if channels is None or at is None else Weights(channels, at, weight)


def _dense(call: Call, of_result: bool) -> Weights | None:
    dims, weight = dims_of(call), dims_of(call.args[1])
    return None if dims is None or weight is None else Weights((len(dims) - 1,), (0 if of_result else 1,), weight)


def _matmul(call: Call, of_result: bool) -> Weights | None:
    dims, weight, attrs = dims_of(call), dims_of(call.args[1]), MatmulAttrs.of(call)
    if dims is None or weight is None or len(weight) != 2 or attrs.transpose_a:
        return None
    return Weights((len(dims) - 1,), (0 if of_result == attrs.transpose_b else 1,), weight)


_LINEAR: dict[str, Callable[[Call, bool], Weights | None]] = {
    "nn.conv1d": _conv,
    "nn.conv2d": _conv,
    "nn.conv3d": _conv,
    "nn.conv2d_transpose": _conv_transpose,
    "nn.dense": _dense,
    "nn.matmul": _matmul,
}
"""By operator: ``rule(call, of_result)`` returns the axes of a scale of the result, or else of the data."""


def weights_of(call: GraphExpr, of_result: bool) -> Weights | None:
    """Return how a linear operator takes a scale of its result, or of its data; None if it does not."""
    rule = _LINEAR.get(op_name(call))
    if rule is None or not isinstance(call, Call):
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


def passed_through(call: Call, message: ScaleMessage | None) -> ScaleMessage | None:
    """Return the message that an operator of one operand passes on."""
    name = op_name(call)
    if message is None or name not in POSITIVE | LINEAR:
        return None
    pooled = "layout" in call.attrs
    if pooled and message.axes not in (EVERY_AXIS, _axes(call.attrs["layout"], "C")):
        return None
    return ScaleMessage(message.axes, message.require_positive or name in POSITIVE)
