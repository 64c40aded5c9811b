"""Recurrent layers, unrolled over their time steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.keras.converters.activations import activation
from compiler.relay.frontend.keras.layer import Layer
from compiler.relay.frontend.keras.registry import Convert, converter, converters
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, ops, rank_of
from compiler.relay.frontend.shared.tensors import bounded, split, static_dims

MAX_STEPS = 1000
"""How many time steps a layer is unrolled over."""

State = tuple[RelayExpr, ...]
Step = Callable[[RelayExpr, State], State]
"""From the input of a time step and the state before it to the state after it, whose first part is the output."""


def _product(x: RelayExpr, weight: RelayExpr, bias: RelayExpr | None) -> Any:
    y = ops.nn.dense(x, weight)
    return y if bias is None else ops.nn.bias_add(y, bias)


def _functions(layer: Layer) -> tuple[Callable[[RelayExpr], Any], Callable[[RelayExpr], Any]]:
    """Return what gates end with, and what new values end with."""
    gate, value = layer.option("recurrent_activation", "sigmoid"), layer.option("activation", "tanh")
    return lambda x: activation(layer, x, gate), lambda x: activation(layer, x, value)


def _kernels(layer: Layer) -> tuple[RelayExpr, RelayExpr]:
    """Return the weights of inputs and of states, a row for each unit of each gate."""
    kernel, recurrent = layer.weight("kernel").T, layer.weight("recurrent_kernel").T
    return layer.parameter("kernel", kernel), layer.parameter("recurrent_kernel", recurrent)


def _has_bias(layer: Layer) -> bool:
    return bool(layer.option("use_bias", True))


def _simple_step(layer: Layer) -> Step:
    (kernel, recurrent), (_, function) = _kernels(layer), _functions(layer)
    bias = layer.parameter("bias") if _has_bias(layer) else None
    return lambda x, state: (function(ops.add(_product(x, kernel, bias), _product(state[0], recurrent, None))),)


def _lstm_step(layer: Layer) -> Step:
    """The gates are input, forget, cell, output."""
    (kernel, recurrent), (gate, function) = _kernels(layer), _functions(layer)
    bias = layer.parameter("bias") if _has_bias(layer) else None
    units = int(layer.option("units"))

    def step(x: RelayExpr, state: State) -> State:
        h, cell = state
        enter, forget, new, out = split(
            ops.add(_product(x, kernel, bias), _product(h, recurrent, None)), [units] * 4, 1
        )
        cell = ops.add(ops.multiply(gate(forget), cell), ops.multiply(gate(enter), function(new)))
        return ops.multiply(gate(out), function(cell)), cell

    return step


def _gru_step(layer: Layer) -> Step:
    """The gates are update, reset, new; the reset acts on the state's product or, in the older form, on the state."""
    (gate, function), units = _functions(layer), int(layer.option("units"))
    after = bool(layer.option("reset_after", True))
    biases: list[Any] = [None, None]
    if _has_bias(layer):
        given = layer.weight("bias").reshape(-1, 3 * units)
        biases = [layer.parameter(name, row) for name, row in zip(("bias", "recurrent_bias"), given, strict=False)]
    kernel, recurrent = _kernels(layer)
    rows = split(recurrent, [2 * units, units], 0) if not after else []

    def step(x: RelayExpr, state: State) -> State:
        (h,) = state
        own = split(_product(x, kernel, biases[0]), [units] * 3, 1)
        if after:
            *past, past_new = split(_product(h, recurrent, biases[1]), [units] * 3, 1)
            update, reset = (gate(ops.add(a, b)) for a, b in zip(own[:2], past, strict=True))
            new = function(ops.add(own[2], ops.multiply(reset, past_new)))
        else:
            past = split(_product(h, rows[0], None), [units] * 2, 1)
            update, reset = (gate(ops.add(a, b)) for a, b in zip(own[:2], past, strict=True))
            new = function(ops.add(own[2], _product(ops.multiply(reset, h), rows[1], None)))
        return (ops.add(ops.multiply(update, h), ops.multiply(ops.subtract(1.0, update), new)),)

    return step


def _recurrent(make_step: Callable[[Layer], Step], states: int) -> Convert:
    def convert(layer: Layer) -> Any:
        if rank_of(layer.x) != 3:
            raise ConversionError(f"a sequence must have 3 dimensions, got {rank_of(layer.x)}")
        batch, time, width = static_dims(layer.x, "the input")
        if time > MAX_STEPS:
            raise ConversionError(f"sequences of more than {MAX_STEPS} steps are not unrolled, got {time}")
        steps = [ops.reshape(part, [batch, width]) for part in split(layer.x, [1] * time, 1)]
        outputs, last = _run(layer, make_step(layer), steps, _initial(layer, batch, states))
        result = ops.stack(outputs, axis=1) if layer.option("return_sequences", False) else outputs[-1]
        return [result, *last] if layer.option("return_state", False) else result

    return convert


def _initial(layer: Layer, batch: int, count: int) -> State:
    given = tuple(layer.inputs[1:])
    if given:
        return given
    units = int(layer.option("units"))
    bounded(batch, units)
    return (constant(np.zeros((batch, units), layer.dtype)),) * count


def _run(layer: Layer, step: Step, steps: Sequence[RelayExpr], state: State) -> tuple[list[RelayExpr], State]:
    """Return the outputs in the order in which they are computed, and the last state."""
    outputs = []
    for x in reversed(steps) if layer.option("go_backwards", False) else steps:
        state = step(x, state)
        outputs.append(state[0])
    return outputs, state


converters(
    {
        "SimpleRNN": _recurrent(_simple_step, 1),
        "GRU": _recurrent(_gru_step, 1),
        "LSTM": _recurrent(_lstm_step, 2),
    }
)

_MERGES: dict[str, Callable[[RelayExpr, RelayExpr], Any]] = {
    "concat": lambda a, b: ops.concatenate([a, b], rank_of(a) - 1),
    "sum": ops.add,
    "mul": ops.multiply,
    "ave": lambda a, b: ops.divide(ops.add(a, b), 2.0),
}


@converter("Bidirectional")
def _bidirectional(layer: Layer) -> Any:
    """Both directions, each by a layer of its own; outputs of the backward one are turned to the order of time."""
    given = list(layer.inputs[1:])
    halves = [given[: len(given) // 2], given[len(given) // 2 :]]
    runs = [
        list(layer.apply(half, [layer.x, *states]))
        for half, states in zip((layer.held("forward_layer"), layer.held("backward_layer")), halves, strict=True)
    ]
    if rank_of(runs[1][0]) == 3:
        runs[1][0] = ops.reverse(runs[1][0], 1)
    mode = layer.config.get("merge_mode")
    outputs = [runs[0][0], runs[1][0]] if mode is None else [_MERGES[mode](runs[0][0], runs[1][0])]
    return [*outputs, *runs[0][1:], *runs[1][1:]]
