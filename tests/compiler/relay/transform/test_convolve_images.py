"""Convolutions of volumes and signals as those of images: which ones become such, and that they compute the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.contrib import graph_executor
from compiler.driver.relay.build import build
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.relay.transform.infer_type import InferType
from compiler.relay.transform.simplify.convolve_images import ConvolveImages
from compiler.target.target import Target

RANDOM = np.random.default_rng(8)
SHAPE = (2, 16, 6, 9, 10)


def volume(dtype: str = "float32") -> Any:
    return relay.var("x", shape=SHAPE, dtype=dtype)


def weight(outputs: int, *kernel: int, inputs: int = 16) -> Any:
    return relay.const(RANDOM.standard_normal((outputs, inputs, *kernel)).astype("float32"))


def text_of(call: Any) -> str:
    return str(ConvolveImages()(InferType()(IRModule.from_expr(call))))


def test_what_a_window_reads_of_its_slices_becomes_channels() -> None:
    text = text_of(relay.nn.conv3d(volume(), weight(24, 3, 3, 3), padding=1))
    assert "conv3d" not in text
    assert "newshape=[12, 48, 9, 10]" in text, "six slices of two volumes; three slices of 16 channels"
    assert text.count("strided_slice") == 3
    assert "nn.pad" not in text_of(relay.nn.conv3d(volume(), weight(24, 1, 3, 3), padding=(0, 1, 1)))


def test_where_the_window_is_a_column_nothing_is_moved() -> None:
    text = text_of(relay.nn.conv3d(volume(), weight(24, 3, 1, 1), padding=(1, 0, 0), strides=(2, 1, 1)))
    assert "newshape=[2, 16, 6, 90]" in text
    assert "transpose" not in text
    assert "strided_slice" not in text


def test_gpus_have_schedules_of_their_own_for_volumes() -> None:
    with Target("cuda"):
        assert "nn.conv3d" in text_of(relay.nn.conv3d(volume(), weight(24, 3, 3, 3), padding=1))


def test_other_convolutions_stay_as_they_are() -> None:
    conv, known = relay.nn.conv3d, weight(24, 3, 3, 3)
    last = relay.const(known.data.numpy().transpose(2, 3, 4, 1, 0).copy())
    others = {
        "groups": conv(volume(), weight(16, 3, 3, 3, inputs=1), groups=16),
        "a weight that is computed": conv(volume(), relay.var("w", shape=(24, 16, 3, 3, 3)), channels=24),
        "integers": conv(volume("int8"), relay.const(np.ones((24, 16, 3, 3, 3), "int8")), out_dtype="int32"),
        "channels last": conv(
            relay.var("x", shape=(2, 6, 9, 10, 16)), last, data_layout="NDHWC", kernel_layout="DHWIO", channels=24,
            kernel_size=(3, 3, 3),
        ),
        "few results": conv(volume(), weight(7, 3, 3, 3)),
        "few channels": conv(relay.var("x", shape=(1, 3, 6, 9, 10)), weight(24, 3, 7, 7, inputs=3)),
        "an unknown extent": conv(relay.var("x", shape=(relay.Any(), 16, 6, 9, 10)), known),
    }  # fmt: skip
    for name, call in others.items():
        assert "nn.conv3d" in text_of(call), name


@pytest.mark.parametrize(
    ("outputs", "inputs", "kernel", "samples", "is_row"),
    [(16, 256, 3, 40, True), (16, 255, 3, 40, False), (16, 16, 3, 1 << 15, True), (16, 16, 3, 1 << 14, False),
     (15, 256, 3, 40, False)],
)  # fmt: skip
def test_signals_of_long_sums_or_many_samples_are_rows(
    outputs: int, inputs: int, kernel: int, samples: int, is_row: bool
) -> None:
    x = relay.var("x", shape=(1, inputs, samples))
    call = relay.nn.conv1d(x, weight(outputs, kernel, inputs=inputs), padding=(2, 1), strides=2, dilation=3)
    assert ("nn.conv2d" in text_of(call)) == is_row
    assert ("nn.conv1d" in text_of(call)) != is_row
    x = relay.var("x", shape=(relay.Any(), inputs, relay.Any()))
    call_of_any = relay.nn.conv1d(x, weight(outputs, kernel, inputs=inputs))
    assert ("nn.conv2d" in text_of(call_of_any)) == (is_row and samples < 100), "its sums are long"
    if is_row and samples < 100:
        same_at_levels(relay.nn.relu(call + relay.const(np.float32(0.5))), (1, inputs, samples), "conv1d")


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("kernel", "strides", "padding", "dilation"),
    [
        ((3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1)),
        ((1, 3, 3), (1, 1, 1), (0, 1, 1), (1, 1, 1)),
        ((2, 3, 1), (2, 1, 2), (1, 0, 1, 0, 2, 0), (2, 1, 1)),
        ((3, 1, 1), (2, 1, 1), (1, 0, 0), (1, 1, 1)),
        ((2, 1, 1), (1, 1, 1), (3, 0, 0, 0, 0, 0), (3, 1, 1)),
        ((1, 1, 1), (1, 1, 1), (0, 0, 0), (1, 1, 1)),
        ((1, 1, 1), (3, 1, 1), (0, 0, 0), (1, 1, 1)),
        ((1, 1, 1), (1, 2, 2), (0, 0, 0), (1, 1, 1)),
    ],
)
def test_results_are_those_of_the_convolution(kernel: Any, strides: Any, padding: Any, dilation: Any) -> None:
    call = relay.nn.conv3d(volume(), weight(24, *kernel), strides=strides, padding=padding, dilation=dilation)
    same_at_levels(relay.nn.relu(call + relay.const(np.float32(0.5))), SHAPE, "conv3d")


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("size", "kernel", "strides", "padding", "more"),
    [
        ((9, 10), (4, 4), (2, 2), (1, 1), (0, 0)),
        ((9, 10), (2, 2), (2, 2), (0, 0), (0, 0)),
        ((9, 10), (3, 5), (2, 3), (0, 1, 2, 0), (1, 2)),
        ((9, 10), (3, 3), (1, 1), (1, 2), (0, 0)),
        ((4, 4), (2, 3), (3, 5), (1, 0), (1, 1)),
        ((9, 10), (3, 4), (1, 2), (4, 5, 4, 6), (0, 1)),
        ((9, 10), (3, 4), (2, 2), (-2, 0, 1, -1), (0, 0)),
        ((40,), (16,), (8,), (4,), (0,)),
        ((40,), (11,), (5,), (3,), (0,)),
        ((40,), (3,), (1,), (1,), (0,)),
    ],
)
def test_transposed_convolutions_are_those_to_what_the_same_taps_reach(
    size: Any, kernel: Any, strides: Any, padding: Any, more: Any
) -> None:
    rank = len(size)
    operator = getattr(relay.nn, f"conv{rank}d_transpose")
    x, w = relay.var("x", shape=(2, 12, *size)), weight(12, *kernel, inputs=20)
    call = operator(
        x, w, channels=20, kernel_size=kernel, strides=strides, padding=padding, output_padding=more
    )  # fmt: skip
    text = text_of(call)
    assert "_transpose" not in text
    assert "nn.conv2d" in text
    same_at_levels(relay.nn.relu(call + relay.const(np.float32(0.5))), (2, 12, *size), "d_transpose")


def test_other_transposed_convolutions_stay_as_they_are() -> None:
    x, conv, known = relay.var("x", shape=(1, 12, 9, 10)), relay.nn.conv2d_transpose, weight(12, 4, 4, inputs=20)
    usual = {"channels": 20, "kernel_size": (4, 4), "strides": (2, 2)}
    others = {
        "groups": conv(x, weight(12, 4, 4, inputs=1), groups=12, **{**usual, "channels": 12}),
        "a weight that is computed": conv(x, relay.var("w", shape=(12, 20, 4, 4)), **usual),
        "dilation": conv(x, known, dilation=(2, 2), **usual),
        "one tap to few channels": conv(x, weight(12, 2, 2, inputs=3), channels=3, kernel_size=(2, 2), strides=(2, 2)),
        "channels last": conv(relay.var("x", shape=(1, 9, 10, 12)), known, data_layout="NHWC", **usual),
        "the weight in another order": conv(x, weight(20, 4, 4, inputs=12), kernel_layout="OIHW", **usual),
        "an unknown extent": conv(relay.var("x", shape=(relay.Any(), 12, 9, 10)), known, **usual),
    }
    for name, call in others.items():
        assert "conv2d_transpose" in text_of(call), name


def same_at_levels(graph: Any, shape: tuple[int, ...], operator: str) -> None:
    module = IRModule.from_expr(graph)
    data, found = RANDOM.standard_normal(shape).astype("float32"), []
    for level in (0, 3):
        with PassContext(opt_level=level):
            lib = build(module, "llvm")
        assert any(operator in name for name in lib.kernels) == (level == 0)
        executor = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
        executor.run(x=data)
        found.append(executor.get_output(0).numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-3)
