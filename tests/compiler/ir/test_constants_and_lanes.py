"""Constants that fit their type or are refused, their conversion, lanes, and the two names of ``bool``."""

from __future__ import annotations

import math

import numpy as np
import pytest

from compiler import relay, tir
from compiler.ir import IRModule, structural_equal
from compiler.ir.error import ArgumentError, DTypeError, TVMError
from compiler.ir.expr.coercion import cast, const
from compiler.ir.expr.primexpr import Broadcast, Cast, FloatImm, IntImm, Ramp, StringImm, Var
from compiler.tir.expressions.reducer import max_value


@pytest.mark.parametrize(("dtype", "largest"), [("float16", 65504.0), ("e4m3_float8", 448.0), ("e5m2_float8", 57344.0)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_constant_is_refused_above_the_largest_value_of_a_narrow_type(
    dtype: str, largest: float, sign: float
) -> None:
    assert FloatImm(dtype, sign * largest).value == sign * largest
    assert max_value(dtype).value == largest
    with pytest.raises(ArgumentError, match=f"does not fit into {dtype}"):
        FloatImm(dtype, sign * (largest + 1))


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_constant_is_refused_where_it_would_round_to_infinity(dtype: str, sign: float) -> None:
    import ml_dtypes

    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype).type
    largest = float(ml_dtypes.finfo(kind).max)
    with np.errstate(over="ignore"):
        low, high = largest, largest * 2
        for _ in range(60):  # between the largest value and the first that rounds to infinity
            middle = (low + high) / 2
            low, high = (middle, high) if np.isfinite(np.float64(middle).astype(kind)) else (low, middle)
    below, above = low * (1 - 1e-7), high * (1 + 1e-7)  # NumPy rounds to bfloat16 by way of float32
    assert FloatImm(dtype, sign * below).value == sign * below
    with pytest.raises(ArgumentError, match=f"does not fit into {dtype}"):
        FloatImm(dtype, sign * above)
    assert FloatImm(dtype, sign * math.inf).value == sign * math.inf


@pytest.mark.parametrize("dtype", ["int32", "bool", "float32x4", "handle"])
def test_floats_have_types_of_floating_point_scalars(dtype: str) -> None:
    with pytest.raises(DTypeError, match="floating-point scalar"):
        FloatImm(dtype, 1.0)


def test_a_number_too_large_for_float32_is_float64() -> None:
    assert const(1e300).dtype == "float64"
    assert const(1e38).dtype == "float32"
    assert const(math.inf).dtype == "float32"


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("value", [0.0, 4.7, -4.7, 127.9, 128.0, 255.5, 3e9, -1.0, math.nan, math.inf])
def test_floats_are_folded_to_the_integers_that_they_are_cut_to(value: float, dtype: str) -> None:
    result = cast(dtype, const(value))
    limits = np.iinfo(dtype)
    if math.isfinite(value) and limits.min <= math.trunc(value) <= limits.max:
        assert isinstance(result, IntImm)
        assert result.value == np.float64(value).astype(dtype)
    else:
        assert isinstance(result, Cast)
    assert result.dtype == dtype


def test_a_float_that_does_not_fit_is_converted_by_the_machine() -> None:
    assert isinstance(cast("float16", const(1e6)), Cast)
    assert isinstance(cast("float16", const(1e4)), FloatImm)


def test_casts_keep_the_number_of_lanes() -> None:
    with pytest.raises(DTypeError, match="lanes"):
        Cast("float32x4", Var("x", "float32"))
    with pytest.raises(DTypeError, match="lanes"):
        Var("x", "float32x4").astype("int32")
    assert Var("x", "float32").astype("float32x4").dtype == "float32x4"


def test_what_lanes_are_made_of_is_converted_where_that_is_the_same() -> None:
    x, small = Var("x", "int32"), Var("s", "uint8")
    assert str(cast("float32x4", Broadcast(1, 4))) == "T.Broadcast(T.float32(1.0), 4)"
    assert str(cast("int64x4", Ramp(x, 2, 4))) == 'T.Ramp(T.Cast("int64", x), T.int64(2), 4)'
    assert isinstance(cast("int32x4", Ramp(small, const(1, "uint8"), 4)), Cast)  # which may wrap around
    assert isinstance(cast("float32x4", Ramp(x, 1, 4)), Cast)  # sums of floats round


def test_lanes_may_be_a_constant_expression() -> None:
    x = Var("x", "int32")
    assert Broadcast(x, const(4, "int64")).dtype == "int32x4"
    assert Ramp(x, 1, const(4, "int64")).lanes == 4
    assert (Var("v", "int32x4") + Broadcast(1, const(4, "int64"))).dtype == "int32x4"


def test_int1_is_bool() -> None:
    assert const(1, "int1").dtype == Var("c", "int1").dtype == "bool"
    assert structural_equal(const(1, "int1").astype("int32"), const(1))


def test_texts_have_no_numeric_value() -> None:
    with pytest.raises(DTypeError, match="Can't cast a handle to other types"):
        StringImm("s").astype("int32")


def test_uint1_is_bool() -> None:
    assert Var("c", "uint1").dtype == const(1, "uint1").dtype == const(0).astype("uint1").dtype == "bool"
    assert relay.TensorType((2,), "uint1") == relay.TensorType((2,), "bool")
    condition = relay.var("c", shape=(), dtype="uint1")
    choice = relay.Function([condition], relay.If(condition, relay.const(1.0), relay.const(2.0)))
    mod = relay.transform.InferType()(IRModule.from_expr(choice))
    assert mod["main"].ret_type == relay.TensorType((), "float32")
    assert structural_equal(tir.all(const(1, "uint1"), const(0, "uint1")), const(False))


def test_statements_in_order_are_a_sequence() -> None:
    first, second = tir.Evaluate(0), tir.Evaluate(1)
    sequence = tir.SeqStmt([first, second])
    assert len(sequence) == 2
    assert sequence[1] is sequence[-1] is second
    assert list(sequence) == [first, second]
    with pytest.raises(IndexError):
        sequence[2]


def test_the_truth_of_an_expression_is_a_value_error() -> None:
    with pytest.raises(ValueError, match=r"tvm\.tir\.any"):
        bool(Var("x", "int32") < 1)


def test_constants_are_keys_as_their_numbers_are() -> None:
    assert {const(2), const(3), const(2)} == {2, 3}
    assert const(2) in {const(2)}
    assert const(2, "int64") not in {const(2): 0}  # what is remembered for one type must not stand for another
    assert StringImm("a") in ("a", "b")
    assert {StringImm(""): 1}.get(const(0)) is None
    with pytest.raises(TVMError, match="no common type for int8"):
        bool(const(1, "int8") == "1")
