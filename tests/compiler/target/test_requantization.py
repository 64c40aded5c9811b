"""Floats that are integers of few bits in between become what these make of them, bit for bit, without them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import compiler as tvm
from compiler import te, tir
from compiler.driver.lower import lower_program
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import PrimExpr
from compiler.tir.expressions.math import fmaximum, fminimum
from tests.machines import require

LANES = 8
Array = NDArray[Any]
NUMBERS = np.concatenate(
    [
        np.arange(-600, 600, 0.5),
        [0.0, -0.0, 0.3, -0.3, np.inf, -np.inf, 2.0**24 + 2, -(2.0**24) - 2, 2.0**31, -(2.0**31), 3e38, -3e38],
        np.random.default_rng(0).normal(size=1604) * 200,
    ]
).astype("float32")
CONVERSION = re.compile("cvtt?ps2dq")


def _built(f: Callable[[PrimExpr], PrimExpr], dtype: str, cpu: str = "haswell") -> tuple[Array, str]:
    """Return what a vectorized kernel makes of all numbers, and its assembly."""
    require(f"llvm -mcpu={cpu}")
    x = te.placeholder(NUMBERS.shape, name="x")
    y = te.compute(NUMBERS.shape, lambda i: f(x[i]), name="y")
    s = te.create_schedule(y.op)
    s[y].vectorize(s[y].split(y.op.axis[0], LANES)[1])
    func = tvm.build(lower_program(s, [x, y], "main"), target=f"llvm -mcpu={cpu}")
    made = tvm.nd.array(np.zeros(NUMBERS.shape, dtype))
    func(tvm.nd.array(NUMBERS), made)
    return made.numpy(), str(func.get_source("asm"))


def _stored(x: PrimExpr, added: float, low: float, high: float, dtype: str) -> PrimExpr:
    one = tir.nearbyint(x) + tir.const(added, "float32")
    return fminimum(fmaximum(one, tir.const(low, "float32")), tir.const(high, "float32")).astype(dtype)


def _expected(added: float, low: float, high: float, zero: int) -> Array:
    stored = np.clip(np.rint(NUMBERS) + np.float32(added), np.float32(low), np.float32(high)).astype("int32")
    made: Array = (stored - zero).astype("float32")
    return made


def _bits(values: Array) -> Array:
    return values.view("uint32")


@pytest.mark.parametrize("zero", [0, 3, -7, 131])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_what_integers_stand_for_is_the_same_float_and_zeros_are_positive(zero: int, dtype: str) -> None:
    low, high = dt.int_range(dtype)
    found, assembly = _built(
        lambda x: (_stored(x, zero, low, high, dtype).astype("int32") - zero).astype("float32"), "float32"
    )
    np.testing.assert_array_equal(_bits(found), _bits(_expected(zero, low, high, zero)))
    assert not CONVERSION.search(assembly)


def test_what_forgets_nan_forgets_it() -> None:
    """Of ``te.max`` and ``te.min``, the second operand stays."""

    def stored(x: PrimExpr) -> PrimExpr:
        one = te.max(te.min(te.nearbyint(x / x) + 3.0, 255.0), 0.0)
        return (one.astype("uint8").astype("int32") - 3).astype("float32")

    found, assembly = _built(stored, "float32")
    assert set(found[NUMBERS == 0]) == {252.0}
    assert set(found[np.isfinite(NUMBERS) & (NUMBERS != 0)]) == {1.0}
    assert not CONVERSION.search(assembly)


@pytest.mark.parametrize(
    ("added", "low", "high", "zero"),
    [(3, 0, 255, 4), (0, 0, 255, 4), (3, 0, 255, 0), (0, 0.5, 254.5, 0), (1 << 17, 0, 255, 1 << 17)],
    ids=["another zero", "none added", "none subtracted", "limits between integers", "large"],
)
def test_other_numbers_are_stored_as_integers(added: float, low: float, high: float, zero: int) -> None:
    found, assembly = _built(
        lambda x: (_stored(x, added, low, high, "uint8").astype("int32") - zero).astype("float32"), "float32"
    )
    np.testing.assert_array_equal(_bits(found), _bits(_expected(added, low, high, zero)))
    assert CONVERSION.search(assembly)


@pytest.mark.parametrize("quotient", [False, True])
def test_where_the_result_is_an_integer_nothing_is_added(quotient: bool) -> None:
    """It is rounded and clipped once more, of which only the second time makes an integer."""

    def again(x: PrimExpr) -> PrimExpr:
        y = (_stored(x, 131, 0, 255, "uint8").astype("int32") - 131).astype("float32")
        scaled = (
            tir.const(6.0, "float32") / y if quotient else y * tir.const(0.375, "float32") - tir.const(2.5, "float32")
        )
        return _stored(scaled, 5, 0, 255, "uint8")

    found, assembly = _built(again, "uint8")
    y = _expected(131, 0, 255, 131)
    with np.errstate(divide="ignore"):
        scaled = np.float32(6.0) / y if quotient else y * np.float32(0.375) - np.float32(2.5)
    np.testing.assert_array_equal(found, np.clip(np.rint(scaled) + 5, 0, 255).astype("uint8"))
    conversions = len(CONVERSION.findall(assembly))
    assert assembly.count("vroundps") == conversions, "the second time, converting rounds"
    assert assembly.count("vaddps") == quotient * conversions, "the sign of a divisor's zero shows"


@pytest.mark.parametrize("cpu", ["x86-64", "haswell"])
@pytest.mark.parametrize(("stored", "dtype"), [("int8", "int8"), ("uint8", "int16"), ("int16", "int32")])
def test_what_becomes_an_integer_is_rounded_as_it_is_converted(stored: str, dtype: str, cpu: str) -> None:
    """Integers of more bits hold it as it is."""
    low, high = dt.int_range(stored)
    found, assembly = _built(lambda x: _stored(x, -5, low, high, stored).astype(dtype), dtype, cpu)
    np.testing.assert_array_equal(found, _expected(-5, low, high, 0).astype(dtype))
    assert not re.search("round|cvtt|nearbyintf", assembly)


@pytest.mark.parametrize("added", [0, 5, -700, 700])
@pytest.mark.parametrize(("low", "high", "is_saturated"), [(0, 255, True), (0, 254, False), (1, 255, False)])
def test_stores_of_the_largest_bytes_saturate(added: float, low: float, high: float, is_saturated: bool) -> None:
    found, assembly = _built(lambda x: _stored(x, added, low, high, "uint8"), "uint8", "skylake-avx512")
    np.testing.assert_array_equal(found, _expected(added, low, high, 0).astype("uint8"))
    assert ("vpmovusdb" in assembly) == is_saturated
    assert bool(re.search("vminps", assembly)) != is_saturated


@pytest.mark.parametrize(
    ("added", "low", "high", "dtype"),
    [(0.5, 0, 255, "uint8"), (0, 0.5, 254.5, "uint8"), (1 << 17, 0, 255, "uint8"), (3, -128, 127, "uint8")],
    ids=["a half", "limits between integers", "large", "low bits"],
)
def test_other_numbers_are_rounded_first(added: float, low: float, high: float, dtype: str) -> None:
    found, assembly = _built(lambda x: _stored(x, added, low, high, dtype).astype("int16"), "int16")
    expected = np.clip(np.rint(NUMBERS) + np.float32(added), np.float32(low), np.float32(high)).astype("int32")
    np.testing.assert_array_equal(found, expected.astype(dtype).astype("int16"))
    assert "vroundps" in assembly
