"""While the user types, models run for a moment only."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from app.protocol import Request, Snapshot
from app.recorder.recorder import Recorder
from app.recorder.scripts import allowance
from app.recorder.scripts import policy as policies
from app.recorder.scripts.policy import GRAPH_PATIENCE_SECONDS, GRAPH_SECONDS, CallPolicy
from app.recorder.scripts.script import Transcript
from compiler import relay
from compiler.ir.module import IRModule
from compiler.runtime.device import cpu
from compiler.runtime.graph.graph_executor import GraphExecutor
from tests.app.recorder.serving import served


def executor_of_a_model() -> GraphExecutor:
    x = relay.var("x", shape=(4,))
    built = relay.build(IRModule.from_expr(relay.Function([x], relay.exp(x))), "llvm")
    executor = built["default"](cpu(0))
    executor.set_input("x", np.zeros(4, "float32"))
    executor.run()
    return executor


def test_a_model_that_is_broken_off_has_no_numbers_for_results(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = executor_of_a_model()
    np.testing.assert_array_equal(executor.get_output(0).numpy(), np.ones(4, "float32"))
    transcript = Transcript()
    policy = CallPolicy(Request(mode="compile"), Recorder(), transcript, lambda line: None, None)
    assert not policy.has_broken_off()
    assert policy.stop_graph(executor)
    assert policy.has_broken_off()
    assert np.isnan(executor.get_output(0).numpy()).all()
    assert "a model of more than 12 kernels is not run while you type" in transcript.finished()[0].text
    for starved, why in ((False, "the model runs for more than 2.5 s"), (True, "the server is busy")):
        assert not policy.starved
        monkeypatch.setattr(policy, "_graph_allowance", SimpleNamespace(starved=starved, left=0.0))
        assert policy.stop_graph(executor)
        assert why in transcript.finished()[-1].text
    assert policy.starved, "on an idle machine it may come to its end"


@pytest.mark.parametrize(
    ("elapsed", "worked", "stops"),
    [
        (GRAPH_SECONDS + 1, GRAPH_SECONDS / 2, False),
        (GRAPH_SECONDS + 1, GRAPH_SECONDS + 1, True),
        (GRAPH_PATIENCE_SECONDS + 1, 0.0, True),
    ],
)
def test_a_model_that_waits_for_a_processor_has_more_time(
    monkeypatch: pytest.MonkeyPatch, elapsed: float, worked: float, stops: bool
) -> None:
    executor = executor_of_a_model()
    policy = CallPolicy(Request(mode="compile"), Recorder(), Transcript(), lambda line: None, None)
    clock = SimpleNamespace(monotonic=lambda: 0.0, process_time=lambda: 0.0)
    monkeypatch.setattr(allowance, "time", clock)
    policy.before_call(executor, "run", [])
    assert policy.stop_graph(executor) is None
    clock.monotonic, clock.process_time = (lambda: elapsed), (lambda: worked)
    assert policy.stop_graph(executor) is (True if stops else None)


MODEL = """
import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor
x = relay.var("x", shape=(4,))
built = relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.exp(x))), "llvm")
module = graph_executor.GraphModule(built["default"](tvm.cpu()))
module.set_input("x", np.zeros(4, "float32"))
module.run()
"""


@pytest.mark.parametrize("starved", [True, False], ids=["busy machine", "slow model"])
def test_an_answer_without_what_a_model_computes_is_kept_unless_the_machine_was_busy(
    monkeypatch: pytest.MonkeyPatch, starved: bool
) -> None:
    monkeypatch.setattr(policies, "Allowance", lambda *_: SimpleNamespace(starved=starved, left=0.0))
    snapshots = [message for message in served(Request(mode="compile", script=MODEL)) if isinstance(message, Snapshot)]
    assert "live preview" in snapshots[-1].answer.console[-1].text
    assert snapshots[-1].answer.hurried == starved
