"""Recurrent layers: as one operator where it computes them, otherwise unrolled over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from compiler.classic.frontend.keras.converters.activations import activation
from compiler.classic.frontend.keras.layer import Layer
from compiler.classic.frontend.keras.masks import as_mask
from compiler.classic.frontend.keras.registry import converter, converters
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dtype_of, ops, rank_of
from compiler.relay.frontend.shared.recurrent import FUSED_TYPES, recurrent_layer
from compiler.relay.frontend.shared.tensors import bounded, split, static_dims, unsqueeze

MAX_STEPS = 1000
"""The maximum number of time steps that are unrolled."""

State = tuple[RelayExpr, ...]
Step = Callable[[RelayExpr, State], State]
"""Maps the input and the state of a time step to the next state, whose first part is the output."""


def _product(x: RelayExpr, weight: RelayExpr, bias: RelayExpr | None) -> RelayExpr:
    y = ops.nn.dense(x, weight)
    return y if bias is None else ops.nn.bias_add(y, bias)


def _functions(layer: Layer) -> tuple[Callable[[RelayExpr], RelayExpr], Callable[[RelayExpr], RelayExpr]]:
    """Return the recurrent activation and the activation of a layer."""
    gate, value = layer.option("recurrent_activation", "sigmoid"), layer.option("activation", "tanh")
    return lambda x: activation(layer, x, gate), lambda x: activation(layer, x, value)


def _kernels(layer: Layer) -> tuple[RelayExpr, RelayExpr]:
    """Return the kernel and the recurrent kernel, one row per unit and gate."""
    kernel, recurrent = layer.weight("kernel").T, layer.weight("recurrent_kernel").T
    return layer.parameter("kernel", kernel), layer.parameter("recurrent_kernel", recurrent)


def _has_bias(layer: Layer) -> bool:
    return bool(layer.option("use_bias", True))


def _biases(layer: Layer) -> list[RelayExpr | None]:
    """Return what is added to the product of the input, and to that of the state, which only a GRU may have."""
    if not _has_bias(layer):
        return [None, None]
    given = layer.weight("bias")
    if given.ndim == 1:
        return [layer.parameter("bias", given), None]
    return [layer.parameter(name, row) for name, row in zip(("bias", "recurrent_bias"), given, strict=True)]


def _simple_step(layer: Layer) -> Step:
    (kernel, recurrent), (_, function) = _kernels(layer), _functions(layer)
    bias = layer.parameter("bias") if _has_bias(layer) else None
    return lambda x, state: (function(ops.add(_product(x, kernel, bias), _product(state[0], recurrent, None))),)


def _lstm_step(layer: Layer) -> Step:
    """Compute a step of an LSTM, with the gates input, forget, cell, output."""
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
    """Compute a step of a GRU; the reset gate applies after or, in the older form, before the product."""
    (gate, function), units = _functions(layer), int(layer.option("units"))
    after = bool(layer.option("reset_after", True))
    biases = _biases(layer)
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


@dataclass(frozen=True)
class _Cell:
    """The cell of a recurrent layer: the widths of the parts of its state, of which one is its output."""

    step: Step
    widths: tuple[int, ...]
    output: int = 0


_STEPS: dict[str, tuple[Callable[[Layer], Step], int]] = {
    "SimpleRNN": (_simple_step, 1),
    "GRU": (_gru_step, 1),
    "LSTM": (_lstm_step, 2),
}
"""The step functions of layers, and the numbers of parts of their states."""


def _cell(layer: Layer) -> _Cell:
    """Return the cell of a recurrent layer, or a cell layer itself."""
    kind = layer.kind.removesuffix("Cell")
    if layer.kind == "StackedRNNCells":
        return _stacked([_cell(layer.view(held)) for held in layer.source.cells])  # type: ignore[attr-defined]
    if kind not in _STEPS:
        raise ConversionError(f"cells of kind {layer.kind!r} are not supported, {', '.join(_STEPS)} are")
    make_step, parts = _STEPS[kind]
    return _Cell(make_step(layer), (int(layer.option("units")),) * parts)


def _stacked(cells: Sequence[_Cell]) -> _Cell:
    """Stack cells: each takes the output of the one before."""

    def step(x: RelayExpr, state: State) -> State:
        after: State = ()
        for cell in cells:
            own = cell.step(x, state[len(after) : len(after) + len(cell.widths)])
            x, after = own[cell.output], after + own
        return after

    widths = tuple(width for cell in cells for width in cell.widths)
    return _Cell(step, widths, len(widths) - len(cells[-1].widths) + cells[-1].output)


def _recurrent(layer: Layer) -> list[RelayExpr] | RelayExpr:
    if rank_of(layer.x) != 3:
        raise ConversionError(f"a sequence must have 3 dimensions, got {rank_of(layer.x)}")
    batch, _, width = static_dims(layer.x, "the input")
    if _is_one_operator(layer):
        return _fused(layer, batch)
    cell = _cell(layer.view(layer.held("cell")) if layer.kind == "RNN" else layer)
    steps = [ops.reshape(part, [batch, width]) for part in time_steps(layer, layer.x)]
    outputs, last = run_steps(layer, cell.step, steps, _initial(layer, batch, cell.widths), cell.output)
    result = ops.stack(outputs, axis=1) if layer.option("return_sequences", False) else outputs[-1]
    return [result, *last] if layer.option("return_state", False) else result


_OPERATORS = {"SimpleRNN": ("rnn", (0,)), "GRU": ("gru", (1, 0, 2)), "LSTM": ("lstm", (0, 1, 2, 3))}
"""The cells of ``nn.recurrent``, and where its gates stand in the weights."""


def _is_one_operator(layer: Layer) -> bool:
    """Return whether ``nn.recurrent`` computes a layer."""
    gate, value = layer.option("recurrent_activation", "sigmoid"), layer.option("activation", "tanh")
    is_usual = (gate, value) == ("sigmoid", "tanh") or (layer.kind == "SimpleRNN" and value in ("tanh", "relu"))
    is_masked = as_mask(layer.keywords.get("mask")) is not None
    return layer.kind in _OPERATORS and is_usual and not is_masked and dtype_of(layer.x) in FUSED_TYPES


def _fused(layer: Layer, batch: int) -> list[RelayExpr] | RelayExpr:
    cell, order = _OPERATORS[layer.kind]
    state = _initial(layer, batch, (int(layer.option("units")),) * _STEPS[layer.kind][1])
    more: dict[str, dict[str, object]] = {
        "rnn": {"activation": layer.option("activation", "tanh")},
        "gru": {"linear_before_reset": bool(layer.option("reset_after", True))},
    }
    backwards = bool(layer.option("go_backwards", False))
    x = ops.transpose(layer.x, axes=[1, 0, 2])
    attrs = {"reverse": backwards, **more.get(cell, {})}
    whole, *last = recurrent_layer(cell, x, _kernels(layer), _biases(layer), state, order, **attrs)
    outputs = ops.transpose(ops.reverse(whole, axis=0) if backwards else whole, axes=[1, 0, 2])
    result = outputs if layer.option("return_sequences", False) else last[0]
    return [result, *last] if layer.option("return_state", False) else result


def time_steps(layer: Layer, x: RelayExpr) -> list[RelayExpr]:
    """Split a sequence into time steps, in processing order, each with a time axis of extent 1."""
    time = static_dims(x, "the input")[1]
    if time > MAX_STEPS:
        raise ConversionError(f"sequences of more than {MAX_STEPS} steps are not unrolled, got {time}")
    steps = split(x, [1] * time, 1)
    return steps[::-1] if layer.option("go_backwards", False) else steps


def _initial(layer: Layer, batch: int, widths: Sequence[int]) -> State:
    if layer.option("stateful", False):
        raise ConversionError("a stateful layer, which keeps its state between calls, is not supported")
    given = tuple(layer.inputs[1:])
    if given:
        return given
    bounded(batch, sum(widths))
    return tuple(constant(np.zeros((batch, width), layer.dtype)) for width in widths)


def run_steps(
    layer: Layer, step: Step, steps: Sequence[RelayExpr], state: State, output: int = 0
) -> tuple[list[RelayExpr], State]:
    """Run all time steps; return the outputs in processing order and the final state.

    Masked steps keep the state and repeat the previous output.
    """
    mask = as_mask(layer.keywords.get("mask"))
    if mask is None:
        outputs = []
        for x in steps:
            state = step(x, state)
            outputs.append(state[output])
        return outputs, state
    shown: list[RelayExpr] = []
    for x, counts in zip(steps, time_steps(layer, mask), strict=True):
        new = step(x, state)
        before = shown[-1] if shown and not layer.option("zero_output_for_mask", False) else ops.zeros_like(new[output])
        shown.append(ops.where(_spread(counts, new[output]), new[output], before))
        state = tuple(ops.where(_spread(counts, n), n, old) for n, old in zip(new, state, strict=True))
    return shown, state


def _spread(counts: RelayExpr, x: RelayExpr) -> RelayExpr:
    """Reshape a mask column to broadcast against a tensor."""
    return unsqueeze(counts, range(2, rank_of(x)))


converters(dict.fromkeys((*_STEPS, "RNN"), _recurrent), masks=True)

_MERGES: dict[str, Callable[[RelayExpr, RelayExpr], RelayExpr]] = {
    "concat": lambda a, b: ops.concatenate([a, b], rank_of(a) - 1),
    "sum": ops.add,
    "mul": ops.multiply,
    "ave": lambda a, b: ops.divide(ops.add(a, b), 2.0),
}


@converter("Bidirectional", masks=True)
def _bidirectional(layer: Layer) -> list[RelayExpr]:
    """Convert ``Bidirectional``; the outputs of the backward layer are reversed."""
    given = list(layer.inputs[1:])
    halves = [given[: len(given) // 2], given[len(given) // 2 :]]
    masks = {"mask": layer.keywords.get("mask")}
    runs = [
        list(layer.apply(half, [layer.x], {"initial_state": states, **masks}))
        for half, states in zip((layer.held("forward_layer"), layer.held("backward_layer")), halves, strict=True)
    ]
    if rank_of(runs[1][0]) == 3:
        runs[1][0] = ops.reverse(runs[1][0], 1)
    mode = layer.config.get("merge_mode")
    outputs = [runs[0][0], runs[1][0]] if mode is None else [_MERGES[mode](runs[0][0], runs[1][0])]
    return [*outputs, *runs[0][1:], *runs[1][1:]]
