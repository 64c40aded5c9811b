"""Convolutions and pooling against plain loops in NumPy, and against onnxruntime."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import onnxruntime
import pytest

import compiler as tvm
from compiler import relay
from compiler.tir.layout.data_layout import layout
from tests.compiler.relay.op.nn.harness import Array, check, random

nn = relay.nn


def slow_conv(x: Array, w: Array, strides: int, padding: tuple[int, ...], dilation: int, groups: int) -> Array:
    """Convolve ``(N, C, spatial…)`` output element by output element."""
    rank = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *[(padding[d], padding[d + rank]) for d in range(rank)]])
    reach = [(k - 1) * dilation + 1 for k in w.shape[2:]]
    out = [(x.shape[2 + d] - reach[d]) // strides + 1 for d in range(rank)]
    result = np.zeros((x.shape[0], w.shape[0], *out), x.dtype)
    each, inputs = w.shape[0] // groups, w.shape[1]
    for o, at in product(range(w.shape[0]), np.ndindex(*out)):
        window = tuple(slice(i * strides, i * strides + r, dilation) for i, r in zip(at, reach, strict=True))
        first = o // each * inputs
        result[(slice(None), o, *at)] = (x[(slice(None), slice(first, first + inputs), *window)] * w[o]).sum(
            tuple(range(1, rank + 2))
        )
    return result


CASES = [
    ((1, 3, 9), (4, 3, 3), {"strides": 2, "padding": (1, 2)}),
    ((2, 3, 9, 8), (4, 3, 3, 3), {}),
    ((1, 3, 9, 8), (4, 3, 3, 2), {"strides": 2, "padding": (1, 2, 0, 1)}),
    ((1, 4, 9, 8), (6, 2, 3, 3), {"groups": 2, "dilation": 2, "padding": (2, 2, 2, 2)}),
    ((1, 4, 9, 8), (8, 1, 3, 3), {"groups": 4, "padding": (1, 1, 1, 1)}),
    ((1, 2, 4, 5, 6), (3, 2, 2, 3, 3), {"padding": (0, 1, 1, 0, 1, 1)}),
]


@pytest.mark.parametrize(("data", "weight", "given"), CASES)
def test_convolution(data: Any, weight: Any, given: Any) -> None:
    x, w, rank = random(*data), random(*weight), len(data) - 2
    full = {"strides": 1, "padding": (0,) * 2 * rank, "dilation": 1, "groups": 1} | given
    function = {1: nn.conv1d, 2: nn.conv2d, 3: nn.conv3d}[rank]
    check(lambda d, k: function(d, k, **full), [x, w], slow_conv(x, w, **full), 1e-4)


@pytest.mark.parametrize(
    ("data_layout", "kernel_layout"), [("NHWC", "HWIO"), ("NHWC", "OHWI"), ("NCHW4c", "OIHW4i2o"), ("HWCN", "HWIO")]
)
def test_layouts_of_convolution(data_layout: str, kernel_layout: str) -> None:
    x, w = random(2, 8, 7, 6), random(4, 8, 3, 3)
    wanted = slow_conv(x, w, 1, (1, 1, 1, 1), 1, 1)
    arrays = [layout(data_layout).from_plain(x, "NCHW"), layout(kernel_layout).from_plain(w, "OIHW")]
    named = {"data_layout": data_layout, "kernel_layout": kernel_layout, "out_layout": "NCHW"}
    check(lambda d, k: nn.conv2d(d, k, padding=1, **named), arrays, wanted, 1e-4)


def test_products_are_summed_in_the_output_type() -> None:
    x, w = random(1, 8, 6, 6, dtype="int8"), random(4, 8, 3, 3, dtype="int8")
    wanted = slow_conv(x.astype("int32"), w.astype("int32"), 1, (0, 0, 0, 0), 1, 1)
    check(lambda d, k: nn.conv2d(d, k, out_dtype="int32"), [x, w], wanted)


def test_max_pooling_of_windows() -> None:
    x = random(2, 3, 9, 8)
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-np.inf)
    wanted = np.stack(
        [np.stack([padded[..., i : i + 3, j : j + 3].max((2, 3)) for j in (0, 2, 4, 6)], -1) for i in (0, 2, 4, 6, 8)],
        -2,
    )
    check(lambda d: nn.max_pool2d(d, 3, 2, padding=1), [x], wanted)
    by_last = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    check(lambda d: nn.max_pool2d(d, 3, 2, padding=1, layout="NHWC"), [by_last], wanted.transpose(0, 2, 3, 1))
    check(lambda d: nn.max_pool2d(d, 3, 2, dilation=2, ceil_mode=True), [random(1, 3, 9, 8, dtype="int32")])


def test_mean_pooling_counts_the_elements_of_a_window() -> None:
    x = np.arange(1, 6, dtype="float32").reshape(1, 1, 5)
    check(lambda d: nn.avg_pool1d(d, 3, 2, padding=1), [x], [[[1.5, 3, 4.5]]])
    check(lambda d: nn.avg_pool1d(d, 3, 2, padding=1, count_include_pad=True), [x], [[[1, 3, 3]]])
    check(lambda d: nn.avg_pool1d(d, 2, 2, ceil_mode=True), [x], [[[1.5, 3.5, 5]]])
    check(lambda d: nn.avg_pool2d(d, 2, 2), [random(1, 2, 8, 6)])
    check(lambda d: nn.avg_pool3d(d, 3, 2, padding=1), [random(1, 2, 7, 5, 6)], tolerance=1e-4)


def test_pooling_of_whole_images_and_into_a_shape() -> None:
    x = random(2, 3, 7, 9)
    check(nn.global_avg_pool2d, [x], x.mean((2, 3), keepdims=True))
    check(nn.global_max_pool2d, [x], x.max((2, 3), keepdims=True))
    check(lambda d: nn.adaptive_avg_pool2d(d, 1), [x], x.mean((2, 3), keepdims=True))
    halves = np.stack([x[:, :, :4].mean(2), x[:, :, 3:].mean(2)], axis=2)
    check(lambda d: nn.adaptive_avg_pool2d(d, (2, 9)), [x], halves)
    check(lambda d: nn.adaptive_max_pool2d(d, (4, 3)), [x])


def test_depthwise_and_pooling_in_onnxruntime() -> None:
    from onnx import TensorProto, helper

    x, w = random(1, 4, 11, 9), random(4, 1, 3, 3)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["y"], group=4, strides=[2, 1], dilations=[1, 2], pads=[1, 0, 2, 3]),
        helper.make_node("AveragePool", ["y"], ["z"], kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1]),
    ]
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", x.shape), ("w", w.shape))]
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("y", "z")]
    model = helper.make_model(
        helper.make_graph(nodes, "g", values, outputs), opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    y, z = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x, "w": w})
    given = {"strides": (2, 1), "dilation": (1, 2), "padding": (1, 0, 2, 3), "groups": 4}
    check(lambda d, k: nn.conv2d(d, k, **given), [x, w], y, 1e-4)
    check(lambda d: nn.avg_pool2d(d, (3, 2), 2, padding=(1, 0, 1, 1)), [y], z, 1e-4)


def test_gradients_of_pooling() -> None:
    x = np.array([[[[1, 5, 5, 2], [0, 3, 4, 7]]]], "float32")
    options = {"pool_size": (2, 2), "strides": (2, 2), "padding": (0, 0, 0, 0)}
    grad = np.array([[[[10, 20]]]], "float32")

    def of(kind: str, **more: Any) -> Any:
        operator: Any = relay.op.get(f"nn.{kind}_pool2d_grad")
        return lambda g, d: operator(g, d, **options | more)

    check(of("max"), [grad, x], [[[[0, 10, 0, 0], [0, 0, 0, 20]]]])
    check(of("avg"), [grad, x], [[[[2.5, 2.5, 5, 5], [2.5, 2.5, 5, 5]]]])
    wide = {"pool_size": (3, 3), "padding": (1, 1, 1, 1)}
    check(of("max", **wide), [random(1, 2, 4, 4), random(1, 2, 7, 8)])
    check(of("avg", **wide, ceil_mode=True), [random(1, 2, 4, 5), random(1, 2, 7, 8)])


def test_a_weight_is_in_blocks_as_large_as_those_of_the_data() -> None:
    data = relay.var("data", shape=(1, 2, 8, 8, 4))
    for convolution, weight in (
        (relay.nn.contrib_conv2d_nchwc, (3, 2, 3, 3, 4, 4)),
        (relay.nn.contrib_depthwise_conv2d_nchwc, (2, 1, 3, 3, 1, 4)),
    ):
        groups = 1 if weight[1] == 2 else 8
        call = convolution(data, relay.var("weight", shape=weight), groups=groups, data_layout="NCHW4c")
        assert relay.transform.InferTypeLocal(call).concrete_shape == (1, weight[0], 6, 6, 4)


@pytest.mark.parametrize(
    ("kernel_layout", "order"), [("OIHW", (0, 1, 2, 3)), ("HWOI", (2, 3, 0, 1)), ("HWIO", (2, 3, 1, 0))]
)
def test_a_depthwise_weight_may_have_several_kernels_for_each_channel(
    kernel_layout: str, order: tuple[int, ...]
) -> None:
    """The weight is ``(C, M, H, W)``: the result has the ``M`` channels of a channel one after the other."""
    data, weight = random(2, 3, 7, 6), random(3, 2, 3, 2)
    given = {"groups": 3, "channels": 6, "kernel_size": (3, 2), "kernel_layout": kernel_layout}
    variables = [relay.var("data", shape=data.shape), relay.var("weight", shape=weight.transpose(order).shape)]
    mod = tvm.IRModule.from_expr(relay.Function(variables, relay.nn.relu(nn.conv2d(*variables, **given))))
    expected = np.maximum(slow_conv(data, weight.reshape(6, 1, 3, 2), 1, (0,) * 4, 1, 3), 0)
    for kind in ("debug", "graph"):
        got = relay.create_executor(kind, mod=mod).evaluate()(data, weight.transpose(order))
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-5, atol=1e-5)
    scale = relay.const(np.arange(1, 7, dtype="float32").reshape(6, 1, 1))
    scaled = tvm.IRModule.from_expr(relay.Function(variables, relay.multiply(nn.conv2d(*variables, **given), scale)))
    for folded in (relay.transform.FoldScaleAxis()(scaled), relay.transform.SimplifyInference()(scaled)):
        got = relay.create_executor("debug", mod=folded).evaluate()(data, weight.transpose(order))
        want = slow_conv(data, weight.reshape(6, 1, 3, 2), 1, (0,) * 4, 1, 3) * scale.data.numpy()
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-5)
