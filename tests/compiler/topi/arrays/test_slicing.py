"""``topi.strided_slice``: bounds that are numbers, expressions and values of tensors."""

import numpy as np
import pytest

import compiler as tvm
from compiler import te, topi
from compiler.ir.error import ArgumentError

DATA = np.arange(24, dtype="float32").reshape(6, 4)


def run(result, arguments, values, shape):
    built = tvm.build(te.create_schedule(result.op), [*arguments, result], "llvm")
    out = tvm.nd.array(np.zeros(shape, "float32"))
    built(*[tvm.nd.array(v) for v in values], out)
    return out.numpy()


@pytest.mark.parametrize(
    ("begin", "end", "strides"), [([1, 0], [4, 3], [1, 1]), ([0, 1], [6, 4], [2, 2]), ([5, 3], [0, 0], [-2, -1])]
)
def test_bounds_are_values_of_tensors(begin, end, strides):
    """The result has as many elements as the buffer that it is written to."""
    data = te.placeholder(DATA.shape, name="data")
    bounds = [te.placeholder((2,), "int64", name=n) for n in ("begin", "end", "strides")]
    result = topi.strided_slice(data, *bounds) + 1.0
    expected = DATA[tuple(map(slice, begin, end, strides))] + 1
    values = [np.array(v, "int64") for v in (begin, end, strides)]
    np.testing.assert_array_equal(run(result, [data, *bounds], [DATA, *values], expected.shape), expected)


def test_some_bounds_are_values_of_tensors():
    data, begin = te.placeholder(DATA.shape, name="data"), te.placeholder((2,), "int64", name="begin")
    result = topi.strided_slice(data, begin, [6, 4]) + 0.0
    np.testing.assert_array_equal(run(result, [data, begin], [DATA, np.array([4, 1])], (2, 3)), DATA[4:, 1:])
    with pytest.raises(ArgumentError, match="come without axes"):
        topi.strided_slice(data, begin, [6, 4], axes=[0, 1])


@pytest.mark.parametrize("assume_inbound", [True, False])
@pytest.mark.parametrize(
    ("begin", "end", "strides"),
    [([0, 1], [2, 3], None), ([1], [5], None), ([-3], [-1], None), ([0], [5], [2]), ([5], [0], [-2])],
)
def test_extents_are_symbolic(begin, end, strides, assume_inbound):
    data = te.placeholder((te.var("n"), 4), name="data")
    result = topi.strided_slice(data, begin, end, strides, assume_inbound=assume_inbound)
    expected = DATA[tuple(map(slice, begin, end, strides or [1] * len(begin)))]
    np.testing.assert_array_equal(run(result, [data], [DATA], expected.shape), expected)


def test_bounds_outside_of_symbolic_extents_are_clipped():
    data = te.placeholder((te.var("n"), 4), name="data")
    result = topi.strided_slice(data, [1], [100], [2], assume_inbound=False)
    np.testing.assert_array_equal(run(result, [data], [DATA], (3, 4)), DATA[1:100:2])


def test_sizes_of_symbolic_extents():
    n = te.var("n")
    data = te.placeholder((n, 4), name="data")
    assert topi.strided_slice(data, [1], [2], slice_mode="size").shape[0] == 2
    rest = topi.strided_slice(data, [1], [-1], slice_mode="size").shape[0]
    assert tvm.arith.Analyzer().can_prove_equal(rest, n - 1)
    whole = topi.strided_slice(data, [0, 0], [n, 2])
    assert whole.shape[0] is n
    assert whole.shape[1] == 2
