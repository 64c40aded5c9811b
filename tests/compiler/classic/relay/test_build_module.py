"""Building step by step, and executors by their classes: all compute the same."""

from __future__ import annotations

import numpy as np
import pytest

import compiler as tvm
from compiler import relay

X = np.array([[-1, 2], [3, -4]], "float32")


def model() -> tvm.IRModule:
    x, y = relay.var("x", shape=(2, 2)), relay.var("y", shape=(2, 2))
    return tvm.IRModule.from_expr(relay.Function([x, y], relay.Tuple([relay.nn.relu(x), relay.add(x, y)])))


@pytest.mark.parametrize("kind", ["GraphExecutor", "AotExecutor", "VMExecutor"])
def test_executors_by_class(kind: str) -> None:
    executor = getattr(relay.build_module, kind)(model(), tvm.cpu(), tvm.target.Target("llvm"))
    first, second = executor.evaluate()(X, y=X)
    np.testing.assert_array_equal(first.numpy(), np.maximum(X, 0))
    np.testing.assert_array_equal(second.numpy(), X + X)


def test_what_was_built_comes_piece_by_piece() -> None:
    builder = relay.build_module.BuildModule()
    with pytest.raises(tvm.TVMError, match="nothing is built"):
        builder.get_module()
    graph, lib, params = builder.build(model(), "llvm", params={"y": X})
    assert (graph, lib) == (builder.get_graph_json(), builder.get_module())
    assert params.keys() == builder.get_params().keys()
    assert "nn.relu" in str(builder.get_irmodule())
    assert "__tvm_main__" in builder.get_function_metadata()
    executor = tvm.contrib.graph_executor.create(graph, lib, tvm.cpu())
    executor.set_input(**params)
    executor.set_input("x", X)
    executor.run()
    np.testing.assert_array_equal(executor.get_output(1).numpy(), X + X)
    optimized, left = builder.optimize(model(), "llvm", params={"y": X})
    assert [p.name_hint for p in optimized["main"].params] == ["x"]
    assert not left


def test_a_list_names_one_target() -> None:
    built = relay.build(model(), [tvm.target.Target("llvm")])
    executor = tvm.contrib.graph_executor.GraphModule(built["default"](tvm.cpu()))
    executor.run(x=X, y=X)
    np.testing.assert_array_equal(executor.get_output(0).numpy(), np.maximum(X, 0))
    with pytest.raises(tvm.TVMError, match="one device"):
        relay.build(model(), ["llvm", "llvm -mcpu=skylake"])
