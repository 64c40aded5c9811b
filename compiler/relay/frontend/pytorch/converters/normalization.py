"""Batch, group, instance and layer normalization."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.converters.reductions import vector_norm
from compiler.relay.frontend.pytorch.registry import converter
from compiler.relay.frontend.pytorch.tensors import (
    axis_of,
    dims_of,
    dtype_of,
    ops,
    rank_of,
    reshape,
    scalar,
    static_shape,
)
from compiler.relay.ty import Dim


def _per_channel(value: RelayExpr | None, fill: float, x: RelayExpr, count: int) -> RelayExpr:
    """Return a vector with one element per channel, by default a constant one."""
    return ops.full(scalar(fill, x), [count], dtype_of(x)) if value is None else value


@converter("batch_norm", "cudnn_batch_norm")
def _batch_norm(x: RelayExpr, weight: RelayExpr | None, bias: RelayExpr | None, running_mean: RelayExpr | None,
                running_var: RelayExpr | None, training: bool, momentum: float = 0.1, eps: float = 1e-5,
                cudnn_enabled: bool = True) -> RelayExpr:  # fmt: skip
    channels = static_shape_of_axis(x, 1)
    gamma, beta = _per_channel(weight, 1.0, x, channels), _per_channel(bias, 0.0, x, channels)
    if training or running_mean is None or running_var is None:
        axes = [i for i in range(rank_of(x)) if i != 1]
        running_mean, running_var = ops.mean(x, axis=axes), ops.variance(x, axis=axes)
    normalized = ops.nn.batch_norm(x, gamma, beta, running_mean, running_var, axis=1, epsilon=eps)
    return normalized[0]


def static_shape_of_axis(x: RelayExpr, axis: int) -> int:
    """Return the extent of an axis, which must be static."""
    extent = dims_of(x)[axis]
    if not isinstance(extent, int):
        raise ValueError(f"the extent of axis {axis} must be known while importing")
    return extent


@converter("native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_no_training")
def _native_batch_norm(
    x: RelayExpr, weight: RelayExpr | None, bias: RelayExpr | None, running_mean: RelayExpr | None = None,
    running_var: RelayExpr | None = None, momentum: float = 0.1, eps: float = 1e-5, training: bool = False
) -> tuple[RelayExpr | None, ...]:  # fmt: skip
    y = _batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps)
    return y, running_mean, running_var


def _scaled(x: RelayExpr, weight: RelayExpr | None, bias: RelayExpr | None, shape: Sequence[Dim]) -> RelayExpr:
    """Compute ``x * weight + bias``, broadcast along some axes."""
    if weight is not None:
        x = ops.multiply(x, reshape(weight, shape))
    return x if bias is None else ops.add(x, reshape(bias, shape))


def _standardized(x: RelayExpr, axes: list[int], eps: float) -> tuple[RelayExpr, RelayExpr, RelayExpr]:
    """Standardize a tensor over axes; return the result, the mean, and the reciprocal standard deviation."""
    center = ops.mean(x, axis=axes, keepdims=True)
    distance = ops.subtract(x, center)
    spread = ops.mean(ops.multiply(distance, distance), axis=axes, keepdims=True)
    inverse = ops.rsqrt(ops.add(spread, scalar(eps, x)))
    return ops.multiply(distance, inverse), center, inverse


@converter("instance_norm")
def _instance_norm(x: RelayExpr, weight: RelayExpr | None, bias: RelayExpr | None,
                   running_mean: RelayExpr | None = None, running_var: RelayExpr | None = None,
                   use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
                   cudnn_enabled: bool = True) -> RelayExpr:  # fmt: skip
    if not use_input_stats:
        return _batch_norm(x, weight, bias, running_mean, running_var, False, momentum, eps)
    normal = _standardized(x, list(range(2, rank_of(x))), eps)[0]
    return _scaled(normal, weight, bias, [1, -1, *([1] * (rank_of(x) - 2))])


@converter("layer_norm")
def layer_norm(x: RelayExpr, normalized_shape: Sequence[int], weight: RelayExpr | None = None,
               bias: RelayExpr | None = None, eps: float = 1e-5, cudnn_enable: bool = True) -> RelayExpr:  # fmt: skip
    """Normalize over the last axes."""
    count = len(normalized_shape)
    if count == 1 and weight is not None and bias is not None:
        return ops.nn.layer_norm(x, weight, bias, axis=-1, epsilon=eps)
    return _native_layer_norm(x, normalized_shape, weight, bias, eps)[0]


@converter("native_layer_norm")
def _native_layer_norm(
    x: RelayExpr, normalized_shape: Sequence[int], weight: RelayExpr | None, bias: RelayExpr | None, eps: float
) -> tuple[RelayExpr, RelayExpr, RelayExpr]:
    axes = list(range(rank_of(x) - len(normalized_shape), rank_of(x)))
    normal, center, inverse = _standardized(x, axes, eps)
    return _scaled(normal, weight, bias, list(normalized_shape)), center, inverse


@converter("rms_norm", "_fused_rms_norm")
def _rms_norm(
    x: RelayExpr, normalized_shape: Sequence[int], weight: RelayExpr | None = None, eps: float | None = None
) -> RelayExpr:
    axes = list(range(rank_of(x) - len(normalized_shape), rank_of(x)))
    power = ops.mean(ops.multiply(x, x), axis=axes, keepdims=True)
    smallest = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10}.get(dtype_of(x), 2.0**-7)
    normal = ops.multiply(x, ops.rsqrt(ops.add(power, scalar(smallest if eps is None else eps, x))))
    return _scaled(normal, weight, None, list(normalized_shape))


@converter("group_norm")
def _group_norm(x: RelayExpr, num_groups: int, weight: RelayExpr | None = None, bias: RelayExpr | None = None,
                eps: float = 1e-5, cudnn_enabled: bool = True) -> RelayExpr:  # fmt: skip
    dims = static_shape(x)
    groups = reshape(x, [dims[0], num_groups, -1])
    normal = reshape(_standardized(groups, [2], eps)[0], dims)
    return _scaled(normal, weight, bias, [1, -1, *([1] * (rank_of(x) - 2))])


@converter("native_group_norm")
def _native_group_norm(
    x: RelayExpr, weight: RelayExpr | None, bias: RelayExpr | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[RelayExpr, None, None]:
    return _group_norm(x, group, weight, bias, eps), None, None


@converter("renorm")
def _renorm(x: RelayExpr, p: float, dim: int, maxnorm: float) -> RelayExpr:
    axis = axis_of(dim, rank_of(x))
    sizes = vector_norm(x, p, None, [i for i in range(rank_of(x)) if i != axis], True)
    limit = ops.divide(scalar(maxnorm, x), ops.add(sizes, scalar(1e-7, x)))
    return ops.multiply(x, ops.where(ops.greater(sizes, scalar(maxnorm, x)), limit, scalar(1, x)))


@converter("_weight_norm")
def _weight_norm(v: RelayExpr, g: RelayExpr, dim: int = 0) -> RelayExpr:
    axes = [i for i in range(rank_of(v)) if i != axis_of(dim, rank_of(v))]
    return ops.multiply(v, ops.divide(g, vector_norm(v, 2, None, axes, True)))
