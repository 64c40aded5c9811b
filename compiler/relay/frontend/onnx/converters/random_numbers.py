"""Random number generators, which are determined by a seed."""

from __future__ import annotations

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import TupleGetItem
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.reader import dtype_name
from compiler.relay.frontend.onnx.registry import Convert, converter
from compiler.relay.frontend.shared.folding import dtype_of, ops, settle
from compiler.relay.frontend.shared.tensors import bounded, cast, static_dims

MAX_SEED = 1_000_000
"""Seeds that are drawn where a node gives none are less than this."""


def _key(node: Node) -> RelayExpr:
    seed = node.attr("seed")
    return ops.random.threefry_key(int(np.random.default_rng().integers(MAX_SEED) if seed is None else seed))


def _drawn(node: Node, shape: tuple[int, ...], dtype: str, normal: bool) -> RelayExpr:
    key = _key(node)
    bounded(*shape)
    wide = "float64" if dtype == "float64" else "float32"
    if normal:
        _, numbers = ops.random.normal(key, shape, wide, float(node.attr("mean", 0)), float(node.attr("scale", 1)))
    else:
        _, numbers = ops.random.uniform(key, shape, wide, float(node.attr("low", 0)), float(node.attr("high", 1)))
    return numbers if dtype == wide else ops.cast(numbers, dtype)


def _dtype(node: Node, default: str) -> str:
    return dtype_name(node.attributes["dtype"], "attribute 'dtype'") if "dtype" in node.attributes else default


def _of_shape(normal: bool) -> Convert:
    return lambda node: _drawn(node, tuple(node.required("shape")), _dtype(node, "float32"), normal)


def _like(normal: bool) -> Convert:
    def convert(node: Node) -> RelayExpr:
        x = node.inputs[0]
        return _drawn(node, static_dims(x, "the input"), _dtype(node, dtype_of(x)), normal)

    return convert


for _name, _normal in (("RandomUniform", False), ("RandomNormal", True)):
    converter(_name)(_of_shape(_normal))
    converter(f"{_name}Like")(_like(_normal))


@converter("Multinomial")
def _multinomial(node: Node) -> RelayExpr:
    """Draw classes, whose probabilities the input has as logarithms of numbers in proportion to them."""
    count = node.attr("sample_size", 1)
    logits = node.inputs[0]
    bounded(count, *static_dims(logits, "the input")[:-1])
    shifted = cast(ops.subtract(logits, ops.max(logits, axis=-1, keepdims=True)), "float32")
    drawn = ops.random.multinomial(_key(node), ops.exp(shifted), count)
    return cast(settle(TupleGetItem(drawn, 1)), _dtype(node, "int32"))
