"""Sorting on CPUs: what NumPy computes, in any data type, in time that grows with n log n."""

from __future__ import annotations

import time

import numpy as np
import pytest

from compiler import te, topi
from compiler.driver.build import build
from compiler.driver.lower import lower
from compiler.relay.op.sorting import order
from compiler.runtime.arrays.ndarray import array, empty, numpy_dtype
from compiler.tir.interpreter import interpret
from tests.compiler.topi.gpu.sorting import DTYPES, program
from tests.machines import require


@pytest.mark.sample(4)
@pytest.mark.parametrize("cpu", ["native", "haswell", "x86-64-v2"])
@pytest.mark.parametrize("seed", range(20))
def test_random_rows(cpu: str, seed: int) -> None:
    made = program(f"llvm -mcpu={cpu}", seed, (1, 200), (*DTYPES, "bool"))
    arrays = [array(a) for a in made.arrays()]
    build(made.schedule, made.args, f"llvm -mcpu={cpu}")(*arrays)
    for result, expected in zip(arrays[len(made.inputs) :], made.expected, strict=True):
        np.testing.assert_array_equal(result.numpy(), expected)


def test_nothing_is_read_that_was_not_written() -> None:
    """The last run has fewer elements than a vector; where few are chosen, there is no last one of them at first."""
    for seed in range(6):
        made = program("llvm", seed, (1, 100), DTYPES[:2])
        arrays = made.arrays()
        interpret(lower(made.schedule, made.args)["main"], arrays)
        for result, expected in zip(arrays[len(made.inputs) :], made.expected, strict=True):
            np.testing.assert_array_equal(result, expected, err_msg=f"seed {seed}")


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("length", "k"), [(0, 0), (1, 1), (70, 1), (500, 3), (500, 90), (130, 130)])
def test_first_elements_of_a_row_of_any_length(dtype: str, length: int, k: int) -> None:
    """Few of many, where those that are left out are never stored: the first of equal ones, and NaN before numbers."""
    n = te.var("n")
    data = te.placeholder((2, n), dtype, name="data")
    values, places = topi.topk(data, te.var("k"), 1, "both", False, "int64")
    x = np.random.default_rng(length).integers(-9, 9, (2, length)).astype("float32")
    x[1, ::40] = np.nan
    stored = array(x.astype(numpy_dtype(dtype)))
    results = empty((2, k), dtype), empty((2, k), "int64")
    build(te.create_schedule([values.op]), [data, values, places], "llvm")(stored, *results)
    expected = order(x, 1, False)[:, :k]
    np.testing.assert_array_equal(results[1].numpy(), expected)
    np.testing.assert_array_equal(
        results[0].numpy().view(numpy_dtype(dtype)).astype("float32"), np.take_along_axis(x, expected, 1)
    )


@pytest.mark.sample(8)
@pytest.mark.parametrize("cpu", ["native", "haswell", "x86-64-v2"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int8", "uint8", "bool"])
@pytest.mark.parametrize("is_ascend", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis", "k"), [((16, 1), 1, 1), ((33, 8), 1, 2), ((5, 7, 9), 1, 3), ((64, 3, 17), 0, 4), ((40, 4), 1, 4)]
)
def test_the_first_few_of_short_rows_are_inserted_in_order(
    cpu: str, dtype: str, is_ascend: bool, shape: tuple[int, ...], axis: int, k: int
) -> None:
    """Rows side by side, the last ones fewer: of equal elements the first comes first, and NaN is the greatest."""
    require(f"llvm -mcpu={cpu}")
    data = te.placeholder(shape, dtype, name="data")
    values, places = topi.topk(data, k, axis, "both", is_ascend, "int64")
    x = np.random.default_rng(k).integers(0, 9, shape).astype(numpy_dtype(dtype))
    if dtype.startswith("float"):
        x.ravel()[::5] = np.nan
    schedule = te.create_schedule([values.op])
    assert "first_values" in str(lower(schedule, [data, values, places])), "not sorted"
    results = empty(values.shape, dtype), empty(places.shape, "int64")
    build(schedule, [data, values, places], f"llvm -mcpu={cpu}")(array(x), *results)
    expected = np.take(order(x, axis, is_ascend), range(k), axis)
    np.testing.assert_array_equal(results[1].numpy(), expected)
    np.testing.assert_array_equal(results[0].numpy(), np.take_along_axis(x, expected, axis))


@pytest.mark.parametrize(
    ("shape", "axis", "k", "is_inserted"),
    [
        ((16, 64), 1, 4, True),
        ((15, 64), 1, 4, False),
        ((16, 65), 1, 4, False),
        ((16, 64), 1, 5, False),
        ((64, 4, 4), 0, 4, True),
        ((te.var("n"), 8), 1, 2, True),
        ((te.var("n"), 8), 0, 2, False),
    ],
)
def test_what_is_inserted_fits_registers(shape: tuple[int, ...], axis: int, k: int, is_inserted: bool) -> None:
    data = te.placeholder(shape, name="data")
    values, places = topi.topk(data, k, axis)
    text = str(lower(te.create_schedule([values.op]), [data, values, places]))
    assert ("first_values" in text) == is_inserted == ("run_values" not in text)


@pytest.mark.parametrize("k", [100, 400_000])
def test_time_is_not_quadratic(k: int) -> None:
    """Each element is larger than all before it, so that none is left out at once."""
    data = te.placeholder((400_000,), name="data")
    (places,) = topi.topk(data, k, 0, "indices")
    built = build(te.create_schedule([places.op]), [data, places], "llvm")
    x, result = array(np.arange(400_000, dtype="float32")), empty((k,), "int32")
    started = time.process_time()
    built(x, result)
    assert time.process_time() - started < 2
    np.testing.assert_array_equal(result.numpy(), np.arange(400_000)[::-1][:k])


@pytest.mark.sample(3)
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("is_symbolic", [False, True])
@pytest.mark.parametrize("length", [0, 1, 2, 3, 7, 8, 9, 100])
def test_values_are_searched_in_rows_of_any_length(length: int, is_symbolic: bool, right: bool) -> None:
    """By the interpreter too, which refuses what is read outside of a row."""
    known = te.placeholder((2, te.var("n") if is_symbolic else length), "float32", name="known")
    wanted = te.placeholder((2, 23), "float32", name="wanted")
    places = topi.searchsorted(known, wanted, right, "int32")
    rows = np.sort(np.random.default_rng(length).integers(-9, 9, (2, length)).astype("float32"))
    values = np.tile(np.r_[np.arange(-10, 11), np.inf, -np.inf].astype("float32"), (2, 1))
    expected = [np.searchsorted(row, of, "right" if right else "left") for row, of in zip(rows, values, strict=True)]
    schedule = te.create_schedule([places.op])
    result = empty((2, 23), "int32")
    build(schedule, [known, wanted, places], "llvm")(array(rows), array(values), result)
    np.testing.assert_array_equal(result.numpy(), expected)
    found = np.full((2, 23), -1, "int32")
    interpret(lower(schedule, [known, wanted, places])["main"], [rows, values, found])
    np.testing.assert_array_equal(found, expected)


def test_a_permutation_is_inverted_in_linear_time() -> None:
    """What stands nowhere has the place 0; a large one takes a minute where each element looks through all."""
    data = te.placeholder((te.var("n"),), "int32", name="data")
    inverse = topi.invert_permutation(data)
    run = build(te.create_schedule([inverse.op]), [data, inverse], "llvm")
    for given in (np.random.default_rng(0).permutation(400_000), np.array([2, 0, 7, -1])):
        result = empty(given.shape, "int32")
        run(array(given.astype("int32")), result)
        expected = np.zeros_like(given)
        for place, number in enumerate(given):
            if 0 <= number < len(given):
                expected[number] = place
        np.testing.assert_array_equal(result.numpy(), expected)
