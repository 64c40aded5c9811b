"""Functions of quantised numbers as tables, against the function in real numbers."""

from __future__ import annotations

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.relay.transform.quantize.integer_lookup import (
    create_integer_lookup_op,
    create_integer_lookup_table,
    run_const_expr,
)


@pytest.mark.parametrize(("in_dtype", "out_dtype"), [("int8", "int8"), ("uint8", "int8"), ("int8", "uint8")])
def test_each_number_is_looked_up(in_dtype: str, out_dtype: str) -> None:
    zero = {"int8": -5, "uint8": 120}
    points = [relay.const(v) for v in (0.03, zero[in_dtype], 1 / 100, zero[out_dtype])]
    data = np.arange(256, dtype="uint8").view(in_dtype)
    call = create_integer_lookup_op(
        relay.var("x", shape=(256,), dtype=in_dtype), np.tanh, *points, in_dtype=in_dtype, out_dtype=out_dtype
    )
    got = relay.create_executor("graph", mod=tvm.IRModule.from_expr(call)).evaluate()(data).numpy()
    real = np.tanh((data.astype("float32") - zero[in_dtype]) * np.float32(0.03))
    info = np.iinfo(out_dtype)
    want = np.clip(np.round(real / np.float32(0.01)) + zero[out_dtype], info.min, info.max)
    assert got.dtype == out_dtype
    np.testing.assert_array_equal(got, want)


def test_what_cannot_be_a_table_is_refused() -> None:
    point, scale = relay.const(0), relay.const(1.0)
    with pytest.raises(tvm.TVMError, match=r"in_dtype.*int16"):
        create_integer_lookup_table(np.sin, scale, point, scale, point, in_dtype="int16")
    with pytest.raises(tvm.TVMError, match="expected a constant expression"):
        create_integer_lookup_table(np.sin, relay.var("s", shape=()), point, scale, point)
    assert run_const_expr(relay.add(point, relay.const(2))) == 2
