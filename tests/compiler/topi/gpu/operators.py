"""Operators with shapes that GPU schedules treat differently, and what NumPy makes of the same arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from compiler import relay
from compiler.classic.testing import topi as references
from compiler.relay.function import Function

Array = np.ndarray[Any, Any]


class Case(NamedTuple):
    """An operator with its arguments.

    Attributes
    ----------
    call : callable
        Makes the expression of the arguments.
    shapes : tuple of tuple of int
    reference : callable
        NumPy's result of the arrays.
    """

    call: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    reference: Callable[..., Any]

    def function(self) -> Function:
        """Return the operator as a graph."""
        params = [relay.var(f"x{i}", shape=shape) for i, shape in enumerate(self.shapes)]
        return relay.Function(params, self.call(*params))

    def arrays(self) -> list[Array]:
        """Return random arguments."""
        rng = np.random.default_rng(0)
        return [rng.standard_normal(shape).astype("float32") for shape in self.shapes]


def _relu(x: Array) -> Array:
    return np.maximum(x, 0)


def _softmax(x: Array, axis: int = -1) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _dense(rows: int, depth: int, columns: int) -> Case:
    return Case(
        lambda x, w: relay.nn.relu(relay.nn.dense(x, w)), ((rows, depth), (columns, depth)), lambda x, w: _relu(x @ w.T)
    )


def _batch_matmul(batch: int, rows: int, depth: int, columns: int, other: int) -> Case:
    return Case(
        relay.nn.batch_matmul, ((batch, rows, depth), (other, columns, depth)), lambda x, w: x @ w.transpose(0, 2, 1)
    )


def _conv(n: int, c: int, size: int, out: int, kernel: int, stride: int = 1, padding: int = 0, groups: int = 1) -> Case:
    return Case(
        lambda x, w: relay.nn.relu(relay.nn.conv2d(x, w, strides=stride, padding=padding, groups=groups)),
        ((n, c, size, size), (out, c // groups, kernel, kernel)),
        lambda x, w: _relu(references.conv2d_nchw_python(x, w, stride, padding, groups=groups)),
    )


def _depthwise_nhwc(height: int, width: int, channels: int, kernel: int, stride: int) -> Case:
    layouts = {"data_layout": "NHWC", "kernel_layout": "HWOI"}
    padding = kernel // 2
    return Case(
        lambda x, w: relay.nn.conv2d(x, w, strides=stride, padding=padding, groups=channels, **layouts),
        ((1, height, width, channels), (kernel, kernel, channels, 1)),
        lambda x, w: references.depthwise_conv2d_python_nhwc(
            np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0))), w, stride, "VALID"
        ),
    )


def _pool(kind: str) -> Case:
    return Case(
        lambda x: getattr(relay.nn, f"{kind}_pool2d")(x, pool_size=3, strides=2, padding=1),
        ((2, 5, 13, 12),),
        lambda x: references.poolnd_python(x, (3, 3), (2, 2), (1, 1), (1, 1), (1, 1), kind, False),
    )


def _layer_norm(x: Array, gamma: Array, beta: Array) -> Array:
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    result: Array = (x - mean) / np.sqrt(variance + 1e-5) * gamma + beta
    return result


CASES = {
    "dense, tails": _dense(33, 50, 70),
    "dense, several blocks": _dense(128, 64, 96),
    "dense, less than a tile": _dense(8, 5, 3),
    "dense, one row": _dense(1, 512, 10),
    "dense, few rows": _dense(3, 100, 33),
    "batch_matmul": _batch_matmul(3, 20, 30, 41, 3),
    "batch_matmul, one matrix for all": _batch_matmul(3, 9, 30, 17, 1),
    "conv2d": _conv(2, 16, 17, 24, 3, padding=1),
    "conv2d, stride": _conv(1, 3, 31, 16, 7, stride=2, padding=3),
    "conv2d, 1x1": _conv(2, 8, 12, 20, 1),
    "conv2d, large window": _conv(1, 3, 27, 64, 11, stride=4, padding=2),
    "conv2d, groups": _conv(1, 8, 9, 16, 3, padding=1, groups=2),
    "conv2d, groups of many channels": _conv(1, 16, 9, 48, 3, padding=1, groups=2),
    "depthwise, several rows of blocks": _conv(1, 6, 35, 6, 3, padding=1, groups=6),
    "depthwise, two of each channel": _conv(2, 3, 10, 6, 5, padding=2, groups=3),
    "depthwise, images of one element": _conv(1, 144, 3, 144, 3, stride=2, groups=144),
    "depthwise, channels last": _depthwise_nhwc(9, 23, 40, 3, 1),
    "depthwise, channels last, stride": _depthwise_nhwc(14, 14, 24, 5, 2),
    "conv1d": Case(
        lambda x, w: relay.nn.conv1d(x, w, padding=1),
        ((2, 12, 37), (20, 12, 3)),
        lambda x, w: references.conv1d_ncw_python(x, w, 1, 1, 1),
    ),
    "conv3d": Case(
        lambda x, w: relay.nn.conv3d(x, w, padding=1),
        ((1, 4, 5, 6, 17), (8, 4, 3, 3, 3)),
        lambda x, w: references.conv3d_ncdhw_python(x, w, 1, (1, 1, 1)),
    ),
    "depthwise": _conv(2, 8, 9, 8, 3, stride=2, padding=1, groups=8),
    "conv2d, channels last": Case(
        lambda x, w: relay.nn.conv2d(x, w, padding=1, data_layout="NHWC", kernel_layout="HWIO"),
        ((1, 10, 11, 8), (3, 3, 8, 20)),
        lambda x, w: references.conv2d_nhwc_python(x, w, 1, 1),
    ),
    "conv2d_transpose": Case(
        lambda x, w: relay.nn.conv2d_transpose(x, w, strides=2, padding=1),
        ((1, 4, 6, 7), (4, 5, 3, 3)),
        lambda x, w: references.conv2d_transpose_nchw_python(x, w, (2, 2), (1, 1, 1, 1), (0, 0)),
    ),
    "conv2d_transpose, channels last": Case(
        lambda x, w: relay.nn.conv2d_transpose(
            x, w, strides=2, padding=1, channels=12, kernel_size=(3, 3), data_layout="NHWC", kernel_layout="HWOI"
        ),
        ((1, 6, 7, 10), (3, 3, 12, 10)),
        lambda x, w: references.conv2d_transpose_nchw_python(
            x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1), (2, 2), (1, 1, 1, 1), (0, 0)
        ).transpose(0, 2, 3, 1),
    ),
    "max_pool2d": _pool("max"),
    "avg_pool2d": _pool("avg"),
    "global_avg_pool2d": Case(relay.nn.global_avg_pool2d, ((2, 5, 13, 13),), lambda x: x.mean((2, 3), keepdims=True)),
    "softmax": Case(relay.nn.softmax, ((7, 100),), _softmax),
    "softmax, a long row": Case(relay.nn.softmax, ((2, 1500),), _softmax),
    "softmax, a vector": Case(relay.nn.softmax, ((33,),), _softmax),
    "softmax, another axis": Case(lambda x: relay.nn.softmax(x, axis=1), ((3, 7, 11),), lambda x: _softmax(x, 1)),
    "log_softmax": Case(relay.nn.log_softmax, ((7, 100),), lambda x: np.log(_softmax(x))),
    "sum of all": Case(lambda x: relay.sum(x), ((37, 41),), lambda x: x.sum()),
    "sum of rows": Case(lambda x: relay.sum(x, axis=-1), ((37, 141),), lambda x: x.sum(-1)),
    "max of columns": Case(lambda x: relay.max(x, axis=0), ((137, 41),), lambda x: x.max(0)),
    "mean": Case(
        lambda x: relay.mean(x, axis=(1, 2), keepdims=True), ((3, 12, 14),), lambda x: x.mean((1, 2), keepdims=True)
    ),
    "a short sum": Case(lambda x: relay.sum(x, axis=1), ((300, 5),), lambda x: x.sum(1)),
    "argmax": Case(lambda x: relay.argmax(x, axis=1), ((9, 100),), lambda x: x.argmax(1)),
    "variance": Case(lambda x: relay.variance(x, axis=1), ((9, 100),), lambda x: x.var(1)),
    "layer_norm": Case(relay.nn.layer_norm, ((9, 100), (100,), (100,)), _layer_norm),
    "sort": Case(lambda x: relay.sort(x, axis=1), ((5, 200),), lambda x: np.sort(x, 1)),
    "scan": Case(lambda x: relay.cumsum(x, axis=1), ((5, 200),), lambda x: np.cumsum(x, 1)),
    "add": Case(relay.add, ((9, 100), (100,)), np.add),
    "scalars": Case(relay.add, ((), ()), np.add),
    "transpose": Case(relay.transpose, ((9, 100),), np.transpose),
    "concatenate": Case(
        lambda x, y: relay.concatenate([relay.nn.relu(x), y], 1),
        ((9, 10), (9, 3)),
        lambda x, y: np.concatenate([_relu(x), y], 1),
    ),
}
