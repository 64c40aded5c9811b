"""Recurrent layers over a whole sequence: ``nn.recurrent``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any, cast

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import BOOL, one_of
from compiler.ir.expr import RelayExpr
from compiler.ir.extension import extension_point
from compiler.ir.types import Type
from compiler.relay.binding import bind
from compiler.relay.expr import Call, Tuple, TupleGetItem, Var, const
from compiler.relay.function import Function
from compiler.relay.op.common import check_same_extent
from compiler.relay.op.concat_split import fields
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register, tuple_function
from compiler.relay.operator import Array, Input, RelationError, Types, call_op
from compiler.relay.ty import TensorType, TupleType
from compiler.target.target import Target
from compiler.te.definition.tensor import Tensor
from compiler.topi.nn.recurrent import GATES, UNITS
from compiler.topi.nn.recurrent import recurrent as definition

Product = Callable[[Any, int, int], Sequence[Any]]
"""``product(state, begin, end)`` returns what a state gives the gates from ``begin`` up to, and without, ``end``."""


class RecurrentAttrs(Attrs):
    cell: str = attr_field(one_of(*GATES), "Which layer it is.", "lstm")
    activation: str = attr_field(one_of("tanh", "relu"), "Function of the cell ``rnn``.", "tanh")
    linear_before_reset: bool = attr_field(
        BOOL, "Whether the cell ``gru`` multiplies by the reset gate after the product with the weight.", True
    )
    reverse: bool = attr_field(BOOL, "Whether the last input is the first step.", False)


def _relation(types: Types, attrs: RecurrentAttrs) -> Type:
    """The outputs, shape ``(time, batch, hidden)``, and the last states, shape ``(batch, hidden)`` each."""
    gates, weight = tensor(types[0], "gates", 3), tensor(types[1], "weight", 3)
    bias, states = tensor(types[2], "bias", 1), fields(types[3])
    time, batch, width = gates.dims
    blocks, hidden, panel = weight.dims
    count = 2 if attrs.cell == "lstm" else 1
    if len(states) != count:
        raise RelationError(f"the cell {attrs.cell} has {count} states, got {len(states)}")
    if isinstance(hidden, int) and isinstance(blocks, int) and blocks != -(-hidden // UNITS):
        raise RelationError(f"{hidden} units are {-(-hidden // UNITS)} blocks of {UNITS}, the weight has {blocks}")
    check_same_extent(panel, GATES[attrs.cell] * UNITS, "the last axis of weight")
    if isinstance(blocks, int):
        check_same_extent(width, blocks * GATES[attrs.cell] * UNITS, "the last axis of gates")
    check_same_extent(bias.dims[0], width, "bias and the last axis of gates")
    for state in states:
        if len(state.dims) != 2:
            raise RelationError(f"states must be (batch, hidden), got {state}")
        check_same_extent(state.dims[0], batch, "the batch of a state and that of gates")
        check_same_extent(state.dims[1], hidden, "the units of a state and those of weight")
    if {gates.dtype, weight.dtype, bias.dtype, *(s.dtype for s in states)} - {gates.dtype} or gates.dtype not in (
        "float32",
        "float64",
    ):
        raise RelationError(f"all tensors must be float32 or all float64, got {', '.join(map(str, types))}")
    return TupleType((TensorType((time, batch, hidden), gates.dtype), *states))


def _compute(attrs: RecurrentAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    gates, weight, bias, *states = inputs
    return definition(gates, weight, bias, states, *_form(attrs))


def _form(attrs: RecurrentAttrs) -> tuple[str, str, bool, bool]:
    return attrs.cell, attrs.activation, attrs.linear_before_reset, attrs.reverse


def _step(
    attrs: RecurrentAttrs, own: Sequence[Any], product: Product, states: Sequence[Any], f: Mapping[str, Any]
) -> list[Any]:
    """Return the states after a step, as arrays or as expressions; ``own`` is what the input gives the gates."""
    sigmoid, tanh = f["sigmoid"], f["tanh"]
    h = states[0]
    if attrs.cell == "rnn":
        return [f[attrs.activation](own[0] + product(h, 0, 1)[0])]
    if attrs.cell == "lstm":
        enter, keep, new, out = (a + b for a, b in zip(own, product(h, 0, 4), strict=True))
        memory = sigmoid(keep) * states[1] + sigmoid(enter) * tanh(new)
        return [sigmoid(out) * tanh(memory), memory]
    past = product(h, 0, 3 if attrs.linear_before_reset else 2)
    reset, update = (sigmoid(own[i] + past[i]) for i in (0, 1))
    new = tanh(own[2] + (reset * past[2] if attrs.linear_before_reset else product(reset * h, 2, 3)[0]))
    return [new + update * (h - new)]


def _numpy_sigmoid(x: Array) -> Array:
    with np.errstate(over="ignore"):
        made: Array = 1 / (1 + np.exp(-x))
    return made


_NUMPY = {"sigmoid": _numpy_sigmoid, "tanh": np.tanh, "relu": lambda x: np.maximum(x, 0)}


def _reference(attrs: RecurrentAttrs, gates: Array, weight: Array, bias: Array, states: Sequence[Array]) -> Any:
    time, batch, width = gates.shape
    blocks, hidden, panel = weight.shape
    count = panel // UNITS

    def by_gate(x: Array) -> Array:  # (…, blocks * gates * units) -> (gates, …, hidden)
        split = x.reshape(*x.shape[:-1], blocks, count, UNITS)
        return np.moveaxis(split, -2, 0).reshape(count, *x.shape[:-1], blocks * UNITS)[..., :hidden]

    own, biases = by_gate(gates), by_gate(bias)
    weights = by_gate(weight.transpose(1, 0, 2).reshape(hidden, width))

    def product(state: Array, begin: int, end: int) -> list[Array]:
        return [state @ weights[gate] + biases[gate] for gate in range(begin, end)]

    outputs, now = np.empty((time, batch, hidden), gates.dtype), list(states)
    for t in range(time)[:: -1 if attrs.reverse else 1]:
        now = _step(attrs, list(own[:, t]), product, now, _NUMPY)
        outputs[t] = now[0]
    return (outputs, *now)


_GRAPH = {
    "sigmoid": lambda x: call_op("sigmoid", x),
    "tanh": lambda x: call_op("tanh", x),
    "relu": lambda x: call_op("nn.relu", x),
}


def _unrolled(attrs: RecurrentAttrs, args: Sequence[RelayExpr], types: Sequence[Type]) -> Tuple:
    """Return the layer as a graph of other operators, a step behind another."""
    gates, weight, bias, given = args
    time, batch, width = tensor(types[0], "gates").concrete_shape
    blocks, hidden, panel = tensor(types[1], "weight").concrete_shape
    count = panel // UNITS

    def by_gate(x: RelayExpr, rows: int) -> list[RelayExpr]:  # (rows, blocks * gates * units) -> (rows, hidden) each
        split = call_op("reshape", x, newshape=(rows, blocks, count, UNITS))
        each = [call_op("take", split, const(gate, "int64"), axis=2) for gate in range(count)]
        whole = [call_op("reshape", part, newshape=(rows, blocks * UNITS)) for part in each]
        return [_part(part, 1, 0, hidden) for part in whole]

    own = by_gate(call_op("reshape", gates, newshape=(time * batch, width)), time * batch)
    rows = call_op("reshape", call_op("transpose", weight, axes=(1, 0, 2)), newshape=(hidden, width))
    weights: list[RelayExpr] = [call_op("transpose", part, axes=(1, 0)) for part in by_gate(rows, hidden)]
    biases = [call_op("reshape", b, newshape=(hidden,)) for b in by_gate(bias, 1)]
    joined: dict[tuple[int, int], tuple[RelayExpr, RelayExpr]] = {}

    def product(state: RelayExpr, begin: int, end: int) -> list[RelayExpr]:
        if (begin, end) not in joined:
            parts = (Tuple(tuple(each[begin:end])) for each in (weights, biases))
            of_states, of_gates = (call_op("concatenate", part, axis=0) for part in parts)
            joined[begin, end] = of_states, of_gates
        w, b = joined[begin, end]
        whole = call_op("nn.bias_add", call_op("nn.dense", state, w), b, axis=1)
        return [_part(whole, 1, i * hidden, (i + 1) * hidden) for i in range(end - begin)]

    outputs: list[RelayExpr] = []
    now: list[RelayExpr] = [TupleGetItem(given, i) for i in range(2 if attrs.cell == "lstm" else 1)]
    for t in range(time)[:: -1 if attrs.reverse else 1]:
        now = _step(attrs, [_part(x, 0, t * batch, (t + 1) * batch) for x in own], product, now, _GRAPH)
        outputs.append(now[0])
    whole = call_op("stack", Tuple(tuple(outputs[:: -1 if attrs.reverse else 1])), axis=0)
    return Tuple((whole, *now))


def _part(x: RelayExpr, axis: int, begin: int, end: int) -> Call:
    return call_op("strided_slice", x, begin=(begin,), end=(end,), strides=(1,), axes=(axis,))


def _for_threads(attrs: RecurrentAttrs, args: Sequence[RelayExpr], types: Sequence[Type]) -> Tuple | None:
    """Return the layer unrolled for targets whose kernels have many threads."""
    target = Target.current()
    return _unrolled(attrs, args, types) if target is not None and "gpu" in target.keys else None


def _gradient(call: Call, grad: RelayExpr) -> list[RelayExpr]:
    """That of the unrolled layer, as the pass over graphs derives it."""
    first_order = extension_point("differentiation").find("first_order")
    assert first_order is not None
    types, result = [arg.checked_type for arg in call.args], call.checked_type
    assert isinstance(result, TupleType)
    inputs = [Var(f"x{i}", t) for i, t in enumerate(types)]
    weights = [Var(f"grad{i}", t) for i, t in enumerate(result.fields)]
    parts = zip(_unrolled(RecurrentAttrs.of(call), inputs, types).fields, weights, strict=True)
    total = reduce(partial(call_op, "add"), [call_op("sum", call_op("multiply", *part)) for part in parts])
    both = cast(Callable[..., Function], first_order())(Function((*inputs, *weights), total), None).body
    assert isinstance(both, Tuple)
    grads = [TupleGetItem(grad, i) for i in range(len(weights))]
    bound = bind(both.fields[1], dict(zip((*inputs, *weights), (*call.args, *grads), strict=True)))
    return list(bound.fields[: len(inputs)])


recurrent = tuple_function(
    register(
        "nn.recurrent",
        doc="Run an LSTM, a GRU or a simple recurrent layer over a sequence.",
        inputs={
            "gates": "Inputs times weights, for all steps, shape ``(time, batch, blocks * gates * 16)``: of a block of"
            " 16 units one gate after another, LSTM's input, forget, memory, output, or GRU's reset, update, new.",
            "weight": "Weights of the state, shape ``(blocks, hidden, gates * 16)``; zeros beyond the last unit.",
            "bias": "Added to the product of state and weight, shape ``(blocks * gates * 16,)``.",
            "states": Input(
                "State to begin with, and an LSTM's memory, shape ``(batch, hidden)`` each.",
                is_list=True,
                may_be_empty=False,
            ),
        },
        attrs=RecurrentAttrs,
        relation=_relation,
        compute=_compute,
        reference=_reference,
        gradient=_gradient,
        rules={"FTVMQnnLegalize": _for_threads},
    ),
    lambda call: 3 if RecurrentAttrs.of(call).cell == "lstm" else 2,
)
