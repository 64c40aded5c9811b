"""Graphs that are built for devices: their kernels, and whole models run on the CPU thread by thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.relay.emulate import emulate_graph
from compiler.classic.testing.relay import mlp
from compiler.ir.error import TargetError, UnavailableError
from compiler.runtime.graph.graph_module import GraphModule


def _cnn() -> tuple[Any, dict[str, Any]]:
    """A convolution with a residual, a depthwise one, pooling, and a classifier, for images of 3 x 20 x 20."""
    rng = np.random.default_rng(1)
    shapes = {
        "stem": (8, 3, 3, 3),
        "body": (8, 8, 3, 3),
        "depth": (8, 1, 3, 3),
        "point": (16, 8, 1, 1),
        "last": (10, 16),
    }
    weights = {name: relay.var(name, shape=shape) for name, shape in shapes.items()}
    x = relay.var("data", shape=(2, 3, 20, 20))
    stem = relay.nn.relu(relay.nn.conv2d(x, weights["stem"], padding=1))
    body = relay.nn.relu(relay.add(relay.nn.conv2d(stem, weights["body"], padding=1), stem))
    pooled = relay.nn.max_pool2d(body, pool_size=3, strides=2, padding=1)
    depth = relay.nn.relu(relay.nn.conv2d(pooled, weights["depth"], padding=1, groups=8))
    point = relay.nn.relu(relay.nn.conv2d(depth, weights["point"]))
    flat = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(point))
    result = relay.nn.softmax(relay.nn.dense(flat, weights["last"]))
    params = {name: rng.standard_normal(shape).astype("float32") for name, shape in shapes.items()}
    return tvm.IRModule.from_expr(relay.Function([x, *weights.values()], result)), params


MODELS = {"cnn": (_cnn, (2, 3, 20, 20)), "mlp": (lambda: mlp.get_workload(4), (4, 1, 28, 28))}


def _result(built: Any, data: Any) -> Any:
    executor = GraphModule(built["default"](tvm.cpu(0)))
    executor.run(data=data)
    return executor.get_output(0).numpy()


@pytest.mark.parametrize("kind", ["cuda", pytest.param("webgpu", marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ["cnn", pytest.param("mlp", marks=pytest.mark.long)])
def test_models_compute_what_the_cpu_does(name: str, kind: str) -> None:
    make, shape = MODELS[name]
    mod, params = make()
    data = np.random.default_rng(0).random(shape, "float32")
    expected = _result(relay.build(mod, "llvm", params=params), data)
    emulated = emulate_graph(mod, kind, params)
    np.testing.assert_allclose(_result(emulated, data), expected, rtol=1e-4, atol=1e-6)
    device = relay.build(mod, kind, params=params)
    assert list(device.kernels) == list(emulated.kernels), "the calls are the same, in the same order"
    assert device.graph_json == emulated.graph_json


def test_all_kernels_are_one_program() -> None:
    mod, params = _cnn()
    lib = relay.build(mod, "cuda", params=params).get_lib()
    (kernels,) = lib.imported_modules
    source = kernels.get_source()
    for name in lib.kernels:
        assert f" {name}_kernel(" in source
    assert "tvm_call_packed" not in lib.get_source()


def test_a_launch_without_a_device_explains_itself() -> None:
    mod, params = _cnn()
    executor = GraphModule(relay.build(mod, "cuda", params=params)["default"](tvm.cpu(0)))
    with pytest.raises(UnavailableError, match="no runtime for cuda devices"):
        executor.run(data=np.zeros((2, 3, 20, 20), "float32"))


def test_what_cannot_be_emulated_or_launched() -> None:
    mod, params = _cnn()
    with pytest.raises(TargetError, match="launches no kernels"):
        emulate_graph(mod, "llvm", params)
    with pytest.raises(TargetError, match='Executor\\("graph"\\) launches its kernels'):
        relay.build(mod, "cuda", executor="aot", params=params)
