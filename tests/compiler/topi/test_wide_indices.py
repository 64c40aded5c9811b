"""Indices that do not fit into 32 bits: they are outside, and no element inside is taken for theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from compiler import te, topi
from compiler.driver.build import build
from compiler.runtime.arrays.ndarray import array, empty
from compiler.te.definition.tensor import Tensor

Array = npt.NDArray[Any]
WIDE = [2**31, 2**32 + 1, 2**33 + 2, 10**12, 2**62, 1, 3]
SIGNED = [*WIDE, -1, -4, -(2**31) - 1, -(2**32) + 1, -(10**12), -(2**63)]


def run(inputs: list[Array], define: Any) -> Array:
    """Return the value of an operator's definition."""
    tensors = [te.placeholder(a.shape, str(a.dtype), name=f"x{n}") for n, a in enumerate(inputs)]
    out: Tensor = define(*tensors)
    shape = tuple(d.value for d in out.shape)
    function = build(te.create_schedule(out.op), [*tensors, out], target="llvm")
    result = empty(shape, out.dtype)
    function(*(array(a) for a in inputs), result)
    return result.numpy()


def indices(dtype: str) -> Array:
    limits = np.iinfo(dtype)
    return np.array([i for i in SIGNED if limits.min <= i <= limits.max], dtype)


DTYPES = ["int64", "uint64", "uint32", "int32", "int8", "uint8"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_take_clips_and_wraps_before_it_narrows(dtype: str) -> None:
    data, at = np.arange(10, 14, dtype="float32"), indices(dtype)
    clipped = run([data, at], lambda x, i: topi.take(x, i, axis=0, mode="clip"))
    assert clipped.tolist() == [float(data[min(max(int(i), 0), 3)]) for i in at]
    around = run([data, at], lambda x, i: topi.take(x, i, axis=0, mode="wrap"))
    assert around.tolist() == [float(data[int(i) % 4]) for i in at]


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_hot_knows_no_index_outside(dtype: str) -> None:
    at = indices(dtype)
    actual = run([at], lambda i: topi.one_hot(i, 1.0, 0.0, 300, -1, "float32"))
    assert np.array_equal(actual, np.array([[float(int(i) == place) for place in range(300)] for i in at]))


@pytest.mark.parametrize("dtype", ["int64", "uint64", "uint32"])
def test_scattered_values_outside_are_dropped(dtype: str) -> None:
    at = np.array([i for i in indices(dtype) if not -4 <= int(i) < 4] + [2], dtype)
    data, updates = np.zeros(4, "float32"), np.arange(1, len(at) + 1, dtype="float32")
    expected = [0.0, 0.0, float(len(at)), 0.0]
    actual = run([data, at, updates], lambda x, i, u: topi.scatter_elements(x, i, u, 0, "update"))
    assert actual.tolist() == expected
    nd = run([data, at.reshape(1, -1), updates], lambda x, i, u: topi.scatter_nd(x, i, u, "update"))
    assert nd.tolist() == expected


@pytest.mark.parametrize("index", [-1, -3, 2])
def test_gather_counts_from_the_end(index: int) -> None:
    data = np.arange(3, dtype="float32")
    assert run([data, np.array([index], "int64")], lambda x, i: topi.gather(x, 0, i)).tolist() == [data[index]]
    nd = run([data, np.array([[index]], "int64")], lambda x, i: topi.gather_nd(x, i))
    assert nd.tolist() == [data[index]]


def test_a_length_that_does_not_fit_masks_nothing() -> None:
    data, lengths = np.ones((3, 2), "float32"), np.array([2**32 + 1, 2], "int64")
    actual = run([data, lengths], lambda x, n: topi.sequence_mask(x, n, 0.0, 0))
    assert actual[:, 0].tolist() == [1.0, 1.0, 1.0]
    assert actual[:, 1].tolist() == [1.0, 1.0, 0.0]
