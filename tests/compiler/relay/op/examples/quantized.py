"""Examples of quantised operators, whose arrays are integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler import relay
from tests.compiler.relay.op.example import Example, floats, ints

qnn = relay.qnn.op


def scale(*values: float) -> Any:
    """Return a scale, or one for each channel."""
    return relay.const(np.asarray(values if len(values) > 1 else values[0], "float32"))


def point(*values: int) -> Any:
    """Return a zero point, or one for each channel."""
    return relay.const(np.asarray(values if len(values) > 1 else values[0], "int32"))


_X = floats(2, 4, 5, 6)
_BYTES = ints(1, 4, 5, 5, low=-128, high=127, dtype="int8")
_MORE = ints(1, 4, 5, 5, low=-128, high=127, dtype="int8", seed=1)
_SUMS = ints(40, 3, low=-5000, high=5000)
_ALL_BYTES = np.arange(-128, 128, dtype="int8")
_FOUR = scale(0.1, 0.02, 0.3, 0.05)


def _requantized(**attrs: Any) -> Example:
    scales, points = scale(0.03, 0.7, 0.011), point(2, -3, 0)
    return Example(lambda x: qnn.requantize(x, scales, points, scale(0.5), point(7), axis=1, **attrs), [_SUMS])


def _binary(function: Any) -> list[Example]:
    other = (scale(0.02), point(-9), scale(0.07), point(5))
    return [
        Example(lambda x, y: function(x, y, scale(0.1), point(3), *other), [_BYTES, _MORE]),
        Example(
            lambda x, y: function(x, y, scale(0.1), point(3), scale(0.1), point(3), scale(0.1), point(3)),
            [_BYTES, _MORE],
        ),
        Example(lambda x, y: function(x, y, _FOUR, point(3), *other, lhs_axis=1, rhs_axis=1), [_BYTES, _MORE]),
    ]


def _unary(function: Any, zero: int = -128) -> list[Example]:
    return [Example(lambda x: function(x, scale(0.03), point(zero), scale(0.05), point(-100)), [_ALL_BYTES])]


EXAMPLES: dict[str, list[Example]] = {
    "qnn.quantize": [
        Example(lambda x: qnn.quantize(x, scale(0.03), point(2)), [_X]),
        Example(
            lambda x: qnn.quantize(x, scale(0.5), point(128), out_dtype="uint8"),
            [np.arange(-9, 9, dtype="float32") / 4],
        ),
        Example(lambda x: qnn.quantize(x, _FOUR, point(1, 2, 3, 4), axis=1), [_X]),
    ],
    "qnn.dequantize": [
        Example(lambda x: qnn.dequantize(x, scale(0.03), point(2)), [_BYTES]),
        Example(lambda x: qnn.dequantize(x, _FOUR, point(1, 2, 3, 4), axis=1), [_BYTES]),
    ],
    "qnn.requantize": [
        _requantized(rounding=rounding, compute_dtype=dtype, out_dtype=out)
        for rounding in ("None", "UPWARD", "TONEAREST")
        for dtype in ("None", "int64", "float32", "float64")
        for out in ("int8", "uint8", "int32")
    ],
    "qnn.simulated_quantize": [
        Example(lambda x: qnn.simulated_quantize(x, scale(0.03), point(2), out_dtype="uint8"), [_X]),
        Example(lambda x: qnn.simulated_quantize(x, _FOUR, point(1, 2, 3, 4), axis=1), [_X]),
        Example(lambda x: qnn.simulated_quantize(x, scale(0.03), point(2), out_dtype="disable"), [_X]),
    ],
    "qnn.simulated_dequantize": [
        Example(lambda x: qnn.simulated_dequantize(x, _FOUR, point(1, 2, 3, 4), axis=1), [_X]),
        Example(lambda x: qnn.simulated_dequantize(x, scale(0.03), point(2), in_dtype="disable"), [_X]),
    ],
    "qnn.concatenate": [
        Example(
            lambda x, y: qnn.concatenate(
                (x, y), (scale(0.1), scale(0.2)), (point(3), point(-5)), scale(0.2), point(-5), axis=1
            ),
            [_BYTES, _MORE],
        )
    ],
    "qnn.dense": [
        Example(
            lambda x, w: qnn.dense(x, w, point(1), point(0, 2, -3, 4, 9), scale(0.1), scale(0.2), 5),
            [ints(3, 4, dtype="int8"), ints(5, 4, dtype="int8")],
        )
    ],
    "qnn.batch_matmul": [
        Example(
            lambda x, y: qnn.batch_matmul(x, y, point(1), point(-7), scale(0.1), scale(0.2)),
            [ints(2, 3, 4, dtype="int8"), ints(2, 5, 4, dtype="int8")],
        )
    ],
    "qnn.conv2d": [
        Example(
            lambda x, w: qnn.conv2d(
                x, w, point(1), point(0, 2, -3), scale(0.1), scale(0.2), kernel_size=(3, 3), channels=3, padding=1
            ),
            [_BYTES, ints(3, 4, 3, 3, dtype="int8")],
        )
    ],
    "qnn.conv2d_transpose": [
        Example(
            lambda x, w: qnn.conv2d_transpose(
                x, w, point(1), point(-2), scale(0.1), scale(0.2), kernel_size=(3, 3), channels=3, strides=2
            ),
            [_BYTES, ints(4, 3, 3, 3, dtype="int8")],
        )
    ],
    "qnn.leaky_relu": [
        Example(lambda x: qnn.leaky_relu(x, 0.3, scale(0.03), point(5), scale(0.05), point(-7)), [_ALL_BYTES])
    ],
    "qnn.softmax": [
        Example(lambda x: qnn.softmax(x, scale(0.1), point(3), scale(1 / 256), point(-128)), [_BYTES]),
        Example(lambda x: qnn.softmax(x, scale(0.02), point(-9), scale(0.005), point(-100), axis=1), [_BYTES]),
    ],
    "qnn.avg_pool2d": [
        Example(
            lambda x: qnn.avg_pool2d(x, scale(0.5), point(3), scale(0.25), point(-2), (3, 2), (1, 1), (0, 0), (1, 1)),
            [_BYTES],
        ),
        Example(
            lambda x: qnn.avg_pool2d(
                x, scale(0.5), point(3), scale(0.5), point(3), 2, 2, 1, 1, count_include_pad=False, layout="NCHW"
            ),
            [_BYTES],
        ),
    ],
    "qnn.add": _binary(qnn.add),
    "qnn.subtract": _binary(qnn.subtract),
    "qnn.mul": _binary(qnn.mul),
    **{
        f"qnn.{name}": _unary(getattr(qnn, name))
        for name in ("tanh", "exp", "sqrt", "erf", "sigmoid", "hardswish", "abs")
    },
    **{f"qnn.{name}": _unary(getattr(qnn, name), -129) for name in ("rsqrt", "log")},
}
