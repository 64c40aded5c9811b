"""Recurrent networks: RNN, GRU, LSTM.

Layers as they are by default become one operator.  Others, with activations of their own, peepholes, limits or lengths
of sequences, are unrolled over time; the input projections of the gates are one product, which each step slices.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.converters.control_flow import MAX_ITERATIONS
from compiler.relay.frontend.onnx.converters.elementwise import hard_sigmoid
from compiler.relay.frontend.onnx.converters.microsoft_quantized import dynamic_product
from compiler.relay.frontend.onnx.microsoft import microsoft
from compiler.relay.frontend.onnx.node import Node, operands
from compiler.relay.frontend.onnx.registry import converter, one_to_one
from compiler.relay.frontend.shared.activations import softplus
from compiler.relay.frontend.shared.control_flow import while_loop
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dims_of, dtype_of, known, ops, rank_of
from compiler.relay.frontend.shared.recurrent import FUSED_TYPES, recurrent_layer
from compiler.relay.frontend.shared.tensors import (
    bounded,
    extent_of,
    reshape,
    slice_axis,
    split,
    static_dims,
    transpose,
    unsqueeze,
)
from compiler.relay.op_registry import onnx_operators

Activation: TypeAlias = Callable[[RelayExpr], RelayExpr]
Time: TypeAlias = int | RelayExpr
"""A step, known or not."""


_WITH_PARAMETERS: dict[str, Callable[[RelayExpr, float, float], RelayExpr]] = {
    "affine": lambda x, a, b: ops.add(ops.multiply(x, a), b),
    "elu": lambda x, a, b: ops.where(ops.less(x, 0), ops.multiply(ops.subtract(ops.exp(x), 1), a), x),
    "hardsigmoid": hard_sigmoid,
    "leakyrelu": lambda x, a, b: ops.nn.leaky_relu(x, alpha=a),
    "scaledtanh": lambda x, a, b: ops.multiply(ops.tanh(ops.multiply(x, b)), a),
    "softplus": lambda x, a, b: softplus(x),
    "thresholdedrelu": lambda x, a, b: ops.where(ops.greater(x, a), x, 0),
}
_ALPHA = {"elu": 1.0, "hardsigmoid": 0.2, "leakyrelu": 0.01, "thresholdedrelu": 1.0, "affine": 1.0, "scaledtanh": 1.0}
_BETA = {"hardsigmoid": 0.5, "affine": 0.0, "scaledtanh": 1.0}


def _activation(given: str) -> Callable[[RelayExpr, float, float], RelayExpr]:
    """Return the function ``(x, alpha, beta)`` of an activation; those without parameters are ONNX operators too."""
    if given.lower() in _WITH_PARAMETERS:
        return _WITH_PARAMETERS[given.lower()]
    operators = {name.lower(): name for name in onnx_operators()}
    function = one_to_one(operators.get(given.lower(), given))
    if function is None:
        raise ConversionError(f"activation {given!r} is unknown; expected one of {', '.join(sorted(_WITH_PARAMETERS))}")
    return lambda x, a, b: function(x)


def _activations(node: Node, usual: Sequence[str], directions: int) -> list[list[Activation]]:
    """Return the functions of each direction; that of a cell, the third, has no limit, as onnxruntime has it."""
    names = node.attr("activations", list(usual) * directions)
    if len(names) != len(usual) * directions:
        raise ConversionError(f"activations must be {len(usual) * directions}, got {len(names)}")
    alphas, betas = list(node.attr("activation_alpha") or ()), list(node.attr("activation_beta") or ())
    functions = []
    for at, given in enumerate(names):
        name = given.lower()
        a = alphas.pop(0) if alphas and name in _ALPHA else _ALPHA.get(name, 0.0)
        b = betas.pop(0) if betas and name in _BETA else _BETA.get(name, 0.0)
        functions.append(_limited(_activation(given), a, b, node.attr("clip") if at % len(usual) < 2 else None))
    return [functions[i * len(usual) : (i + 1) * len(usual)] for i in range(directions)]


def _limited(
    function: Callable[[RelayExpr, float, float], RelayExpr], a: float, b: float, limit: float | None
) -> Activation:
    if limit is None:
        return lambda x: function(x, a, b)
    return lambda x: function(ops.clip(x, -limit, limit), a, b)


class _Direction(ABC):
    """One direction of a layer: its weights, and its state as it goes along.

    ``order`` tells where the gates of the operator ``nn.recurrent`` stand in the weights, ``begins`` which inputs are
    the states to begin with.
    """

    cell: str
    order: tuple[int, ...]
    begins: tuple[int, ...] = (5,)

    def __init__(self, node: Node, index: int, gates: int, activations: list[Activation]) -> None:
        (x, w, r), b = node.inputs[:3], node.input(3)
        self.node = node
        self.steps = ops.transpose(x, axes=[1, 0, 2]) if node.attr("layout", 0) else x  # (time, batch, inputs)
        self.activations = activations
        self.gates = gates
        self.hidden = static_dims(r, "the recurrence weights")[2]
        self.w, self.r = _slice(w, index), _slice(r, index)
        self.bias_w, self.bias_r = _parts(None if b is None else _slice(b, index), [gates * self.hidden] * 2)
        self.batch = dims_of(x)[0 if node.attr("layout", 0) else 1]
        self.index = index

    def states(self) -> list[RelayExpr]:
        """Return the states to begin with, the output first."""
        return [self.initial(at) for at in self.begins]

    @abstractmethod
    def step(self, own: list[RelayExpr], states: list[RelayExpr]) -> list[RelayExpr]:
        """Return the states after a step, whose gates get ``own`` from the input."""

    def initial(self, at: int) -> RelayExpr:
        """Return the state to begin with."""
        given = self.node.input(at)
        if given is None and isinstance(self.batch, int):
            bounded(self.batch, self.hidden)
            return constant(np.zeros((self.batch, self.hidden), dtype_of(self.node.inputs[0])))
        if given is None:
            return _zeros_beside(ops.sum(self.steps, axis=0), self.hidden)
        if self.node.attr("layout", 0):
            given = ops.transpose(given, axes=[1, 0, 2])
        return _slice(given, self.index)

    def from_inputs(self) -> Callable[[Time, int], RelayExpr]:
        """Return what gives a step and a gate their part of the product of all inputs."""
        steps = self.steps
        flat = reshape(steps, [-1, *static_dims(steps, "the input", [2])])
        product = self.product(flat, self.w, self.bias_w)
        size = self.batch
        if all(isinstance(d, int) for d in dims_of(steps)) and isinstance(size, int):
            return lambda step, gate: self.gate(_rows(product, step, size), gate)
        by_step = ops.reshape_like(product, steps, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2)
        return lambda step, gate: self.gate(ops.take(by_step, _place(step), axis=0), gate)

    def from_state(self, state: RelayExpr) -> list[RelayExpr]:
        """Return what each gate gets from a state."""
        product = self.product(state, self.r, self.bias_r)
        return [self.gate(product, i) for i in range(self.gates)]

    def gate(self, product: RelayExpr, index: int) -> RelayExpr:
        """Return the columns of a gate."""
        if dims_of(product)[1] == self.hidden:
            return product
        return slice_axis(product, 1, index * self.hidden, (index + 1) * self.hidden)

    def product(self, x: RelayExpr, weight: RelayExpr, bias: RelayExpr | None) -> RelayExpr:
        """Return the product of an input or a state and weights, with the bias."""
        product = ops.nn.dense(x, weight)
        return product if bias is None else ops.nn.bias_add(product, bias, axis=1)


def _parts(x: RelayExpr | None, sizes: Sequence[int]) -> Sequence[RelayExpr | None]:
    """Split an optional vector."""
    return [None] * len(sizes) if x is None else split(x, sizes, 0)


def _zeros_beside(x: RelayExpr, count: int) -> RelayExpr:
    """Return zeros of the shape of ``x``, whose last extent is ``count``."""
    rank = rank_of(x)
    one = ops.zeros_like(ops.strided_slice(x, [0], [1], strides=[1], axes=[rank - 1]))
    return ops.tile(one, [1] * (rank - 1) + [count])


def _rows(product: RelayExpr, step: Time, size: int) -> RelayExpr:
    assert isinstance(step, int)
    return slice_axis(product, 0, step * size, (step + 1) * size)


def _place(step: Time) -> RelayExpr:
    return step if isinstance(step, RelayExpr) else constant(step, "int64")


def _slice(x: RelayExpr, index: int) -> RelayExpr:
    return ops.take(x, constant(index, "int64"), axis=0)


class _Rnn(_Direction):
    cell, order = "rnn", (0,)

    def step(self, own: list[RelayExpr], states: list[RelayExpr]) -> list[RelayExpr]:
        (past,) = self.from_state(states[0])
        return [self.activations[0](ops.add(own[0], past))]


class _Gru(_Direction):
    cell, order = "gru", (1, 0, 2)

    def __init__(self, node: Node, index: int, gates: int, activations: list[Activation]) -> None:
        super().__init__(node, index, gates, activations)
        sizes = [2 * self.hidden, self.hidden]
        self.of_both, self.of_last = split(self.r, sizes, 0)  # once, for all steps to have the same weights
        self.bias_both, self.bias_last = _parts(self.bias_r, sizes)

    def step(self, own: list[RelayExpr], states: list[RelayExpr]) -> list[RelayExpr]:
        f, g = self.activations
        (h,) = states
        if self.node.attr("linear_before_reset", 0):
            past = self.from_state(h)
            z, r = (f(ops.add(own[i], past[i])) for i in (0, 1))
            new = g(ops.add(own[2], ops.multiply(r, past[2])))
        else:
            both = self.product(h, self.of_both, self.bias_both)
            z, r = (f(ops.add(own[i], self.gate(both, i))) for i in (0, 1))
            new = g(ops.add(own[2], self.product(ops.multiply(r, h), self.of_last, self.bias_last)))
        return [ops.add(ops.multiply(ops.subtract(1.0, z), new), ops.multiply(z, h))]


class _Lstm(_Direction):
    cell, order, begins = "lstm", (0, 2, 3, 1), (5, 6)

    def step(self, own: list[RelayExpr], states: list[RelayExpr]) -> list[RelayExpr]:
        f, g, last = self.activations
        h, c = states
        gates = [ops.add(a, b) for a, b in zip(own, self.from_state(h), strict=True)]
        peep = self.node.input(7)
        sizes = [self.hidden] * 3
        peep_i, peep_o, peep_f = _parts(None if peep is None else _slice(peep, self.index), sizes)
        enter = f(_peeking(gates[0], peep_i, c))
        keep = f(_peeking(gates[2], peep_f, c)) if not self.node.attr("input_forget", 0) else ops.subtract(1.0, enter)
        c = ops.add(ops.multiply(keep, c), ops.multiply(enter, g(gates[3])))
        out = f(_peeking(gates[1], peep_o, c))
        return [ops.multiply(out, last(c)), c]


def _peeking(gate: RelayExpr, weight: RelayExpr | None, cell: RelayExpr) -> RelayExpr:
    return gate if weight is None else ops.add(gate, ops.multiply(weight, cell))


class _DynamicLstm(_Lstm):
    """Its weights are bytes, and inputs and states become bytes when they are multiplied."""

    def product(self, x: RelayExpr, weight: RelayExpr, bias: RelayExpr | None) -> RelayExpr:
        first = 8 if weight is self.w else 10
        scale, zero = (_slice(self.node.inputs[i], self.index) for i in (first, first + 1))
        return dynamic_product(x, transpose(weight, [1, 0]), scale, zero, bias)


_KINDS: dict[str, tuple[type[_Direction], int, tuple[str, ...]]] = {
    "RNN": (_Rnn, 1, ("Tanh",)),
    "GRU": (_Gru, 3, ("Sigmoid", "Tanh")),
    "LSTM": (_Lstm, 4, ("Sigmoid", "Tanh", "Tanh")),
    "DynamicQuantizeLSTM": (_DynamicLstm, 4, ("Sigmoid", "Tanh", "Tanh")),
}


@microsoft(
    "DynamicQuantizeLSTM", "X W R B? sequence_lens? initial_h? initial_c? P? W_scale W_zero_point R_scale R_zero_point"
)
def _dynamic_quantize_lstm(
    node: Node, x: RelayExpr, w: RelayExpr, r: RelayExpr, *others: RelayExpr | None
) -> list[RelayExpr]:
    """The weights of a direction are transposed, beside those of the standard."""
    turned = [transpose(weight, [0, 2, 1]) for weight in (w, r)]
    return _recurrent(dataclasses.replace(node, inputs=operands([x, *turned, *others])))


@converter("RNN", "GRU", "LSTM")
def _recurrent(node: Node) -> list[RelayExpr]:
    kind, gates, usual = _KINDS[node.operator]
    lengths, batch_first = _lengths(node), bool(node.attr("layout", 0))
    time = dims_of(node.inputs[0])[1 if batch_first else 0]
    direction = node.attr("direction", "forward")
    backwards = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}.get(direction)
    if backwards is None:
        raise ConversionError(f"direction must be forward, reverse or bidirectional, got {direction!r}")
    functions = _activations(node, usual, len(backwards))
    run = _fused if lengths is None and _is_usual(node, usual) else _unrolled if isinstance(time, int) else _looped
    runs = [run(kind(node, i, gates, functions[i]), lengths, back) for i, back in enumerate(backwards)]
    whole = _joined([outputs for outputs, _ in runs], 1)  # (time, directions, batch, hidden)
    last = [_joined([run[1][i] for run in runs], 0) for i in range(len(runs[0][1]))]
    if batch_first:
        return [ops.transpose(whole, axes=[2, 0, 1, 3]), *(ops.transpose(s, axes=[1, 0, 2]) for s in last)]
    return [whole, *last]


def _joined(parts: list[RelayExpr], axis: int) -> RelayExpr:
    spread = [unsqueeze(p, [axis]) for p in parts]
    return ops.concatenate(spread, axis) if len(spread) > 1 else spread[0]


def _lengths(node: Node) -> RelayExpr | None:
    """Return the lengths of a batch's sequences, None if all are as long as the input."""
    given = node.input(4)
    value = None if given is None else known(given)
    time = dims_of(node.inputs[0])[1 if node.attr("layout", 0) else 0]
    return None if value is not None and isinstance(time, int) and (value == time).all() else given


def _is_usual(node: Node, usual: Sequence[str]) -> bool:
    """Return whether a layer is what the operator ``nn.recurrent`` computes."""
    names = [name.lower() for name in node.attr("activations", list(usual))]
    expected = [name.lower() for name in usual] * (len(names) // len(usual))
    is_simple = node.operator == "RNN" and len(set(names)) == 1 and names[0] in ("tanh", "relu")
    more = node.attr("clip") is not None or node.attr("input_forget", 0) or node.input(7) is not None
    types = {dtype_of(x) for x in node.inputs if x is not None and x is not node.input(4)}
    fits = types in [{t} for t in FUSED_TYPES] and node.operator in ("RNN", "GRU", "LSTM")
    return fits and not more and (is_simple or names == expected)


def _fused(direction: _Direction, lengths: RelayExpr | None, backwards: bool) -> tuple[RelayExpr, list[RelayExpr]]:
    """Return the outputs in the order of time, stacked, and the last state."""
    node = direction.node
    more: dict[str, dict[str, object]] = {
        "rnn": {"activation": node.attr("activations", ["tanh"])[0].lower()},
        "gru": {"linear_before_reset": bool(node.attr("linear_before_reset", 0))},
    }
    weights, biases = (direction.w, direction.r), (direction.bias_w, direction.bias_r)
    whole, *last = recurrent_layer(
        direction.cell,
        direction.steps,
        weights,
        biases,
        direction.states(),
        direction.order,
        reverse=backwards,
        **more.get(direction.cell, {}),
    )
    return whole, last


def _unrolled(direction: _Direction, lengths: RelayExpr | None, backwards: bool) -> tuple[RelayExpr, list[RelayExpr]]:
    """Do the same with a step behind another."""
    states, part = direction.states(), direction.from_inputs()
    (time,) = static_dims(direction.steps, "the input", [0])
    if time > MAX_ITERATIONS:
        raise ConversionError(f"sequences of more than {MAX_ITERATIONS} steps are not unrolled, got {time}")
    outputs: list[RelayExpr] = []
    for t in range(time)[:: -1 if backwards else 1]:
        output, states = _stepped(direction, part, t, states, lengths)
        outputs.append(output)
    return ops.stack(outputs[:: -1 if backwards else 1], axis=0), states


def _looped(direction: _Direction, lengths: RelayExpr | None, backwards: bool) -> tuple[RelayExpr, list[RelayExpr]]:
    """Do the same in a loop of the running program, which knows how many steps there are."""
    part, time = direction.from_inputs(), extent_of(direction.steps, 0)

    def turn(carried: Sequence[RelayExpr]) -> list[RelayExpr]:
        i, outputs, *before = carried
        t = ops.subtract(ops.subtract(time, 1), i) if backwards else i
        output, after = _stepped(direction, part, t, before, lengths)
        rows = ops.scatter_nd(outputs, reshape(t, [1, 1]), unsqueeze(output, [0]), mode="update")
        return [ops.add(i, 1), rows, *after]

    first = [constant(0, "int64"), _zeros_beside(direction.steps, direction.hidden), *direction.states()]
    _, outputs, *last = while_loop(first, lambda carried: ops.less(carried[0], time), turn)
    return outputs, last


def _stepped(
    direction: _Direction,
    part: Callable[[Time, int], RelayExpr],
    t: Time,
    states: list[RelayExpr],
    lengths: RelayExpr | None,
) -> tuple[RelayExpr, list[RelayExpr]]:
    """Return the output of a step and the states after it; past its end a sequence's state stands still."""
    new = direction.step([part(t, gate) for gate in range(direction.gates)], states)
    if lengths is None:
        return new[0], new
    inside = unsqueeze(ops.less(ops.cast(_place(t), "int32"), ops.cast(lengths, "int32")), [1])
    return ops.where(inside, new[0], 0.0), [ops.where(inside, a, b) for a, b in zip(new, states, strict=True)]
