"""The fastest record of each convolution of a model is chosen, written, and what the model is built with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic import autotvm
from compiler.classic.autotvm.graph_tuner import BaseGraphTuner, DPTuner, PBQPTuner
from compiler.classic.autotvm.task.record import load_from_file
from compiler.classic.contrib import graph_executor
from compiler.ir.error import ArgumentError
from compiler.ir.transform import PassContext

TARGET = "llvm -mcpu=haswell"
CONV = relay.op.get("nn.conv2d")
SHAPES = {"data": (1, 16, 14, 14)}
RANDOM = np.random.default_rng(0)
WEIGHTS = {
    name: tvm.nd.array(RANDOM.standard_normal(shape).astype("float32") / 8)
    for name, shape in {"w": (16, 16, 1, 1), "v": (32, 16, 3, 3)}.items()
}


def _model() -> Any:
    x = relay.var("data", shape=SHAPES["data"])
    w, v = (relay.var(name, shape=array.shape) for name, array in WEIGHTS.items())
    for _ in range(2):
        x = relay.nn.relu(relay.nn.conv2d(x, w, channels=16, kernel_size=(1, 1)))
    x = relay.nn.conv2d(x, v, strides=(2, 2), channels=32, kernel_size=(3, 3))
    return tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(x), x))


def _record(task: Any, index: int, seconds: float, error: int = 0) -> Any:
    measured = autotvm.MeasureResult((seconds,), error, 0.1, 0.0)
    return autotvm.MeasureInput(task.target, task, task.config_space.get(index)), measured


@pytest.mark.parametrize("tuner", [DPTuner, PBQPTuner])
def test_a_model_is_built_with_the_fastest_of_each_convolution(tuner: type[BaseGraphTuner], tmp_path: Path) -> None:
    mod = _model()
    tasks = autotvm.task.extract_from_program(mod["main"], target=TARGET, params=WEIGHTS, ops=(CONV,))
    assert len(tasks) == 2, "two calls are of one kind"
    records = [
        _record(task, index, seconds, error)
        for task in tasks
        for index, seconds, error in ((3, 3e-3, 0), (5, 1e-3, 0), (7, 2e-3, 0), (2, 1e-9, 4))
    ]
    executor = tuner(mod["main"], SHAPES, records, [CONV], TARGET)
    with pytest.raises(ArgumentError, match=r"before run\(\)"):
        executor.get_optimal_records()
    executor.benchmark_layout_transform(min_exec_num=2000)
    executor.run()
    log = tmp_path / "graph.log"
    executor.write_opt_sch2record_file(str(log))
    chosen = {inp.task.workload: inp.config.index for inp, _ in load_from_file(log)}
    assert chosen == {task.workload: 5 for task in tasks}
    with autotvm.apply_graph_best(str(log)) as context, PassContext(opt_level=3):
        lib = relay.build(mod, TARGET, params=WEIGHTS)
        assert [context.query(tvm.target.Target(TARGET), task.workload).index for task in tasks] == [5, 5]
    with PassContext(opt_level=0):
        plain = relay.build(mod, TARGET, params=WEIGHTS)
    data = RANDOM.standard_normal(SHAPES["data"]).astype("float32")
    found, expected = (graph_executor.GraphModule(each["default"](tvm.cpu(0))) for each in (lib, plain))
    for each in (found, expected):
        each.run(data=data)
    np.testing.assert_allclose(found.get_output(0).numpy(), expected.get_output(0).numpy(), 1e-4, 1e-5)


def test_records_of_other_graphs_are_refused() -> None:
    with pytest.raises(ArgumentError, match="no record is of one of the 2 tasks"):
        DPTuner(_model(), SHAPES, [], [CONV], TARGET)
    with pytest.raises(ArgumentError, match=r"ops must be a list of operators, as relay\.op\.get returns them, got"):
        DPTuner(_model(), SHAPES, [], ["nn.conv2d"], TARGET)
    with pytest.raises(ArgumentError, match="input_shapes must be a dict of a shape by the input's name, got None"):
        DPTuner(_model(), None, [], [CONV], TARGET)


def test_several_records_of_a_workload_are_for_its_calls_in_order() -> None:
    (task, _) = autotvm.task.extract_from_program(_model(), target=TARGET, params=WEIGHTS, ops=(CONV,))
    target = tvm.target.Target(TARGET)
    with autotvm.apply_graph_best([_record(task, 3, 1.0), _record(task, 4, 1.0)]) as context:
        assert [context.query(target, task.workload).index for _ in range(3)] == [3, 4, 4]
