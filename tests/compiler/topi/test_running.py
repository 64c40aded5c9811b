"""Running combinations, coordinates of elements, and products with factors of each place, against NumPy."""

import numpy as np
import pytest

import compiler as tvm
from compiler import te, topi


def run(inputs: list[np.ndarray], function) -> list[np.ndarray]:
    tensors = [te.placeholder(x.shape, str(x.dtype), name=f"x{at}") for at, x in enumerate(inputs)]
    results = function(*tensors)
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    s = te.create_schedule([r.op for r in results])
    outs = [tvm.nd.array(np.full([int(d) for d in r.shape], 77, r.dtype)) for r in results]
    tvm.build(s, [*tensors, *results])(*[tvm.nd.array(x) for x in inputs], *outs)
    return [out.numpy() for out in outs]


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("exclusive", [False, True])
def test_scans_combine_what_is_before_each_element(axis: int | None, exclusive: bool) -> None:
    x = np.random.default_rng(2).integers(-9, 9, (3, 4, 5)).astype("int32")
    lowest = int(te.min_value("int32").value)
    (result,) = run([x], lambda t: topi.scanop(t, te.max, lowest, "running_max", axis, None, exclusive))
    expected = np.maximum.accumulate(x.ravel() if axis is None else x, axis=axis or 0)
    if exclusive:
        at = axis or 0
        first = np.full_like(np.take(expected, [0], axis=at), lowest)
        expected = np.concatenate([first, np.delete(expected, -1, axis=at)], axis=at)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(("shape", "axis"), [((3, 700), 1), ((2, 40, 70), 1), ((5, 0, 3), 1), ((40, 3, 5), 0)])
def test_sums_take_one_step_for_each_element(shape: tuple[int, ...], axis: int) -> None:
    values = np.random.default_rng(3).integers(-9, 9, shape).astype("int32")
    (result,) = run([values], lambda t: topi.cumsum(t, axis))
    np.testing.assert_array_equal(result, np.cumsum(values, axis))
    x = te.placeholder(shape, "int32", name="x")
    sums = topi.cumsum(x, axis)
    steps, loops = 0, [(1, tvm.lower(te.create_schedule(sums.op), [x, sums])["main"].body)]
    while loops:
        times, stmt = loops.pop()
        if isinstance(stmt, tvm.tir.For):
            most = stmt.extent.value if isinstance(stmt.extent, tvm.tir.IntImm) else 64
            loops.append((times * most, stmt.body))
        elif isinstance(stmt, tvm.tir.SeqStmt):
            loops += [(times, part) for part in stmt.seq]
        else:
            steps += times
    assert steps <= max(2 * values.size, 1)


def test_coordinates_of_nonzero_elements() -> None:
    x = np.random.default_rng(4).integers(0, 2, (3, 5)).astype("int32")
    expected = np.argwhere(x)
    (result,) = run([x], lambda t: topi.argwhere((15, 2), t))
    np.testing.assert_array_equal(result[: len(expected)], expected)
    np.testing.assert_array_equal(result[len(expected) :], 0)
    (few,) = run([x], lambda t: topi.argwhere((2, 2), t))
    np.testing.assert_array_equal(few, expected[:2])


def test_coordinates_in_another_shape() -> None:
    dense = np.random.default_rng(5).integers(0, 2, (2, 3, 4))
    at = np.argwhere(dense).astype("int32")
    shapes = np.array([2, 3, 4], "int32"), np.array([6, -1], "int32")
    indices, shape = run([at, *shapes], topi.sparse_reshape)
    np.testing.assert_array_equal(shape, [6, 4])
    np.testing.assert_array_equal(indices, np.argwhere(dense.reshape(6, 4)))


@pytest.mark.parametrize(("left", "right"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_fixed_point_factors_of_each_channel(left: int, right: int) -> None:
    rng = np.random.default_rng(6)
    x = rng.integers(-1000, 1000, (2, 3, 4)).astype("int32")
    y = rng.integers(1 << 29, 1 << 30, 3).astype("int32")
    shifts = [rng.integers(0, 5, 3).astype("int32") for _ in range(2)]
    (result,) = run(
        [x, y, *shifts], lambda a, b, c, d: topi.fixed_point_multiply_per_axis(a, b, c, d, left, right, [1])
    )
    scale = y * 2.0 ** (left * shifts[0] - right * shifts[1] - 31.0)
    np.testing.assert_array_equal(result, np.floor(x * scale[:, None] + 0.5))
