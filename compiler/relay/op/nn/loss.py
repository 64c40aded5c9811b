"""Losses: ``nn.cross_entropy``, ``nn.cross_entropy_with_logits``, ``nn.nll_loss``."""

from __future__ import annotations

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import INT, one_of
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, const
from compiler.relay.op.common import check_same_extent
from compiler.relay.op.type_relations import same_dtype, tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, RelationError, Types, call_op
from compiler.relay.ty import TensorType
from compiler.topi.nn.loss import cross_entropy as compute
from compiler.topi.nn.loss import nll_loss as topi_nll_loss


def _relation(types: Types, attrs: Attrs) -> Type:
    """A scalar of the data type of the predictions."""
    predictions, targets = tensor(types[0], "predictions", 2), tensor(types[1], "targets", 2)
    for axis, what in enumerate(("rows", "classes")):
        check_same_extent(predictions.dims[axis], targets.dims[axis], f"the {what} of predictions and targets")
    return TensorType((), same_dtype(predictions, targets))


def _scaled(call: Call, grad: Expr) -> Expr:
    rows = call.args[0].checked_type.concrete_shape[0]
    return call_op("multiply", grad, const(-1 / rows, call.args[0].checked_type.dtype))


def _gradient(call: Call, grad: Expr) -> list[Expr]:
    predictions, targets = call.args
    scale = _scaled(call, grad)
    logarithm = call_op("log", predictions)
    return [call_op("multiply", scale, call_op("divide", targets, predictions)), call_op("multiply", scale, logarithm)]


def _logits_gradient(call: Call, grad: Expr) -> list[Expr]:
    predictions, targets = call.args
    scale = _scaled(call, grad)
    return [call_op("multiply", scale, targets), call_op("multiply", scale, predictions)]


def _reference(attrs: Attrs, p: Array, t: Array) -> Array:
    return np.asarray(-(np.log(p) * t).sum() / p.shape[0], p.dtype)


def _logits_reference(attrs: Attrs, p: Array, t: Array) -> Array:
    return np.asarray(-(p * t).sum() / p.shape[0], p.dtype)


cross_entropy = register(
    "nn.cross_entropy",
    doc="Return minus the mean over the rows of targets times the logarithms of predictions.",
    inputs={"predictions": "Probabilities, ``(rows, classes)``.", "targets": "Probabilities, ``(rows, classes)``."},
    relation=_relation,
    compute=lambda attrs, inputs, out_type: [compute(inputs[0], inputs[1], logits=False)],
    reference=_reference,
    gradient=_gradient,
)

cross_entropy_with_logits = register(
    "nn.cross_entropy_with_logits",
    doc="Return minus the mean over the rows of targets times predictions that are logarithms.",
    inputs={
        "predictions": "Logarithms of probabilities, ``(rows, classes)``.",
        "targets": "Probabilities, ``(rows, classes)``.",
    },
    relation=_relation,
    compute=lambda attrs, inputs, out_type: [compute(inputs[0], inputs[1], logits=True)],
    reference=_logits_reference,
    gradient=_logits_gradient,
)


# likelihoods


class NLLLossAttrs(Attrs):
    reduction: str = attr_field(
        one_of("mean", "sum", "none"), "What becomes of the losses; the mean is weighted by class.", "mean"
    )
    ignore_index: int = attr_field(INT, "A class that does not count.", -100)


def _nll_relation(types: Types, attrs: NLLLossAttrs) -> Type:
    """A scalar; with ``reduction="none"`` a loss for each target."""
    predictions, targets = tensor(types[0], "predictions"), tensor(types[1], "targets")
    weights = tensor(types[2], "weights", 1)
    same_dtype(predictions, weights)
    if len(predictions.dims) != len(targets.dims) + 1 or not targets.dims:
        raise RelationError(f"predictions must have one dimension more than targets, got {predictions} and {targets}")
    batch, classes, *rest = predictions.dims
    check_same_extent(weights.dims[0], classes, "the weights and the classes of predictions")
    for d, (a, b) in enumerate(zip((batch, *rest), targets.dims, strict=True)):
        check_same_extent(a, b, f"predictions without their classes and targets along axis {d}")
    return TensorType(targets.shape if attrs.reduction == "none" else (), predictions.dtype)


def _nll_reference(attrs: NLLLossAttrs, predictions: Array, targets: Array, weights: Array) -> Array:
    counts = targets != attrs.ignore_index
    labels = np.where(counts, targets, 0).astype("int64")
    weight = np.where(counts, weights[labels], 0).astype(predictions.dtype)
    losses = -np.take_along_axis(predictions, labels[:, None], 1)[:, 0] * weight
    if attrs.reduction == "none":
        return np.asarray(losses)
    return np.asarray(losses.sum() / weight.sum() if attrs.reduction == "mean" else losses.sum(), predictions.dtype)


def _nll_gradient(call: Call, grad: Expr) -> list[Expr]:
    """Each target's class has a gradient; of a mean the weights count as a divisor too."""
    predictions, targets, weights = call.args
    attrs, dtype = NLLLossAttrs.of(call), predictions.checked_type.dtype
    ignored = const(attrs.ignore_index, targets.checked_type.dtype)
    counts = call_op("not_equal", targets, ignored)
    labels = call_op("where", counts, targets, call_op("zeros_like", targets))
    depth = predictions.checked_type.concrete_shape[1]
    hot = call_op("one_hot", labels, const(1.0, dtype), const(0.0, dtype), depth=depth, axis=1, dtype=dtype)
    hot = call_op("multiply", hot, call_op("expand_dims", call_op("cast", counts, dtype=dtype), axis=1))

    def by_class(values: Expr) -> Expr:
        return call_op("sum", values, axis=(1,), exclude=True)

    likelihood = by_class(call_op("multiply", hot, predictions))
    if attrs.reduction == "mean":
        grad = call_op("divide", grad, call_op("sum", call_op("multiply", by_class(hot), weights)))
        likelihood = call_op("add", likelihood, call_op("multiply", call, by_class(hot)))
        to_weights = call_op("multiply", grad, call_op("negative", likelihood))
    elif attrs.reduction == "sum":
        to_weights = call_op("multiply", grad, call_op("negative", likelihood))
    else:
        grad = call_op("expand_dims", grad, axis=1)
        losses = call_op("multiply", call_op("multiply", hot, predictions), grad)
        to_weights = call_op("negative", by_class(losses))
    column = call_op("expand_dims", weights, axis=1, num_newaxis=len(targets.checked_type.dims) - 1)
    scaled = call_op("multiply", call_op("multiply", hot, column), grad)
    return [call_op("negative", scaled), call_op("zeros_like", targets), to_weights]


nll_loss = register(
    "nn.nll_loss",
    doc="Return minus the logarithms of the likelihood of the right classes, weighted by class.",
    inputs={
        "predictions": "Logarithms of probabilities, ``(N, C, …)``.",
        "targets": "The right class of each, ``(N, …)`` of an integer type.",
        "weights": "Of each class, ``(C,)``.",
    },
    attrs=NLLLossAttrs,
    spelt_out=("ignore_index",),
    relation=_nll_relation,
    definition=topi_nll_loss,
    reference=_nll_reference,
    gradient=_nll_gradient,
)
