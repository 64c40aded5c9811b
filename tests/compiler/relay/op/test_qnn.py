"""Quantised operators against real arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import relay
from compiler.ir.error import ArgumentError
from tests.compiler.relay.op.nn.harness import check, random

qnn = relay.qnn.op


def scalar(value: float, dtype: str = "float32") -> np.ndarray:
    return np.asarray(value, dtype)


def test_real_to_whole_and_back() -> None:
    x = np.array([-200.0, -1.5, -0.5, 0.0, 0.5, 1.5, 2.6, 300.0], "float32")
    args = [x, scalar(1.0), scalar(3, "int32")]
    check(qnn.quantize, args, [-128, 1, 3, 3, 3, 5, 6, 127])
    check(lambda *a: qnn.quantize(*a, out_dtype="uint8"), args, [0, 1, 3, 3, 3, 5, 6, 255])
    scales, zeros = np.array([0.5, 2.0], "float32"), np.array([1, -1], "int32")
    whole = random(3, 2, dtype="int8")
    check(lambda *a: qnn.dequantize(*a, axis=1), [whole, scales, zeros], (whole - zeros) * scales)


@pytest.mark.parametrize(("rounding", "wanted"), [("UPWARD", [-2, 3, 8]), ("TONEAREST", [-3, 3, 8])])
def test_whole_numbers_of_another_scale(rounding: str, wanted: list[int]) -> None:
    args = [np.array([-10, 10, 30], "int32"), scalar(0.5), scalar(0, "int32"), scalar(2.0), scalar(0, "int32")]
    check(lambda *a: qnn.requantize(*a, rounding=rounding), args, wanted)
    with pytest.raises(ArgumentError, match="rounding must be one of 'None', 'UPWARD', 'TONEAREST', got 'DOWN'"):
        qnn.requantize(*[relay.var("x")] * 5, rounding="DOWN")


def test_layers_of_whole_numbers() -> None:
    x, w = random(1, 3, 6, 5, dtype="uint8"), random(4, 3, 3, 3, dtype="int8")
    zero, kernel_zero = scalar(7, "int32"), np.array([1, -2, 0, 3], "int32")
    args = [x, w, zero, kernel_zero, scalar(0.5), np.full(4, 0.25, "float32")]
    found = check(lambda *a: qnn.conv2d(*a, padding=1, channels=4, kernel_size=3), args)[0]
    padded = np.pad(x.astype("int32") - 7, [(0, 0), (0, 0), (1, 1), (1, 1)])
    centred = w.astype("int32") - kernel_zero[:, None, None, None]
    assert found[0, 2, 3, 4] == (padded[0, :, 3:6, 4:7] * centred[2]).sum()
    a, b = random(3, 8, dtype="uint8"), random(5, 8, dtype="int8")
    args = [a, b, zero, scalar(2, "int32"), scalar(0.5), scalar(0.25)]
    check(qnn.dense, args, (a.astype("int32") - 7) @ (b.astype("int32") - 2).T)
