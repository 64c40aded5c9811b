"""Constants: the data types of arrays and numbers, as TVM narrows them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import relay, runtime, tir
from compiler.ir.source_span import SourceName, Span
from compiler.relay.expr import array_const
from compiler.runtime.arrays.ndarray import array


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (np.zeros(3), "float32"),
        (np.float64(1), "float32"),
        (np.arange(3, dtype="int64"), "int32"),
        (np.zeros(3, "float16"), "float16"),
        (np.zeros(3, "uint8"), "uint8"),
        ([1.0, 2.0], "float32"),
        (True, "bool"),
        (array(np.zeros(3)), "float64"),
    ],
)
def test_what_has_64_bits_has_32_unless_the_data_type_is_given(value: Any, dtype: str) -> None:
    assert relay.const(value).data.dtype == dtype


def test_a_data_type_that_is_given_counts() -> None:
    assert relay.const(np.zeros(3), "float64").data.dtype == "float64"
    assert array_const(np.arange(3)).data.dtype == "int64"


def test_a_span_is_the_last_argument_of_each_expression() -> None:
    x, span = relay.var("x", shape=(2,)), Span(SourceName("layer"), 0, 0, 0, 0)
    call = relay.exp(x)
    made = [
        relay.Call(call.op, call.args, call.attrs, call.type_args, span),
        relay.Tuple([x], span),
        relay.TupleGetItem(relay.Tuple([x]), 0, span),
        relay.Let(relay.var("y"), x, x, span),
        relay.If(relay.const(True), x, x, span),
        relay.Function([x], x, None, (), None, span),
    ]
    assert all(expr.span is span for expr in made)


def test_sequences_of_attributes_are_written_as_lists() -> None:
    x = relay.var("x", shape=(2, 3))
    assert str(relay.transpose(x, axes=[1, 0]).attrs.axes) == "[1, 0]"
    assert str(relay.sum(x, axis=(0, 1)).attrs.axis) == "[0, 1]"


def test_constants_of_loops_take_a_span() -> None:
    span = Span(SourceName("model.py"), 3, 3, 0, 4)
    assert runtime.const(1, "int32", span).span == span
    assert tir.const(2.5, "float32", None).value == 2.5
