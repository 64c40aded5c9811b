"""Losses: ``nn.cross_entropy``, ``nn.cross_entropy_with_logits``."""

from __future__ import annotations

import numpy as np

from compiler.ir.attrs import Attrs
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, const
from compiler.relay.op.common import check_same_extent
from compiler.relay.op.type_relations import same_dtype, tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, Types, call_op
from compiler.relay.ty import TensorType
from compiler.topi.nn.loss import cross_entropy as compute


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
    return [
        call_op("multiply", scale, call_op("divide", targets, predictions)),
        call_op("multiply", scale, logarithm),
    ]


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
    pattern=OpPattern.OPAQUE,
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
    pattern=OpPattern.OPAQUE,
    compute=lambda attrs, inputs, out_type: [compute(inputs[0], inputs[1], logits=True)],
    reference=_logits_reference,
    gradient=_logits_gradient,
)
