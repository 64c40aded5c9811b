"""Every operator on every data type computes what NumPy computes, alone and in vectors."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

from compiler import te
from compiler.driver.build import build
from compiler.ir import dtype as dt
from compiler.ir.error import BuildError
from compiler.ir.expr import primexpr as pe
from compiler.ir.expr.primexpr import Cast, Not, PrimExpr, Select
from compiler.tir.expressions import op
from tests.compiler.target.kernels import evaluate

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
COUNT = 64


def values(dtype: str, seed: int) -> np.ndarray[Any, Any]:
    """Return values over the whole range of a type, zeros and extremes among them."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, COUNT).astype(bool)
    if dtype.startswith("float"):
        return np.concatenate([rng.uniform(-9, 9, COUNT - 4), [0.0, -0.0, 1.0, -1.5]]).astype(dtype)
    info = np.iinfo(dtype)
    edge = np.array([0, 1, info.min, info.max], dtype)
    return np.concatenate([rng.integers(info.min, info.max, COUNT - 4, dtype=dtype, endpoint=True), edge])


def nonzero(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return divisors: neither 0 nor -1, whose quotient may not fit."""
    return np.where((a == 0) | (a == np.array(-1).astype(a.dtype)), np.array(3, a.dtype), a)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
@pytest.mark.parametrize("name", ["add", "sub", "mul"])
def test_ring(name: str, dtype: str, lanes: int) -> None:
    a, b = values(dtype, 1), values(dtype, 2)
    with np.errstate(over="ignore"):
        wanted = getattr(operator, name)(a, b)
    np.testing.assert_array_equal(evaluate(getattr(operator, name), [a, b], dtype, lanes), wanted)


def c_quotient(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Divide integers as C does."""
    return np.array([pe.trunc_div(int(x), int(y)) for x, y in zip(a, b, strict=True)], a.dtype)


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_division(dtype: str, lanes: int) -> None:
    a, b = values(dtype, 3), nonzero(values(dtype, 4))
    quotient = c_quotient(a, b)
    with np.errstate(over="ignore"):
        remainder = a - quotient * b
    for expression, wanted in (
        (op.truncdiv, quotient),
        (op.truncmod, remainder),
        (op.floordiv, a // b),
        (op.floormod, a % b),
    ):
        np.testing.assert_array_equal(evaluate(expression, [a, b], dtype, lanes), wanted)


@pytest.mark.parametrize("divisor", [1, 2, 3, 8, 7, -2, -5, 64])
@pytest.mark.parametrize("dtype", ["int32", "int64", "int8"])
def test_division_by_a_constant(dtype: str, divisor: int) -> None:
    a = values(dtype, 5)
    with np.errstate(over="ignore"):
        quotient, rest = a // np.array(divisor, dtype), a % np.array(divisor, dtype)
    by = pe.const(divisor, dtype)
    np.testing.assert_array_equal(evaluate(lambda x: pe.FloorDiv(x, by), [a], dtype), quotient)
    np.testing.assert_array_equal(evaluate(lambda x: pe.FloorMod(x, by), [a], dtype), rest)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_division_never_ends_the_process(dtype: str, lanes: int) -> None:
    info = np.iinfo(dtype)
    extremes = np.array([info.min, info.max, 7, 0], dtype)
    a = np.repeat(extremes, COUNT // 4)
    b = np.tile(np.array([0, np.array(-1).astype(dtype), 1, 3], dtype), COUNT // 4)
    with np.errstate(all="ignore"):
        quotient, rest = a // b, a % b  # by zero both are zero, and the smallest integer by -1 is itself
    for function, expected in ((op.floordiv, quotient), (op.floormod, rest)):
        result = evaluate(lambda x, y, f=function: f(x, y), [a, b], dtype, lanes)  # type: ignore[misc]
        np.testing.assert_array_equal(result, expected)
    for function in (op.truncdiv, op.truncmod):
        result = evaluate(lambda x, y, f=function: f(x, y), [a, b], dtype, lanes)  # type: ignore[misc]
        np.testing.assert_array_equal(result[b == 0], 0)


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_division(dtype: str) -> None:
    a, b = values(dtype, 6), np.where(values(dtype, 7) == 0, 2, values(dtype, 7)).astype(dtype)
    np.testing.assert_array_equal(evaluate(lambda x, y: x / y, [a, b], dtype), a / b)
    np.testing.assert_array_equal(evaluate(lambda x, y: pe.Mod(x, y), [a, b], dtype), np.fmod(a, b))


@pytest.mark.sample(3)
@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *FLOATS])
@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_comparisons(name: str, dtype: str, lanes: int) -> None:
    a, b = values(dtype, 8), values(dtype, 9)
    b[::3] = a[::3]
    if dtype.startswith("float"):
        a[5] = np.nan
    wanted = getattr(operator, name)(a, b)
    result = dt.with_lanes("bool", lanes)
    np.testing.assert_array_equal(evaluate(getattr(operator, name), [a, b], "bool", lanes), wanted, err_msg=result)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_extrema_and_select(dtype: str, lanes: int) -> None:
    a, b = values(dtype, 10), values(dtype, 11)
    np.testing.assert_array_equal(evaluate(pe.Min, [a, b], dtype, lanes), np.minimum(a, b))
    np.testing.assert_array_equal(evaluate(pe.Max, [a, b], dtype, lanes), np.maximum(a, b))
    np.testing.assert_array_equal(
        evaluate(lambda x, y: Select(x < y, x - y, y), [a, b], dtype, lanes), np.where(a < b, a - b, b)
    )


@pytest.mark.parametrize("lanes", [1, 8])
def test_logic(lanes: int) -> None:
    a, b = values("bool", 12), values("bool", 13)
    np.testing.assert_array_equal(evaluate(lambda x, y: pe.And(x, Not(y)), [a, b], "bool", lanes), a & ~b)
    np.testing.assert_array_equal(evaluate(lambda x, y: pe.Or(x, y), [a, b], "bool", lanes), a | b)


@pytest.mark.sample(3)
@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("source", ["bool", *INTEGERS, *FLOATS])
@pytest.mark.parametrize("target", ["bool", *INTEGERS, *FLOATS])
def test_casts(source: str, target: str, lanes: int) -> None:
    a = values(source, 14)
    if source.startswith("float") and target.startswith("uint"):
        a = np.abs(a)  # C leaves the conversion of negative floats undefined
    if target.startswith("float"):
        a = np.clip(a, -(10**9), 10**9) if not source.startswith(("uint", "bool")) and a.dtype.itemsize > 2 else a
    with np.errstate(over="ignore"):
        wanted = a.astype(target)

    def convert_to(x: PrimExpr) -> PrimExpr:
        return x if source == target else Cast(dt.with_lanes(target, lanes), x)

    np.testing.assert_array_equal(evaluate(convert_to, [a], target, lanes), wanted)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_bits(dtype: str, lanes: int) -> None:
    a, b = values(dtype, 15), values(dtype, 16)
    shift = (np.abs(values("int64", 17)) % np.iinfo(dtype).bits).astype(dtype)
    for expression, wanted in (
        (lambda x, y, s: x & y, a & b),
        (lambda x, y, s: x | y, a | b),
        (lambda x, y, s: x ^ y, a ^ b),
        (lambda x, y, s: ~x, ~a),
        (lambda x, y, s: x << s, a << shift),
        (lambda x, y, s: x >> s, a >> shift),
    ):
        np.testing.assert_array_equal(evaluate(expression, [a, b, shift], dtype, lanes), wanted)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bit_counts(dtype: str) -> None:
    a = values(dtype, 18)
    width = np.iinfo(dtype).bits
    patterns = [int(v) & ((1 << width) - 1) for v in a]
    ones = np.array([p.bit_count() for p in patterns], dtype)
    np.testing.assert_array_equal(evaluate(op.popcount, [a], dtype), ones)
    zeros = np.array([width - p.bit_length() for p in patterns], "int32")
    np.testing.assert_array_equal(evaluate(op.clz, [a], "int32"), zeros)


def test_reinterpret() -> None:
    a = values("float32", 19)
    np.testing.assert_array_equal(evaluate(lambda x: op.reinterpret("int32", x), [a], "int32"), a.view("int32"))


@pytest.mark.parametrize("lanes", [1, 8])
def test_large_unsigned_constants(lanes: int) -> None:
    for dtype in ("uint8", "uint32", "uint64"):
        a, largest = values(dtype, 20), np.iinfo(dtype).max
        mask = pe.const(largest - 1, dt.with_lanes(dtype, lanes))
        np.testing.assert_array_equal(
            evaluate(lambda x, m=mask: x & m, [a], dtype, lanes), a & np.array(largest - 1, dtype)
        )


def test_half_precision_needs_what_converts_it() -> None:
    a = te.placeholder((4,), "float16", "a")
    schedule = te.create_schedule((b := te.compute((4,), lambda i: a[i] + a[i], name="b")).op)
    with pytest.raises(BuildError, match=r"float16.*leave sse2 in, or add f16c"):
        build(schedule, [a, b], "llvm -mtriple=x86_64 -mattr=-sse2")
    for enough in ("-mattr=-sse2,+f16c", "-mcpu=x86-64"):
        build(schedule, [a, b], f"llvm -mtriple=x86_64 {enough}")
