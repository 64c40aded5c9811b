"""Recurrent networks, unrolled over their time steps: RNN, GRU, LSTM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.converters.control_flow import MAX_TURNS
from compiler.relay.frontend.onnx.converters.elementwise import hard_sigmoid, softplus
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.registry import converter, one_to_one
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dims_of, dtype_of, known, ops
from compiler.relay.frontend.shared.tensors import bounded, reshape, split, static_dims, unsqueeze
from compiler.relay.op_registry import onnx_operators

Activation = Callable[[Any], Any]

_WITH_PARAMETERS: dict[str, Callable[..., Any]] = {
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


def _activation(given: str) -> Callable[..., Any]:
    """Return the function ``(x, alpha, beta)`` of an activation; those without parameters are ONNX operators too."""
    if given.lower() in _WITH_PARAMETERS:
        return _WITH_PARAMETERS[given.lower()]
    operators = {name.lower(): name for name in onnx_operators()}
    function = one_to_one(operators.get(given.lower(), given))
    if function is None:
        raise ConversionError(f"activation {given!r} is unknown; there are {', '.join(sorted(_WITH_PARAMETERS))}")
    return lambda x, a, b: function(x)


def _activations(node: Node, usual: Sequence[str], directions: int) -> list[list[Activation]]:
    """Return the functions of each direction."""
    names = node.attr("activations", list(usual) * directions)
    if len(names) != len(usual) * directions:
        raise ConversionError(f"activations must be {len(usual) * directions}, got {len(names)}")
    alphas, betas = list(node.attr("activation_alpha", [])), list(node.attr("activation_beta", []))
    functions = []
    for given in names:
        name = given.lower()
        a = alphas.pop(0) if alphas and name in _ALPHA else _ALPHA.get(name, 0.0)
        b = betas.pop(0) if betas and name in _BETA else _BETA.get(name, 0.0)
        functions.append(_limited(_activation(given), a, b, node.attr("clip")))
    return [functions[i * len(usual) : (i + 1) * len(usual)] for i in range(directions)]


def _limited(function: Callable[..., Any], a: float, b: float, limit: float | None) -> Activation:
    if limit is None:
        return lambda x: function(x, a, b)
    return lambda x: function(ops.clip(x, -limit, limit), a, b)


class _Direction:
    """One direction of a layer: its weights, and its state as it goes along."""

    def __init__(self, node: Node, index: int, gates: int, activations: list[Activation]) -> None:
        x, w, r, b = node.take(4)
        self.node = node
        self.activations = activations
        self.gates = gates
        self.hidden = static_dims(r, "the recurrence weights")[2]
        self.w, self.r = _slice(w, index), _slice(r, index)
        halves = [None, None] if b is None else split(_slice(b, index), [gates * self.hidden] * 2, 0)
        self.bias_w: Any = halves[0]
        self.bias_r: Any = halves[1]
        self.batch = static_dims(x, "the input")[0 if node.attr("layout", 0) else 1]
        self.index = index

    def initial(self, at: int) -> Any:
        """Return the state to begin with."""
        given = self.node.input(at)
        if given is None:
            bounded(self.batch, self.hidden)
            return constant(np.zeros((self.batch, self.hidden), dtype_of(self.w)))
        if self.node.attr("layout", 0):
            given = ops.transpose(given, axes=[1, 0, 2])
        return _slice(given, self.index)

    def projected(self, x: RelayExpr, weight: RelayExpr, bias: RelayExpr) -> list[Any]:
        """Return what each gate gets from an input or a state."""
        product = ops.nn.dense(x, weight)
        if bias is not None:
            product = ops.nn.bias_add(product, bias, axis=1)
        return split(product, [self.hidden] * self.gates, 1)


def _slice(x: RelayExpr, index: int) -> Any:
    return ops.take(x, constant(index, "int64"), axis=0)


class _Rnn(_Direction):
    def states(self) -> list[Any]:
        return [self.initial(5)]

    def step(self, x: RelayExpr, states: list[Any]) -> list[Any]:
        (a,), (b,) = self.projected(x, self.w, self.bias_w), self.projected(states[0], self.r, self.bias_r)
        return [self.activations[0](ops.add(a, b))]


class _Gru(_Direction):
    def states(self) -> list[Any]:
        return [self.initial(5)]

    def step(self, x: RelayExpr, states: list[Any]) -> list[Any]:
        f, g = self.activations
        (h,) = states
        own = self.projected(x, self.w, self.bias_w)
        if self.node.attr("linear_before_reset", 0):
            past = self.projected(h, self.r, self.bias_r)
            z, r = (f(ops.add(own[i], past[i])) for i in (0, 1))
            new = g(ops.add(own[2], ops.multiply(r, past[2])))
        else:
            weights = split(self.r, [self.hidden] * 3, 0)
            biases = [None] * 3 if self.bias_r is None else split(self.bias_r, [self.hidden] * 3, 0)
            z, r = (f(ops.add(own[i], self._one(h, weights[i], biases[i]))) for i in (0, 1))
            new = g(ops.add(own[2], self._one(ops.multiply(r, h), weights[2], biases[2])))
        return [ops.add(ops.multiply(ops.subtract(1.0, z), new), ops.multiply(z, h))]

    def _one(self, x: RelayExpr, weight: RelayExpr, bias: RelayExpr | None) -> Any:
        product = ops.nn.dense(x, weight)
        return product if bias is None else ops.nn.bias_add(product, bias, axis=1)


class _Lstm(_Direction):
    def states(self) -> list[Any]:
        return [self.initial(5), self.initial(6)]

    def step(self, x: RelayExpr, states: list[Any]) -> list[Any]:
        f, g, last = self.activations
        h, c = states
        gates = [
            ops.add(a, b)
            for a, b in zip(self.projected(x, self.w, self.bias_w), self.projected(h, self.r, self.bias_r), strict=True)
        ]
        peep = self.node.input(7)
        peep_i, peep_o, peep_f = [None] * 3 if peep is None else split(_slice(peep, self.index), [self.hidden] * 3, 0)
        keep = f(_peeking(gates[2], peep_f, c))
        enter = f(_peeking(gates[0], peep_i, c)) if not self.node.attr("input_forget", 0) else ops.subtract(1.0, keep)
        c = ops.add(ops.multiply(keep, c), ops.multiply(enter, g(gates[3])))
        out = f(_peeking(gates[1], peep_o, c))
        return [ops.multiply(out, last(c)), c]


def _peeking(gate: RelayExpr, weight: RelayExpr | None, cell: RelayExpr) -> Any:
    return gate if weight is None else ops.add(gate, ops.multiply(weight, cell))


_KINDS: dict[str, tuple[type[Any], int, tuple[str, ...]]] = {
    "RNN": (_Rnn, 1, ("Tanh",)),
    "GRU": (_Gru, 3, ("Sigmoid", "Tanh")),
    "LSTM": (_Lstm, 4, ("Sigmoid", "Tanh", "Tanh")),
}


@converter("RNN", "GRU", "LSTM")
def _recurrent(node: Node) -> Any:
    kind, gates, usual = _KINDS[node.operator]
    x, lengths = node.inputs[0], _lengths(node)
    batch_first = bool(node.attr("layout", 0))
    time = static_dims(x, "the input")[1 if batch_first else 0]
    if time > MAX_TURNS:
        raise ConversionError(f"sequences of more than {MAX_TURNS} steps are not unrolled, got {time}")
    steps = [ops.squeeze(s, axis=[int(batch_first)]) for s in split(x, [1] * time, int(batch_first))]
    direction = node.attr("direction", "forward")
    backwards = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}.get(direction)
    if backwards is None:
        raise ConversionError(f"direction must be forward, reverse or bidirectional, got {direction!r}")
    functions = _activations(node, usual, len(backwards))
    runs = [_run(kind(node, i, gates, functions[i]), steps, lengths, back) for i, back in enumerate(backwards)]
    outputs = [_joined([run[0][t] for run in runs], 0) for t in range(time)]
    whole = ops.stack(outputs, axis=0)  # (time, directions, batch, hidden)
    last = [_joined([run[1][i] for run in runs], 0) for i in range(len(runs[0][1]))]
    if batch_first:
        return [ops.transpose(whole, axes=[2, 0, 1, 3]), *(ops.transpose(s, axes=[1, 0, 2]) for s in last)]
    return [whole, *last]


def _joined(parts: list[Any], axis: int) -> Any:
    spread = [unsqueeze(p, [axis]) for p in parts]
    return ops.concatenate(spread, axis) if len(spread) > 1 else spread[0]


def _lengths(node: Node) -> Any:
    """Return the lengths of a batch's sequences, None if all are as long as the input."""
    given = node.input(4)
    value = None if given is None else known(given)
    time = dims_of(node.inputs[0])[1 if node.attr("layout", 0) else 0]
    return None if value is not None and (value == time).all() else given


def _run(direction: Any, steps: list[Any], lengths: RelayExpr, backwards: bool) -> tuple[list[Any], list[Any]]:
    """Return the outputs in the order of time, and the last state; past its end a sequence's state stands still."""
    states = direction.states()
    outputs: list[Any] = [None] * len(steps)
    for t in range(len(steps))[:: -1 if backwards else 1]:
        new = direction.step(steps[t], states)
        outputs[t] = new[0]
        if lengths is not None:
            inside = reshape(ops.less(constant(t, "int32"), ops.cast(lengths, "int32")), [direction.batch, 1])
            outputs[t] = ops.where(inside, new[0], 0.0)
            new = [ops.where(inside, a, b) for a, b in zip(new, states, strict=True)]
        states = new
    return outputs, states
