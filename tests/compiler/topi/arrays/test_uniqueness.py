"""Different elements of vectors, against NumPy, and slices by values of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import compiler as tvm
from compiler import te, topi
from compiler.ir.error import ArgumentError
from compiler.te.definition.tensor import Tensor
from compiler.topi.operands import constant, dims

Array = NDArray[Any]
RNG = np.random.default_rng(2)


def run(outputs: list[Tensor], inputs: dict[Tensor, Array]) -> list[Array]:
    """Return what tensors are, computed into memory that is not zero."""
    schedule: Any = topi.generic
    built = tvm.build(schedule.schedule_extern(outputs), [*inputs, *outputs], "llvm")
    results = [tvm.nd.array(np.full([constant(e, "run") for e in dims(t)], 77, t.dtype)) for t in outputs]
    built(*map(tvm.nd.array, inputs.values()), *results)
    return [r.numpy() for r in results]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "x", [RNG.integers(-3, 4, 20).astype("int64"), np.array([np.nan, 1, -2, np.nan, 1], "float32"), np.ones(1, "uint8")]
)
@pytest.mark.parametrize("is_sorted", [True, False])
def test_different_elements(x: Array, is_sorted: bool) -> None:
    data = te.placeholder(x.shape, str(x.dtype), name="data")
    values, first, inverse, count, times = run(topi.unique(data, is_sorted, return_counts=True), {data: x})
    expected = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(expected[1]) if not is_sorted else np.arange(len(expected[0]))
    found = len(order)
    assert count[0] == found
    for got, wanted in zip((values, first, times), (expected[0], expected[1], expected[3]), strict=True):
        np.testing.assert_array_equal(got[:found], wanted[order])
        assert not got[found:].any()
    np.testing.assert_array_equal(values[inverse], x)


def test_only_vectors_have_different_elements() -> None:
    with pytest.raises(ArgumentError, match="must have one dimension, got 2"):
        topi.unique(te.placeholder((2, 2)))


def test_slices_by_values_of_tensors() -> None:
    a = RNG.uniform(size=(8, 9)).astype("float32")
    data = te.placeholder(a.shape, name="a")
    places = [te.placeholder((2,), "int64", name=n) for n in ("begin", "end", "strides")]
    out = topi.dynamic_strided_slice(data, *places, [3, 4])

    def slice_by(begin: list[int], end: list[int], strides: list[int]) -> Array:
        numbers = (np.array(v, "int64") for v in (begin, end, strides))
        return run([out], {data: a, **dict(zip(places, numbers, strict=True))})[0]

    np.testing.assert_array_equal(slice_by([1, -1], [7, 0], [2, -2]), a[1:7:2, -1:0:-2])
    np.testing.assert_array_equal(slice_by([7, 100], [99, 0], [5, -200]), np.broadcast_to(a[7, [8, 0, 0, 0]], (3, 4)))
    with pytest.raises(ArgumentError, match="2 axes, but 1 extents"):
        topi.dynamic_strided_slice(data, *places, [3])
