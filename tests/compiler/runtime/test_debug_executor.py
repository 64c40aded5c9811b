"""Kernels are measured one by one, and results inside of a graph can be looked at."""

from __future__ import annotations

import json

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.contrib.debugger import debug_executor
from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule


@pytest.fixture(scope="module")
def module() -> debug_executor.GraphModuleDebug:
    x, w = relay.var("x", shape=(4, 4)), relay.var("w", shape=(4, 4))
    y = relay.nn.dense(relay.nn.dense(relay.nn.dense(x, w), w), w)
    graph, lib, _ = relay.build(IRModule.from_expr(relay.Function([x, w], relay.nn.softmax(y))), "llvm")
    made = debug_executor.create(graph, lib, tvm.cpu(0))
    made.set_input(x=np.eye(4, dtype="float32"), w=np.full((4, 4), 0.5, "float32"))
    return made


def test_every_kernel_is_measured(module: debug_executor.GraphModuleDebug) -> None:
    report = module.profile()
    assert [c.name.split("fused_")[1] for c in report.calls] == ["nn_dense"] * 3 + ["nn_softmax"]
    assert sum(c.share for c in report.calls) == pytest.approx(1)
    assert report.seconds > 0
    assert len(report.table().splitlines()) == 4 + 3
    assert len(report.csv().splitlines()) == 5
    assert len(json.loads(report.json())["calls"]) == 4
    times = module.run_individual(number=2, repeat=3)
    assert [len(t) for t in times] == [3] * 4


def test_results_inside_of_the_graph(module: debug_executor.GraphModuleDebug) -> None:
    # The buffer of the first product is used again by the third.
    np.testing.assert_allclose(module.debug_get_output(2).numpy(), np.full((4, 4), 0.5))
    np.testing.assert_allclose(module.debug_get_output(3).numpy(), np.full((4, 4), 1.0))
    np.testing.assert_allclose(
        module.debug_get_output("tvmgen_default_fused_nn_softmax").numpy(), np.full((4, 4), 0.25)
    )
    with pytest.raises(ArgumentError, match="no node 'nowhere'"):
        module.debug_get_output("nowhere")
