"""The oneDNN pattern table, and the operators that oneDNN supports.

The library itself is not called from here; the table serves ``MergeComposite``, the attribute ``target.dnnl`` of
operators serves ``AnnotateTarget``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.classic.relay.contrib.register import register_pattern_table
from compiler.classic.relay.dataflow_pattern import DFPattern, is_constant, is_op, wildcard
from compiler.ir.expr import RelayExpr
from compiler.ir.expr.primexpr import IntImm
from compiler.ir.op import register_op_attr
from compiler.relay.expr import Call
from compiler.relay.operator import op_name
from compiler.relay.ty import TensorType

__all__ = ["make_dnnl_pattern", "pattern_table"]

Entry = tuple[Any, ...]
"""The name of a pattern, the pattern, and for some what is true of the expressions that it stands for."""

_CONVOLUTIONS = {
    "conv1d": "nn.conv1d",
    "conv2d": "nn.conv2d",
    "conv3d": "nn.conv3d",
    "deconv2d": "nn.conv2d_transpose",
    "deconv3d": "nn.conv3d_transpose",
}
_SUPPORTED = """nn.batch_norm nn.conv1d nn.conv2d nn.conv3d nn.conv2d_transpose nn.conv3d_transpose nn.dense
    nn.max_pool2d nn.avg_pool2d nn.global_avg_pool2d nn.max_pool3d nn.avg_pool3d abs clip exp log sqrt round nn.relu
    nn.leaky_relu tanh sigmoid nn.softmax add multiply nn.layer_norm nn.batch_matmul"""


def _gelu(x: DFPattern) -> DFPattern:
    """Return x * (erf(x / c) + c) * c."""
    error = is_op("erf")(is_op("divide")(x, is_constant()))
    return is_op("multiply")(is_op("multiply")(x, is_op("add")(error, is_constant())), is_constant())


def _swish(x: DFPattern) -> DFPattern:
    """Return x * sigmoid(x)."""
    return is_op("multiply")(x, is_op("sigmoid")(x))


def _mish(x: DFPattern) -> DFPattern:
    """Return x * tanh(log(exp(x) + c))."""
    return is_op("multiply")(x, is_op("tanh")(is_op("log")(is_op("add")(is_op("exp")(x), is_constant()))))


_AFTERWARDS: dict[str, Callable[[DFPattern], DFPattern]] = {
    "relu": is_op("nn.relu"),
    "tanh": is_op("tanh"),
    "sigmoid": is_op("sigmoid"),
    "clip": is_op("clip"),
    "gelu": _gelu,
    "swish": _swish,
    "mish": _mish,
}
"""What may follow a convolution or a dense layer."""


def _shape(expr: RelayExpr) -> tuple[int, ...] | None:
    """Return the shape of a tensor, None if it is not known."""
    type_ = expr.checked_type
    if not isinstance(type_, TensorType):
        return None
    extents = [extent.value for extent in type_.shape if isinstance(extent, IntImm)]
    return tuple(extents) if len(extents) == len(type_.shape) else None


def _chain(expr: RelayExpr) -> tuple[list[Call], Call | None]:
    """Return the calls of ``add`` on the way from an expression to its convolution, the last first, and that one."""
    sums: list[Call] = []
    while isinstance(expr, Call) and op_name(expr) not in _CONVOLUTIONS.values():
        if op_name(expr) == "add":
            sums.append(expr)
        expr = expr.args[0]
    return sums, expr if isinstance(expr, Call) else None


def _is_bias_of(convolution: Call, addition: Call) -> bool:
    """Return whether what is added is one number for each channel of a convolution."""
    whole, bias = (_shape(arg) for arg in addition.args)
    layout = convolution.attrs["out_layout"] or convolution.attrs["data_layout"]
    channel = layout.index("C") - len(layout)
    if whole is None or bias is None or len(bias) < -channel:
        return False
    others = (*bias[:channel], *bias[channel:][1:])
    return bias[channel] == whole[channel] and all(extent == 1 for extent in others)


def _adds_bias(expr: RelayExpr) -> bool:
    sums, convolution = _chain(expr)
    return convolution is not None and all(_is_bias_of(convolution, each) for each in sums)


def _adds_bias_and_sum(expr: RelayExpr) -> bool:
    """Return whether a bias is added to a convolution, and then a tensor of the same shape."""
    sums, convolution = _chain(expr)
    if convolution is None or len(sums) != 2:
        return False
    whole, other = (_shape(arg) for arg in sums[0].args)
    return whole is not None and whole == other and _is_bias_of(convolution, sums[1])


def _with_bias(computed: DFPattern) -> DFPattern:
    return is_op("add")(computed, wildcard())


def make_dnnl_pattern(op_name: str, with_bias: bool, with_eltwise: str | None) -> Entry:
    """Return the entry of the table for a computation, such as ``nn.conv2d`` or ``nn.dense``, and what follows it.

    ``with_eltwise`` is the elementwise computation that follows: ``relu``, ``tanh``, ``sigmoid``, ``clip``, ``gelu``,
    ``swish`` or ``mish``.  Of convolutions, a third part of the entry says whether what is added is a bias.
    """
    short = {long: name for name, long in _CONVOLUTIONS.items()}.get(op_name, op_name.rpartition(".")[2])
    name = "_".join(["dnnl." + short, *(["bias"] if with_bias else []), *([with_eltwise] if with_eltwise else [])])
    pattern: DFPattern = is_op(op_name)(wildcard(), wildcard())
    pattern = _with_bias(pattern) if with_bias else pattern
    pattern = _AFTERWARDS[with_eltwise](pattern) if with_eltwise else pattern
    return (name, pattern) if op_name == "nn.dense" else (name, pattern, _adds_bias)


def _requantized(op_name: str) -> DFPattern:
    """Return the pattern of a quantised computation with its bias, as far as its result of eight bits."""
    constants = [is_constant() for _ in range(5)]
    computed = is_op(op_name)(wildcard(), *constants)
    return is_op("qnn.requantize")(computed.optional(lambda x: _with_bias(x)), *[is_constant() for _ in range(4)])


def pattern_table() -> list[Entry]:
    """Return the patterns that oneDNN computes at one go, the longest first."""
    bias_sum = is_op("add")(_with_bias(is_op("nn.conv2d")(wildcard(), wildcard())), wildcard())
    table: list[Entry] = [
        ("dnnl.qnn.conv2d", _requantized("qnn.conv2d")),
        ("dnnl.qnn.dense", _requantized("qnn.dense")),
        ("dnnl.dense_bias_sum", is_op("add")(_with_bias(is_op("nn.dense")(wildcard(), wildcard())), wildcard())),
        ("dnnl.conv2d_bias_sum_relu", is_op("nn.relu")(bias_sum), _adds_bias_and_sum),
        ("dnnl.conv2d_bias_sum", bias_sum, _adds_bias_and_sum),
    ]
    for with_bias in (True, False):
        for after in (*_AFTERWARDS, *([None] if with_bias else [])):
            table += [make_dnnl_pattern(op, with_bias, after) for op in (*_CONVOLUTIONS.values(), "nn.dense")]
    return table


register_pattern_table("dnnl", pattern_table)


def _supports(call: Call) -> bool:
    if any(isinstance(arg.checked_type, TensorType) and arg.checked_type.dtype == "int64" for arg in call.args):
        return False
    return not call.attrs.get("ceil_mode", False)


for _name in _SUPPORTED.split():
    register_op_attr(_name, "target.dnnl", _supports)
