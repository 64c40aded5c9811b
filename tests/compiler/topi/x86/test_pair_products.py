"""Products of narrow integers: bit for bit what they are defined to be, by ``pmaddwd`` where the CPU has it."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import compiler as tvm
from compiler import relay, te
from compiler.target.target import Target
from compiler.topi.nn.convolution.conv import ConvSpec
from compiler.topi.nn.convolution.conv_packed import conv2d_nchwc
from compiler.topi.nn.matmul import dense
from compiler.topi.schedules.x86.conv import schedule_conv
from compiler.topi.schedules.x86.matmul import schedule_matmul
from tests.machines import require

CPUS = ("native", "haswell", "sandybridge", "x86-64")
DTYPES = ("int16", "int8", "uint8")
Array = NDArray[Any]


def _values(dtype: str, shape: tuple[int, ...], only_extremes: bool, rng: np.random.Generator) -> Array:
    """Return bytes, or what they are less a zero point: -255 to 255."""
    low, high = (-255, 255) if dtype == "int16" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    values = rng.choice([low, high], shape) if only_extremes else rng.integers(low, high + 1, shape)
    return values.astype(dtype)


def _product(rows: int, columns: int, depth: int, dtypes: tuple[str, str], cpu: str) -> Any:
    target = Target(f"llvm -mcpu={cpu}")
    with target:
        a = te.placeholder((rows, depth), dtypes[0], name="a")
        b = te.placeholder((columns, depth), dtypes[1], name="b")
        c = dense(a, b, out_dtype="int32")
        return tvm.build(schedule_matmul(None, [c], target), [a, b, c], target)


@pytest.mark.parametrize("seed", range(8))
def test_products_are_exact(seed: int) -> None:
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    rows, columns, depth = draw.randint(1, 50), draw.randint(1, 40), draw.randint(1, 60)
    dtypes = (draw.choice(DTYPES), draw.choice(DTYPES))
    require(f"llvm -mcpu={CPUS[seed % len(CPUS)]}")
    func = _product(rows, columns, depth, dtypes, CPUS[seed % len(CPUS)])
    a = _values(dtypes[0], (rows, depth), seed % 3 == 0, rng)
    b = _values(dtypes[1], (columns, depth), seed % 3 == 0, rng)
    out = tvm.nd.array(np.zeros((rows, columns), "int32"))
    func(tvm.nd.array(a), tvm.nd.array(b), out)
    np.testing.assert_array_equal(out.numpy(), a.astype("int64") @ b.astype("int64").T)


def test_sums_wrap_around_as_32_bits_do() -> None:
    """The one sum of two products that is too large: four equal factors, the least of 16 bits."""
    func = _product(32, 16, 4, ("int16", "int16"), "x86-64")
    a, b = (np.full((n, 4), -32768, "int16") for n in (32, 16))
    out = tvm.nd.array(np.ones((32, 16), "int32"))
    func(tvm.nd.array(a), tvm.nd.array(b), out)
    assert not out.numpy().any()


@pytest.mark.parametrize(
    ("cpu", "instruction"),
    [("cascadelake", "vpdpwssd"), ("haswell", "vpmaddwd"), ("sandybridge", "vpmaddwd"), ("x86-64", "pmaddwd")],
)
def test_instruction_of_each_cpu(cpu: str, instruction: str) -> None:
    func = _product(32, 16, 128, ("int16", "int8"), cpu)
    assembly = func.get_source("asm")
    assert f"\t{instruction}\t" in assembly
    assert "pmulld" not in assembly


@pytest.mark.sample(2)
@pytest.mark.parametrize("cpu", ["haswell", "cascadelake", "icelake-server", "sapphirerapids", "znver4", "znver5"])
def test_a_row_of_packed_weights_is_one_load(cpu: str) -> None:
    """The bases of the two loads of a pair are common subexpressions, so that only their definitions tell."""
    x = relay.var("x", shape=(16, 64), dtype="uint8")
    w = relay.const(np.random.default_rng(0).integers(-127, 128, (96, 64)).astype("int8"))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.dense(x, w, out_dtype="int32")))
    with tvm.transform.PassContext(opt_level=3):
        assembly = relay.build(mod, target=f"llvm -mcpu={cpu}").get_lib().get_source("asm")
    assert "vpinsrb" not in assembly


def test_other_architectures_multiply_plainly() -> None:
    target = Target("llvm -mtriple=aarch64-unknown-linux-gnu -mattr=+neon")
    with target:
        a, b = te.placeholder((32, 8), "int16", name="a"), te.placeholder((16, 8), "int16", name="b")
        c = dense(a, b, out_dtype="int32")
        func = tvm.build(schedule_matmul(None, [c], target), [a, b, c], target)
    assert "llvm.x86" not in func.get_source("ll")


def _convolution(x: Array, w: Array, layout: str, target: Target) -> Any:
    """Return a function that convolves, and the shape of its result."""
    inner = x.shape[-1]
    spec = ConvSpec((2, 1), (1, 1), (1, 0), (1, 0), 1, f"NCHW{inner}c", layout, "NCHW8c", "int32")
    with target:
        data, kernel = te.placeholder(x.shape, x.dtype.name, name="x"), te.placeholder(w.shape, w.dtype.name, name="w")
        result = conv2d_nchwc(data, kernel, spec)
        return tvm.build(schedule_conv(None, [result], target), [data, kernel, result], target), result.shape


def _in_pairs(w: Array) -> Array:
    """Return weights ``OIHW8i8o`` as ``OIHW4i8o2i``."""
    pairs = w.reshape(*w.shape[:-2], w.shape[-2] // 2, 2, w.shape[-1])
    return np.ascontiguousarray(np.swapaxes(pairs, -1, -2))


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("cpu", "inner", "in_pairs"),
    [*zip(CPUS, (16, 8, 4, 3), itertools.repeat(False)), *zip(CPUS, (2, 8, 4, 6), itertools.repeat(True))],
)
def test_packed_convolutions_are_exact(cpu: str, inner: int, in_pairs: bool) -> None:
    require(f"llvm -mcpu={cpu}")
    rng = np.random.default_rng(inner)
    x = _values("int16", (1, 2, 5, 6, inner), cpu == "haswell", rng)
    w = _values("int8", (2, 2, 3, 2, inner, 8), cpu == "haswell", rng)
    layout = f"OIHW{inner // 2}i8o2i" if in_pairs else f"OIHW{inner}i8o"
    weights = _in_pairs(w) if in_pairs else w
    func, shape = _convolution(x, weights, layout, Target(f"llvm -mcpu={cpu}"))
    out = tvm.nd.array(np.zeros([int(d) for d in shape], "int32"))
    func(tvm.nd.array(x), tvm.nd.array(weights), out)
    padded = np.pad(x.astype("int64"), ((0, 0), (0, 0), (1, 1), (0, 0), (0, 0)))
    expected = np.zeros(out.shape, "int64")
    for r, q in itertools.product(range(3), range(2)):
        window = padded[:, :, r : r + 2 * out.shape[2] : 2, q : q + out.shape[3]][:, :, : out.shape[2]]
        expected += np.einsum("nchwi,ocib->nohwb", window, w[:, :, r, q].astype("int64"))
    np.testing.assert_array_equal(out.numpy(), expected)


def test_pairs_that_stand_side_by_side_are_not_interleaved() -> None:
    w = np.zeros((8, 2, 3, 2, 4, 8, 2), "int16")
    func, _ = _convolution(np.zeros((1, 2, 5, 6, 8), "int16"), w, "OIHW4i8o2i", Target("llvm -mcpu=haswell"))
    assembly = func.get_source("asm")
    assert "\tvpmaddwd\t" in assembly
    assert "vpunpck" not in assembly
    assert "vpgather" not in assembly


def test_layers_of_graphs_stand_in_pairs_where_the_cpu_multiplies_those() -> None:
    data, kernel = relay.var("x", shape=(1, 16, 8, 8), dtype="int16"), relay.const(np.zeros((16, 16, 3, 3), "int16"))
    rows, weight = relay.var("r", shape=(4, 32), dtype="int16"), relay.const(np.zeros((32, 32), "int16"))
    convolved = relay.nn.conv2d(data, kernel, channels=16, kernel_size=(3, 3), out_dtype="int32")
    func = relay.Function([data, rows], relay.Tuple([convolved, relay.nn.dense(rows, weight, out_dtype="int32")]))
    for cpu, layouts in (("haswell", ("OIHW4i8o2i", "NC16n2c")), ("cascadelake", ("OIHW8i16o2i", "NC16n2c"))):
        altered = relay.transform.AlterOpLayout(Target(f"llvm -mcpu={cpu}"))(tvm.IRModule.from_expr(func)).script()
        assert all(f'"{layout}"' in altered for layout in layouts)
