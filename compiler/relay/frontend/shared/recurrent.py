"""Recurrent layers as one operator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.folding import constant, dims_of, dtype_of, ops
from compiler.relay.frontend.shared.tensors import reshape, static_dims, transpose
from compiler.topi.nn.recurrent import UNITS

FUSED_TYPES = ("float32", "float64")
"""The data types that the operator computes with."""


def recurrent_layer(
    cell: str,
    x: RelayExpr,
    weights: Sequence[RelayExpr],
    biases: Sequence[RelayExpr | None],
    states: Sequence[RelayExpr],
    order: Sequence[int],
    **attrs: object,
) -> list[RelayExpr]:
    """Return the outputs ``(time, batch, hidden)`` of one direction of a layer, and its last states.

    ``x`` is ``(time, batch, inputs)``; ``weights`` and ``biases`` are those of the inputs and those of the state,
    ``(gates * hidden, …)``, and ``order`` tells where the gates of ``nn.recurrent`` stand in them.
    """
    w, r = (_in_blocks(weight, order) for weight in weights)
    (width,), (hidden,) = static_dims(w, "the weights", [0]), static_dims(weights[1], "the weights", [1])
    of_inputs, of_states = (
        None if b is None else reshape(_in_blocks(reshape(b, [-1, 1]), order), [-1]) for b in biases
    )
    if cell != "gru" and of_inputs is not None and of_states is not None:
        of_inputs, of_states = ops.add(of_inputs, of_states), None
    if of_states is None:
        of_states = constant(np.zeros(width, dtype_of(x)))
    product = ops.nn.dense(reshape(x, [-1, *static_dims(x, "the input", [2])]), w)
    if of_inputs is not None:
        product = ops.nn.bias_add(product, of_inputs, axis=1)
    if all(isinstance(d, int) for d in dims_of(x)):
        gates = reshape(product, [*dims_of(x)[:2], width])
    else:
        gates = ops.reshape_like(product, x, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2)
    panel = len(order) * UNITS
    weight = transpose(reshape(r, [width // panel, panel, hidden]), [0, 2, 1])
    return ops.nn.recurrent(gates, weight, of_states, list(states), cell=cell, **attrs)


def _in_blocks(weight: RelayExpr, order: Sequence[int]) -> RelayExpr:
    """Return rows ``(gates * hidden, columns)`` as ``(blocks * gates * 16, columns)``, with zeros for missing units."""
    rows, columns = static_dims(weight, "the weights")
    count, hidden = len(order), rows // len(order)
    blocks = -(-hidden // UNITS)
    by_gate = ops.take(reshape(weight, [count, hidden, columns]), constant(list(order), "int64"), axis=0)
    padded = ops.nn.pad(by_gate, ((0, 0), (0, blocks * UNITS - hidden), (0, 0)))
    spread = transpose(reshape(padded, [count, blocks, UNITS, columns]), [1, 0, 2, 3])
    return reshape(spread, [blocks * count * UNITS, columns])
