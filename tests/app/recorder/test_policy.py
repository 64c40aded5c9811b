"""While the user types, models run for a moment only."""

from __future__ import annotations

import numpy as np

from app.protocol import Request
from app.recorder.policy import CallPolicy
from app.recorder.recorder import Recorder
from app.recorder.script import Transcript
from compiler import relay
from compiler.ir.module import IRModule
from compiler.runtime.device import cpu


def test_a_model_that_is_broken_off_has_no_numbers_for_results() -> None:
    x = relay.var("x", shape=(4,))
    built = relay.build(IRModule.from_expr(relay.Function([x], relay.exp(x))), "llvm")
    executor = built["default"](cpu(0))
    executor.set_input("x", np.zeros(4, "float32"))
    executor.run()
    np.testing.assert_array_equal(executor.get_output(0).numpy(), np.ones(4, "float32"))
    transcript = Transcript()
    policy = CallPolicy(Request(mode="compile"), Recorder(), transcript, lambda line: None, None)
    assert not policy.has_broken_off()
    assert policy.stop_graph(executor)
    assert policy.has_broken_off()
    assert np.isnan(executor.get_output(0).numpy()).all()
    assert "not run to its end" in transcript.finished()[0].text
