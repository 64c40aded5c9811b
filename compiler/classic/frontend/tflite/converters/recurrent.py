"""Recurrent layers: RNN, LSTM and SVDF.

State tensors are initially zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.classic.frontend.shared.recurrence import steps
from compiler.classic.frontend.tflite.converters.activations import activated
from compiler.classic.frontend.tflite.node import Node
from compiler.classic.frontend.tflite.registry import converter
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import ops, scalar
from compiler.relay.frontend.shared.tensors import reshape, slice_axis, split, static_dims, transpose

Step = Callable[[RelayExpr, Sequence[RelayExpr]], Sequence[RelayExpr]]


def _dense(x: RelayExpr, weight: RelayExpr) -> RelayExpr:
    return ops.nn.dense(x, weight, units=static_dims(weight, "a weight")[0])


def _over_time(node: Node, x: RelayExpr, states: Sequence[RelayExpr], step: Step, backwards: bool = False) -> RelayExpr:
    """Run a layer over a sequence, which is batch-major or time-major."""
    swap = not node.option("TimeMajor", False)
    results, _ = steps(transpose(x, (1, 0, 2)) if swap else x, states, step, backwards)
    return transpose(results, (1, 0, 2)) if swap else results


def _simple(node: Node, weights: Sequence[RelayExpr]) -> Step:
    weight, recurrent, bias = weights

    def step(x: RelayExpr, states: Sequence[RelayExpr]) -> list[RelayExpr]:
        total = ops.add(ops.add(_dense(x, weight), bias), _dense(states[0], recurrent))
        return [activated(node, total)]

    return step


@converter("RNN")
def _rnn(node: Node) -> Sequence[RelayExpr]:
    return _simple(node, node.inputs[1:4])(node.inputs[0], node.inputs[4:5])


@converter("UNIDIRECTIONAL_SEQUENCE_RNN")
def _sequence_rnn(node: Node) -> RelayExpr:
    return _over_time(node, node.inputs[0], node.inputs[4:5], _simple(node, node.inputs[1:4]))


def _without_second_input(node: Node, first: int) -> None:
    if any(x is not None for x in node.inputs[first:]):
        raise ConversionError("a second input of a bidirectional layer is not supported")


def _both(node: Node, forward: RelayExpr, backward: RelayExpr) -> RelayExpr | list[RelayExpr]:
    return ops.concatenate([forward, backward], 2) if node.option("MergeOutputs", False) else [forward, backward]


@converter("BIDIRECTIONAL_SEQUENCE_RNN")
def _bidirectional_rnn(node: Node) -> RelayExpr | list[RelayExpr]:
    _without_second_input(node, 9)
    x = node.inputs[0]
    forward = _over_time(node, x, node.inputs[4:5], _simple(node, node.inputs[1:4]))
    return _both(node, forward, _over_time(node, x, node.inputs[8:9], _simple(node, node.inputs[5:8]), True))


@dataclass(frozen=True, slots=True)
class _Gate:
    """The weights of a gate; ``peephole`` are those of the cell state, ``norm`` those of a layer normalization."""

    weight: RelayExpr
    recurrent: RelayExpr
    peephole: RelayExpr | None
    bias: RelayExpr | None
    norm: RelayExpr | None

    def __call__(self, x: RelayExpr, h: RelayExpr, cell: RelayExpr) -> RelayExpr:
        total = ops.add(_dense(x, self.weight), _dense(h, self.recurrent))
        if self.peephole is not None:
            total = ops.add(total, ops.multiply(cell, self.peephole))
        if self.norm is not None:
            total = ops.subtract(total, ops.mean(total, axis=[1], keepdims=True))
            variance = ops.mean(ops.multiply(total, total), axis=[1], keepdims=True)
            total = ops.multiply(ops.multiply(total, ops.rsqrt(ops.add(variance, scalar(1e-8, variance)))), self.norm)
        return total if self.bias is None else ops.add(total, self.bias)


def _gates(given: Sequence[RelayExpr | None], norms: Sequence[RelayExpr | None]) -> list[_Gate | None]:
    """Return the input, forget, cell and output gates, from weights in the order of the model."""
    peepholes = (given[8], given[9], None, given[10])
    parts = zip(given[:4], given[4:8], peepholes, given[11:15], norms, strict=True)
    return [None if own is None or past is None else _Gate(own, past, *rest) for own, past, *rest in parts]


def _limited(x: RelayExpr, limit: float) -> RelayExpr:
    return ops.clip(x, -limit, limit) if limit > 0 else x


def _lstm_step(node: Node, given: Sequence[RelayExpr | None], norms: Sequence[RelayExpr | None] = (None,) * 4) -> Step:
    """Compute a step of an LSTM; without an input gate, input and forget gates are coupled (CIFG)."""
    entering, forgetting, entry, leaving = _gates(given, norms)
    if forgetting is None or entry is None or leaving is None:
        raise ConversionError("the weights of a gate are missing")
    projection, projection_bias = given[15:17]

    def step(x: RelayExpr, states: Sequence[RelayExpr]) -> list[RelayExpr]:
        h, cell = states
        kept = ops.sigmoid(forgetting(x, h, cell))
        let_in = ops.subtract(scalar(1, kept), kept) if entering is None else ops.sigmoid(entering(x, h, cell))
        cell = ops.add(ops.multiply(kept, cell), ops.multiply(let_in, activated(node, entry(x, h, cell))))
        cell = _limited(cell, float(node.option("CellClip", 0.0)))
        h = ops.multiply(ops.sigmoid(leaving(x, h, cell)), activated(node, cell))
        if projection is not None:
            h = _dense(h, projection)
            h = h if projection_bias is None else ops.add(h, projection_bias)
            h = _limited(h, float(node.option("ProjClip", 0.0)))
        return [h, cell]

    return step


def _norms(node: Node) -> list[RelayExpr | None]:
    return [node.input(i) for i in range(20, 24)]


@converter("UNIDIRECTIONAL_SEQUENCE_LSTM")
def _sequence_lstm(node: Node) -> RelayExpr:
    step = _lstm_step(node, node.inputs[1:18], _norms(node))
    return _over_time(node, node.inputs[0], node.inputs[18:20], step)


@converter("BIDIRECTIONAL_SEQUENCE_LSTM")
def _bidirectional_lstm(node: Node) -> RelayExpr | list[RelayExpr]:
    _without_second_input(node, 39)
    x = node.inputs[0]
    forward = _over_time(node, x, node.inputs[35:37], _lstm_step(node, node.inputs[1:18]))
    return _both(node, forward, _over_time(node, x, node.inputs[37:39], _lstm_step(node, node.inputs[18:35]), True))


@converter("LSTM")
def _lstm(node: Node) -> RelayExpr | Sequence[RelayExpr]:
    if node.option("KernelType"):
        return _basic_lstm(node)
    return _lstm_step(node, node.inputs[1:18], _norms(node))(node.inputs[0], node.inputs[18:20])[:1]


def _basic_lstm(node: Node) -> list[RelayExpr]:
    """Convert the basic LSTM kernel, with one weight for all gates, which also outputs intermediate results."""
    x, h, weight, bias, cell = node.inputs
    joined = ops.concatenate([x, h], 1)
    products = ops.add(_dense(joined, weight), bias)
    entering, entry, forgetting, leaving = split(products, [static_dims(weight, "the weight")[0] // 4] * 4, 1)
    fresh = ops.multiply(ops.sigmoid(entering), ops.tanh(entry))
    cell = ops.add(fresh, ops.multiply(ops.sigmoid(forgetting), cell))
    return [ops.multiply(ops.sigmoid(leaving), ops.tanh(cell)), cell, joined, products]


@converter("SVDF")
def _svdf(node: Node) -> RelayExpr:
    """Convert ``SVDF``: feature filters, time filters, and sums over ranks."""
    x, features, over_time, bias, state = node.inputs
    filters, memory = static_dims(over_time, "the weight over time")
    batch, rank = static_dims(x, "the input")[0], int(node.option("Rank", 1))
    past = reshape(state, [batch, filters, memory])
    fresh = reshape(_dense(x, features), [batch, filters, 1])
    remembered = ops.concatenate([slice_axis(past, 2, 1, memory), fresh], 2) if memory > 1 else fresh
    weighted = ops.sum(ops.multiply(remembered, over_time), axis=[2])
    total = ops.sum(reshape(weighted, [batch, filters // rank, rank]), axis=[2])
    return activated(node, total if bias is None else ops.add(total, bias))
