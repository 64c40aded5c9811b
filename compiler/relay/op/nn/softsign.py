"""Softsign: ``nn.softsign``."""

from __future__ import annotations

import numpy as np

from compiler import te, tir
from compiler.relay.expr import Call, Expr, const
from compiler.relay.op.layout_rules import same_layout
from compiler.relay.op.unary import floating
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, call_op
from compiler.te.definition.tensor import Tensor
from compiler.topi.tag import Tag


def _definition(x: Tensor) -> Tensor:
    """Softsign: x / (1 + abs(x))."""
    one = tir.const(1, x.dtype)
    return te.compute(x.shape, lambda *i: x(*i) / (one + tir.abs(x(*i))), name="softsign", tag=Tag.ELEMWISE)


def _gradient(call: Call, grad: Expr) -> list[Call]:
    """d = g / (1 + abs(x)) ** 2."""
    x = call.args[0]
    denominator = call_op("add", const(1, x.checked_type.dtype), call_op("abs", x))
    return [call_op("divide", grad, call_op("multiply", denominator, denominator))]


softsign = register(
    "nn.softsign",
    doc="Return x / (1 + abs(x)) of each element x.",
    inputs={"data": "A tensor of floating-point numbers."},
    relation=floating,
    pattern=OpPattern.ELEMWISE,
    topi=_definition,
    reference=lambda attrs, x: x / (1 + np.abs(x)),
    gradient=_gradient,
    layout=same_layout,
    onnx="Softsign",
    references=("ONNX operator Softsign, https://onnx.ai/onnx/operators/onnx__Softsign.html",),
)
