"""Eight-bit floats: every value, and roundings, as ml_dtypes has them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from compiler.driver.build import build
from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.runtime.arrays.data_type import DataType, DataTypeCode
from compiler.runtime.arrays.ndarray import array
from compiler.tir.script import from_source
from compiler.tir.transform import FP8ComputeLegalize, FP8StorageLegalize
from tests.machines import needs_c_compiler

KINDS = {"e4m3_float8": ml_dtypes.float8_e4m3fn, "e5m2_float8": ml_dtypes.float8_e5m2}
CONVERSIONS = """
@T.prim_func
def main(narrow: T.Buffer((n,), "KIND"), wide: T.Buffer((n,), "float32"), rounded: T.Buffer((n,), "KIND")):
    for i in range(n):
        rounded[i] = T.Cast("KIND", wide[i])
    for i in range(n):
        wide[i] = T.Cast("float32", narrow[i])
"""
SUM = """
@T.prim_func
def main(A: T.Buffer((256,), "KIND"), B: T.Buffer((256,), "KIND"), C: T.Buffer((256,), "KIND")):
    D = T.allocate([256], "KIND")
    sums = T.Buffer((256,), "KIND", data=D)
    for i in range(256):
        sums[i] = A[i] + B[i]
        C[i] = sums[i] * T.KIND(1.5)
"""


def _same(actual: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(actual.astype("float32"), expected.astype("float32"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", ["llvm", pytest.param("c", marks=needs_c_compiler)])
def test_conversions(kind: str, target: str) -> None:
    every = np.arange(256, dtype="uint8").view(KINDS[kind])
    random = np.random.default_rng(0)
    numbers = np.concatenate(
        [
            every.astype("float32"),
            random.normal(0, 1, 500),
            np.exp(random.normal(0, 8, 500)) * random.choice([-1, 1], 500),
            [0.0, -0.0, np.inf, -np.inf, np.nan, 448.0, 464.0, 465.0, 57344.0, 61440.0, 2.0**-10, 2.0**-17],
        ]
    ).astype("float32")
    func = from_source(CONVERSIONS.replace("KIND", kind), {"n": len(numbers)})
    narrow, wide = array(np.resize(every, len(numbers))), array(numbers)
    rounded = array(np.zeros(len(numbers), KINDS[kind]))
    build(func, target=target)(narrow, wide, rounded)
    _same(rounded.numpy(), numbers.astype(KINDS[kind]))
    _same(wide.numpy(), np.resize(every, len(numbers)))


@pytest.mark.parametrize("kind", KINDS)
def test_computing_happens_in_single_precision(kind: str) -> None:
    random = np.random.default_rng(1)
    a, b = (random.normal(0, 4, 256).astype(KINDS[kind]) for _ in "ab")
    c = array(np.zeros(256, KINDS[kind]))
    build(from_source(SUM.replace("KIND", kind)), target="llvm")(array(a), array(b), c)
    _same(c.numpy(), ((a.astype("float32") + b.astype("float32")) * np.float32(1.5)).astype(KINDS[kind]))


def test_wider_type_is_chosen() -> None:
    mod = IRModule({"main": from_source(SUM.replace("KIND", "e5m2_float8"))})
    text = str(FP8ComputeLegalize("float16")(mod))
    assert '"float16"' in text
    assert "T.float16(1.5)" in text
    assert "float8" not in str(FP8StorageLegalize()(FP8ComputeLegalize()(mod)))
    with pytest.raises(ArgumentError, match="promote_dtype_str"):
        FP8ComputeLegalize("int8")(mod)


def test_data_types() -> None:
    assert DataType("e4m3_float8").type_code == DataTypeCode.E4M3Float
    assert (DataType("e5m2_float8x4").bits, DataType("e5m2_float8x4").lanes) == (8, 4)
