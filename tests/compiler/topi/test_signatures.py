"""Functions of TOPI called by TVM's names of arguments and with its defaults, against NumPy."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler import te, tir, topi
from compiler.ir.error import ArgumentError, DTypeError
from tests.compiler.topi.test_pooling import run

RNG = np.random.default_rng(3)
Array = np.ndarray[Any, Any]


def floats(*shape: int) -> Array:
    return RNG.uniform(-2, 2, shape).astype("float32")


def check(function: Callable[..., Any], expected: Array, tensors: dict[str, Array], **others: Any) -> None:
    """Call a function by keyword and compare what it computes."""
    inputs = {te.placeholder(a.shape, str(a.dtype), name=n): a for n, a in tensors.items()}
    result = function(**dict(zip(tensors, inputs, strict=True)), **others)
    result = result[0] if isinstance(result, list) else result
    np.testing.assert_allclose(run(result, inputs), expected, rtol=1e-5, atol=1e-5)


def test_products() -> None:
    a, b, bias = floats(3, 5), floats(5, 4), floats(4)
    check(topi.nn.matmul, a @ b, {"tensor_a": a, "tensor_b": b})
    check(topi.nn.matmul, a @ b + bias, {"tensor_a": a, "tensor_b": b.T.copy(), "bias": bias}, transpose_b=True)
    check(topi.nn.dense, a @ b + bias, {"data": a, "weight": b.T.copy(), "bias": bias})
    check(topi.nn.dense, a[0] @ b + bias, {"data": a[0], "weight": b.T.copy(), "bias": bias})
    small = RNG.integers(-100, 100, (2, 40)).astype("int8")
    check(topi.nn.dense, small.astype("int32") @ small.T, {"data": small, "weight": small}, out_dtype="int32")
    x, y = floats(2, 3, 5), floats(1, 4, 5)
    check(topi.nn.batch_matmul, x @ y.transpose(0, 2, 1), {"tensor_a": x, "tensor_b": y}, oshape=(2, 3, 4))


def test_products_refuse_what_they_do_not_do() -> None:
    a, b = te.placeholder((2, 3, 5), name="a"), te.placeholder((2, 4, 5), name="b")
    with pytest.raises(ArgumentError, match=r"oshape must be the shape of the result, \(2, 3, 4\)"):
        topi.nn.batch_matmul(a, b, oshape=(2, 4, 3))
    with pytest.raises(ArgumentError, match="matmul: auto_scheduler_rewritten_layout must be empty"):
        topi.nn.matmul(a, te.placeholder((5, 4)), auto_scheduler_rewritten_layout="2k4j")
    with pytest.raises(ArgumentError, match="dense: meta_schedule_original_shape must be left out"):
        topi.nn.dense(a, te.placeholder((4, 5)), meta_schedule_original_shape=[4, 5])


def test_normalisations() -> None:
    x = floats(2, 3, 4, 4)
    gamma, beta, mean, var = floats(3), floats(3), floats(3), floats(3) ** 2 + 0.1
    data = {"data": x, "gamma": gamma, "beta": beta, "moving_mean": mean, "moving_var": var}
    g, b, m, v = (a[:, None, None] for a in (gamma, beta, mean, var))
    check(topi.nn.batch_norm, (x - m) / np.sqrt(v + 1e-5) * g + b, data)
    last = np.moveaxis(x, 1, -1).copy()
    expected = np.moveaxis((x - m) / np.sqrt(v + 0.1) * g, 1, -1)
    check(topi.nn.batch_norm, expected, {**data, "data": last}, axis=-1, epsilon=0.1, center=False)
    tensors = [te.placeholder(a.shape, name=n) for n, a in data.items()]
    _result, *statistics = topi.nn.batch_norm(*tensors)
    assert statistics == tensors[3:]
    with pytest.raises(ArgumentError, match="training must be False"):
        topi.nn.batch_norm(*tensors, training=True)
    padded = np.pad(x**2, ((0, 0), (1, 1), (0, 0), (0, 0)))
    squares = sum(padded[:, i : i + 3] for i in range(3))
    check(topi.nn.lrn, x / (2 + 0.0001 / 3 * squares) ** 0.75, {"data": x}, size=3)


def test_activations() -> None:
    x, slope = floats(2, 3, 5), floats(3)
    check(topi.nn.prelu, np.where(x > 0, x, x * slope[:, None]), {"x": x, "slope": slope})
    powers = np.exp(x)
    for axis, options in ((-1, {}), (1, {"axis": -2})):
        check(topi.nn.softmax, powers / powers.sum(axis, keepdims=True), {"x": x}, **options)
        check(topi.nn.log_softmax, np.log(powers / powers.sum(axis, keepdims=True)), {"x": x}, **options)
    check(topi.nn.flatten, x.reshape(2, -1), {"data": x})


def test_pad() -> None:
    x = floats(2, 3)
    check(topi.nn.pad, np.pad(x, ((1, 1), (0, 0))), {"data": x}, pad_before=(1, 0))
    expected = np.pad(x, ((1, 0), (0, 2)), constant_values=3.5)
    check(topi.nn.pad, expected, {"data": x}, pad_before=(1, 0), pad_after=(0, 2), pad_value=3.5)
    padded = topi.nn.pad(te.placeholder((2,), "int8"), (1,), attrs={"why": "a reason"})
    assert padded.op.name == "PadInput"
    assert padded.op.attrs["why"] == "a reason"
    assert padded.dtype == "int8"


SLICES = [
    (([1, 2], [4, 7]), {}, np.s_[1:4, 2:7]),
    (([-2], [100]), {}, np.s_[-2:]),
    (([5, 8], [-7, 1], [-2, -3]), {}, np.s_[5::-2, 8:1:-3]),
    (([1, 0], [3, 9]), {"axes": [2, -2], "strides": [1, 4]}, np.s_[:, 0:9:4, 1:3]),
    (([1, 3], [2, -1]), {"slice_mode": "size"}, np.s_[1:3, 3:]),
]


@pytest.mark.parametrize(("arguments", "options", "where"), SLICES)
def test_strided_slice(arguments: tuple[list[int], ...], options: dict[str, Any], where: Any) -> None:
    x = floats(6, 9, 4)
    named = dict(zip(("begin", "end", "strides"), arguments, strict=False))
    check(topi.strided_slice, x[where], {"a": x}, **named, **options)


def test_strided_slice_of_constants_and_mistakes() -> None:
    a = te.placeholder((6, 9, te.var("n")), name="a")
    shape = topi.strided_slice(a, [tir.IntImm("int32", 1)], [tir.IntImm("int32", 4)]).shape
    assert int(shape[0]) == 3
    assert int(shape[1]) == 9
    with pytest.raises(ArgumentError, match="slice_mode must be 'end' or 'size', got 'begin'"):
        topi.strided_slice(a, [0], [1], slice_mode="begin")
    with pytest.raises(ArgumentError, match="strides must not be zero"):
        topi.strided_slice(a, [0], [1], [0])
    with pytest.raises(ArgumentError, match="entry for each of 1 axes"):
        topi.strided_slice(a, [0], [1, 2])
    with pytest.raises(ArgumentError, match="expected a constant extent"):
        topi.strided_slice(a, [0], [1], [te.var("step")])


def test_places() -> None:
    x, v = floats(6, 9), floats(2, 3)
    begin, end, strides = (np.array(n, "int32") for n in ([1, 2], [5, 8], [2, 2]))
    expected = x.copy()
    expected[1:5:2, 2:8:2] = v
    check(topi.strided_set, expected, {"a": x, "v": v, "begin": begin, "end": end, "strides": strides})
    expected = x.copy()
    expected[1:3, 2:5] = v
    check(topi.strided_set, expected, {"a": x, "v": v, "begin": begin, "end": np.array([3, 5], "int32")})
    edges, values = np.sort(floats(8)), floats(5)
    names = {"sorted_sequence": edges, "values": values}
    check(topi.searchsorted, np.searchsorted(edges, values), names)
    check(topi.searchsorted, np.searchsorted(edges, values, "right"), names, right=True, out_dtype="int32")
    points, amounts = np.array([1, 4], "int32"), floats(2)
    dense = np.full(6, 0, "float32")
    dense[points] = amounts
    check(topi.sparse_to_dense, dense, {"sparse_indices": points, "sparse_values": amounts}, output_shape=(6,))


def test_diagonals() -> None:
    x, one = floats(4, 5), floats(4)
    expected = x.copy()
    np.fill_diagonal(expected, one)
    check(topi.matrix_set_diag, expected, {"data": x, "diagonal": one})
    rows = floats(3, 4)
    for align in ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"):
        expected = x.copy()
        for k, length in ((1, 4), (0, 4), (-1, 3)):
            start = 4 - length if align.split("_")[0 if k >= 0 else 1] == "RIGHT" else 0
            for n in range(length):
                expected[n + max(-k, 0), n + max(k, 0)] = rows[1 - k, start + n]
        check(topi.matrix_set_diag, expected, {"data": x, "diagonal": rows}, k=(-1, 1), align=align)
    with pytest.raises(ArgumentError, match="align must be one of RIGHT_LEFT, LEFT_RIGHT"):
        topi.matrix_set_diag(te.placeholder((4, 5)), te.placeholder((4,)), align="MIDDLE")


def test_several_operands() -> None:
    x, y = floats(2, 3), floats(2, 3)
    tensors = [te.placeholder((2, 3), name=n) for n in "xy"]
    values = dict(zip(tensors, (x, y), strict=True))
    np.testing.assert_array_equal(run(topi.stack(a=tensors, axis=1), values), np.stack([x, y], 1))
    np.testing.assert_allclose(run(topi.einsum("ij,kj->ik", *tensors), values), x @ y.T, rtol=1e-5)
    with pytest.raises(TypeError, match="axis"):
        topi.stack(tensors)


@pytest.mark.parametrize("name", ["atan2", "copysign", "hypot", "nextafter", "ldexp"])
def test_operands_have_numbers(name: str) -> None:
    function = getattr(tir, name)
    assert list(inspect.signature(function).parameters) == ["x1", "x2"]
    x = te.var("x", "float32")
    assert function(x1=x, x2=te.var("n", "int32") if name == "ldexp" else x).dtype == "float32"


def test_accesses_take_predicates_of_as_many_lanes() -> None:
    buffer = tir.decl_buffer((8,), name="b")
    some = te.var("some", "bool")
    with pytest.raises(DTypeError, match="mask with 1 lanes, but trying to load a vector with 4 lanes"):
        buffer.vload([0], "float32x4", predicate=some)
    with pytest.raises(DTypeError, match="mask with 1 lanes, but trying to store a value with 4 lanes"):
        buffer.vstore([0], tir.const(1.0, "float32x4"), predicate=some)
    lanes = tir.Broadcast(some, 4)
    assert tir.BufferLoad(buffer, [tir.Ramp(0, 1, 4)], lanes).predicate.same_as(lanes)
    assert buffer.vload(begin=[0], predicate=None).dtype == "float32"


def test_sorting_takes_the_number_of_elements_second() -> None:
    x = np.array([[3, 1, 2, 5, 4, 0], [1, 1, 0, 7, 7, 2]], "float32")
    count = np.array([4, 5], "int32")
    data, valid = te.placeholder((2, 6), name="data"), te.placeholder((2,), "int32", name="valid")
    inputs = {data: x, valid: count}
    for is_ascend, sign in ((True, 1), (False, -1)):
        expected = np.tile(np.arange(6), (2, 1))
        for row, n in enumerate(count):
            expected[row, :n] = np.argsort(sign * x[row, :n], kind="stable")
        np.testing.assert_array_equal(run(topi.argsort(data, valid, -1, is_ascend, "int32"), inputs), expected)
    by_column = run(topi.cuda.argsort(data, 0, False), {data: x})
    assert by_column.dtype == "float32"
    np.testing.assert_array_equal(by_column, np.argsort(-x, axis=0, kind="stable"))


def test_suppression_takes_its_attributes_one_by_one() -> None:
    boxes = [[0, 0.8, 1, 20, 25, 45], [1, 0.7, 30, 60, 50, 80], [0, 0.4, 4, 21, 19, 40], [2, 0.9, 35, 61, 52, 79]]
    tensors = {"data": np.array([boxes], "float32"), "valid_count": np.array([4], "int32")}
    inputs = {te.placeholder(a.shape, str(a.dtype), name=n): a for n, a in tensors.items()}
    inputs[te.placeholder((1, 4), "int32", name="indices")] = np.arange(4, dtype="int32")[None]
    names, count = topi.vision.non_max_suppression(*inputs)
    np.testing.assert_array_equal(run(names, inputs), [[3, 0, 1, 2]])
    np.testing.assert_array_equal(run(count, inputs), [[4]])
    best = topi.vision.non_max_suppression(*inputs, -1, 0.5, True, 3, 2, 1, 0, False, True)
    expected = np.array([[boxes[3], boxes[0], [-1] * 6, [-1] * 6]], "float32")
    np.testing.assert_array_equal(run(best, inputs), expected)


def test_packed_products_have_a_bias() -> None:
    x, w, bias = floats(3, 5), floats(8, 5), floats(8)
    packed = w.reshape(2, 4, 5).transpose(0, 2, 1).copy()
    check(topi.nn.dense_pack, x @ w.T + bias, {"data": x, "weight": packed, "bias": bias})
