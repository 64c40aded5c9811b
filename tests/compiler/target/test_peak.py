"""The peak rates of a processor's multiply-adds: which one bounds a program, and that it is measured."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import te
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import const
from compiler.target.cpu import peak
from compiler.target.cpu.peak import PEAKS, measure_peak, peak_of
from compiler.target.target import Target
from compiler.te.definition.tensor import Tensor
from compiler.te.lowering.create_prim_func import create_prim_func
from compiler.tir.analysis.arithmetic import Arithmetic, usual_arithmetic
from compiler.tir.statements.buffer import BufferLoad, BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc

HOST = Target("llvm")
IS_X86 = HOST.triple.startswith("x86_64")
NARROW_SUMS = {"int8": ("int32", 4), "int16": ("int32", 2)}
"""Of which data type the sums of products of narrow integers are, and how many an instruction adds to one."""
NARROW = {dtype: peak_of(Arithmetic(dtype, dtype, "int32"), HOST) for dtype in ("int8", "int16")}
MEASURED = [dtype for dtype in PEAKS if NARROW.get(dtype, dtype) == dtype]


def product(first: str, second: str, summed: str) -> Tensor:
    """Return a product of matrices, of numbers that are widened where they are narrow."""
    a, b = te.placeholder((8, 16), first, "a"), te.placeholder((16, 8), second, "b")
    k = te.reduce_axis((0, 16), name="k")
    return te.compute((8, 8), lambda i, j: te.sum(a[i, k].astype(summed) * b[k, j].astype(summed), axis=k))


@pytest.mark.parametrize(
    ("tensor", "kind"),
    [
        (lambda: product("float32", "float32", "float32"), ("float32",) * 3),
        (lambda: product("uint8", "int8", "int32"), ("uint8", "int8", "int32")),
        (lambda: product("float16", "float16", "float32"), ("float16", "float16", "float32")),
        (lambda: te.compute((8,), lambda i: te.const(1.5, "float64") - te.exp(i.astype("float64"))), ("float64",) * 3),
        (lambda: te.compute((8,), lambda i: te.if_then_else(i * 3 + 1 < 9, i * 2, 7)), ("int32",) * 3),
        (lambda: te.compute((8,), lambda i: te.placeholder((64,), "float32", "a")[i * 3 + 1]), None),
    ],
)
def test_the_kind_is_that_of_most_of_the_arithmetic(tensor: object, kind: object) -> None:
    made = tensor()  # type: ignore[operator]
    assert usual_arithmetic(create_prim_func([*made.op.input_tensors, made])) == kind


def test_what_a_loop_repeats_outweighs_what_happens_once() -> None:
    a = te.placeholder((4, 64), "int8", "a")
    k = te.reduce_axis((0, 64), name="k")
    sums = te.compute((4,), lambda i: te.sum(a[i, k].astype("int32") * a[i, k].astype("int32"), axis=k), "sums")
    scaled = te.compute((4,), lambda i: sums[i].astype("float32") * te.const(0.5) + te.const(1.0), "scaled")
    assert usual_arithmetic(create_prim_func([a, scaled])) == ("int8", "int8", "int32")


def test_an_expression_that_is_used_again_and_again_is_seen_once() -> None:
    made = decl_buffer((4,), "float32")
    value = BufferLoad(made, (const(0),)) * const(2.0)
    for _ in range(200):
        value = value + value
    assert usual_arithmetic(PrimFunc((made,), BufferStore(made, value, (const(1),)))) == ("float32",) * 3


@pytest.mark.parametrize(
    ("cpu", "kind", "bound"),
    [
        ("znver4", ("float64",) * 3, "float64"),
        ("znver4", ("uint8", "int8", "int32"), "int8"),
        ("znver4", ("int16", "int16", "int32"), "int16"),
        ("znver3", ("int8", "int8", "int32"), "int16"),
        ("x86-64", ("int8", "uint8", "int32"), "int16"),
        ("sapphirerapids", ("int8", "int8", "int32"), None),
        ("sapphirerapids", ("int16", "int16", "int32"), "int16"),
        ("znver4", ("uint8",) * 3, None),
        ("znver4", ("int8",) * 3, None),
        ("znver4", ("int16", "int16", "int64"), None),
        ("znver4", ("float16",) * 3, None),
        ("znver4", ("float16", "float16", "float32"), "float32"),
        ("znver3", ("bfloat16", "bfloat16", "float32"), "float32"),
        ("znver4", ("bfloat16", "bfloat16", "float32"), None),
        ("sapphirerapids", ("bfloat16", "bfloat16", "float32"), None),
    ],
)
def test_narrow_integers_are_bounded_by_the_instruction_that_adds_most_of_their_products(
    cpu: str, kind: tuple[str, str, str], bound: str | None
) -> None:
    assert peak_of(Arithmetic(*kind), Target(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}")) == bound


def test_processors_of_other_kinds() -> None:
    bytes_ = Arithmetic("int8", "int8", "int32")
    assert peak_of(bytes_, Target("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1")) == "int8"
    assert peak_of(bytes_, Target("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72")) is None


def test_a_gpu_has_no_such_peak() -> None:
    assert peak_of(Arithmetic("float32", "float32", "float32"), Target("cuda")) is None
    assert peak_of(None, HOST) is None, "nothing is calculated"


@pytest.mark.parametrize("dtype", MEASURED)
def test_a_peak_is_a_rate(dtype: str) -> None:
    assert 0 < measure_peak(dtype) < 1e5


@pytest.mark.parametrize("dtype", MEASURED)
def test_as_many_operations_are_counted_as_the_instructions_do(dtype: str) -> None:
    """Sums, seen as numbers that are multiplied, are added to as NumPy does it."""
    _, run, operations = peak._kernel(dtype)
    summed, products = NARROW_SUMS.get(dtype, (dtype, 1))
    lanes = operations // (2 * products * peak._CHAINS)
    memory = np.zeros(64 * lanes, summed)
    memory[:lanes] = factor = np.arange(1, lanes + 1).astype(summed)
    run(memory.ctypes.data, 3)
    sums = np.repeat(np.arange(peak._CHAINS), lanes).reshape(-1, lanes).astype(summed)
    for _ in range(3):
        if products == 1:
            sums = sums * factor + factor
        else:
            first = sums.view(dtype if dtype == "int16" or not IS_X86 else "uint8").astype("int64")
            pairs = (first * factor.view(dtype)).reshape(peak._CHAINS, lanes, products)
            sums = (sums + pairs.sum(2)).astype(summed)
    np.testing.assert_allclose(memory[: sums.size], sums.ravel())


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_no_peak_is_measured_of_an_instruction_that_a_machine_lacks(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peak, "integer_products", lambda *_: 1)
    with pytest.raises(ArgumentError, match=f"no instruction whose peak for {dtype} is measured"):
        measure_peak(dtype)


def test_a_peak_is_that_of_a_known_data_type_on_some_threads() -> None:
    with pytest.raises(ArgumentError, match=f"dtype must be one of {', '.join(PEAKS)}, got 'uint4'"):
        measure_peak("uint4")
    with pytest.raises(ArgumentError, match="threads must be positive"):
        measure_peak("float32", 0)
