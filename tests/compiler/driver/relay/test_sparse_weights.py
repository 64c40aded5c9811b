"""Layers whose weights are stored by blocks, against NumPy and against the dense layers."""

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.relay.data_dep_optimization import bsr_conv2d, bsr_dense
from compiler.runtime.graph.graph_module import GraphModule


def _sparse(rows, columns, block, share, seed):
    rng = np.random.default_rng(seed)
    filled = rng.random((rows // block[0], columns // block[1])) < share
    filled[0] = False  # a row of blocks without any
    return (np.kron(filled, np.ones(block)) * rng.uniform(1, 2, (rows, columns))).astype("float32")


def _run(func, params, x):
    module = GraphModule(relay.build(tvm.IRModule.from_expr(func), "llvm", params=params)["default"](tvm.cpu()))
    module.run(x=x)
    return module.get_output(0).numpy()


@pytest.mark.parametrize("block", [(1, 1), (4, 1), (2, 4), (8, 8)])
def test_sparse_weights_give_the_same_results(block):
    weights = {"w": _sparse(16, 24, block, 0.2, 0), "v": np.random.rand(16, 24).astype("float32")}
    x, w, v = (relay.var(name, shape=shape) for name, shape in {"x": (3, 24), "w": (16, 24), "v": (16, 24)}.items())
    twice = relay.add(relay.nn.dense(relay.nn.relu(x), w), relay.nn.dense(x, w))
    func = relay.Function([x, w, v], relay.add(twice, relay.nn.dense(x, v)))
    params = {name: tvm.nd.array(value) for name, value in weights.items()}
    sparse, values = bsr_dense.convert(func, params, block, 0.5)
    assert set(values) == {"v", "w.data", "w.indices", "w.indptr"}
    assert values["w.data"].shape[1:] == block
    assert relay.analysis.list_op_freqs(tvm.IRModule.from_expr(sparse))["nn.sparse_dense"] == 2
    data = np.random.default_rng(1).normal(size=(3, 24)).astype("float32")
    expected = np.maximum(data, 0) @ weights["w"].T + data @ weights["w"].T + data @ weights["v"].T
    np.testing.assert_allclose(_run(sparse, values, data), expected, rtol=1e-4, atol=1e-5)


def test_a_weight_that_is_read_elsewhere_stays_too():
    weight = _sparse(8, 8, (2, 2), 0.3, 3)
    x, w = relay.var("x", shape=(2, 8)), relay.var("w", shape=(8, 8))
    func = relay.Function([x, w], relay.add(relay.nn.dense(x, w), relay.sum(w)))
    sparse, values = bsr_dense.convert(func, {"w": tvm.nd.array(weight)}, (2, 2), 0.5)
    assert set(values) == {"w", "w.data", "w.indices", "w.indptr"}
    data = np.ones((2, 8), "float32")
    np.testing.assert_allclose(_run(sparse, values, data), data @ weight.T + weight.sum(), rtol=1e-4)


@pytest.mark.parametrize(("block", "threshold"), [((2, 2), 0.99), ((3, 2), 0.1)])
def test_what_has_few_zeros_or_other_extents_stays_dense(block, threshold):
    x, w = relay.var("x", shape=(2, 8)), relay.var("w", shape=(8, 8))
    func = relay.Function([x, w], relay.nn.dense(x, w))
    params = {"w": tvm.nd.array(_sparse(8, 8, (2, 2), 0.3, 3))}
    same, values = bsr_dense.convert(func, params, block, threshold)
    assert tvm.ir.structural_equal(same, relay.transform.InferType()(tvm.IRModule.from_expr(func))["main"])
    assert set(values) == {"w"}


def _conv(layout, size, **attrs):
    """Return a convolution followed by relu, and a weight of many zeros for it."""
    matrix = _sparse(16, 3 * size * size, (4, 1), 0.2, size)
    oihw = matrix.reshape(16, 3, size, size)
    images = (1, 3, 6, 5) if layout == "NCHW" else (1, 6, 5, 3)
    weight = oihw if layout == "NCHW" else matrix.reshape(16, size, size, 3).transpose(1, 2, 3, 0)
    x, w = relay.var("x", shape=images), relay.var("w", shape=weight.shape)
    layouts = {"data_layout": layout, "kernel_layout": "OIHW" if layout == "NCHW" else "HWIO"}
    conv = relay.nn.conv2d(x, w, channels=16, kernel_size=size, **{"padding": size // 2, **layouts, **attrs})
    data = np.random.default_rng(4).normal(size=images).astype("float32")
    return relay.Function([x, w], relay.nn.relu(conv)), np.ascontiguousarray(weight), data


@pytest.mark.sample(2)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("size", [1, 3])
def test_convolutions_with_sparse_weights_give_the_same_results(layout, size):
    func, weight, data = _conv(layout, size)
    params = {"w": tvm.nd.array(weight)}
    dense = _run(func, params, data)
    sparse, values = bsr_conv2d.convert(func, params, (4, 1), 0.5, layout, size)
    constants, none = bsr_conv2d.convert2(
        relay.build_module.bind_params_by_name(func, params), {}, (4, 1), 0.5, layout, size
    )
    assert (set(values), none) == ({"w.data", "w.indices", "w.indptr"}, {})
    for made, given in ((sparse, values), (constants, none)):
        assert "nn.sparse_conv2d" in relay.analysis.list_op_freqs(tvm.IRModule.from_expr(made))
        np.testing.assert_allclose(_run(made, given, data), dense, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("attrs", [{"strides": 2}, {"padding": 0}, {"dilation": 2}])
def test_convolutions_that_change_the_extents_stay_dense(attrs):
    func, weight, _ = _conv("NCHW", 3, **attrs)
    bound = relay.build_module.bind_params_by_name(func, {"w": tvm.nd.array(weight)})
    same, _ = bsr_conv2d.convert2(bound, {}, (4, 1), 0.5, "NCHW", 3)
    assert "nn.conv2d" in relay.analysis.list_op_freqs(tvm.IRModule.from_expr(same))
