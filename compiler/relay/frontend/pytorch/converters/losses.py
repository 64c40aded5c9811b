"""Loss functions."""

from __future__ import annotations

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.registry import converter, converters
from compiler.relay.frontend.pytorch.tensors import constant, dtype_of, ops, rank_of, static_shape
from compiler.relay.frontend.shared.activations import softplus
from compiler.relay.frontend.shared.errors import ConversionError


@converter("nll_loss", "nll_loss_nd")
def _nll_loss(
    x: RelayExpr, target: RelayExpr, weight: RelayExpr | None = None, reduction: int = 1, ignore_index: int = -100
) -> RelayExpr:
    weights = ops.ones([static_shape(x)[1]], dtype_of(x)) if weight is None else weight
    how = ("none", "mean", "sum")[reduction]
    return ops.nn.nll_loss(x, ops.cast(target, "int32"), weights, how, ignore_index)


def _loss(x: RelayExpr, reduction: int) -> RelayExpr:
    return x if reduction == 0 else ops.mean(x) if reduction == 1 else ops.sum(x)


converters({"l1_loss": lambda x, target, reduction=1: _loss(ops.abs(ops.subtract(x, target)), reduction)})


@converter("mse_loss")
def _mse_loss(x: RelayExpr, target: RelayExpr, reduction: int = 1) -> RelayExpr:
    distance = ops.subtract(x, target)
    return _loss(ops.multiply(distance, distance), reduction)


@converter("smooth_l1_loss")
def _smooth_l1_loss(x: RelayExpr, target: RelayExpr, reduction: int = 1, beta: float = 1.0) -> RelayExpr:
    distance = ops.abs(ops.subtract(x, target))
    curve = ops.divide(ops.multiply(ops.multiply(distance, distance), 0.5), beta)
    return _loss(ops.where(ops.less(distance, beta), curve, ops.subtract(distance, 0.5 * beta)), reduction)


@converter("binary_cross_entropy")
def _binary_cross_entropy(
    x: RelayExpr, target: RelayExpr, weight: RelayExpr | None = None, reduction: int = 1
) -> RelayExpr:
    logs = [ops.maximum(ops.log(v), constant(-100.0, dtype_of(x))) for v in (x, ops.subtract(1.0, x))]
    total = ops.add(ops.multiply(target, logs[0]), ops.multiply(ops.subtract(1.0, target), logs[1]))
    loss = ops.negative(total)
    return _loss(loss if weight is None else ops.multiply(loss, weight), reduction)


@converter("binary_cross_entropy_with_logits")
def _binary_cross_entropy_with_logits(x: RelayExpr, target: RelayExpr, weight: RelayExpr | None = None,
                                      pos_weight: RelayExpr | None = None,
                                      reduction: int = 1) -> RelayExpr:  # fmt: skip
    """Compute ``(1 - t) x + (1 + (w - 1) t) log(1 + e^-x)`` without overflow."""
    surprise = softplus(ops.negative(x))
    if pos_weight is not None:
        surprise = ops.multiply(surprise, ops.add(ops.multiply(ops.subtract(pos_weight, 1.0), target), 1.0))
    loss = ops.add(ops.multiply(ops.subtract(1.0, target), x), surprise)
    return _loss(loss if weight is None else ops.multiply(loss, weight), reduction)


@converter("cross_entropy_loss")
def _cross_entropy(x: RelayExpr, target: RelayExpr, weight: RelayExpr | None = None, reduction: int = 1,
                   ignore_index: int = -100, label_smoothing: float = 0.0) -> RelayExpr:  # fmt: skip
    """Cross entropy with class indices or probabilities; the classes are along the second axis."""
    if label_smoothing:
        raise ConversionError(f"label_smoothing={label_smoothing} is not supported")
    axis = 1 if rank_of(x) > 1 else 0
    logs = ops.nn.log_softmax(x, axis=axis)
    if not dtype_of(target).startswith("float"):
        return _nll_loss(logs, target, weight, reduction, ignore_index)
    if weight is not None:
        raise ConversionError("weights together with probabilities are not supported")
    loss = ops.negative(ops.sum(ops.multiply(logs, target), axis=[axis]))
    return _loss(loss, reduction)


@converter("kl_div")
def _kl_div(x: RelayExpr, target: RelayExpr, reduction: int = 1, log_target: bool = False) -> RelayExpr:
    """Compute ``t (log t - x)``, which is 0 where ``t`` is 0."""
    if log_target:
        return _loss(ops.multiply(ops.exp(target), ops.subtract(target, x)), reduction)
    positive = ops.greater(target, constant(0, dtype_of(target)))
    logs = ops.log(ops.where(positive, target, ops.ones_like(target)))
    return _loss(ops.multiply(target, ops.subtract(logs, x)), reduction)
