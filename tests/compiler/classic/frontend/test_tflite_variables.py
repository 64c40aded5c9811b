"""Models of TensorFlow Lite whose variables persist between runs, beside its interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.contrib import graph_executor
from compiler.relay.frontend.shared.errors import ConversionError

pytest.importorskip("tflite")
tf = pytest.importorskip("tensorflow")
from tests.compiler.classic.frontend.tensorflow_models import numbers  # noqa: E402


class Streaming(tf.Module):  # type: ignore[misc]
    """A dense layer on the last three rows, and what it has counted."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = tf.Variable(numbers(3, 4), name="rows")
        self.count = tf.Variable([5.0], name="count")
        self.fixed = tf.Variable([0.5], name="fixed")

    def run(self, x: Any) -> Any:
        self.rows.assign(tf.concat([self.rows[1:], x], 0))
        self.count.assign_add([1.0])
        return tf.tanh(self.rows @ numbers(4, 2)) + self.count * self.fixed


class Choosing(Streaming):
    """A variable that is assigned in one branch."""

    def run(self, x: Any) -> Any:
        tf.cond(tf.reduce_sum(x) > 0, lambda: self.count.assign_add([1.0]), lambda: self.count.assign_add([2.0]))
        return x + self.count


def file_of(module: Streaming) -> bytes:
    function = tf.function(module.run, input_signature=[tf.TensorSpec((1, 4))])
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()], module)
    converter.experimental_enable_resource_variables = True
    data: bytes = converter.convert()
    return data


def test_variables_that_a_run_assigns_are_taken_and_returned() -> None:
    data = file_of(Streaming())
    mod, params = relay.frontend.from_tflite(data)
    x, *states = (p.name_hint for p in mod["main"].params if p.name_hint not in params)
    assert len(states) == 2
    values = relay.create_executor("debug", mod=mod).evaluate(mod["initial_states"])()
    executor = graph_executor.GraphModule(relay.build(mod, "llvm", params=params)["default"](tvm.cpu(0)))
    executor.set_input(None, None, **dict(zip(states, values, strict=True)))
    interpreter = tf.lite.Interpreter(model_content=data)
    interpreter.allocate_tensors()
    for turn in range(4):
        row = numbers(1, 4) * (turn + 1)
        executor.run(**{x: row})
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], row)
        interpreter.invoke()
        wanted = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        np.testing.assert_allclose(executor.get_output(0).numpy(), wanted, rtol=1e-5, atol=1e-6)
        for i, state in enumerate(states):
            executor.set_input(state, executor.get_output(i + 1))


def test_a_variable_that_a_branch_assigns_is_refused() -> None:
    with pytest.raises(ConversionError, match="is assigned in a branch or a loop"):
        relay.frontend.from_tflite(file_of(Choosing()))
