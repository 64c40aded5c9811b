"""Reductions, and what finds places of elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.relay.frontend.shared.folding import ops, rank_of
from compiler.relay.frontend.shared.tensors import cast
from compiler.relay.frontend.tensorflow.node import Node
from compiler.relay.frontend.tensorflow.registry import Convert, converter, converters


def _reduction(reduce: Callable[..., Any]) -> Convert:
    def convert(node: Node) -> Any:
        x = node.inputs[0]
        axes = sorted({axis % max(rank_of(x), 1) for axis in node.ints(1, "the axes")})
        return reduce(x, axis=axes, keepdims=bool(node.attr("keep_dims", False))) if axes else x

    return convert


converters(
    {name: _reduction(getattr(ops, name.lower())) for name in ("Sum", "Mean", "Max", "Min", "Prod", "All", "Any")}
)


def _place(find: Callable[..., Any]) -> Convert:
    def convert(node: Node) -> Any:
        (axis,) = node.ints(1, "the axis")
        x = node.inputs[0]
        return cast(find(x, axis=[axis % rank_of(x)]), node.attr("output_type", "int64"))

    return convert


converters({"ArgMax": _place(ops.argmax), "ArgMin": _place(ops.argmin)})


@converter("TopKV2")
def _topk(node: Node) -> Any:
    (count,) = node.ints(1, "the number of elements")
    return list(ops.topk(node.inputs[0], k=count, axis=-1, ret_type="both", dtype="int32"))


@converter("Cumsum")
def _cumsum(node: Node) -> Any:
    x = node.inputs[0]
    (axis,) = (a % rank_of(x) for a in node.ints(1, "the axis"))
    backwards = bool(node.attr("reverse", False))
    x = ops.reverse(x, axis) if backwards else x
    total = ops.cumsum(x, axis=axis, exclusive=bool(node.attr("exclusive", False)))
    return ops.reverse(total, axis) if backwards else total
