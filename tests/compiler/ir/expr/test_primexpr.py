"""Expressions are built with types matched, constants folded and neutral elements dropped, as TVM builds them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler import te, tir
from compiler.ir.error import ArgumentError, DTypeError, TVMError
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Range, Var, const, convert

i, j = Var("i"), Var("j")
i64 = Var("l", "int64")
u8 = Var("u", "uint8")
x, d = Var("x", "float32"), Var("d", "float64")
b = Var("b", "bool")
v = Var("v", "float32x4")


@pytest.mark.parametrize(
    ("expression", "text", "dtype"),
    [
        (i + 1, "i + 1", "int32"),
        (1 + i, "1 + i", "int32"),
        (i + 0, "i", "int32"),
        (0 + i, "i", "int32"),
        (i * 1, "i", "int32"),
        (i * 0, "0", "int32"),
        (i // 1, "i", "int32"),
        (i % 1, "0", "int32"),
        (x + 0, "x", "float32"),
        (x * 1, "x", "float32"),
        (const(3) + 4, "7", "int32"),
        (const(-7) // 2, "-4", "int32"),
        (const(-7) % 2, "1", "int32"),
        (tir.truncdiv(const(-7), 2), "-3", "int32"),
        (tir.truncmod(const(-7), 2), "-1", "int32"),
        (const(2.5) * 2, "T.float32(5.0)", "float32"),
        (const(3) < 4, "T.bool(True)", "bool"),
        (i + i64, 'T.Cast("int64", i) + l', "int64"),
        (i + x, 'T.Cast("float32", i) + x', "float32"),
        (x + d, 'T.Cast("float64", x) + d', "float64"),
        (u8 + 1, 'T.Cast("int32", u) + 1', "int32"),
        (v * 2.0, "v * T.Broadcast(T.float32(2.0), 4)", "float32x4"),
        (-i, "i * -1", "int32"),
        (-x, "x * T.float32(-1.0)", "float32"),
        (i & 3, "T.bitwise_and(i, 3)", "int32"),
        (~const(0), "-1", "int32"),
        (i < j, "i < j", "bool"),
        (tir.all(b, True), "b", "bool"),
        (tir.any(b, True), "T.bool(True)", "bool"),
        (i.astype("float32"), 'T.Cast("float32", i)', "float32"),
        (const(300).astype("uint8"), "T.uint8(44)", "uint8"),
        (const(True).astype("int32"), "1", "int32"),
        (tir.floor(const(0.0)), "T.float32(0.0)", "float32"),
        (tir.abs(const(0.0)), "T.float32(0.0)", "float32"),
    ],
)
def test_operators(expression: PrimExpr, text: str, dtype: str) -> None:
    assert (str(expression), expression.dtype) == (text, dtype)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (3, "int32"),
        (1 << 40, "int64"),
        (2.5, "float32"),
        (True, "bool"),
        (np.int8(3), "int8"),
        (np.float64(1), "float64"),
    ],
)
def test_constants_have_the_type_of_their_value(value: Any, dtype: str) -> None:
    assert convert(value).dtype == dtype


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: bool(i < j), TVMError, "a symbolic expression has no truth value"),
        (lambda: i / j, DTypeError, "integer division is ambiguous"),
        (lambda: x // 2, DTypeError, "operands must be integers, got float32"),
        (lambda: i // 0, ArgumentError, "division by zero in i // 0"),
        (lambda: x & 1, DTypeError, "operands must be integers"),
        (lambda: i << 40, ArgumentError, "from 0 to 31"),
        (lambda: v + Var("w", "float32x8"), DTypeError, "4 and 8 lanes"),
        (lambda: i + object(), DTypeError, "expected an expression or a number, got object"),
        (lambda: IntImm("int8", 200), ArgumentError, "200 does not fit into int8"),
        (lambda: Var("i", "int33"), DTypeError, "int has widths"),
        (lambda: tir.all(i), DTypeError, "conditions must be of type bool"),
    ],
)
def test_mistakes_are_explained(build: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()


def test_comparison_of_nodes_serves_containers() -> None:
    handle = Var("h", "handle")
    assert i in [handle, j, i]
    assert i not in [handle, j]
    assert {i: 1}[i] == 1
    assert bool(i == i)
    assert bool(i != j)


def test_constructors_take_numbers_and_tensor_elements() -> None:
    A = te.placeholder((4,), name="A")
    assert str(tir.Max(i, 3)) == "T.max(i, 3)"
    assert str(tir.Ramp(0, 1, 4)) == "T.Ramp(0, 1, 4)"
    assert str(tir.Select(i > 1, A[i], 0)) == "T.Select(i > 1, A[i], T.float32(0.0))"
    assert str(tir.Cast("int32", A[i])) == 'T.Cast("int32", A[i])'


def test_texts_need_no_import_of_their_printer() -> None:
    program = "import compiler as tvm; print(tvm.ir.Range(2, 7), tvm.ir.FuncType([], tvm.ir.TupleType([])))"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout == "I.Range(2, 7) fn () -> ()\n"


def test_a_range_is_made_of_begin_and_end() -> None:
    r = Range(2, 7)
    assert (str(r), str(r.extent)) == ("I.Range(2, 7)", "5")
    assert str(Range(5)) == "I.Range(0, 5)"
    assert str(Range.from_min_extent(2, 7)) == "I.Range(2, 9)"


@pytest.mark.parametrize(
    ("left", "right", "common"),
    [
        ("uint8", "int8", "uint8"),
        ("int32", "uint32", "uint32"),
        ("uint8", "int32", "int32"),
        ("int64", "uint32", "int64"),
        ("bool", "int8", "int8"),
        ("uint64", "float16", "float16"),
        ("float16", "float64", "float64"),
    ],
)
def test_operands_meet_in_the_wider_type_and_in_the_unsigned_one_of_a_width(left: str, right: str, common: str) -> None:
    assert (Var("x", left) + Var("y", right)).dtype == common
    assert (Var("y", right) * Var("x", left)).dtype == common


@pytest.mark.parametrize("dtype", ["int8", "uint16", "uint64"])
def test_bits_keep_the_width_of_what_they_are_in(dtype: str) -> None:
    x = Var("x", dtype)
    assert {e.dtype for e in (x & 3, 3 | x, x ^ 1, x >> 1, x << 2)} == {dtype}


@pytest.mark.parametrize(
    "build",
    [
        lambda: tir.Add(i, x),
        lambda: tir.LT(i, i64),
        lambda: tir.Select(b, i, x),
        lambda: tir.BufferRegion(tir.decl_buffer((3,)), [Range(0, 1), Range(0, 1)]),
    ],
)
def test_constructors_take_operands_of_one_type_and_a_range_for_each_dimension(build: Any) -> None:
    with pytest.raises(TVMError):
        build()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda n: tir.Not(n), "Not: expected a condition"),
        (lambda n: tir.And(n, n), "And: expected a condition"),
        (lambda n: tir.Or(n, n), "Or: expected a condition"),
        (lambda n: tir.Select(n, n, n), "Select: expected a condition"),
        (lambda n: tir.IterVar(Range(0, const(4, "int64")), n, 0), "its domain of int64"),
        (lambda n: tir.For(tir.Var("x", "float32"), 0, 4, 0, tir.Evaluate(n)), "must be an integer"),
    ],
)
def test_constructors_refuse_operands_of_other_types(make: Callable[[Any], object], message: str) -> None:
    with pytest.raises(DTypeError, match=message):
        make(tir.Var("n", "int32"))


def test_constants_and_one_operand_twice_are_folded() -> None:
    x = tir.Var("x", "float32")
    assert tir.max(x, x) is x
    assert tir.min(x, x) is x
    assert [int(f(tir.const(2.5))) for f in (tir.isinf, tir.isfinite)] == [0, 1]
    assert [int(f(tir.const(float("inf")))) for f in (tir.isinf, tir.isfinite)] == [1, 0]
    assert isinstance(tir.const(7, "int8") % tir.const(3, "int8"), tir.FloorMod)  # of indices alone, as in TVM
    assert (tir.const(7, "int64") % tir.const(3, "int64")).value == 1
