"""Gradients of layers against differences of their NumPy references, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.relay.inference import infer_expr
from compiler.relay.interpreter import Interpreter
from tests.compiler.relay.op.nn.harness import random, variables

nn = relay.nn

CASES: dict[str, tuple[Any, list[tuple[int, ...]]]] = {
    "relu": (nn.relu, [(3, 4)]),
    "leaky_relu": (lambda x: nn.leaky_relu(x, 0.1), [(3, 4)]),
    "prelu": (nn.prelu, [(2, 3, 4), (3,)]),
    "bias_add": (nn.bias_add, [(2, 3, 4), (3,)]),
    "batch_flatten": (nn.batch_flatten, [(2, 3, 4)]),
    "softmax": (lambda x: nn.softmax(x, axis=1), [(2, 5)]),
    "log_softmax": (lambda x: nn.log_softmax(x, axis=1), [(2, 5)]),
    "dense": (nn.dense, [(2, 5), (3, 5)]),
    "dense_3d": (nn.dense, [(2, 4, 5), (3, 5)]),
    "matmul": (lambda x, y: nn.matmul(x, y, transpose_a=True), [(5, 2), (5, 3)]),
    "batch_matmul": (nn.batch_matmul, [(2, 3, 4), (2, 5, 4)]),
    "batch_matmul_broadcast": (lambda x, y: nn.batch_matmul(x, y, transpose_b=False), [(2, 3, 4), (1, 4, 5)]),
    "conv1d": (lambda x, w: nn.conv1d(x, w, strides=2, padding=1), [(2, 3, 8), (4, 3, 3)]),
    "conv2d": (lambda x, w: nn.conv2d(x, w, strides=2, padding=(1, 0, 1, 1)), [(2, 3, 6, 8), (4, 3, 3, 2)]),
    "conv2d_dilated": (lambda x, w: nn.conv2d(x, w, dilation=2, padding=2), [(1, 2, 6, 5), (3, 2, 3, 3)]),
    "conv1d_grouped": (lambda x, w: nn.conv1d(x, w, groups=3, padding=1), [(2, 6, 5), (9, 2, 3)]),
    "conv2d_grouped": (
        lambda x, w: nn.conv2d(x, w, groups=2, strides=2, padding=(1, 0, 1, 1), dilation=(1, 2)),
        [(2, 4, 6, 8), (6, 2, 3, 2)],
    ),
    "conv2d_depthwise": (lambda x, w: nn.conv2d(x, w, groups=4, padding=1), [(2, 4, 5, 6), (4, 1, 3, 3)]),
    "conv2d_nhwc": (
        lambda x, w: nn.conv2d(x, w, data_layout="NHWC", kernel_layout="HWIO", strides=(2, 1)),
        [(2, 6, 5, 3), (3, 2, 3, 4)],
    ),
    "conv2d_depthwise_nhwc": (
        lambda x, w: nn.conv2d(x, w, groups=3, data_layout="NHWC", kernel_layout="HWOI", out_layout="NCHW"),
        [(1, 5, 5, 3), (3, 3, 6, 1)],
    ),
    "conv2d_transpose": (
        lambda x, w: nn.conv2d_transpose(x, w, strides=2, padding=1, output_padding=1),
        [(1, 3, 4, 5), (3, 2, 3, 3)],
    ),
    "global_avg_pool2d": (nn.global_avg_pool2d, [(2, 3, 4, 5)]),
    "global_max_pool2d": (nn.global_max_pool2d, [(2, 3, 4, 5)]),
    "avg_pool2d": (lambda x: nn.avg_pool2d(x, 3, 2, padding=1), [(1, 2, 6, 7)]),
    "avg_pool2d_padded": (lambda x: nn.avg_pool2d(x, 2, 2, padding=1, count_include_pad=True), [(1, 2, 6, 7)]),
    "max_pool2d": (lambda x: nn.max_pool2d(x, 3, 2, padding=1), [(1, 2, 6, 7)]),
    "pad": (lambda x: nn.pad(x, ((1, 2), (0, 3)), 0.0), [(3, 4)]),
    "pad_edge": (lambda x: nn.pad(x, ((1, 2), (0, 3)), 0.0, "edge"), [(3, 4)]),
    "pad_reflect": (lambda x: nn.pad(x, ((1, 2), (0, 3)), 0.0, "reflect"), [(3, 4)]),
    "pad_wrap": (lambda x: nn.pad(x, ((1, 2), (0, 3)), 0.0, "wrap"), [(3, 4)]),
    "depth_to_space": (lambda x: nn.depth_to_space(x, 2), [(1, 8, 2, 3)]),
    "space_to_depth": (lambda x: nn.space_to_depth(x, 2), [(1, 2, 4, 6)]),
    "cross_entropy_with_logits": (nn.cross_entropy_with_logits, [(3, 4), (3, 4)]),
}


@pytest.mark.parametrize("name", CASES)
def test_gradient(name: str) -> None:
    make, shapes = CASES[name]
    arrays = [random(*s, dtype="float64", seed=i) for i, s in enumerate(shapes)]
    params = variables(arrays)
    call = make(*params)
    result = infer_expr(call)
    upstream = relay.var("upstream", result)
    weights = random(*result.concrete_shape, dtype="float64", seed=77)
    gradients = call.op.gradient(call, upstream)
    for i, (gradient, array) in enumerate(zip(gradients, arrays, strict=False)):
        function = relay.Function([*params, upstream], gradient)
        assert infer_expr(gradient).concrete_shape == array.shape
        found = np.asarray(Interpreter().evaluate(function, [*arrays, weights]))
        direction = random(*array.shape, dtype="float64", seed=5)

        def moved(step: float, i: int = i, direction: Any = direction) -> Any:
            there = [a + step * direction if j == i else a for j, a in enumerate(arrays)]
            return float((Interpreter().evaluate(relay.Function(params, call), there) * weights).sum())

        slope = (moved(1e-6) - moved(-1e-6)) / 2e-6
        np.testing.assert_allclose((found * direction).sum(), slope, rtol=1e-5, atol=1e-7)
