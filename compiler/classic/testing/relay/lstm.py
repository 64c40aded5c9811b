"""A recurrent network of long short-term memory: ``tvm.relay.testing.lstm``.

References
----------
S. Hochreiter and J. Schmidhuber, "Long Short-Term Memory", Neural Computation 9 (8), 1997.
"""

from __future__ import annotations

from compiler.classic.relay.scope_builder import ScopeBuilder
from compiler.classic.testing.relay import layers
from compiler.classic.testing.relay.init import create_workload
from compiler.classic.testing.relay.network import Workload
from compiler.relay.expr import Expr, Tuple, TupleGetItem, Var, var
from compiler.relay.function import Function
from compiler.relay.operator import call_op
from compiler.relay.ty import TensorType, TupleType


def lstm_cell(num_hidden: int, batch_size: int = 1, dtype: str = "float32", name: str = "") -> Function:
    """Return one step.

    The function takes the input, the two states, and weight and bias of the input and of the state, and returns the
    output and the tuple of output and memory.
    """
    state = TensorType((batch_size, num_hidden), dtype)
    weight, bias = TensorType((4 * num_hidden, num_hidden), dtype), TensorType((4 * num_hidden,), dtype)
    inputs = Var("inputs", state)
    states = Var("states", TupleType((state, state)))
    of_input = (Var("i2h_weight", weight), Var("i2h_bias", bias))
    of_state = (Var("h2h_weight", weight), Var("h2h_bias", bias))
    builder = ScopeBuilder()

    def dense(data: Expr, parameters: tuple[Var, Var], label: str) -> Expr:
        layer = layers.dense_add_bias(data, *parameters, units=4 * num_hidden, name=f"{name}{label}")
        return builder.let(label, layer)

    i2h = dense(inputs, of_input, "i2h")
    h2h = dense(TupleGetItem(states, 0), of_state, "h2h")
    gates = builder.let("gates", call_op("add", i2h, h2h))
    slices = builder.let("slice_gates", call_op("split", gates, indices_or_sections=4, axis=1))
    in_gate, forget, transform, out_gate = (
        builder.let(label, call_op(operator, TupleGetItem(slices, index)))
        for index, (label, operator) in enumerate(
            (("in_gate", "sigmoid"), ("forget_gate", "sigmoid"), ("in_transform", "tanh"), ("out_gate", "sigmoid"))
        )
    )
    memory = builder.let(
        "next_c",
        call_op("add", call_op("multiply", forget, TupleGetItem(states, 1)), call_op("multiply", in_gate, transform)),
    )
    output = builder.let("next_h", call_op("multiply", out_gate, call_op("tanh", memory)))
    builder.ret(builder.let("ret", Tuple((output, Tuple((output, memory))))))
    result = TupleType((state, TupleType((state, state))))
    return Function((inputs, states, *of_input, *of_state), builder.get(), result)


def get_net(iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32") -> Function:
    """Return a number of steps, each with weights and an input of its own, and the last one's output."""
    state = TensorType((batch_size, num_hidden), dtype)
    weight, bias = TensorType((4 * num_hidden, num_hidden), dtype), TensorType((4 * num_hidden,), dtype)
    builder = ScopeBuilder()
    zeros = builder.let("zeros", call_op("zeros", shape=(batch_size, num_hidden), dtype=dtype))
    states: Expr = builder.let("init_states", Tuple((zeros, zeros)))
    output: Expr = zeros
    params: list[Var] = []
    for step in range(iterations):
        data = var("data", state)
        weights = [
            var(f"{place}_{step}_{kind}", t)
            for place in ("i2h", "h2h")
            for kind, t in (("weight", weight), ("bias", bias))
        ]
        cell = lstm_cell(num_hidden, batch_size, dtype, f"lstm_{step}")
        result = builder.let(f"call_{step}", cell(data, states, *weights))
        output = builder.let(f"out_{step}", TupleGetItem(result, 0))
        states = builder.let(f"states_{step}", TupleGetItem(result, 1))
        params += [data, *weights]
    builder.ret(output)
    return Function(tuple(params), builder.get(), state)


def get_workload(iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32") -> Workload:
    """Return the network as a module, and first values of its parameters."""
    return create_workload(get_net(iterations, num_hidden, batch_size, dtype))
