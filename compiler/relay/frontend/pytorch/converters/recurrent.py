"""Recurrent layers and cells: RNN, GRU, LSTM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.converters.matmul import linear
from compiler.relay.frontend.pytorch.registry import Convert, converter
from compiler.relay.frontend.pytorch.tensors import constant, ops, rank_of, static_shape, transpose, unsqueeze
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import Operators, dtype_of
from compiler.relay.frontend.shared.recurrent import FUSED_TYPES, recurrent_layer
from compiler.relay.frontend.shared.tensors import split

MAX_STEPS = 1000
"""The maximum number of time steps that are unrolled."""

State: TypeAlias = tuple[RelayExpr, ...]
Step: TypeAlias = Callable[[RelayExpr, State, Sequence[RelayExpr]], State]
"""``step(input, state, weights)`` returns the next state, whose first part is the output."""


def _projections(
    x: RelayExpr, h: RelayExpr, weights: Sequence[RelayExpr], gates: int
) -> tuple[list[RelayExpr], list[RelayExpr]]:
    """Return the projections of the input and the state, per gate."""
    biases = list(weights[2:4]) if len(weights) >= 4 else [None, None]
    products = [linear(v, w, b) for v, w, b in zip((x, h), weights[:2], biases, strict=True)]
    width = static_shape(weights[0])[0] // gates
    own, past = (split(p, [width] * gates, 1) if gates > 1 else [p] for p in products)
    return own, past


def lstm_step(x: RelayExpr, state: State, weights: Sequence[RelayExpr]) -> State:
    """Compute a step of an LSTM."""
    h, cell = state
    own, past = _projections(x, h, weights, 4)
    enter, forget, new, out = (ops.add(a, b) for a, b in zip(own, past, strict=True))
    cell = ops.add(ops.multiply(ops.sigmoid(forget), cell), ops.multiply(ops.sigmoid(enter), ops.tanh(new)))
    h = ops.multiply(ops.sigmoid(out), ops.tanh(cell))
    if len(weights) in (3, 5):
        h = linear(h, weights[-1])
    return h, cell


def gru_step(x: RelayExpr, state: State, weights: Sequence[RelayExpr]) -> State:
    """Compute a step of a GRU."""
    (h,) = state
    own, past = _projections(x, h, weights, 3)
    reset, update = (ops.sigmoid(ops.add(own[i], past[i])) for i in (0, 1))
    new = ops.tanh(ops.add(own[2], ops.multiply(reset, past[2])))
    return (ops.add(ops.multiply(ops.subtract(1.0, update), new), ops.multiply(update, h)),)


def _simple_step(activation: Operators) -> Step:
    def step(x: RelayExpr, state: State, weights: Sequence[RelayExpr]) -> State:
        own, past = _projections(x, state[0], weights, 1)
        return (activation(ops.add(own[0], past[0])),)

    return step


def _layers(step: Step, x: RelayExpr, states: State, params: Sequence[RelayExpr], has_biases: bool, num_layers: int,
            train: bool, dropout: float, bidirectional: bool, batch_first: bool) -> tuple[RelayExpr, ...]:  # fmt: skip
    """Run a stack of layers; return the outputs and the final states of all layers."""
    if train and dropout:
        raise ConversionError("dropout between layers draws random numbers; put the model into eval mode")
    if rank_of(x) == 2:
        wide = _layers(step, unsqueeze(x, [1]), tuple(unsqueeze(s, [1]) for s in states), params, has_biases,
                       num_layers, train, dropout, bidirectional, False)  # fmt: skip
        return tuple(ops.squeeze(part, axis=[1]) for part in wide)
    if batch_first:
        x = transpose(x, [1, 0, 2])
    directions = 2 if bidirectional else 1
    count = len(params) // (num_layers * directions)
    last: list[State] = []
    for layer in range(num_layers):
        outputs: list[RelayExpr] = []
        for direction in range(directions):
            place = layer * directions + direction
            state = tuple(ops.take(s, constant(place, "int64"), axis=0) for s in states)
            whole, after = _run(step, x, state, params[place * count : (place + 1) * count], direction == 1)
            outputs.append(whole)
            last.append(after)
        x = ops.concatenate(outputs, 2) if len(outputs) > 1 else outputs[0]
    output = transpose(x, [1, 0, 2]) if batch_first else x
    return output, *(ops.stack([state[i] for state in last], 0) for i in range(len(states)))


def _run(
    step: Step, x: RelayExpr, state: State, weights: Sequence[RelayExpr], backwards: bool
) -> tuple[RelayExpr, State]:
    """Run a layer over ``(time, batch, inputs)``; return the outputs in order of time and the final state."""
    if dtype_of(x) in FUSED_TYPES and len(weights) in (2, 4):  # without a projection of the output
        cell, gates, attrs = _OPERATORS[step]
        biases = weights[2:] or (None, None)
        whole, *last = recurrent_layer(cell, x, weights[:2], biases, state, range(gates), reverse=backwards, **attrs)
        return whole, tuple(last)
    time = static_shape(x)[0]
    if time > MAX_STEPS:
        raise ConversionError(f"sequences of more than {MAX_STEPS} steps are not unrolled, got {time}")
    steps = [ops.squeeze(part, axis=[0]) for part in split(x, [1] * time, 0)]
    outputs: list[RelayExpr] = []
    for given in reversed(steps) if backwards else steps:
        state = step(given, state, weights)
        outputs.append(state[0])
    return ops.stack(outputs[::-1] if backwards else outputs, 0), state


@converter("lstm")
def _lstm(x: RelayExpr, hx: Sequence[RelayExpr], params: Sequence[RelayExpr], has_biases: bool, num_layers: int,
          dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> tuple[RelayExpr, ...]:  # fmt: skip
    return _layers(lstm_step, x, tuple(hx), params, has_biases, num_layers, train, dropout, bidirectional, batch_first)


def _single(step: Step) -> Convert:
    def convert(x: RelayExpr, hx: RelayExpr, params: Sequence[RelayExpr], has_biases: bool, num_layers: int,
                dropout: float, train: bool, bidirectional: bool,
                batch_first: bool) -> tuple[RelayExpr, ...]:  # fmt: skip
        return _layers(step, x, (hx,), params, has_biases, num_layers, train, dropout, bidirectional, batch_first)

    return convert


def _cell(step: Step) -> Convert:
    def convert(x: RelayExpr, hx: RelayExpr | State, w_ih: RelayExpr, w_hh: RelayExpr, b_ih: RelayExpr | None = None,
                b_hh: RelayExpr | None = None) -> tuple[RelayExpr, ...] | RelayExpr:  # fmt: skip
        weights = [x for x in (w_ih, w_hh, b_ih, b_hh) if x is not None]
        after = step(x, (hx,) if isinstance(hx, RelayExpr) else tuple(hx), weights)
        return after if len(after) > 1 else after[0]

    return convert


_TANH_STEP, _RELU_STEP = _simple_step(ops.tanh), _simple_step(ops.nn.relu)
_OPERATORS: dict[Step, tuple[str, int, dict[str, object]]] = {
    lstm_step: ("lstm", 4, {}),
    gru_step: ("gru", 3, {}),
    _TANH_STEP: ("rnn", 1, {}),
    _RELU_STEP: ("rnn", 1, {"activation": "relu"}),
}
"""The cell of ``nn.recurrent`` that a step is, its gates and attributes."""

for _name, _step in (("gru", gru_step), ("rnn_tanh", _TANH_STEP), ("rnn_relu", _RELU_STEP)):
    converter(_name)(_single(_step))
    converter(f"{_name}_cell")(_cell(_step))
converter("lstm_cell")(_cell(lstm_step))
