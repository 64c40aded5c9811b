"""Functions of TensorFlow, a line for each behaviour of an operator: what both of its importers are compared on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")


@dataclass(frozen=True)
class Case:
    """A function, and the shapes and data types of what it takes."""

    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    dtype: str = "float32"
    low: float = -2.0


def numbers(*shape: int) -> Any:
    """Return a constant of numbers between -1 and 1."""
    return tf.constant(np.random.default_rng(sum(shape)).uniform(-1, 1, shape).astype("float32"))


def reduced(name: str) -> Callable[..., Any]:
    """Return a reduction along one axis, and along two that stay with the extent 1."""
    reduce = getattr(tf, f"reduce_{name}")
    return lambda x: (reduce(x, 1), reduce(x, (0, -1), keepdims=True))


def mirrored(x: Any) -> Any:
    """Return a tensor padded by what lies behind its borders."""
    return tf.pad(x, ((1, 0), (2, 1)), "REFLECT"), tf.pad(x, ((1, 1), (0, 1)), "SYMMETRIC")


def normalized(x: Any) -> Any:
    """Return rows of mean 0 and variance 1."""
    variance = tf.math.reduce_variance(x, -1, keepdims=True)
    return (x - tf.reduce_mean(x, -1, keepdims=True)) * tf.math.rsqrt(variance + 1e-3)


IMAGE = ((2, 9, 8, 3),)
KERNEL, EACH, BACK = numbers(3, 3, 3, 4), numbers(3, 3, 3, 2), numbers(3, 3, 2, 3)
MATRIX = numbers(6, 5)
VECTOR = tf.constant([0.5, -1.0, 2.0, 0.25])

CASES: dict[str, Case] = {
    **{
        name: Case(getattr(tf.math, name), ((3, 4),))
        for name in (
            "abs",
            "ceil",
            "cos",
            "exp",
            "floor",
            "negative",
            "sin",
            "square",
            "sigmoid",
            "tanh",
            "sign",
            "rint",
        )
    },
    **{name: Case(getattr(tf.math, name), ((3, 4),), low=0.1) for name in ("log", "rsqrt", "sqrt")},
    **{
        name: Case(getattr(tf.math, name), ((3, 4), (4,)))
        for name in (
            *("add", "subtract", "multiply", "divide", "maximum", "minimum", "squared_difference"),
            *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "floordiv", "floormod"),
        )
    },
    "sigmoid": Case(tf.sigmoid, ((3, 4),)),
    "power": Case(tf.math.pow, ((3, 4), (3, 4)), low=0.1),
    "integers": Case(lambda a, b: (a + b, a // (b * b + 1), a % (b * b + 1)), ((5, 4), (5, 4)), "int32", -20),
    "logic": Case(lambda a, b: tf.logical_or(tf.logical_and(a > 0, b > 0), tf.logical_not(a > b)), ((6,), (6,))),
    "select": Case(lambda a, b: tf.where(a > 0, a, b), ((3, 4), (3, 4))),
    "cast": Case(lambda x: tf.cast(x, tf.int32), ((3, 4),)),
    **{name: Case(getattr(tf.nn, name), ((3, 4),)) for name in ("relu", "relu6", "elu", "softmax", "log_softmax")},
    "leaky_relu": Case(lambda x: tf.nn.leaky_relu(x, 0.3), ((3, 4),)),
    "gelu": Case(tf.nn.gelu, ((3, 4),)),
    "conv_same": Case(lambda x: tf.nn.conv2d(x, KERNEL, 2, "SAME"), IMAGE),
    "conv_valid": Case(lambda x: tf.nn.relu(tf.nn.conv2d(x, KERNEL, (1, 2), "VALID") + VECTOR), IMAGE),
    "conv_dilated": Case(lambda x: tf.nn.conv2d(x, KERNEL, 1, "SAME", dilations=2), ((1, 12, 10, 3),)),
    "depthwise": Case(lambda x: tf.nn.depthwise_conv2d(x, EACH, (1, 1, 1, 1), "SAME"), IMAGE),
    "depthwise_strided": Case(lambda x: tf.nn.depthwise_conv2d(x, EACH, (1, 2, 2, 1), "VALID"), IMAGE),
    "conv_transpose": Case(lambda x: tf.nn.conv2d_transpose(x, BACK, (2, 18, 16, 2), 2, "SAME"), IMAGE),
    "max_pool": Case(lambda x: tf.nn.max_pool2d(x, 3, 2, "SAME"), IMAGE),
    "avg_pool": Case(lambda x: tf.nn.avg_pool2d(x, 3, 2, "SAME"), IMAGE),
    "avg_pool_valid": Case(lambda x: tf.nn.avg_pool2d(x, (2, 3), (2, 1), "VALID"), IMAGE),
    "dense": Case(lambda x: tf.nn.relu(tf.matmul(x, MATRIX) + 0.5), ((4, 6),)),
    "batch_matmul": Case(tf.matmul, ((2, 3, 4), (2, 4, 5))),
    "batch_matmul_adjoint": Case(lambda a, b: tf.matmul(a, b, transpose_b=True), ((2, 3, 4), (2, 5, 4))),
    **{f"reduce_{name}": Case(reduced(name), ((2, 3, 4),)) for name in ("sum", "mean", "max", "min", "prod")},
    "argmax": Case(lambda x: (tf.argmax(x, 1), tf.argmin(x, 0, output_type=tf.int32)), ((4, 5),)),
    "top_k": Case(lambda x: tuple(tf.math.top_k(x, 3)), ((4, 7),)),
    "cumsum": Case(lambda x: (tf.cumsum(x, 1, reverse=True), tf.cumsum(x, 0, exclusive=True)), ((3, 4),)),
    "reshape": Case(lambda x: tf.reshape(x, (-1, 6)), ((3, 4),)),
    "transpose": Case(lambda x: tf.transpose(x, (2, 0, 1)), ((2, 3, 4),)),
    "squeeze": Case(lambda x: tf.squeeze(x + 1, 1), ((3, 1, 4),)),
    "expand_dims": Case(lambda x: tf.expand_dims(x, 1), ((3, 4),)),
    "concat": Case(lambda a, b: tf.concat([a, b], 1), ((3, 4), (3, 2))),
    "stack": Case(lambda a, b: tf.stack([a, b], 1), ((3, 4), (3, 4))),
    "unstack": Case(lambda x: tuple(tf.unstack(x, axis=1)), ((3, 4),)),
    "split": Case(lambda x: tuple(tf.split(x, 2, 1)), ((3, 4),)),
    "split_sizes": Case(lambda x: tuple(tf.split(x, (1, 3), 1)), ((3, 4),)),
    "slice": Case(lambda x: tf.slice(x, (1, 0), (2, -1)), ((4, 5),)),
    "strided_slice": Case(lambda x: x[1:, ::2, -1], ((4, 5, 6),)),
    "strided_slice_back": Case(lambda x: x[::-1, tf.newaxis, ..., 1:3], ((4, 5, 6),)),
    "pad": Case(lambda x: tf.pad(x, ((1, 0), (2, 1))), ((3, 4),)),
    "pad_value": Case(lambda x: tf.pad(x, ((1, 0), (2, 1)), constant_values=3.5), ((3, 4),)),
    "mirror_pad": Case(mirrored, ((3, 4),)),
    "tile": Case(lambda x: tf.tile(x, (2, 3)), ((3, 4),)),
    "broadcast_to": Case(lambda x: tf.broadcast_to(x, (2, 3, 4)), ((3, 1),)),
    "reverse": Case(lambda x: tf.reverse(x, (1,)), ((3, 4),)),
    "gather": Case(lambda x: tf.gather(x, (2, 0, 1), axis=1), ((3, 4),)),
    "gather_nd": Case(lambda x: tf.gather_nd(x, ((0, 1), (2, 3))), ((3, 4),)),
    "one_hot": Case(lambda x: tf.one_hot(tf.cast(x, tf.int32) + 2, 5), ((6,),)),
    "space_to_depth": Case(lambda x: tf.nn.space_to_depth(x, 2), ((1, 4, 6, 3),)),
    "depth_to_space": Case(lambda x: tf.nn.depth_to_space(x, 2), ((1, 4, 6, 8),)),
    "space_to_batch": Case(lambda x: tf.space_to_batch(x, (2, 2), ((0, 0), (1, 1))), ((1, 4, 6, 3),)),
    "batch_to_space": Case(lambda x: tf.batch_to_space(x, (2, 2), ((0, 0), (1, 0))), ((4, 2, 3, 3),)),
    "resize_bilinear": Case(lambda x: tf.image.resize(x, (7, 11)), ((1, 4, 6, 3),)),
    "resize_corners": Case(
        lambda x: tf.compat.v1.image.resize_bilinear(x, (7, 11), align_corners=True), ((1, 4, 6, 3),)
    ),
    "resize_nearest": Case(lambda x: tf.image.resize(x, (7, 11), "nearest"), ((1, 4, 6, 3),)),
    "resize_nearest_old": Case(lambda x: tf.compat.v1.image.resize_nearest_neighbor(x, (8, 9)), ((1, 4, 6, 3),)),
    "local_response": Case(lambda x: tf.nn.local_response_normalization(x, 2, 1.0, 0.5, 0.75), ((1, 4, 5, 8),)),
    "add_n": Case(lambda a, b, c: tf.add_n([a, b, c]), ((3, 4),) * 3),
    "shape": Case(lambda x: x * tf.cast(tf.shape(x)[1], tf.float32), ((3, 4),)),
    "layer_norm": Case(normalized, ((3, 8),)),
    "attention": Case(
        lambda q, k, v: tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * 0.5), v), ((2, 2, 5, 4),) * 3
    ),
}
