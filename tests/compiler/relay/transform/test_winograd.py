"""Convolutions of 3 x 3 on transformed tiles: which ones become such, and that they compute the same."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.contrib import graph_executor
from compiler.driver.lower import lower
from compiler.driver.relay.build import build, build_graph
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.relay.transform.pipeline import optimize
from compiler.runtime.arrays.ndarray import numpy_dtype
from compiler.target.target import Target
from compiler.topi.nn.convolution.winograd_packed import is_worth_winograd
from tests.machines import require

RANDOM = np.random.default_rng(3)


def _weight(outputs: int, inputs: int, kernel: int = 3) -> Any:
    spread = np.sqrt(2 / inputs / kernel**2)
    return relay.const((RANDOM.standard_normal((outputs, inputs, kernel, kernel)) * spread).astype("float32"))


def _convolution_of_bytes(x: Any, weight: Any, zero: int, padding: Any) -> Any:
    scale, none = relay.const(np.float32(1)), relay.const(0)
    size = {"kernel_size": weight.shape[2:], "channels": len(weight), "padding": padding}
    return relay.qnn.op.conv2d(x, relay.const(weight), relay.const(zero), none, scale, scale, **size)


def _is_transformed(call: Any, cpu: str = "haswell") -> bool:
    with PassContext(opt_level=3):
        text = str(optimize(IRModule.from_expr(call), Target(f"llvm -mcpu={cpu}")))
    return "nn.contrib_conv2d_winograd_NCHWc" in text


def test_only_windows_of_3_with_known_weights_steps_of_1_and_many_outputs_are_transformed() -> None:
    x = relay.var("x", shape=(1, 64, 28, 28))
    conv = relay.nn.conv2d
    assert _is_transformed(conv(x, _weight(64, 64), padding=1))
    assert _is_transformed(relay.nn.relu(conv(x, _weight(48, 64), padding=(0, 1, 2, 1))))
    assert not _is_transformed(conv(x, relay.var("w", shape=(64, 64, 3, 3)), padding=1))
    assert not _is_transformed(conv(x, _weight(64, 64, 5), padding=2))
    assert not _is_transformed(conv(x, _weight(64, 64), padding=1, strides=2))
    assert not _is_transformed(conv(x, _weight(64, 64), padding=1, dilation=2))
    assert not _is_transformed(conv(x, _weight(64, 16), padding=1, groups=4))
    assert not _is_transformed(conv(relay.var("x", shape=(1, 64, 7, 7)), _weight(64, 64), padding=1))


def test_weights_that_are_loaded_for_few_tiles_stay_as_they_are() -> None:
    assert is_worth_winograd(64, 64, 1, 56, 56)
    assert is_worth_winograd(128, 128, 1, 28, 28)
    assert is_worth_winograd(256, 256, 1, 14, 14), "a weight at each point meets 16 tiles"
    assert not is_worth_winograd(512, 512, 1, 7, 7), "it meets four"
    assert is_worth_winograd(512, 512, 16, 8, 8), "the weights are loaded once for all images"
    assert not is_worth_winograd(256, 256, 1, 14, 14, "bfloat16"), "an instruction adds two products"


@pytest.mark.parametrize(
    ("target", "is_fetched"), [("llvm -mcpu=haswell", True), ("llvm -mtriple=aarch64-linux-gnu", False)]
)
def test_weights_of_the_next_channels_are_fetched_while_tiles_are_multiplied(target: str, is_fetched: bool) -> None:
    x = relay.var("x", shape=(1, 64, 28, 28))
    module = IRModule.from_expr(relay.nn.conv2d(x, _weight(64, 64), padding=1))
    with PassContext(opt_level=3):
        kernels = build_graph(module, Target(target)).kernels
    (usual,) = (kernel.usual for name, kernel in kernels.items() if "winograd" in name)
    text = str(lower(usual.schedule, [*usual.inputs, *usual.outputs]))
    assert ("T.prefetch" in text) == is_fetched


@pytest.mark.parametrize(("images", "at_a_time"), [(1, 1), (6, 3), (7, 1)])
def test_as_many_images_are_transformed_before_they_are_multiplied_as_caches_hold(images: int, at_a_time: int) -> None:
    x = relay.var("x", shape=(images, 64, 56, 56))
    module = IRModule.from_expr(relay.nn.conv2d(x, _weight(64, 64), padding=1))
    target = "llvm -mcpu=haswell"
    with PassContext(opt_level=3):
        lib = build(module, target)
        kernels = build_graph(module, Target(target)).kernels
    (usual,) = (kernel.usual for name, kernel in kernels.items() if "winograd" in name)
    text = str(lower(usual.schedule, [*usual.inputs, *usual.outputs]))
    (size,) = re.findall(r"data_points = T.allocate\(\[(\d+)\]", text)
    assert int(size) // (36 * 14 * 14 * 64) == at_a_time
    executor = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    data = RANDOM.standard_normal((images, 64, 56, 56)).astype("float32")
    executor.run(x=data)
    every = executor.get_output(0).numpy()
    for at in (0, images - 1):
        executor.run(x=np.broadcast_to(data[at : at + 1], data.shape))
        np.testing.assert_array_equal(executor.get_output(0).numpy()[at], every[at])


@pytest.mark.parametrize(("cpu", "is_transformed"), [("cooperlake", True), ("znver4", True), ("sapphirerapids", False)])
def test_bfloat16_is_transformed_in_float32_unless_there_are_tile_registers(cpu: str, is_transformed: bool) -> None:
    x = relay.var("x", shape=(1, 64, 56, 56), dtype="bfloat16")
    assert (
        _is_transformed(relay.nn.conv2d(x, relay.cast(_weight(64, 64), "bfloat16"), padding=1), cpu) == is_transformed
    )


@pytest.mark.parametrize(
    ("shape", "outputs", "padding", "target"),
    [
        ((1, 32, 18, 21), 48, (1, 1, 1, 1), "llvm -mcpu=haswell"),
        ((4, 64, 59, 58), 48, (1, 1, 1, 1), "llvm -mcpu=haswell"),
        ((2, 24, 16, 13), 32, (0, 2, 1, 0), "llvm -mcpu=skylake-avx512"),
        pytest.param((2, 24, 16, 13), 32, (0, 2, 1, 0), "llvm -mcpu=x86-64-v2", marks=pytest.mark.long),
        pytest.param((1, 32, 18, 21), 48, (1, 1, 1, 1), "llvm -mcpu=skylake-avx512", marks=pytest.mark.long),
    ],
)
def test_results_are_those_of_sums_of_products(shape: Any, outputs: int, padding: Any, target: str) -> None:
    require(target)
    weight, bias = _weight(outputs, shape[1]), RANDOM.standard_normal((outputs, 1, 1)).astype("float32")
    x = relay.var("x", shape=shape)
    sums = relay.nn.conv2d(x, weight, padding=padding) + relay.const(bias)
    with PassContext(opt_level=3):
        lib = build(IRModule.from_expr(relay.Tuple([relay.nn.relu(sums), sums])), target)
    assert any("winograd" in name for name in lib.kernels)
    module = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    data = RANDOM.standard_normal(shape).astype("float32")
    module.run(x=data)
    padded = np.pad(data.astype("float64"), [(0, 0), (0, 0), padding[::2], padding[1::2]])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    wanted = np.einsum("nchwrs,ocrs->nohw", windows, weight.data.numpy().astype("float64"), optimize=True) + bias
    tolerance = 2e-5 * np.abs(wanted).max()
    np.testing.assert_allclose(module.get_output(0).numpy(), np.maximum(wanted, 0), 0, tolerance)
    np.testing.assert_allclose(module.get_output(1).numpy(), wanted, 0, tolerance)


def test_bfloat16_differs_from_real_numbers_by_its_own_rounding_alone() -> None:
    """As sums of float32 do; tiles of bfloat16 would differ by a hundredth."""
    require("llvm -mcpu=cooperlake")
    weight = _weight(64, 64).data.numpy().astype(numpy_dtype("bfloat16"))
    data = RANDOM.standard_normal((1, 64, 40, 37)).astype(weight.dtype)
    x = relay.var("x", shape=data.shape, dtype="bfloat16")
    with PassContext(opt_level=3):
        lib = build(IRModule.from_expr(relay.nn.conv2d(x, relay.const(weight), padding=1)), "llvm -mcpu=cooperlake")
    assert any("winograd" in name for name in lib.kernels)
    module = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    module.run(x=tvm.nd.array(data))
    found = module.get_output(0).numpy().view(weight.dtype).astype("float64")
    windows = np.pad(data.astype("float64"), [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(windows, (3, 3), (2, 3))
    wanted = np.einsum("nchwrs,ocrs->nohw", windows, weight.astype("float64"), optimize=True)
    np.testing.assert_allclose(found, wanted, 2**-8, 2e-5 * np.abs(wanted).max())


@pytest.mark.parametrize(
    "target", ["llvm -mcpu=haswell", pytest.param("llvm -mcpu=skylake-avx512", marks=pytest.mark.long)]
)
def test_bytes_give_the_same_integers_even_at_their_limits(target: str) -> None:
    require(target)
    shape, padding = (1, 64, 22, 19), (1, 0, 2, 1)
    weight = RANDOM.choice([-127, 127], (32, 64, 3, 3)).astype("int8")
    data = RANDOM.choice([0, 255], shape).astype("uint8")
    data[..., :9], weight[::2] = 255, 127
    call = _convolution_of_bytes(relay.var("x", shape=shape, dtype="uint8"), weight, 3, padding)
    with PassContext(opt_level=3):
        lib = build(IRModule.from_expr(call), target)
    assert any("winograd" in name for name in lib.kernels)
    module = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    module.run(x=data)
    padded = np.pad(data.astype("int64") - 3, [(0, 0), (0, 0), padding[::2], padding[1::2]])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    wanted = np.einsum("nchwrs,ocrs->nohw", windows, weight.astype("int64"), optimize=True)
    np.testing.assert_array_equal(module.get_output(0).numpy(), wanted)


def test_integers_are_transformed_only_where_no_data_could_overflow() -> None:
    x = relay.var("x", shape=(1, 128, 28, 28), dtype="uint8")
    few, many = (np.full((64, 128, 3, 3), value, "int8") for value in (113, 115))
    assert _is_transformed(_convolution_of_bytes(x, few, 0, 1))
    assert not _is_transformed(_convolution_of_bytes(x, many, 0, 1)), "2**6 times the sum needs 33 bits"
    size = {"padding": 1, "out_dtype": "int32"}
    weight = relay.const(few.astype("int16"))
    assert _is_transformed(relay.nn.conv2d(relay.cast(x, "int16"), weight, **size))
    assert not _is_transformed(relay.nn.conv2d(relay.var("x", shape=(1, 128, 28, 28), dtype="int16"), weight, **size))
    far = relay.cast(x, "int16") - relay.const(np.int16(328))
    assert not _is_transformed(relay.nn.conv2d(far, weight, **size)), "100 times the data needs 17 bits"
