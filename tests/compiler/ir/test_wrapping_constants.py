"""Constants of types that wrap around are folded as NumPy computes them."""

from __future__ import annotations

import numpy as np
import pytest

import compiler as tvm
from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, DTypeError
from compiler.ir.expr.primexpr import IntImm, Let, Var, const
from compiler.relay import ExprFunctor
from compiler.relay import const as graph_const


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32", "uint64"])
def test_constants_wrap_around(dtype: str) -> None:
    limits = np.iinfo(dtype)
    for a in (limits.min, limits.max, 3):
        for b in (limits.max, 1, 2):
            x, y = np.array([a], dtype), np.array([b], dtype)
            results = [(const(a, dtype) + const(b, dtype), x + y), (const(a, dtype) * const(b, dtype), x * y)]
            if a or limits.min:  # the negative of a number without a sign is refused
                results.append((const(a, dtype) - const(b, dtype), x - y))
            for made, expected in results:
                assert isinstance(made, IntImm)
                assert (made.dtype, made.value) == (dtype, int(expected[0]))


@pytest.mark.parametrize("dtype", ["int4", "int32", "int40", "int64"])
def test_constants_of_any_width_wrap_around(dtype: str) -> None:
    least = -(2 ** (dt.bits(dtype) - 1))
    assert (const(-1 - least, dtype) + const(1, dtype)).value == least
    assert (const(least, dtype) - const(1, dtype)).value == -1 - least
    assert (const(least, dtype) * const(2, dtype)).value == 0
    assert (const(least, dtype) // const(-1, dtype)).value == least


def test_simplification_leaves_sums_of_indices_that_are_too_large() -> None:
    i = Var("i", "int32")
    large = Let(i, const(2**31 - 1, "int32"), i + 1)
    assert not isinstance(tvm.arith.Analyzer().simplify(large), IntImm)


def test_an_integer_in_memory_has_a_width_of_a_power_of_two() -> None:
    with pytest.raises(DTypeError, match="elements in memory have widths"):
        tvm.tir.decl_buffer((4,), "int40")


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64"])
def test_a_number_without_a_sign_has_no_negative(dtype: str) -> None:
    with pytest.raises(ArgumentError, match="the negative of a number without a sign"):
        const(0, dtype) - const(10, dtype)


def test_a_constant_is_not_divided_by_zero() -> None:
    with pytest.raises(ArgumentError, match="division by zero"):
        const(1.0) / const(0.0)


@pytest.mark.parametrize("value", [1.5, "1", None])
def test_an_integer_constant_has_an_integer(value: object) -> None:
    with pytest.raises(DTypeError, match="value must be an integer"):
        IntImm("int32", value)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["float32", "handle", "int32x4"])
def test_an_integer_constant_has_the_type_of_an_integer(dtype: str) -> None:
    with pytest.raises(DTypeError, match="integer or boolean scalar"):
        IntImm(dtype, 1)


def test_a_functor_without_a_rule_says_so() -> None:
    with pytest.raises(NotImplementedError, match="ExprFunctor has no rule for Constant"):
        ExprFunctor().visit(graph_const(1))
