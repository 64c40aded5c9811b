"""Elementwise arithmetic and activation functions."""

from __future__ import annotations

from collections.abc import Callable

from compiler.classic.frontend.shared import tensorflow_operators as shared
from compiler.classic.frontend.shared.angles import atan2
from compiler.classic.frontend.tensorflow.node import Node
from compiler.classic.frontend.tensorflow.registry import Convert, converter, converters
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.activations import SELU, elu, softplus
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import ops, rank_of, scalar
from compiler.relay.frontend.shared.tensors import bitcast, cast


def _unary(compute: Callable[[RelayExpr], RelayExpr]) -> Convert:
    return lambda node: compute(node.inputs[0])


def _binary(compute: Callable[[RelayExpr, RelayExpr], RelayExpr]) -> Convert:
    return lambda node: compute(node.inputs[0], node.inputs[1])


def _square(x: RelayExpr) -> RelayExpr:
    return ops.multiply(x, x)


def _unless_zero(kept: RelayExpr, value: RelayExpr) -> RelayExpr:
    """Return ``value``, or 0 where ``kept`` is 0, even if ``value`` is NaN there."""
    return ops.where(ops.equal(kept, scalar(0, kept)), ops.zeros_like(value), value)


converters(
    {
        "AddN": shared.add_n,
        **{
            name: _unary(ops[name.lower()])
            for name in (
                *("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Erf", "Exp"),
                *("Floor", "IsFinite", "IsInf", "IsNan", "Log", "Rsqrt", "Sigmoid", "Sign", "Sin", "Sinh", "Sqrt"),
                *("Tan", "Tanh"),
            )
        },
        "LogicalNot": _unary(ops.logical_not),
        "Neg": _unary(ops.negative),
        "Square": _unary(_square),
        "Log1p": _unary(lambda x: ops.log(ops.add(x, scalar(1, x)))),
        "Expm1": _unary(lambda x: ops.subtract(ops.exp(x), scalar(1, x))),
        "Erfc": _unary(lambda x: ops.subtract(scalar(1, x), ops.erf(x))),
        "Reciprocal": _unary(lambda x: ops.divide(scalar(1, x), x)),
        "Inv": _unary(lambda x: ops.divide(scalar(1, x), x)),
        "Rint": _unary(ops.nearbyint),
        "Round": _unary(ops.nearbyint),
        "Relu": _unary(ops.nn.relu),
        "Relu6": _unary(lambda x: ops.clip(x, 0.0, 6.0)),
        "Elu": _unary(elu),
        "Selu": _unary(lambda x: elu(x, *SELU)),
        "Softplus": _unary(softplus),
        "Softsign": _unary(lambda x: ops.divide(x, ops.add(ops.abs(x), scalar(1, x)))),
        "Softmax": _unary(lambda x: ops.nn.softmax(x, axis=-1)),
        "LogSoftmax": _unary(lambda x: ops.nn.log_softmax(x, axis=-1)),
        "ZerosLike": _unary(ops.zeros_like),
        "OnesLike": _unary(ops.ones_like),
        "Add": _binary(ops.add),
        "AddV2": _binary(ops.add),
        "Sub": _binary(ops.subtract),
        "Mul": _binary(ops.multiply),
        "Div": _binary(shared.divide),
        "RealDiv": _binary(ops.divide),
        "TruncateDiv": _binary(shared.divide),
        "FloorDiv": _binary(shared.floor_divide),
        "FloorMod": _binary(ops.floor_mod),
        "TruncateMod": _binary(ops.trunc_mod),
        "DivNoNan": _binary(lambda a, b: _unless_zero(b, ops.divide(a, b))),
        "MulNoNan": _binary(lambda a, b: _unless_zero(b, ops.multiply(a, b))),
        "Atan2": _binary(atan2),
        "Xdivy": _binary(lambda a, b: _unless_zero(a, ops.divide(a, b))),
        "Xlogy": _binary(lambda a, b: _unless_zero(a, ops.multiply(a, ops.log(b)))),
        "Xlog1py": _binary(lambda a, b: _unless_zero(a, ops.multiply(a, ops.log(ops.add(b, scalar(1, b)))))),
        "Mod": _binary(ops.mod),
        "Pow": _binary(ops.power),
        "Maximum": _binary(ops.maximum),
        "Minimum": _binary(ops.minimum),
        "SquaredDifference": _binary(lambda a, b: _square(ops.subtract(a, b))),
        "LogicalAnd": _binary(ops.logical_and),
        "LogicalOr": _binary(ops.logical_or),
        "LogicalXor": _binary(ops.logical_xor),
        "Equal": _binary(ops.equal),
        "NotEqual": _binary(ops.not_equal),
        "Less": _binary(ops.less),
        "LessEqual": _binary(ops.less_equal),
        "Greater": _binary(ops.greater),
        "GreaterEqual": _binary(ops.greater_equal),
        "BitwiseAnd": _binary(ops.bitwise_and),
        "BitwiseOr": _binary(ops.bitwise_or),
        "BitwiseXor": _binary(ops.bitwise_xor),
        "Invert": _unary(ops.bitwise_not),
        "LeftShift": _binary(ops.left_shift),
        "RightShift": _binary(ops.right_shift),
        **{
            name: _unary(lambda x: x)
            for name in (
                "Identity",
                "StopGradient",
                "PreventGradient",
                "Snapshot",
                "GuaranteeConst",
                "DebugIdentity",
                "CheckNumerics",
                "EnsureShape",
                "ReadVariableOp",
            )
        },
        "IdentityN": lambda node: list(node.inputs),
    }
)


@converter("LeakyRelu")
def _leaky_relu(node: Node) -> RelayExpr:
    return ops.nn.leaky_relu(node.inputs[0], alpha=float(node.attr("alpha", 0.2)))


@converter("Select", "SelectV2")
def _select(node: Node) -> RelayExpr:
    return ops.where(*node.inputs)


@converter("Cast")
def _cast(node: Node) -> RelayExpr:
    return cast(node.inputs[0], node.required("DstT"))


@converter("Bitcast")
def _bitcast(node: Node) -> RelayExpr:
    return bitcast(node.inputs[0], node.required("type"))


@converter("ClipByValue")
def _clip_by_value(node: Node) -> RelayExpr:
    x, low, high = node.inputs
    return ops.minimum(ops.maximum(x, low), high)


@converter("BiasAdd", "BiasAddV1")
def _bias_add(node: Node) -> RelayExpr:
    x, bias = node.inputs
    return ops.nn.bias_add(x, bias, axis=1 if node.attr("data_format") == "NCHW" else rank_of(x) - 1)


@converter("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def _fused_batch_norm(node: Node) -> list[RelayExpr]:
    if node.attr("is_training", True):
        raise ConversionError("it computes statistics in training mode; freeze the model for inference")
    axis = 1 if node.attr("data_format") == "NCHW" else rank_of(node.inputs[0]) - 1
    return list(ops.nn.batch_norm(*node.inputs, axis=axis, epsilon=float(node.attr("epsilon", 1e-4))))


@converter("LRN")
def _lrn(node: Node) -> RelayExpr:
    """Convert local response normalization; Relay's operator divides ``alpha`` by the number of channels."""
    x, size = node.inputs[0], 2 * int(node.attr("depth_radius", 5)) + 1
    alpha, beta, bias = (
        float(node.attr(name, default)) for name, default in (("alpha", 1), ("beta", 0.5), ("bias", 1))
    )
    return ops.nn.lrn(x, size=size, axis=rank_of(x) - 1, bias=bias, alpha=alpha * size, beta=beta)
