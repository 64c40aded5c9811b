"""Models for the visitor's GPU: what a child records and prepares."""

from __future__ import annotations

from base64 import b64decode

import numpy as np
import pytest

from app.artifacts import Options
from app.protocol import Failed, Message, RecordedFunction, Request
from app.recorder.measuring import recorded_graph
from app.recorder.measuring.random_inputs import in_range, random_arrays
from app.recorder.session import Session
from compiler import relay
from compiler.ir.serialization.json_format import save_json
from tests.app.recorder.gpus.test_webgpu import prepared, program_of, values_of

MODEL = """\
import numpy as np
import tvm
from tvm import relay

x, w = relay.var("x", shape=(1, 4)), relay.var("w", shape=(3, 4))
mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))
lib = relay.build(mod, target="webgpu", params={"w": np.arange(12, dtype="float32").reshape(3, 4) - 5})
"""
WEIGHTS = np.arange(12, dtype="float32").reshape(3, 4) - 5


def recorded(script: str) -> RecordedFunction:
    messages: list[Message] = []
    Session(Request(mode="record", script=script, options=Options()), messages.append, guarded=False).run()
    return [message for message in messages if isinstance(message, RecordedFunction)][-1]


def test_a_model_is_recorded_with_its_weights_and_prepared() -> None:
    made = recorded(MODEL)
    assert made.program == ""  # nothing that the server would measure
    program = program_of(made.graph, seed=3)
    assert [argument.name for argument in program.arguments] == ["x", "output 0"]
    [step] = program.steps
    weights = [memory for memory in step.memory if memory.values]
    assert [np.frombuffer(b64decode(memory.values), "float32").size for memory in weights] == [12]
    assert [launch.kernel in step.source for launch in step.launches] == [True] * len(step.launches)
    [x, _] = random_arrays([(1, 4), (1, 3)], ["float32"] * 2, 3)
    [result] = program.results
    np.testing.assert_allclose(values_of(result).reshape(1, 3), np.maximum(x @ WEIGHTS.T, 0), rtol=1e-6)


CONVOLUTION = """\
import tvm
from tvm import relay

x, w = relay.var("x", shape=(1, 3, 24, 24)), relay.var("w", shape=(64, 3, 7, 7))
y = relay.nn.conv2d(x, w, kernel_size=(7, 7), channels=64, strides=(2, 2), padding=(3, 3))
lib = relay.build(tvm.IRModule.from_expr(relay.Function([x, w], y)), target="webgpu")
"""


def test_kernels_of_models_keep_the_limits_of_every_gpu() -> None:
    [step] = program_of(recorded(CONVOLUTION).graph).steps
    for launch in step.launches:
        assert launch.shared_bytes <= 16 << 10
        assert np.prod(launch.threads) <= 256


LARGE = MODEL.replace("(3, 4)", "(60000, 4)").replace("arange(12", "arange(240000")


def test_large_weights_are_made_of_the_seed_in_their_range() -> None:
    made = recorded(LARGE)
    assert len(made.graph) < 10_000
    program = program_of(made.graph, seed=3)
    assert "1 large weights being random numbers in the range of its own" in program.reference
    [x, weight, output] = program.arguments
    assert (x.range, output.range) == (None, None)
    assert weight.range == pytest.approx((-5, 240_000 - 6), abs=1)
    [data, numbers, _] = random_arrays([(1, 4), (60_000, 4), (1, 60_000)], ["float32"] * 3, 3)
    weights = in_range(numbers, *weight.range)
    assert weights.dtype == "float32"
    assert weight.range[0] <= weights.min() < weights.max() <= weight.range[1]
    [result] = program.results
    np.testing.assert_allclose(values_of(result).reshape(1, -1), np.maximum(data @ weights.T, 0), rtol=1e-5)


def test_a_model_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_graph, "MAX_PROGRAM", 1_000)
    made = recorded(LARGE)
    assert made.graph == ""
    assert "characters as text; at most 1,000 are taken" in made.reason
    size = int(made.reason.partition("the model has ")[2].partition(" ")[0].replace(",", ""))
    monkeypatch.setattr(recorded_graph, "MAX_PROGRAM", size)
    assert len(recorded(LARGE).graph) == size
    monkeypatch.setattr(recorded_graph, "MAX_PROGRAM", size - 1)
    assert recorded(LARGE).graph == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("graph\n", "the ranges of the weights cannot be read"),
        ("graph\n{}\n", "load_json"),
        ("graph\n{}\n[]", "load_json"),
        ('graph\n{}\n{"root": 1}', "load_json"),
        ("graph\n" + "[" * 1000, "the ranges of the weights cannot be read"),
        ('graph\n{"x": [1]}\n{}', "the ranges of the weights cannot be read"),
        ("graph\n{}\n" + save_json(relay.var("x", shape=(2,))), "the text is not that of a graph"),
    ],
)
def test_what_is_no_graph_is_refused(text: str, words: str) -> None:
    answer = prepared(text)
    assert isinstance(answer, Failed)
    assert words in answer.problem.message


def test_a_model_without_kernels_is_refused() -> None:
    made = recorded(MODEL.replace("relay.nn.relu(relay.nn.dense(x, w))", "relay.reshape(x, (4, 1))"))
    answer = prepared(made.graph)
    assert isinstance(answer, Failed)
    assert "kernel" in answer.problem.message
