"""The executor's interface, and its answers to what does not fit."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.contrib import graph_executor
from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.runtime.graph import parse_graph


@pytest.fixture(scope="module")
def lib() -> Any:
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
    return relay.build(IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w))), "llvm")


@pytest.fixture
def module(lib: Any) -> graph_executor.GraphModule:
    return graph_executor.GraphModule(lib["default"](tvm.cpu(0)))


X, W = np.arange(6, dtype="float32").reshape(2, 3), np.ones((4, 3), "float32")


def test_inputs_by_name_by_index_and_from_other_types(module: graph_executor.GraphModule) -> None:
    module.set_input("x", X.astype("float64"))
    module.set_input(1, tvm.nd.array(W))
    module.run()
    np.testing.assert_array_equal(module.get_output(0).numpy(), X @ W.T)
    out = tvm.nd.empty((2, 4))
    assert module.get_output(0, out) is out
    np.testing.assert_array_equal(module.get_input("w").numpy(), W)
    assert (module.get_num_inputs(), module.get_num_outputs()) == (2, 1)
    assert (module.get_input_index("w"), module.get_input_index("v")) == (1, -1)
    assert module.get_input_info() == ({"x": (2, 3), "w": (4, 3)}, {"x": "float32", "w": "float32"})


def test_inputs_may_have_the_names_of_parameters() -> None:
    key, value = relay.var("key", shape=(2, 3)), relay.var("value", shape=(4, 3))
    lib = relay.build(IRModule.from_expr(relay.Function([key, value], relay.nn.dense(key, value))), "llvm")
    module = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    module.set_input(key=X, value=W)
    module.run()
    np.testing.assert_array_equal(module.get_output(0).numpy(), X @ W.T)
    module.set_input("value", 2 * W)
    module.run(key=X + 1)
    np.testing.assert_array_equal(module.get_output(0).numpy(), 2 * (X + 1) @ W.T)


def test_what_names_no_input_is_refused(module: graph_executor.GraphModule) -> None:
    with pytest.raises(ArgumentError, match="set_input: key must be the name or the index of an input, got"):
        module.set_input(X, W)


def test_functions_by_name(module: graph_executor.GraphModule) -> None:
    module["set_input"]("x", X)
    module["set_input"]("w", W)
    module["run"]()
    np.testing.assert_array_equal(module["get_output"](0).numpy(), X @ W.T)
    with pytest.raises(ArgumentError, match="no function 'walk'"):
        module["walk"]


def test_measurements(module: graph_executor.GraphModule) -> None:
    result = module.module.time_evaluator("run", tvm.cpu(0), number=2, repeat=3)()
    assert len(result.results) == 3
    assert result.mean > 0
    assert len(module.benchmark(tvm.cpu(0), repeat=2, number=1, end_to_end=True, x=X, w=W).results) == 2
    np.testing.assert_array_equal(module.get_output(0).numpy(), X @ W.T)
    with pytest.raises(ArgumentError, match="time_evaluator: number must be an int of at least 1, got 0"):
        module.benchmark(tvm.cpu(0), number=0)


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="the system has no huge pages")
def test_values_of_a_large_model_are_side_by_side_from_the_beginning_of_a_huge_page() -> None:
    x = relay.var("x", shape=(700, 1000))
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.exp(x))), "llvm")
    module = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    first, last = sorted(value.address for value in (module.get_input("x"), module.get_output(0)))
    assert first % (1 << 21) == 0
    assert last - first == 700 * 1000 * 4


def test_what_times_modules_times_models(module: graph_executor.GraphModule, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def time_evaluator(self: Any, *options: Any) -> Any:
        asked.append((self, *options))
        return lambda: tvm.runtime.module.BenchmarkResult([1.0, 2.0, 2.0, 5.0])

    monkeypatch.setattr(tvm.runtime.module.Module, "time_evaluator", time_evaluator)
    result = module.benchmark(tvm.cpu(0), repeat=4, number=3, cooldown_interval_ms=1, repeats_to_cooldown=2, x=X, w=W)
    assert (result.mean, result.median, result.std) == (2.5, 2.0, 1.5)
    assert asked == [(module.module, "run", tvm.cpu(0), 3, 4, 0)]
    np.testing.assert_array_equal(module.get_input("x").numpy(), X)


def test_what_does_not_fit_is_refused(lib: Any, module: graph_executor.GraphModule) -> None:
    with pytest.raises(ArgumentError, match=r"no input 'y'; there are x, w"):
        module.set_input("y", X)
    with pytest.raises(ArgumentError, match=r"'x' must have shape \(2, 3\), got \(3, 2\)"):
        module.set_input("x", X.T)
    with pytest.raises(ArgumentError, match="index must be an int from 0 to 0, got 1"):
        module.get_output(1)
    with pytest.raises(ArgumentError, match="name is 'default', got 'main'"):
        lib["main"]
    with pytest.raises(ArgumentError, match="module must be what"):
        graph_executor.GraphModule(lib)


@pytest.mark.parametrize(
    ("before", "after"),
    [('"nodes"', '"knots"'), ('"heads": [', '"heads": [[9, 0, 0],'), ('"node_row_ptr": [', '"node_row_ptr": [0,')],
)
def test_damaged_graph_is_refused(lib: Any, before: str, after: str) -> None:
    assert before in lib.graph_json
    with pytest.raises(ArgumentError, match="graph"):
        parse_graph(lib.graph_json.replace(before, after, 1))
