"""Poolings under TVM's names, and functions of single elements, against NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import special

import compiler as tvm
from compiler import relay, te, topi
from compiler.classic.testing.topi import adaptive_pool, pool_grad_nchw, poolnd_python
from compiler.ir.error import ArgumentError
from compiler.te.definition.tensor import Tensor


def run(result: Tensor, inputs: dict[Tensor, np.ndarray]) -> np.ndarray:
    s = te.create_schedule(result.op)
    out = tvm.nd.array(np.zeros([int(n) for n in result.shape], result.dtype))
    tvm.build(s, [*inputs, result])(*(tvm.nd.array(array) for array in inputs.values()), out)
    return out.numpy()


def example(shape: tuple[int, ...], dtype: str = "float32") -> tuple[Tensor, np.ndarray]:
    array = np.random.default_rng(7).uniform(-4, 4, shape).astype(dtype)
    return te.placeholder(shape, dtype, name="data"), array


POOLS = {3: topi.nn.pool1d, 4: topi.nn.pool2d, 5: topi.nn.pooling.pool3d}
CASES = [
    ((2, 3, 17), "NCW", [3], [2], [1], [1, 2]),
    ((2, 9, 3), "NWC", [4], [3], [2], [0, 3]),
    ((1, 2, 9, 10), "NCHW", [3, 2], [2, 3], [1, 2], [1, 0, 1, 2]),
    ((1, 7, 8, 3), "NHWC", [2, 3], [2, 2], [1, 1], [0, 1, 0, 1]),
    ((1, 2, 17, 18), "NCHW", [5, 7], [1, 2], [2, 1], [4, 3, 4, 3]),  # by one dimension after the other, if the maximum
    ((1, 9, 9, 8, 2), "NDHWC", [3, 4, 5], [1, 1, 2], [1, 2, 1], [1, 3, 2, 1, 3, 2]),
    ((1, 2, 5, 6, 7), "NCDHW", [2, 3, 3], [1, 2, 2], [1, 1, 1], [1, 1, 0, 0, 1, 1]),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize("pool_type", ["avg", "max"])
@pytest.mark.parametrize(("ceil_mode", "count_include_pad"), [(False, True), (True, False)])
@pytest.mark.parametrize(("shape", "layout", "kernel", "stride", "dilation", "padding"), CASES)
def test_windows(
    shape: tuple[int, ...],
    layout: str,
    kernel: list[int],
    stride: list[int],
    dilation: list[int],
    padding: list[int],
    ceil_mode: bool,
    count_include_pad: bool,
    pool_type: str,
) -> None:
    data, array = example(shape)
    got = POOLS[len(shape)](data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout, count_include_pad)
    half = len(kernel)
    expected = poolnd_python(
        array,
        kernel,
        stride,
        dilation,
        padding[:half],
        padding[half:],
        pool_type,
        count_include_pad,
        ceil_mode,
        layout=layout,
    )
    np.testing.assert_allclose(run(got, {data: array}), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("pool_type", ["avg", "max"])
def test_gradients(pool_type: str) -> None:
    data, array = example((1, 2, 7, 8))
    grads = te.placeholder((1, 2, 3, 4), name="grads")
    ones = np.arange(24, dtype="float32").reshape(1, 2, 3, 4)
    result = topi.nn.pool_grad(grads, data, [3, 2], [2, 2], [0, 0, 0, 0], pool_type)
    expected = pool_grad_nchw(array, ones, (3, 2), (2, 2), (0, 0, 0, 0), pool_type, False)
    np.testing.assert_allclose(run(result, {grads: ones, data: array}), expected, rtol=1e-5)


@pytest.mark.parametrize("pool_type", ["avg", "max"])
def test_whole_images_and_given_sizes(pool_type: str) -> None:
    data, array = example((2, 5, 6, 3))
    reduced = getattr(array, {"avg": "mean", "max": "max"}[pool_type])((1, 2), keepdims=True)
    got = topi.nn.global_pool(data, pool_type, "NHWC")
    np.testing.assert_allclose(run(got, {data: array}), reduced, rtol=1e-5)
    got = topi.nn.adaptive_pool(data, (2, 4), pool_type, "NHWC")
    expected = adaptive_pool(array, (2, 4), pool_type, "NHWC")
    np.testing.assert_allclose(run(got, {data: array}), expected, rtol=1e-5)


def test_large_windows_keep_what_is_not_a_number() -> None:
    _, array = example((1, 1, 20, 20))
    array[0, 0, 3, 9] = np.nan
    largest = relay.nn.max_pool2d(relay.var("x", shape=array.shape), (5, 5), padding=(2, 2))
    got = relay.create_executor("graph", tvm.IRModule.from_expr(largest)).evaluate()(array).numpy()
    padded = np.pad(array, ((0, 0), (0, 0), (2, 2), (2, 2)), constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (5, 5), (2, 3))
    np.testing.assert_array_equal(got, windows.max((4, 5)))


def test_what_cannot_be_pooled_is_refused() -> None:
    data, _ = example((1, 2, 4, 4))
    with pytest.raises(ArgumentError, match="pool_type must be 'avg' or 'max'"):
        topi.nn.global_pool(data, "min")
    with pytest.raises(ArgumentError, match="padding must be 4 numbers"):
        topi.nn.pool2d(data, [2, 2], [1, 1], [1, 1], [0, 0], "max")
    with pytest.raises(ArgumentError, match="spans 5 elements"):
        topi.nn.pool2d(data, [5, 1], [1, 1], [1, 1], [0, 0, 0, 0], "max")


@pytest.mark.parametrize(
    ("function", "reference"),
    [(topi.math.erf, special.erf), (topi.math.sigmoid, special.expit), (topi.math.exp, np.exp)],
)
def test_functions_of_elements(function: Callable[[Tensor], Tensor], reference: Callable[..., np.ndarray]) -> None:
    data, array = example((50,))
    expected = reference(array.astype("float64"))
    np.testing.assert_allclose(run(function(data), {data: array}), expected, rtol=2e-6, atol=1e-7)


def test_logarithms_are_rounded_up() -> None:
    n = te.var("n")
    A = te.compute((1,), lambda i: topi.math.ceil_log2(n), name="A")
    kernel = tvm.build(te.create_schedule(A.op), [n, A])
    for value in (1, 2, 3, 4, 5, 1023, 1024, 1025):
        out = tvm.nd.array(np.zeros(1, "int32"))
        kernel(value, out)
        assert out.numpy()[0] == (value - 1).bit_length()
