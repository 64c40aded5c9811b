"""Dense layers and convolutions of bytes: exactly what 64-bit integers say, by the instruction that each CPU has."""

from __future__ import annotations

import random
import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import compiler as tvm
from compiler import relay
from compiler.classic.contrib import graph_executor
from compiler.runtime.modules.module import Module
from compiler.runtime.modules.native_code import ObjectCode, compiled, host_triple
from tests.machines import require

CPUS = ("cascadelake", "sapphirerapids", "alderlake", "skylake-avx512", "haswell", "x86-64")
ARM = "llvm -mtriple=aarch64-unknown-linux-gnu -mcpu="
Array = NDArray[Any]


def _layer(rows: tuple[int, ...], weight: Array, dtype: str, zero: int | None, wide: str) -> tvm.IRModule:
    """Return a dense layer of bytes; their zero point is an input if it is None, and none at all if ``wide`` is empty.

    Three axes are reshaped to a matrix, and back after the product.
    """
    x, z = relay.var("x", shape=rows, dtype=dtype), relay.var("z", shape=(), dtype=dtype)
    data = x
    if wide:
        point = relay.cast(z, wide) if zero is None else relay.const(zero, wide)
        data = relay.subtract(relay.cast(x, wide), point)
    if len(rows) > 2:
        data = relay.reshape(data, (-1, rows[-1]))
    out = relay.nn.dense(data, relay.const(weight.astype(wide or "int8")), out_dtype="int32")
    if len(rows) > 2:
        out = relay.reshape(out, (*rows[:-1], weight.shape[0]))
    inputs = [x, z] if wide and zero is None else [x]
    return tvm.IRModule.from_expr(relay.Function(inputs, relay.multiply(out, relay.const(3, "int32"))))


def _built(mod: tvm.IRModule, target: str) -> Any:
    with tvm.transform.PassContext(opt_level=3):
        return relay.build(mod, target)


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(18))
def test_dense_layers_of_bytes_are_exact(seed: int) -> None:
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    cpu = CPUS[seed % len(CPUS)]
    require(f"llvm -mcpu={cpu}")
    units, depth = draw.randint(1, 70), draw.randint(1, 90)
    rows = draw.choice([(draw.randint(1, 40), depth), (1, draw.randint(1, 40), depth), (3, 33, depth)])
    dtype, wide = draw.choice(["uint8", "int8"]), draw.choice(["int16", "int32", "int16", ""])
    info = np.iinfo(dtype)
    zero = None if draw.random() < 0.4 else draw.choice([0, info.min, info.max, draw.randint(info.min, info.max)])
    weight = rng.choice([-128, 127], (units, depth)) if seed % 3 == 0 else rng.integers(-128, 128, (units, depth))
    lib = _built(_layer(rows, weight, dtype, zero, wide), f"llvm -mcpu={cpu}")
    run = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    for values in (rng.integers(info.min, info.max + 1, rows), rng.choice([info.min, info.max], rows)):
        point = 0 if not wide else draw.randint(info.min, info.max) if zero is None else zero
        inputs: dict[str, Array] = {"x": values.astype(dtype)}
        if wide and zero is None:
            inputs["z"] = np.asarray(point, dtype)
        run.run(**inputs)
        expected = 3 * ((values.astype("int64") - point) @ weight.astype("int64").T)
        np.testing.assert_array_equal(run.get_output(0).numpy(), expected)


def _convolution(shape: tuple[int, ...], weight: Array, dtype: str, zero: int, **attrs: Any) -> tvm.IRModule:
    x, one = relay.var("x", shape=shape, dtype=dtype), relay.const(1.0)
    size = {"channels": weight.shape[0], "kernel_size": weight.shape[2:]}
    sums = relay.qnn.op.conv2d(x, relay.const(weight), relay.const(zero), relay.const(0), one, one, **size, **attrs)
    return tvm.IRModule.from_expr(relay.Function([x], relay.multiply(sums, relay.const(3, "int32"))))


@pytest.mark.parametrize("seed", range(len(CPUS)))
def test_convolutions_of_bytes_are_exact(seed: int) -> None:
    """What surrounds an image is its zero point, where highest bits are flipped as well."""
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    cpu = CPUS[seed % len(CPUS)]
    require(f"llvm -mcpu={cpu}")
    channels, units = draw.choice([3, 4, 24, 64, 96]), draw.choice([7, 8, 20, 64])
    dtype, step, size = draw.choice(["uint8", "int8"]), draw.randint(1, 2), draw.choice([1, 3])
    info, before, after = np.iinfo(dtype), draw.randint(0, 2), draw.randint(0, 1)
    zero = draw.choice([0, info.min, info.max, draw.randint(info.min, info.max)])
    images = rng.integers(info.min, info.max + 1, (2, channels, 9, 14)).astype(dtype)
    weight = rng.integers(-128, 128, (units, channels, size, size)).astype("int8")
    attrs = {"strides": step, "padding": (before, after, after, before)}
    lib = _built(_convolution(images.shape, weight, dtype, zero, **attrs), f"llvm -mcpu={cpu}")
    run = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    run.run(x=images)
    surrounded = np.pad(images.astype("int64") - zero, ((0, 0), (0, 0), (before, after), (after, before)))
    windows = np.lib.stride_tricks.sliding_window_view(surrounded, (size, size), (2, 3))[:, :, ::step, ::step]
    expected = 3 * np.einsum("nchwrs,ocrs->nohw", windows, weight.astype("int64"), optimize=True)
    np.testing.assert_array_equal(run.get_output(0).numpy(), expected)


@pytest.mark.parametrize("cpu", ["cascadelake", "znver4"])
@pytest.mark.parametrize(
    ("channels", "size", "dilation", "in_rows"),
    [(3, (3, 3), 1, True), (1, (5, 7), 1, True), (6, (2, 3), 1, True), (3, (3, 3), 2, False), (3, (3, 1), 1, False)],
)
@pytest.mark.parametrize("zero", [0, 7])
def test_images_of_few_channels_stay_as_they_are(
    channels: int, size: tuple[int, int], dilation: int, in_rows: bool, zero: int, cpu: str
) -> None:
    """Neighbours in a row are multiplied in fours, unless they are apart or only one is multiplied."""
    require(f"llvm -mcpu={cpu}")
    rng = np.random.default_rng(channels)
    images, weight = rng.integers(0, 256, (1, channels, 13, 14)), rng.integers(-128, 128, (16, channels, *size))
    attrs = {"strides": 2, "padding": (1, 2, 0, 1), "dilation": dilation}
    lib = _built(_convolution(images.shape, weight.astype("int8"), "uint8", zero, **attrs), f"llvm -mcpu={cpu}")
    assert any("NCHW1c" in str(kernel.function) for kernel in lib.get_lib().kernels.values()) == in_rows
    assert "vpdpbusd" in lib.get_lib().get_source("asm")
    run = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    run.run(x=images.astype("uint8"))
    surrounded = np.pad(images - zero, ((0, 0), (0, 0), (1, 0), (2, 1)))
    window = [dilation * (extent - 1) + 1 for extent in size]
    windows = np.lib.stride_tricks.sliding_window_view(surrounded, window, (2, 3))[:, :, ::2, ::2]
    expected = 3 * np.einsum("nchwrs,ocrs->nohw", windows[..., ::dilation, ::dilation], weight)
    np.testing.assert_array_equal(run.get_output(0).numpy(), expected)


def _depthwise(images: tuple[int, ...], weight: Array, dtype: str, zero: int, **attrs: Any) -> tvm.IRModule:
    return _convolution(images, weight, dtype, zero, groups=weight.shape[0], **attrs)


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(2 * len(CPUS)))
def test_depthwise_convolutions_of_bytes_are_exact(seed: int) -> None:
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    cpu = CPUS[seed % len(CPUS)]
    require(f"llvm -mcpu={cpu}")
    channels, step, (high, wide) = (
        draw.choice([4, 6, 24, 64, 96]),
        draw.randint(1, 2),
        draw.choice([(3, 3), (5, 5), (2, 6)]),
    )
    dtype, before, after = draw.choice(["uint8", "int8"]), draw.randint(0, 2), draw.randint(0, 1)
    info = np.iinfo(dtype)
    zero = draw.choice([info.min, info.min, 5])
    images = rng.choice([info.min, info.max, 3], (2, channels, 9, 14)).astype(dtype)
    weight = rng.integers(-128, 128, (channels, 1, high, wide)).astype("int8")
    attrs = {"strides": step, "padding": (before, after, after, before)}
    lib = _built(_depthwise(images.shape, weight, dtype, zero, **attrs), f"llvm -mcpu={cpu}")
    run = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    run.run(x=images)
    surrounded = np.pad(images.astype("int64") - zero, ((0, 0), (0, 0), (before, after), (after, before)))
    windows = np.lib.stride_tricks.sliding_window_view(surrounded, (high, wide), (2, 3))[:, :, ::step, ::step]
    expected = 3 * np.einsum("nchwrs,crs->nchw", windows, weight[:, 0].astype("int64"))
    np.testing.assert_array_equal(run.get_output(0).numpy(), expected)


@pytest.mark.sample(3)
@pytest.mark.parametrize("cpu", ["cascadelake", "znver4", "alderlake", "sapphirerapids"])
@pytest.mark.parametrize(("dtype", "zero"), [("uint8", 0), ("int8", -128)])
def test_neighbours_in_a_row_are_multiplied_in_fours(cpu: str, dtype: str, zero: int) -> None:
    mod = _depthwise((1, 64, 9, 14), np.ones((64, 1, 3, 3), "int8"), dtype, zero, padding=(1, 1))
    assembly = _built(mod, f"llvm -mcpu={cpu}").get_lib().get_source("asm")
    assert re.search(r"\svpdpbusd\s", assembly)
    assert not re.search(r"\svpmulld|vpdpwssd\s", assembly)


@pytest.mark.parametrize(("cpu", "shuffle"), [("znver4", "vpermb"), ("cascadelake", "vpermd")])
def test_neighbours_in_a_row_are_loaded_at_once(cpu: str, shuffle: str) -> None:
    """One register is shuffled for each product, and the weights for a row of them."""
    mod = _depthwise((1, 16, 9, 14), np.ones((16, 1, 3, 3), "int8"), "uint8", 0, padding=(1, 1))
    assembly = _built(mod, f"llvm -mcpu={cpu}").get_lib().get_source("asm")
    products, shuffles = (len(re.findall(rf"\s{each}\s", assembly)) for each in ("vpdpbusd", shuffle))
    assert 0 < products <= shuffles <= products + 4


@pytest.mark.parametrize(
    ("dtype", "zero", "attrs"),
    [("uint8", 3, {}), ("int8", 0, {}), ("uint8", 0, {"dilation": 2}), ("uint8", 0, {"channels": 6})],
)
def test_depthwise_convolutions_that_are_not(dtype: str, zero: int, attrs: dict[str, int]) -> None:
    """Zero points would be around the images; taps that are apart, or few channels, fill no vectors."""
    channels = attrs.pop("channels", 64)
    mod = _depthwise((1, channels, 9, 14), np.ones((channels, 1, 3, 3), "int8"), dtype, zero, **attrs)
    assert "vpdpbusd" not in _built(mod, "llvm -mcpu=znver4").get_lib().get_source("asm")


def test_depthwise_convolutions_of_bytes_stay_16_bits_wide_on_arm() -> None:
    mod = _depthwise((1, 64, 9, 14), np.ones((64, 1, 3, 3), "int8"), "uint8", 0)
    (kernel,) = (f for f in _built(mod, f"{ARM}neoverse-v2").get_lib().kernels.values() if "depthwise" in f.name)
    assert "int16" in str(kernel.prim_func)


@pytest.mark.parametrize(
    ("target", "instruction"),
    [("llvm -mcpu=alderlake", "vpdpbusd"), ("llvm -mcpu=sapphirerapids", "tdpbusd"), (f"{ARM}neoverse-n1", "sdot")],
)
def test_instruction_of_each_cpu_for_convolutions(target: str, instruction: str) -> None:
    mod = _convolution((1, 64, 9, 14), np.ones((64, 64, 3, 3), "int8"), "uint8", 3, padding=(1, 1))
    assert re.search(rf"\s{instruction}\s", _built(mod, target).get_lib().get_source("asm"))


def test_what_follows_sums_in_tile_registers_is_a_loop_over_them() -> None:
    mod = _convolution((1, 64, 9, 14), np.ones((64, 64, 3, 3), "int8"), "uint8", 0, padding=(1, 1))
    kernels = _built(mod, "llvm -mcpu=sapphirerapids").get_lib().kernels.values()
    (kernel,) = (str(each.prim_func) for each in kernels if "conv2d" in each.name)
    assert kernel.count("T.Broadcast(3, 64)") == 1


def test_channels_that_fill_few_of_a_tile_registers_rows_are_multiplied_in_vectors() -> None:
    mod = _convolution((1, 16, 9, 14), np.ones((64, 16, 3, 3), "int8"), "uint8", 0)
    assembly = _built(mod, "llvm -mcpu=sapphirerapids").get_lib().get_source("asm")
    assert re.search(r"\svpdpbusd\s", assembly)
    assert "tdpbusd" not in assembly


@pytest.mark.parametrize(
    ("target", "instruction"),
    [
        *((f"llvm -mcpu={cpu}", "vpdpbusd") for cpu in ("cascadelake", "icelake-server", "znver4", "alderlake")),
        *((f"llvm -mcpu={cpu}", "vpmaddwd") for cpu in ("skylake-avx512", "haswell")),
        *(
            (f"{ARM}{cpu}", "sdot" if cpu == "neoverse-n1" else "usmmla")
            for cpu in ("neoverse-n1", "neoverse-v1", "neoverse-v2")
        ),
    ],
)
def test_instruction_of_each_cpu(target: str, instruction: str) -> None:
    mod = _layer((16, 64), np.ones((50, 64), "int8"), "uint8", 3, "int16")
    assembly = _built(mod, target).get_lib().get_source("asm")
    assert re.search(rf"\s{instruction}\s", assembly)
    assert "vpinsrb" not in assembly


def _small_matrices() -> str:
    """Return LLVM IR of ``usmmla``: sums of products of two rows and two columns, each of eight bytes."""
    lines, sums = [], "%c"
    for i, (row, column) in enumerate(product(range(2), repeat=2)):
        for name, at in (("x", row), ("y", column)):
            places = ", ".join(f"i32 {8 * at + k}" for k in range(8))
            lines.append(f"%{name}{i} = shufflevector <16 x i32> %{name}, <16 x i32> poison, <8 x i32> <{places}>")
        lines += [
            f"%products{i} = mul <8 x i32> %x{i}, %y{i}",
            f"%sum{i} = call i32 @llvm.vector.reduce.add.v8i32(<8 x i32> %products{i})",
            f"%old{i} = extractelement <4 x i32> %c, i32 {i}",
            f"%new{i} = add i32 %old{i}, %sum{i}",
            f"%sums{i} = insertelement <4 x i32> {sums}, i32 %new{i}, i32 {i}",
        ]
        sums = f"%sums{i}"
    widened = ["%x = zext <16 x i8> %a to <16 x i32>", "%y = sext <16 x i8> %b to <16 x i32>"]
    begin = "define internal <4 x i32> @mmla(<4 x i32> %c, <16 x i8> %a, <16 x i8> %b) {"
    end = f"ret <4 x i32> {sums}\n}}\ndeclare i32 @llvm.vector.reduce.add.v8i32(<8 x i32>)"
    return "\n".join([begin, *widened, *lines, end])


def test_products_of_small_matrices_are_exact() -> None:
    """Code for AArch64 runs here, with arithmetic in place of its instruction."""
    rng = np.random.default_rng(0)
    values, weight = rng.integers(0, 256, (5, 48)), rng.integers(-128, 128, (32, 48))
    x = relay.var("x", shape=(5, 48), dtype="uint8")
    layer = relay.nn.dense(x, relay.const(weight.astype("int8")), out_dtype="int32")
    lib = _built(tvm.IRModule.from_expr(relay.Function([x], layer)), f"{ARM}neoverse-v2")
    called = r"@llvm\.aarch64\.neon\.usmmla\.v4i32\.v16i8\("
    source = re.sub(rf"^declare .*{called}.*$", "", lib.lib.get_source("ll"), flags=re.MULTILINE)
    source, count = re.subn(called, "@mmla(", source)
    assert count > 1
    source = re.sub(r'^target datalayout.*$|"target-cpu"="[^"]*"', "", source, flags=re.MULTILINE)
    source = re.sub(r"^target triple.*$", f'target triple = "{host_triple()}"', source, flags=re.MULTILINE)
    names = re.findall(r"^define .*i32 @(\w+)", source, re.MULTILINE)
    signatures = [lib.lib.get_function(name).signature for name in names]
    native = Module(signatures, lambda: ObjectCode(compiled((source + _small_matrices()).encode(), "source")))
    run = graph_executor.create(lib.get_graph_json(), native, tvm.cpu(0))
    run.set_input(**lib.get_params())
    run.run(x=values.astype("uint8"))
    np.testing.assert_array_equal(run.get_output(0).numpy(), values @ weight.T)


@pytest.mark.parametrize(("rows", "depth"), [(1, 64), (16, 60)])
def test_few_rows_and_odd_groups_are_multiplied_by_vectors(rows: int, depth: int) -> None:
    """Instructions of small matrices take two rows, and eight bytes of the sum."""
    mod = _layer((rows, depth), np.ones((48, depth), "int8"), "uint8", 3, "int16")
    assembly = _built(mod, f"{ARM}neoverse-v2").get_lib().get_source("asm")
    assert re.search(r"\susdot\s", assembly)
    assert "mmla" not in assembly


def test_weights_that_are_no_bytes_are_multiplied_in_pairs() -> None:
    weight = np.full((16, 8), 200)
    lib = _built(_layer((4, 8), weight, "uint8", 3, "int16"), "llvm -mcpu=cascadelake")
    assert "vpdpbusd" not in lib.get_lib().get_source("asm")


@pytest.mark.parametrize("zero", [300, -129])
def test_zero_points_that_are_no_bytes_stay(zero: int) -> None:
    lib = _built(_layer((4, 8), np.ones((16, 8)), "uint8", zero, "int16"), "llvm -mcpu=cascadelake")
    assert "vpdpbusd" not in lib.get_lib().get_source("asm")
