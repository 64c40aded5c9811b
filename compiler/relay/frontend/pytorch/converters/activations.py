"""Activation functions."""

from __future__ import annotations

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.converters.elementwise import floating
from compiler.relay.frontend.pytorch.dtypes import cast, dtype_name
from compiler.relay.frontend.pytorch.registry import converter, converters
from compiler.relay.frontend.pytorch.tensors import axis_of, dims_of, ops, rank_of, reshape, scalar, size
from compiler.relay.frontend.pytorch.values import DType
from compiler.relay.frontend.shared.activations import (
    SELU,
    gelu,
    hard_sigmoid,
    hard_swish,
    log_sigmoid,
    mish,
    silu,
    softplus,
)
from compiler.relay.frontend.shared.tensors import static_dims

converters(
    {
        "relu6": lambda x: ops.clip(x, 0.0, 6.0),
        "hardtanh": lambda x, min_val=-1.0, max_val=1.0: ops.clip(x, min_val, max_val),
        "hardsigmoid": hard_sigmoid,
        "gelu": lambda x, approximate="none": gelu(x, by_tanh=approximate == "tanh"),
        "hardswish": hard_swish,
        "silu": silu,
        "mish": mish,
        "leaky_relu": lambda x, negative_slope=0.01: ops.nn.leaky_relu(x, alpha=negative_slope),
        "log_sigmoid": log_sigmoid,
        "softsign": lambda x: ops.divide(x, ops.add(ops.abs(x), 1.0)),
        "tanhshrink": lambda x: ops.subtract(x, ops.tanh(x)),
        "hardshrink": lambda x, lambd=0.5: ops.where(ops.greater(ops.abs(x), lambd), x, scalar(0, x)),
        "softshrink": lambda x, lambd=0.5: ops.multiply(ops.sign(x), ops.nn.relu(ops.subtract(ops.abs(x), lambd))),
        "threshold": lambda x, threshold, value: ops.where(ops.greater(x, threshold), x, scalar(value, x)),
    }
)


@converter("softplus")
def _softplus(x: RelayExpr, beta: float = 1, threshold: float = 20) -> RelayExpr:
    scaled = x if beta == 1 else ops.multiply(x, float(beta))
    curve = softplus(scaled) if beta == 1 else ops.divide(softplus(scaled), float(beta))
    return ops.where(ops.greater(scaled, float(threshold)), x, curve)


@converter("elu")
def _elu(x: RelayExpr, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> RelayExpr:
    below = ops.multiply(ops.subtract(ops.exp(ops.multiply(x, float(input_scale))), 1.0), float(alpha * scale))
    above = x if scale == 1 else ops.multiply(x, float(scale))
    return ops.where(ops.greater(x, 0.0), above, below)


converters({"selu": lambda x: _elu(x, *SELU), "celu": lambda x, alpha=1.0: _elu(x, alpha, 1, 1 / alpha)})


@converter("prelu", "_prelu_kernel")
def _prelu(x: RelayExpr, weight: RelayExpr) -> RelayExpr:
    if rank_of(x) > 1 and rank_of(weight) == 1:
        weight = reshape(weight, [1, dims_of(weight)[0], *([1] * (rank_of(x) - 2))])
    return ops.where(ops.greater(x, 0.0), x, ops.multiply(x, weight))


@converter("rrelu")
def _rrelu(x: RelayExpr, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> RelayExpr:
    if training:
        raise ValueError("it draws random numbers in training mode")
    return ops.nn.leaky_relu(x, alpha=(lower + upper) / 2)


@converter("glu")
def _glu(x: RelayExpr, dim: int = -1) -> RelayExpr:
    left, right = ops.split(x, 2, axis_of(dim, rank_of(x)))
    return ops.multiply(left, ops.sigmoid(right))


@converter("softmax", "_softmax", "special_softmax", "_safe_softmax")
def _softmax(x: RelayExpr, dim: int, dtype: DType | None = None, half_to_float: bool = False) -> RelayExpr:
    x = floating(x) if dtype is None else cast(x, dtype_name(dtype))
    return ops.nn.softmax(x, axis=axis_of(dim, rank_of(x)))


@converter("log_softmax", "_log_softmax", "special_log_softmax")
def _log_softmax(x: RelayExpr, dim: int, dtype: DType | None = None, half_to_float: bool = False) -> RelayExpr:
    x = floating(x) if dtype is None else cast(x, dtype_name(dtype))
    axis = axis_of(dim, rank_of(x))
    high = ops.max(x, axis=[axis], keepdims=True)
    shifted = ops.subtract(x, high)
    return ops.subtract(shifted, ops.log(ops.sum(ops.exp(shifted), axis=[axis], keepdims=True)))


converters({"softmin": lambda x, dim, dtype=None: _softmax(ops.negative(x), dim, dtype)})


@converter("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
def _dropout(x: RelayExpr, p: float = 0.5, train: bool = False) -> RelayExpr:
    if train and p:
        raise ValueError("it draws random numbers in training mode; put the model into eval mode")
    return x


converters({"native_dropout": lambda x, p=0.5, train=False: (_dropout(x, p, train), ops.ones_like(cast(x, "bool")))})


@converter("channel_shuffle")
def _channel_shuffle(x: RelayExpr, groups: int) -> RelayExpr:
    dims = [size(x, i) for i in range(rank_of(x))]
    (channels,) = static_dims(x, "the input", [1])
    split = reshape(x, [dims[0], groups, channels // groups, *dims[2:]])
    order = [0, 2, 1, *range(3, rank_of(x) + 1)]
    return reshape(ops.transpose(split, axes=order), dims)
