"""Computing with bfloat16, and storing it, where there is no such type."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from compiler.driver.build import build
from compiler.ir.expr.primexpr import Add, Cast, IntImm
from compiler.ir.transform import Pass
from compiler.runtime.arrays.ndarray import array
from compiler.tir.interpreter import interpret
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate
from compiler.tir.transform import (
    BF16CastElimination,
    BF16ComputeLegalize,
    BF16Legalize,
    BF16Promote,
    BF16StorageLegalize,
)
from tests.compiler.tir.transform.programs import apply, nodes, program

Array = np.ndarray[Any, Any]
BUFFERS = "A: T.Buffer((64,), 'bfloat16'), B: T.Buffer((64,), 'bfloat16'), C: T.Buffer((64,), 'bfloat16')"
SUM_OF_PRODUCTS = """
L = T.allocate([64], "bfloat16", "global")
L_1 = T.Buffer((64,), "bfloat16", data=L)
for i in range(64):
    L_1[i] = A[i] * B[i]
for i in range(64):
    C[i] = L_1[i] + A[63 - i]
"""


def single(bits: Array) -> Array:
    """Return the numbers whose upper halves are given."""
    return (bits.astype("uint32") << 16).view("float32")


def rounded(values: Array) -> Array:
    """Return the upper halves of numbers, rounded to nearest, ties to even."""
    bits = values.astype("float32").view("uint32").astype("uint64")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("uint16")


def run(func: PrimFunc) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(0)
    a, b = (rounded(rng.normal(size=64)) for _ in range(2))
    c = np.zeros(64, "uint16")
    interpret(func, [a, b, c])
    return single(a), single(b), c


def test_intermediate_results_are_single() -> None:
    func = apply(program(SUM_OF_PRODUCTS, BUFFERS), BF16ComputeLegalize(), BF16StorageLegalize())
    assert [n.dtype for n in nodes(func, Allocate)] == ["float32"]
    a, b, c = run(func)
    np.testing.assert_array_equal(c, rounded(a * b + a[::-1]))


@pytest.mark.parametrize("each", [BF16Legalize()])
def test_what_is_stored_is_rounded(each: Pass) -> None:
    func = apply(program(SUM_OF_PRODUCTS, BUFFERS), each)
    assert [n.dtype for n in nodes(func, Allocate)] == ["uint16"]
    a, b, c = run(func)
    np.testing.assert_array_equal(c, rounded(single(rounded(a * b)) + a[::-1]))


def test_constants_become_their_bits() -> None:
    func = apply(program("for i in range(64):\n    C[i] = T.bfloat16(1.5)", BUFFERS), BF16StorageLegalize())
    assert 0x3FC0 in [n.value for n in nodes(func, IntImm)]


def test_rounding_between_operations_is_left_out() -> None:
    text = "for i in range(64):\n    C[i] = A[i] + B[i] + A[i]"
    promoted = apply(program(text, BUFFERS), BF16Promote())
    eliminated = apply(promoted, BF16CastElimination())
    assert len(nodes(promoted, Cast)) == len(nodes(eliminated, Cast)) + 2


def test_the_larger_of_two_is_not_rounded() -> None:
    """What an addition rounds stays as it is: a carry into the upper half needs one."""
    text = "for i in range(64):\n    C[i] = T.fmaximum(T.max(A[i], B[i]), T.bfloat16(0.5))"
    func = apply(program(text, BUFFERS), BF16Promote(), BF16StorageLegalize())
    assert not nodes(func, Add)
    a, b, c = run(func)
    np.testing.assert_array_equal(single(c), np.maximum(np.maximum(a, b), 0.5))


@pytest.mark.parametrize("stored", ["float32", "bfloat16"])
def test_numbers_are_rounded_like_those_of_another_library(stored: str) -> None:
    """In between two operations, and in memory: ties, numbers too large, the smallest, and what is not a number."""
    words = np.arange(0, 2**32, 65521, dtype="uint64").astype("uint32")
    special = [0x7F800001, 0xFFFFFFFF, 0x7F7FFFFF, 0x7F7F7FFF, 0x3F808000, 0x3F818000, 0x3F808001, 1, 0x80008000]
    values = np.concatenate([words, np.array(special, "uint32")]).view("float32")
    count = len(values)
    half = "T.Cast('bfloat16', A[i])"
    text = f"for i in range({count}):\n    C[i] = T.Cast('{stored}', T.fmaximum({half}, {half}))"
    func = program(text, f"A: T.Buffer(({count},)), C: T.Buffer(({count},), '{stored}')")
    found = array(np.zeros(count, "float32" if stored == "float32" else "uint16"))
    build(apply(func, BF16Promote(), BF16StorageLegalize()), target="llvm")(array(values), found)
    with np.errstate(invalid="ignore"):
        wanted = values.astype(ml_dtypes.bfloat16).astype("float32")
    result = found.numpy()
    np.testing.assert_array_equal(result if stored == "float32" else single(result), wanted)


def test_conversions_are_shifts_of_the_bits() -> None:
    func = apply(program("for i in range(64):\n    C[i] = A[i] + A[i]", BUFFERS), BF16ComputeLegalize())
    assert {n.dtype for n in nodes(func, Cast)} == {"uint16", "uint32"}
    stored = apply(func, BF16StorageLegalize())
    assert "bfloat16" not in str(stored)


def test_a_value_that_is_bfloat16_only_in_an_expression_is_computed_in_single_precision() -> None:
    text = 'for i in range(8):\n    A[i] = T.Cast("float32", T.Cast("bfloat16", i * 3))'
    result = array(np.zeros(8, "float32"))
    build(program(text, "A: T.Buffer((8,))"), target="llvm")(result)
    np.testing.assert_array_equal(result.numpy(), np.arange(8) * 3)


def test_memory_that_holds_other_elements_before_stays_what_it_is() -> None:
    text = """
    data = T.allocate([8], "int16")
    words = T.Buffer((8,), "int16", data=data)
    halves = T.Buffer((8,), "bfloat16", data=data)
    for i in range(8):
        words[i] = T.Cast("int16", i)
    for i in range(8):
        halves[i] = T.Cast("bfloat16", words[i])
    for i in range(8):
        A[i] = T.Cast("float32", halves[i])
    """
    result = array(np.zeros(8, "float32"))
    build(program(text, "A: T.Buffer((8,))"), target="llvm")(result)
    np.testing.assert_array_equal(result.numpy(), np.arange(8))


@pytest.mark.parametrize("number", [1.5, -1.5])
def test_numbers_in_predicates_are_replaced_too(number: float) -> None:
    body = """
v: T.bfloat16 = A[0]
B.vstore([T.Ramp(0, 1, 4)], T.Broadcast(v, 4), predicate=T.Broadcast(v > T.bfloat16(0.0), 4))
B.vstore([T.Ramp(4, 1, 4)], A.vload([T.Ramp(0, 1, 4)], predicate=T.Broadcast(v > T.bfloat16(0.0), 4)),
         predicate=T.Broadcast(v > T.bfloat16(0.0), 4))
"""
    func = apply(program(body, BUFFERS), BF16ComputeLegalize(), BF16StorageLegalize())
    a, b = rounded(np.full(64, number)), np.zeros(64, "uint16")
    interpret(func, [a, b, a.copy()])
    assert single(b[:8]).tolist() == [max(number, 0.0)] * 8
