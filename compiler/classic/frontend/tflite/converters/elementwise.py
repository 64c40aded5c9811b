"""Elementwise arithmetic."""

from __future__ import annotations

from collections.abc import Callable

from compiler.classic.frontend.shared import tensorflow_operators as shared
from compiler.classic.frontend.shared.angles import atan2
from compiler.classic.frontend.tflite.converters.activations import activated
from compiler.classic.frontend.tflite.node import Node
from compiler.classic.frontend.tflite.registry import Convert, converter, converters
from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Tuple
from compiler.relay.frontend.shared.folding import ops, scalar
from compiler.relay.frontend.shared.tensors import bitcast, cast


def _unary(compute: Callable[[RelayExpr], RelayExpr]) -> Convert:
    return lambda node: compute(node.inputs[0])


def _binary(compute: Callable[[RelayExpr, RelayExpr], RelayExpr]) -> Convert:
    return lambda node: compute(node.inputs[0], node.inputs[1])


def _activated(compute: Callable[[RelayExpr, RelayExpr], RelayExpr]) -> Convert:
    return lambda node: activated(node, compute(node.inputs[0], node.inputs[1]))


def _square(x: RelayExpr) -> RelayExpr:
    return ops.multiply(x, x)


converters(
    {
        "ADD_N": shared.add_n,
        "ABS": _unary(ops.abs),
        "CEIL": _unary(ops.ceil),
        "COS": _unary(ops.cos),
        "EXP": _unary(ops.exp),
        "FLOOR": _unary(ops.floor),
        "LOG": _unary(ops.log),
        "LOGICAL_NOT": _unary(ops.logical_not),
        "NEG": _unary(ops.negative),
        "ROUND": _unary(ops.nearbyint),
        "RSQRT": _unary(ops.rsqrt),
        "SIGN": _unary(ops.sign),
        "SIN": _unary(ops.sin),
        "SQRT": _unary(ops.sqrt),
        "SQUARE": _unary(_square),
        "ZEROS_LIKE": _unary(ops.zeros_like),
        "ADD": _activated(ops.add),
        "SUB": _activated(ops.subtract),
        "MUL": _activated(ops.multiply),
        "DIV": _activated(shared.divide),
        "POW": _binary(ops.power),
        "FLOOR_DIV": _binary(shared.floor_divide),
        "FLOOR_MOD": _binary(ops.floor_mod),
        "SQUARED_DIFFERENCE": _binary(lambda a, b: _square(ops.subtract(a, b))),
        "LOGICAL_AND": _binary(ops.logical_and),
        "LOGICAL_OR": _binary(ops.logical_or),
        "BITWISE_XOR": _binary(ops.bitwise_xor),
        "ATAN2": _binary(atan2),
        "RIGHT_SHIFT": _binary(ops.right_shift),
        "EQUAL": _binary(ops.equal),
        "NOT_EQUAL": _binary(ops.not_equal),
        "LESS": _binary(ops.less),
        "LESS_EQUAL": _binary(ops.less_equal),
        "GREATER": _binary(ops.greater),
        "GREATER_EQUAL": _binary(ops.greater_equal),
    }
)

converters({"MAXIMUM": _binary(ops.maximum), "MINIMUM": _binary(ops.minimum)}, moves=True)


@converter("SELECT", "SELECT_V2")
def _select(node: Node) -> RelayExpr:
    return ops.where(*node.inputs)


@converter("CAST")
def _cast(node: Node) -> RelayExpr:
    x = node.inputs[0]
    return cast(node.complex(0)[0] if isinstance(x, Tuple) else x, node.outputs[0].dtype)


@converter("QUANTIZE")
def _quantize(node: Node) -> RelayExpr:
    """Return the input; the importer dequantizes it and quantizes the result."""
    return node.inputs[0]


@converter("DENSIFY")
def _densify(node: Node) -> RelayExpr:
    """Return the input, as constants are densified when a model is read."""
    return node.inputs[0]


@converter("DEQUANTIZE")
def _dequantize(node: Node) -> RelayExpr:
    return cast(node.inputs[0], "float32")


@converter("FAKE_QUANT")
def _fake_quant(node: Node) -> RelayExpr:
    """Convert ``FakeQuant``: round to one of ``2 ** bits`` values between two bounds, including zero."""
    x, bits = node.inputs[0], int(node.option("NumBits"))
    low, high = float(node.option("Min")), float(node.option("Max"))
    least = 1 if node.option("NarrowRange", False) else 0
    most = 2**bits - 1
    scale = (high - low) / (most - least)
    zero = min(max(round(least - low / scale), least), most)
    steps = ops.clip(ops.add(ops.nearbyint(ops.divide(x, scalar(scale, x))), float(zero)), float(least), float(most))
    return ops.multiply(ops.subtract(steps, float(zero)), scalar(scale, x))


@converter("BITCAST")
def _bitcast(node: Node) -> RelayExpr:
    return bitcast(node.inputs[0], node.outputs[0].dtype)
