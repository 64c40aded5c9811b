"""Nodes whose operands do not fit are rejected where they are made, with the class of error that TVM has for it."""

from collections.abc import Callable

import pytest

from compiler import tir
from compiler.ir.error import InternalError
from compiler.ir.expr.primexpr import Range

A = tir.decl_buffer((8, 8), "float32", "A")
B = tir.decl_buffer((8,), "int32", "B")
i, k = tir.Var("i", "int32"), tir.Var("k", "int64")
lanes = tir.Var("lanes", "int32x4")
one = tir.FloatImm("float32", 1.0)


@pytest.mark.parametrize(
    "value", [tir.IntImm("int32", 1), 1, tir.FloatImm("float16", 1.0)], ids=["integer", "number", "half"]
)
def test_a_stored_value_has_the_type_of_the_elements(value: object) -> None:
    with pytest.raises(TypeError, match="dtype mismatch on BufferStore"):
        tir.BufferStore(A, value, [i, i])


def test_python_numbers_of_the_type_of_the_elements_can_be_stored() -> None:
    assert tir.BufferStore(B, 1, [i]).value.dtype == "int32"
    assert tir.BufferStore(A, 1.0, [i, 0]).value.dtype == "float32"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tir.BufferStore(B, lanes, [0]), "Cannot store value with 4, expected value with 1"),
        (lambda: tir.BufferStore(B, i, [tir.Ramp(i, 1, 4)]), "Cannot store value with 1, expected value with 4"),
        (lambda: tir.BufferStore(A, tir.Broadcast(one, 4), [tir.Ramp(i, 1, 4), i]), "Only the last index"),
        (lambda: tir.BufferLoad(A, [tir.Ramp(i, 1, 4), i]), "Only the last index"),
        (lambda: tir.BufferLoad(A, [i]), "'A' has 2 dimensions, got 1 index"),
        (lambda: tir.Ramp(lanes, 1, 4), "base must be a scalar"),
        (lambda: tir.Ramp(i, lanes, 4), "stride must be a scalar"),
        (lambda: tir.Ramp(i, 1, 1), "at least two lanes, got 1"),
        (lambda: tir.Ramp(i, 1, i), "Invalid expression for scalable lanes i"),
        (lambda: tir.Ramp(i, 1, 4.0), "Invalid expression for scalable lanes 4.0"),
        (lambda: tir.Broadcast(lanes, 4), "value must be a scalar"),
        (lambda: tir.Broadcast(i, 0), "at least two lanes, got 0"),
        (lambda: tir.Broadcast(i, tir.vscale() + 4), "Invalid expression for scalable lanes"),
        (lambda: tir.SeqStmt([]), "An empty SeqStmt is prohibited"),
        (lambda: tir.SeqStmt([tir.Evaluate(1)]), "A SeqStmt of length 1 is prohibited"),
    ],
)
def test_failed_checks_are_internal_errors_as_in_tvm(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InternalError, match=message):
        make()


def test_sequences_are_made_of_statements() -> None:
    for wrong in ([i, i], tir.Evaluate(1), [tir.Evaluate(1), None]):
        with pytest.raises(TypeError, match="SeqStmt: expected"):
            tir.SeqStmt(wrong)


def test_the_stride_of_a_ramp_takes_the_type_of_its_base() -> None:
    assert (tir.Ramp(k, i, 4).stride.dtype, tir.Ramp(i, k, 4).stride.dtype) == ("int64", "int32")


def test_ranges_are_equal_where_their_bounds_are() -> None:
    assert Range(0, 10) == Range(0, 10)
    assert Range(0, i) == Range(0, i)
    assert Range(0, 10) != Range(0, 11)
    assert Range(0, 10) != 10
    assert Range(0, 10) in [Range(0, 10)]
