"""Kernels are measured one by one, and results inside of a graph can be looked at."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.contrib.debugger import debug_executor
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
    assert [len(t) for t in times] == [3] * 6
    assert times[0] == times[1] == [0.0] * 3
    assert min(min(t) for t in times[2:]) > 0
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


def test_what_is_known_of_the_nodes_of_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    x = relay.var("x", shape=(2, 4))
    halves = relay.split(relay.nn.relu(x), 2, axis=1)
    lib = relay.build(IRModule.from_expr(relay.Function([x], halves.tuple_value)), "llvm")
    made = debug_executor.create(lib.get_graph_json(), lib.get_lib(), tvm.cpu(0))
    made.set_input(x=np.arange(8, dtype="float32").reshape(2, 4))
    made.run()
    assert "Total_time" in capsys.readouterr().out
    datum = made.debug_datum
    assert datum is not None
    given, split = datum.get_graph_nodes()
    assert (given["op"], given["name"], split["inputs"]) == ("param", "x", ["x"])
    assert [datum.get_graph_node_output_num(node) for node in (given, split)] == [1, 2]
    assert datum.get_graph_node_shapes() == [[2, 4], [2, 2], [2, 2]]
    assert datum.get_graph_node_dtypes() == ["float32"] * 3
    results = datum.get_output_tensors()
    assert results[f"{split['name']}____topo-index:1____output-num:1"].numpy().tolist() == [[2, 3], [6, 7]]


def test_a_run_leaves_its_graph_times_and_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = relay.var("x", shape=(2, 4))
    halves = relay.split(relay.nn.relu(x), 2, axis=1)
    out = relay.Tuple([relay.nn.dense(halves[0], halves[1]), relay.exp(halves[1])])
    lib = relay.build(IRModule.from_expr(relay.Function([x], out)), "llvm")
    graph = lib.get_graph_json()
    data = np.array([[-1, 2, 3, -4], [5, -6, 7, 8]], "float32")
    made = debug_executor.create(graph, lib.get_lib(), [tvm.cpu(0)])
    folder = Path(made._dump_path or "")
    assert folder.name == "_tvmdbg_device_CPU_0"
    dumped = json.loads((folder / "_tvmdbg_graph_dump.json").read_text())
    names = [node["name"] for node in json.loads(graph)["nodes"]]
    assert [node["name"] for node in dumped["nodes"]] == names
    assert dumped["nodes"][0]["op"] == "param"
    assert dumped["nodes"][1]["inputs"] == ["x"]
    made.run(x=data)
    expected = np.maximum(data, 0)
    np.testing.assert_allclose(made.get_output(0).numpy(), expected[:, :2] @ expected[:, 2:].T, rtol=1e-5)
    assert "Total_time" in capsys.readouterr().out
    trace = json.loads((folder / "_tvmdbg_execution_trace.json").read_text())
    assert [event["name"] for event in trace["traceEvents"][::2]] == names
    assert [event["ph"] for event in trace["traceEvents"][:2]] == ["B", "E"]
    tensors = tvm.runtime.load_param_dict((folder / "output_tensors.params").read_bytes())
    np.testing.assert_array_equal(tensors["x____topo-index:0____output-num:0"].numpy(), data)
    results = [value.numpy() for key, value in tensors.items() if "topo-index:0" not in key]
    assert any(value.shape == (2, 2) and np.allclose(value, np.exp(expected[:, 2:])) for value in results)
    made.exit()
    assert not folder.exists()
    kept = debug_executor.create(graph, lib.get_lib(), tvm.cpu(0), dump_root=tmp_path)
    kept.exit()
    assert (tmp_path / folder.name / "_tvmdbg_graph_dump.json").exists()


def test_a_run_says_how_kernels_are_measured(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    x = relay.var("x", shape=(4, 4))
    graph, lib, _ = relay.build(IRModule.from_expr(relay.Function([x], relay.nn.dense(relay.tanh(x), x))), "llvm")
    made = debug_executor.create(graph, lib, tvm.cpu(0), dump_root=tmp_path)
    made.run(number=1, repeat=3, min_repeat_ms=0, sort_by_time=False, x=np.eye(4, dtype="float32"))
    rows = [line for line in capsys.readouterr().out.splitlines() if "fused" in line]
    assert ["tanh" in rows[0], "dense" in rows[1]] == [True, True]
    assert all(len(json.loads(row[row.index("[") :])) == 3 for row in rows)


def test_a_graph_runs_on_a_device() -> None:
    lib = relay.build(IRModule.from_expr(relay.Function([x := relay.var("x", shape=(2,))], relay.exp(x))), "llvm")
    for devices in ("cpu", []):
        with pytest.raises(ArgumentError, match="device must be a device or a sequence of devices"):
            tvm.contrib.graph_executor.create(lib.get_graph_json(), lib.get_lib(), devices)
