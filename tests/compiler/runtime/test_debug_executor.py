"""Kernels are measured one by one, and results inside of a graph can be looked at."""

from __future__ import annotations

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
    assert [str(c["Name"]).split("fused_")[1] for c in report.calls] == ["nn_dense"] * 3 + ["nn_softmax"]
    assert 0 < sum(c["Percent"].percent for c in report.calls) <= 100
    first = report.calls[0]
    assert first["Duration (us)"].microseconds > 0
    assert first["Argument Shapes"] == "float32[4, 4], float32[4, 4], float32[4, 4]"
    # One kernel is called three times: it is one row where calls are aggregated.
    assert report.table().count("nn_dense") == 1
    assert report.table(aggregate=False).count("nn_dense") == 3
    assert len({c["Hash"] for c in report.calls}) == 2
    times = module.run_individual(number=2, repeat=3)
    assert [len(t) for t in times] == [3] * 4
    assert module.run_individual_node(2, number=2, repeat=3).min > 0
    assert module.run_individual_node(0, repeat=2).results == [0.0, 0.0]


def test_results_inside_of_the_graph(module: debug_executor.GraphModuleDebug) -> None:
    # The buffer of the first product is used again by the third.
    np.testing.assert_allclose(module.debug_get_output(2).numpy(), np.full((4, 4), 0.5))
    np.testing.assert_allclose(module.debug_get_output(3).numpy(), np.full((4, 4), 1.0))
    np.testing.assert_allclose(
        module.debug_get_output("tvmgen_default_fused_nn_softmax").numpy(), np.full((4, 4), 0.25)
    )
    with pytest.raises(ArgumentError, match="no node 'nowhere'"):
        module.debug_get_output("nowhere")
