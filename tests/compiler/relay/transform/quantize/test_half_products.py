"""Products of bfloat16 and float16: what NumPy says in float32, by the instruction that each CPU has for them."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import compiler as tvm
from compiler import relay, te
from compiler.classic.contrib import graph_executor
from compiler.ir.error import ArgumentError
from compiler.relay.transform.pipeline import optimize
from compiler.runtime import machine
from tests.machines import require

CPUS = ("sapphirerapids", "cooperlake", "znver4", "haswell")
ARM = "llvm -mtriple=aarch64-unknown-linux-gnu -mcpu="
HALVES = {"bfloat16": np.dtype(ml_dtypes.bfloat16), "float16": np.dtype("float16")}
PRECISION = {"bfloat16": 2.0**-8, "float16": 2.0**-11}
Array = NDArray[Any]


def _numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    return rng.standard_normal(shape).astype("float32").astype(HALVES[dtype])


def _built(function: relay.Function, target: str, in_half: bool = False) -> Any:
    with tvm.transform.PassContext(opt_level=3, config={"relay.accumulate_in_half": True} if in_half else {}):
        return relay.build(tvm.IRModule.from_expr(function), target)


def _dense(rows: tuple[int, ...], weight: Array, dtype: str) -> relay.Function:
    x = relay.var("x", shape=rows, dtype=dtype)
    return relay.Function([x], relay.nn.relu(relay.nn.dense(x, relay.const(weight, dtype))))


def _check(function: relay.Function, target: str, inputs: dict[str, Array], expected: Array) -> None:
    """Compare with float32: sums in another order, and one rounding of the result."""
    run = graph_executor.GraphModule(_built(function, target)["default"](tvm.cpu(0)))
    run.run(**inputs)
    result = np.asarray(run.get_output(0))
    precision = PRECISION[str(result.dtype)]
    np.testing.assert_allclose(result.astype("float32"), expected, precision, 1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(8))
def test_dense_layers_of_halves_sum_in_float32(seed: int) -> None:
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    target = f"llvm -mcpu={CPUS[seed % len(CPUS)]}"
    require(target)
    units, depth = draw.randint(1, 70), draw.choice([draw.randint(1, 90), 2 * draw.randint(4, 60), 64])
    rows = draw.choice([(draw.randint(1, 40), depth), (1, draw.randint(1, 4), depth), (53, depth)])
    dtype = "float16" if seed % 4 == 3 else "bfloat16"
    weight, x = _numbers(rng, (units, depth), dtype), _numbers(rng, rows, dtype)
    expected = np.maximum(x.astype("float32") @ weight.astype("float32").T, 0)
    _check(_dense(rows, weight, dtype), target, {"x": x}, expected)


@pytest.mark.parametrize("seed", range(4))
def test_batched_products_of_bfloat16_sum_in_float32(seed: int) -> None:
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    target = f"llvm -mcpu={CPUS[seed % 2]}"
    require(target)
    batch, m, n, k = 3, draw.randint(30, 50), draw.randint(5, 40), 2 * draw.randint(3, 40)
    transposed = bool(seed // 2 % 2)
    x, y = _numbers(rng, (batch, m, k), "bfloat16"), _numbers(rng, (batch, n, k), "bfloat16")
    second = y if transposed else np.ascontiguousarray(y.swapaxes(1, 2))
    a, b = (relay.var(name, shape=v.shape, dtype="bfloat16") for name, v in (("a", x), ("b", second)))
    function = relay.Function([a, b], relay.nn.batch_matmul(a, b, transpose_b=transposed))
    expected = x.astype("float32") @ y.astype("float32").swapaxes(1, 2)
    _check(function, target, {"a": x, "b": second}, expected)


@pytest.mark.parametrize("seed", range(6))
def test_convolutions_of_bfloat16_sum_in_float32(seed: int) -> None:
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    target = f"llvm -mcpu={CPUS[seed % 2]}"
    require(target)
    groups = (1, 2, 1, 32, 1, 48)[seed]  # the last ones are depthwise
    channels, outputs = (groups * draw.choice([3, 8, 16, 24, 32, 64] if groups < 32 else [1]) for _ in range(2))
    height, width, k, stride = draw.randint(5, 9), draw.randint(5, 40), draw.choice([1, 3]), draw.choice([1, 2])
    x = _numbers(rng, (1, channels, height, width), "bfloat16")
    weight = _numbers(rng, (outputs, channels // groups, k, k), "bfloat16")
    data = relay.var("x", shape=x.shape, dtype="bfloat16")
    how: dict[str, Any] = {"strides": stride, "padding": k // 2, "groups": groups, "channels": outputs}
    conv = relay.nn.conv2d(data, relay.const(weight, "bfloat16"), kernel_size=(k, k), **how)
    wide = relay.op.get("nn.conv2d")
    expected = wide.reference(conv.attrs, x.astype("float32"), weight.astype("float32"))
    _check(relay.Function([data], conv), target, {"x": x}, np.asarray(expected, "float32"))


def _in_doubles(call: relay.Call, values: list[Array]) -> Array:
    attrs = type(call.attrs)(**{**call.attrs, "out_dtype": "float64"})
    result: Array = call.op.reference(attrs, *[v.astype("float64") for v in values])
    return result


def _products(seed: int) -> tuple[Any, dict[str, Array], int]:
    """Return a layer of float16, what it multiplies, and how many products each sum has."""
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    depth = draw.randint(1, 90)
    if seed % 3 == 0:
        x = _numbers(rng, (draw.choice([1, 5, 33]), depth), "float16")
        weight = _numbers(rng, (draw.choice([7, 16, 64, 96]), depth), "float16")
        return relay.nn.dense, {"x": x, "w": weight}, depth
    if seed % 3 == 1:
        x, y = (_numbers(rng, (2, draw.randint(1, 40), depth), "float16") for _ in range(2))
        return relay.nn.batch_matmul, {"x": x, "w": y}, depth
    channels, size = draw.choice([3, 16, 32]), draw.choice([1, 3])
    x = _numbers(rng, (1, channels, draw.randint(3, 9), draw.randint(3, 20)), "float16")
    weight = _numbers(rng, (draw.choice([5, 32, 64]), channels, size, size), "float16")
    return relay.nn.conv2d, {"x": x, "w": weight}, channels * size * size


@pytest.mark.parametrize("seed", range(6))
def test_products_stay_in_half_where_that_is_asked_for(seed: int) -> None:
    target = "llvm -mcpu=sapphirerapids"
    require(target)
    operator, values, count = _products(seed)
    x = relay.var("x", shape=values["x"].shape, dtype="float16")
    call = operator(x, relay.const(values["w"]))
    run = graph_executor.GraphModule(_built(relay.Function([x], call), target, in_half=True)["default"](tvm.cpu(0)))
    run.run(x=values["x"])
    result = run.get_output(0).numpy()
    exact, most = (_in_doubles(call, [change(v) for v in values.values()]) for change in (np.positive, np.abs))
    assert result.dtype == np.float16
    assert np.all(np.abs(result - exact) <= (count + 1) * PRECISION["float16"] * most)


@pytest.mark.parametrize(
    ("target", "in_half", "instruction"),
    [
        ("llvm -mcpu=sapphirerapids", True, r"vfmadd\w+ph\s.*%zmm"),
        ("llvm -mcpu=icelake-server -mattr=+avx512fp16", True, r"vfmadd\w+ph\s.*%zmm"),
        ("llvm -mcpu=sapphirerapids", False, r"vfmadd\w+ps\s.*%zmm"),
        (f"{ARM}neoverse-n1", True, r"fmla\s+v\d+\.8h"),
        (f"{ARM}neoverse-n1", False, r"fmla\s+v\d+\.4s"),
    ],
)
def test_instruction_of_sums_of_float16(target: str, in_half: bool, instruction: str) -> None:
    weight = np.ones((64, 48), "float16")
    assembly = _built(_dense((32, 48), weight, "float16"), target, in_half).get_lib().get_source("asm")
    multiplying = re.findall(r"^\s+((?:vfmadd|fmla).*)", assembly, re.MULTILINE)
    assert multiplying
    assert all(re.match(instruction, line) for line in multiplying)


@pytest.mark.parametrize("target", ["llvm -mcpu=cascadelake", f"{ARM}cortex-a72"])
def test_sums_in_half_are_refused_where_each_step_would_be_converted(target: str) -> None:
    with pytest.raises(ArgumentError, match=r"has no arithmetic of float16: .* add -mattr=.avx512fp16"):
        _built(_dense((4, 8), np.ones((16, 8), "float16"), "float16"), target, in_half=True)


@pytest.mark.parametrize(
    ("target", "instruction"),
    [
        *((f"llvm -mcpu={cpu}", "tdpbf16ps") for cpu in ("sapphirerapids",)),
        *((f"llvm -mcpu={cpu}", "vdpbf16ps") for cpu in ("cooperlake", "znver4")),
        *((f"llvm -mcpu={cpu}", "vfmadd231ps") for cpu in ("icelake-server",)),
        # Where there are tiles, the vector instruction takes twice as long as products of float32.
        ("llvm -mcpu=sapphirerapids -mattr=-amx-tile", "vfmadd231ps"),
        (f"{ARM}neoverse-v1", "bfmmla"),
        (f"{ARM}neoverse-n1", "fmla"),
    ],
)
def test_instruction_of_each_cpu(target: str, instruction: str) -> None:
    weight = np.ones((48, 64), HALVES["bfloat16"])
    assembly = _built(_dense((32, 64), weight, "bfloat16"), target).get_lib().get_source("asm")
    multiplying = {"tdpbf16ps", "vdpbf16ps", "vfmadd231ps", "bfdot", "bfmmla", "fmla"}
    found = {word for word in re.findall(r"^\s+(\w+)", assembly, re.MULTILINE) if word in multiplying}
    assert found == {instruction}


def test_bytes_are_multiplied_in_tiles() -> None:
    target = "llvm -mcpu=sapphirerapids"
    require(target)
    rng = np.random.default_rng(0)
    values, weight = rng.integers(0, 256, (45, 96)).astype("uint8"), rng.integers(-128, 128, (33, 96)).astype("int8")
    x = relay.var("x", shape=values.shape, dtype="uint8")
    product = relay.nn.dense(relay.cast(x, "int32"), relay.const(weight.astype("int32")), out_dtype="int32")
    lib = _built(relay.Function([x], product), target)
    assert "tdpbusd" in lib.get_lib().get_source("asm")
    run = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    run.run(x=values)
    np.testing.assert_array_equal(run.get_output(0).numpy(), values.astype("int64") @ weight.astype("int64").T)


@pytest.mark.parametrize(("rows", "kept"), [(1, "float16"), (4, "float16"), (40, "float32")])
def test_weights_stay_half_as_wide_where_a_few_rows_read_them(rows: int, kept: str) -> None:
    function = _dense((rows, 32), np.ones((32, 32), "float16"), "float16")
    with tvm.transform.PassContext(opt_level=3):
        mod = optimize(tvm.IRModule.from_expr(function), "llvm -mcpu=haswell")
    constants: list[str] = []
    relay.analysis.post_order_visit(
        mod["main"], lambda e: constants.append(e.data.dtype) if isinstance(e, relay.Constant) else None
    )
    assert constants == [kept]


_SMALL_STACK = """
import ctypes
class Stack(ctypes.Structure):
    _fields_ = [("pointer", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]
memory = ctypes.create_string_buffer(1 << 16)
stack = Stack(ctypes.addressof(memory), 0, 6 << 10)
# Linux refuses the registers to processes whose signal handlers have no room to save them.
assert ctypes.CDLL(None).sigaltstack(ctypes.byref(stack), None) == 0
import numpy as np, ml_dtypes
import compiler as tvm
from tests.compiler.relay.transform.quantize.test_half_products import _built, _dense
from compiler.classic.contrib import graph_executor
lib = _built(_dense((32, 64), np.ones((32, 64), ml_dtypes.bfloat16), "bfloat16"), "llvm -mcpu=sapphirerapids")
graph_executor.GraphModule(lib["default"](tvm.cpu(0))).run()
"""


def test_a_kernel_says_that_the_system_refuses_tile_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    require("llvm -mcpu=sapphirerapids")
    ran = subprocess.run(
        [sys.executable, "-c", _SMALL_STACK], env=os.environ, capture_output=True, text=True, check=False
    )
    assert "compile for it with -mattr=-amx-tile" in ran.stderr
    monkeypatch.setattr(machine, "_keeps_tiles", lambda: False)
    assert not any(has for name, has in machine.Machine({}).features.items() if name.startswith("amx-"))


def test_a_schedule_asks_for_tile_registers_by_a_pragma() -> None:
    rows, columns, depth = 21, 48, 128
    a = te.placeholder((rows, depth), "int8", name="A")
    b = te.placeholder((columns // 16, depth // 4, 16, 4), "int8", name="B")
    k = te.reduce_axis((0, depth // 4), name="k")

    def products(i: Any, j: Any) -> Any:
        terms = [a[i, k * 4 + g].astype("int32") * b[j // 16, k, j % 16, g].astype("int32") for g in range(4)]
        return te.sum(terms[0] + terms[1] + terms[2] + terms[3], axis=k)

    c = te.compute((rows, columns), products, name="C")
    s = te.create_schedule(c.op)
    i, j = c.op.axis
    jo, ji = s[c].split(j, factor=16)
    ko, ki = s[c].split(k, factor=16)
    s[c].reorder(jo, ko, i, ji, ki)
    s[c].pragma(ko, "tile_product")
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-128, 128, shape).astype("int8") for shape in ((rows, depth), (columns, depth)))
    packed = np.ascontiguousarray(y.reshape(columns // 16, 16, depth // 4, 4).transpose(0, 2, 1, 3))
    for target, in_tiles in (("llvm -mcpu=sapphirerapids", True), ("llvm -mcpu=haswell", False)):
        require(target)
        built = tvm.build(s, [a, b, c], target)
        assert ("tdpbssd" in built.get_source("asm")) == in_tiles
        result = tvm.nd.array(np.zeros((rows, columns), "int32"))
        built(tvm.nd.array(x), tvm.nd.array(packed), result)
        np.testing.assert_array_equal(result.numpy(), x.astype("int64") @ y.astype("int64").T)
