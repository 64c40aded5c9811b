"""Scatter operators on CPUs and devices, against NumPy: places that are hit often, from the end, or outside."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from compiler import te, topi
from compiler.driver.build import build
from compiler.driver.emulate import emulate
from compiler.runtime.arrays.ndarray import array
from compiler.target import Target
from compiler.te.definition.tensor import Tensor
from compiler.topi.arrays.scatter import REDUCTIONS
from compiler.topi.schedules.gpu import schedule_group

Array = NDArray[Any]
UFUNCS = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum, "mean": np.add}
DTYPES = ("float32", "float16", "float64", "int32", "int8", "uint8", "int64")
TARGETS = ("llvm", "llvm -mcpu=haswell", "llvm -mcpu=x86-64-v2", "cuda")


def put(data: Array, points: Sequence[Array], values: Array, reduction: str) -> Array:
    """Return what NumPy makes of values at points, those outside left out."""
    result, count = data.copy(), np.ones_like(data)
    for at in np.ndindex(points[0].shape):
        place = [int(p[at]) for p in points]
        place = [p + e if p < 0 else p for p, e in zip(place, data.shape, strict=False)]
        if all(0 <= p < e for p, e in zip(place, data.shape, strict=False)):
            here = (*(np.array([p]) for p in place),)
            if reduction == "update":
                result[here] = values[at]
            else:
                UFUNCS[reduction].at(result, here, values[at][None])
            np.add.at(count, here, 1)
    return (result / count).astype(data.dtype) if reduction == "mean" else result


def run(target: str, inputs: Sequence[Array], define: Any) -> Array:
    """Return a tensor that is computed from inputs by a target."""
    tensors = [te.placeholder(a.shape, str(a.dtype), name=f"x{n}") for n, a in enumerate(inputs)]
    with Target(target) as device:
        out: Tensor = define(*tensors)
    result = np.full(inputs[0].shape, 77, inputs[0].dtype)
    if target == "cuda":
        emulate(schedule_group([out], device), [*tensors, out], Target("cuda", host="llvm -opt-level=1"))(
            *[a.copy() for a in inputs], result
        )
        return result
    held = [array(a) for a in (*inputs, result)]
    build(te.create_schedule([out.op]), [*tensors, out], target)(*held)
    return held[-1].numpy()


def numbers(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> Array:
    """Return small numbers, some of which are not numbers."""
    values: Array = rng.integers(0, 4, shape).astype(dtype)
    if dtype.startswith("float"):
        values[rng.random(shape) < 0.1] = np.nan
    return values


@pytest.mark.sample(5)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_random_updates(target: str, reduction: str) -> None:
    for seed in range(4):
        rng, choose = np.random.default_rng(seed), random.Random(seed)
        dtypes = [t for t in DTYPES if reduction != "mean" or not t.startswith("int")]  # whose quotients are ambiguous
        dtype, places = choose.choice(dtypes), choose.choice(("int32", "int64"))
        data = numbers(rng, [choose.choice((1, 3, 7)) for _ in range(choose.randint(1, 3))], dtype)
        # slices at points
        width = choose.randint(1, data.ndim)
        points = rng.integers(-9, 9, (width, *choose.choice([(), (1,), (6,), (2, 4), (0,)]))).astype(places)
        values = numbers(rng, (*points.shape[1:], *data.shape[width:]), dtype)
        found = run(target, [data, points, values], lambda *x: topi.scatter_nd(*x, reduction))
        np.testing.assert_array_equal(found, put(data, list(points), values, reduction), err_msg=f"points of {seed}")
        # elements along an axis
        axis = choose.randrange(data.ndim)
        shape = [choose.randint(1, e + 2) for e in data.shape]
        along, values = rng.integers(-9, 9, shape).astype(places), numbers(rng, shape, dtype)
        found = run(target, [data, along, values], lambda *x, axis=axis: topi.scatter_elements(*x, axis, reduction))
        points = np.indices(shape)
        points[axis] = along
        np.testing.assert_array_equal(found, put(data, list(points), values, reduction), err_msg=f"elements of {seed}")


@pytest.mark.parametrize("target", TARGETS)
def test_dense_tensors_of_sparse_ones(target: str) -> None:
    points, values = np.array([[0, 1], [2, 9], [1, 0]]), np.array([5, 6, 7], "float32")
    ignored = np.zeros((3, 2), "float32")
    found = run(target, [ignored, points, values], lambda _, p, v: topi.sparse_to_dense(p, (3, 2), v, -1.0))
    np.testing.assert_array_equal(found, [[-1, 5], [7, -1], [-1, -1]])
    found = run(target, [ignored[:, 0], np.array([2, 0])], lambda _, p: topi.sparse_to_dense(p, (3,), _one(), 0.0))
    np.testing.assert_array_equal(found, [1, 0, 1])


def _one() -> Tensor:
    return te.compute((), lambda: te.const(1.0, "float32"), name="one")


def test_time_is_that_of_the_data_and_the_updates() -> None:
    data, points = np.zeros(1_000_000, "float32"), np.arange(100_000)[None] * 10
    values = np.ones(100_000, "float32")
    started = time.process_time()
    found = run("llvm", [data, points, values], lambda *x: topi.scatter_nd(*x, "add"))
    assert time.process_time() - started < 5
    np.testing.assert_array_equal(found, np.tile(np.eye(1, 10, dtype="float32")[0], 100_000))
