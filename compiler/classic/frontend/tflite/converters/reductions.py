"""Reductions, argmax, top-k and segments."""

from __future__ import annotations

from collections.abc import Callable

from compiler.classic.frontend.shared import tensorflow_operators as shared
from compiler.classic.frontend.tflite.node import Node
from compiler.classic.frontend.tflite.registry import Convert, converter, converters
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.folding import ops, rank_of
from compiler.relay.frontend.shared.tensors import cast


def _reduction(reduce: Callable[..., RelayExpr]) -> Convert:
    def convert(node: Node) -> RelayExpr:
        x = node.inputs[0]
        axes = sorted({axis % max(rank_of(x), 1) for axis in node.ints(1, "the axes")})
        return reduce(x, axis=axes, keepdims=bool(node.option("KeepDims", False))) if axes else x

    return convert


converters(
    {
        "SUM": _reduction(ops.sum),
        "MEAN": _reduction(ops.mean),
        "REDUCE_MAX": _reduction(ops.max),
        "REDUCE_MIN": _reduction(ops.min),
        "REDUCE_PROD": _reduction(ops.prod),
        "REDUCE_ALL": _reduction(ops.all),
        "REDUCE_ANY": _reduction(ops.any),
    }
)


def _place(find: Callable[..., RelayExpr]) -> Convert:
    def convert(node: Node) -> RelayExpr:
        (axis,) = node.ints(1, "the axis")
        return cast(find(node.inputs[0], axis=[axis % rank_of(node.inputs[0])]), node.outputs[0].dtype)

    return convert


converters({"ARG_MAX": _place(ops.argmax), "ARG_MIN": _place(ops.argmin)})
converters({"TOPK_V2": shared.top_k})


@converter("CUMSUM")
def _cumsum(node: Node) -> RelayExpr:
    x = node.inputs[0]
    (axis,) = (a % rank_of(x) for a in node.ints(1, "the axis"))
    backwards = bool(node.option("Reverse", False))
    x = ops.reverse(x, axis) if backwards else x
    total = ops.cumsum(x, axis=axis, exclusive=bool(node.option("Exclusive", False)))
    return ops.reverse(total, axis) if backwards else total
