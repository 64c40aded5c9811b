"""What scheduled programs compute, where NumPy has no one function for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir
from compiler.te.lowering.to_tir import schedule_to_prim_func
from compiler.tir.interpreter import interpret
from compiler.tir.statements.decl_buffer import decl_buffer

Array = np.ndarray[Any, Any]
rng = np.random.default_rng(0)


def run(schedule: te.Schedule, args: list[Any], *arrays: Array) -> None:
    """Run the loops of a schedule on arrays."""
    interpret(schedule_to_prim_func(schedule, args), list(arrays))


def _argmax() -> tuple[te.Tensor, te.Tensor, te.Tensor, te.IterVar]:
    a = te.placeholder((7, 13), name="A")
    k = te.reduce_axis((0, 13), name="k")

    def better(x: Any, y: Any) -> Any:
        return (
            tir.Select(tir.any(x[1] > y[1], tir.all(x[1].equal(y[1]), x[0] < y[0])), x[0], y[0]),
            tir.Select(x[1] >= y[1], x[1], y[1]),
        )

    argmax = te.comm_reducer(better, lambda i, v: (te.const(1 << 20, i), te.min_value(v)), name="argmax")
    index, value = te.compute((7,), lambda i: argmax((k, a[i, k].asobject()), axis=k), name="T")
    return a, index, value, k


@pytest.mark.parametrize("way", ["plain", "split", "rfactor", "cached", "reordered"])
def test_argmax(way: str) -> None:
    a, index, value, k = _argmax()
    s = te.create_schedule(index.op)
    if way == "split":
        s[index].split(k, 5)
        s[index].split(index.op.axis[0], 3)
    elif way == "rfactor":
        _, ki = s[index].split(k, 5)
        s.rfactor(index, ki)
    elif way == "cached":
        caches = s.cache_write([index, value], "local")
        outer, _ = s[index].split(s[index].op.axis[0], 3)
        s[caches[0]].compute_at(s[index], outer)
    elif way == "reordered":
        s[index].reorder(k, index.op.axis[0])
    data = rng.integers(0, 5, (7, 13)).astype("float32")
    indices, values = np.zeros(7, "int32"), np.zeros(7, "float32")
    run(s, [a, index, value], data, indices, values)
    np.testing.assert_array_equal(indices, data.argmax(axis=1))
    np.testing.assert_array_equal(values, data.max(axis=1))


def test_results_that_need_each_other_are_taken_from_before() -> None:
    a = te.placeholder((4, 8), "int32", name="A")
    k = te.reduce_axis((0, 8), name="k")
    swap = te.comm_reducer(
        lambda x, y: (x[1] + y[0], x[0] - y[1]), lambda t, u: (te.const(0, t), te.const(0, u)), name="swap"
    )
    v, w = te.compute((4,), lambda i: swap((a[i, k], a[i, k]), axis=k), name="T")
    data = rng.integers(-5, 5, (4, 8)).astype("int32")
    first, second = np.zeros(4, "int32"), np.zeros(4, "int32")
    run(te.create_schedule(v.op), [a, v, w], data, first, second)
    x, y = np.zeros(4, "int32"), np.zeros(4, "int32")
    for column in data.T:
        x, y = y + column, x - column
    np.testing.assert_array_equal(first, x)
    np.testing.assert_array_equal(second, y)


def test_a_reduction_may_start_from_a_tensor() -> None:
    a = te.placeholder((7, 5), "int32", name="A")
    start = te.placeholder((7,), "int32", name="start")
    k = te.reduce_axis((0, 5), name="k")
    t = te.compute((7,), lambda i: te.sum(a[i, k], axis=k, init=start[i]), name="T")
    u = te.compute((7,), lambda i: t[i] * 2, name="U")
    s = te.create_schedule(u.op)
    outer, _ = s[u].split(u.op.axis[0], 4)
    s[t].compute_at(s[u], outer)
    s[t].reorder(k, t.op.axis[0])
    data, begin = rng.integers(-5, 5, (7, 5)).astype("int32"), rng.integers(-5, 5, 7).astype("int32")
    result = np.zeros(7, "int32")
    run(s, [a, start, u], data, begin, result)
    np.testing.assert_array_equal(result, (data.sum(axis=1) + begin) * 2)


def test_several_outputs_are_computed_by_one_nest() -> None:
    a = te.placeholder((10,), "int32", name="A")
    low, high = te.compute((10,), lambda i: (a[i] - 1, a[i] + 1), name="T")
    t = te.compute((10,), lambda i: high[i] * low[i], name="U")
    s = te.create_schedule(t.op)
    outer, _ = s[t].split(t.op.axis[0], 4)
    s[low].compute_at(s[t], outer)
    data, result = np.arange(10, dtype="int32"), np.zeros(10, "int32")
    run(s, [a, t], data, result)
    np.testing.assert_array_equal(result, data * data - 1)


def test_scalars_are_computed_without_loops() -> None:
    a = te.placeholder((6,), "int32", name="A")
    k = te.reduce_axis((0, 6), name="k")
    total = te.compute((), lambda: te.sum(a[k], axis=k), name="total")
    t = te.compute((6,), lambda i: a[i] * total(), name="T")
    s = te.create_schedule([total.op, t.op])
    data, whole, result = np.arange(6, dtype="int32"), np.zeros((), "int32"), np.zeros(6, "int32")
    run(s, [a, total, t], data, whole, result)
    assert whole == 15
    np.testing.assert_array_equal(result, data * 15)


def test_a_function_may_take_scalars() -> None:
    a = te.placeholder((6,), name="A")
    factor = te.var("factor", "float32")
    t = te.compute((6,), lambda i: a[i] * factor, name="T")
    data, result = np.arange(6, dtype="float32"), np.zeros(6, "float32")
    interpret(schedule_to_prim_func(te.create_schedule(t.op), [a, factor, t]), [data, 2.5, result])
    np.testing.assert_array_equal(result, data * np.float32(2.5))


def test_a_tensor_may_be_bound_to_a_buffer() -> None:
    a = te.placeholder((6,), name="A")
    t = te.compute((6,), lambda i: a[i] + 1, name="T")
    buffer = decl_buffer((6,), "float32", "mine")
    func = schedule_to_prim_func(te.create_schedule(t.op), [a, t], binds={a: buffer})
    assert buffer in func.buffer_map.values()


@pytest.mark.parametrize("factor", [1, 3, 4, 7, 64])
def test_64_bit_axes_split_too(factor: int) -> None:
    a = te.placeholder((te.const(7, "int64"),), "int32", name="A")
    t = te.compute(a.shape, lambda i: a[i] + 1, name="T")
    s = te.create_schedule(t.op)
    _, inner = s[t].split(t.op.axis[0], factor=factor)
    assert inner.var.dtype == "int64"
    cached = s.cache_read(a, "local", [t])
    s[cached].compute_at(s[t], s[t].leaf_iter_vars[0])
    data, result = np.arange(7, dtype="int32"), np.zeros(7, "int32")
    run(s, [a, t], data, result)
    np.testing.assert_array_equal(result, data + 1)


@pytest.mark.parametrize("variable", [2, 3, 5, 9])
def test_a_factor_may_be_a_variable(variable: int) -> None:
    a = te.placeholder((10,), "int32", name="A")
    t = te.compute((10,), lambda i: a[i] + 1, name="T")
    factor = te.size_var("factor")
    s = te.create_schedule(t.op)
    s[t].split(t.op.axis[0], factor=factor)
    data, result = np.arange(10, dtype="int32"), np.zeros(10, "int32")
    interpret(schedule_to_prim_func(s, [a, t, factor]), [data, result, variable])
    np.testing.assert_array_equal(result, data + 1)


@pytest.mark.parametrize("shown", [True, False])
def test_an_argument_has_no_room_beyond_its_shape(shown: bool) -> None:
    a = te.placeholder((10, 3), "int32", name="A")
    k = te.reduce_axis((0, 3), name="k")
    t = te.compute((10,), lambda i: te.sum(a[i, k], axis=k), name="T")
    u = te.compute((10,), lambda i: t[i] * 2, name="U")
    s = te.create_schedule(u.op)
    outer, _ = s[u].split(u.op.axis[0], factor=4)
    s[t].compute_at(s[u], outer)
    data = rng.integers(-5, 5, (10, 3)).astype("int32")
    partial, result = np.zeros(10, "int32"), np.zeros(10, "int32")
    run(s, [a, t, u] if shown else [a, u], data, *([partial] if shown else []), result)
    np.testing.assert_array_equal(result, data.sum(axis=1) * 2)
    if shown:
        np.testing.assert_array_equal(partial, data.sum(axis=1))


def test_an_inlined_tensor_among_the_arguments_is_left_alone() -> None:
    a = te.placeholder((10,), "int32", name="A")
    b = te.compute((10,), lambda i: a[i] + 1, name="B")
    c = te.compute((10,), lambda i: b[i] * 2, name="C")
    s = te.create_schedule(c.op)
    s[b].compute_inline()
    data, untouched, result = np.arange(10, dtype="int32"), np.full(10, 7, "int32"), np.zeros(10, "int32")
    run(s, [a, b, c], data, untouched, result)
    np.testing.assert_array_equal(result, (data + 1) * 2)
    assert (untouched == 7).all()


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0), (1, 1)])
@pytest.mark.parametrize("way", ["plain", "split", "rfactor", "cached"])
def test_empty_tensors_are_computed(shape: tuple[int, int], way: str) -> None:
    a = te.placeholder(shape, "int32", name="A")
    k = te.reduce_axis((0, shape[1]), name="k")
    b = te.compute(shape[:1], lambda i: te.sum(a[i, k], axis=k), name="B")
    c = te.compute(shape[:1], lambda i: b[i] + 1, name="C")
    s = te.create_schedule(c.op)
    if way == "split":
        outer, _ = s[c].split(c.op.axis[0], 4)
        s[b].compute_at(s[c], outer)
    elif way == "rfactor":
        s.rfactor(b, s[b].split(k, 3)[1])
    elif way == "cached":
        s.cache_read(a, "local", [b])
        s.cache_write(c, "local")
    data = np.ones(shape, "int32")
    result = np.full(shape[:1], 9, "int32")
    run(s, [a, c], data, result)
    np.testing.assert_array_equal(result, data.sum(axis=1) + 1)


def test_a_tensor_may_be_read_at_places_that_it_holds() -> None:
    a = te.placeholder((5,), "int32", name="A")
    t = te.compute((5,), lambda i: a[i] + 0, name="T")
    u = te.compute((5,), lambda i: t[t[i]], name="U")
    for at_loop in (False, True):
        s = te.create_schedule(u.op)
        if at_loop:
            s[t].compute_at(s[u], u.op.axis[0])
        data, result = np.array([1, 4, 0, 7, 2], "int32"), np.zeros(5, "int32")
        run(s, [a, u], data, result)
        np.testing.assert_array_equal(result, [4, 2, 1, 0, 0])


@pytest.mark.parametrize("dtype", ["int8", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("way", ["te", "tir"])
def test_a_tensor_may_be_inlined_where_it_is_read_at_places_of_another_integer_type(dtype: str, way: str) -> None:
    a, places = te.placeholder((12,), name="A"), te.placeholder((4,), dtype, name="places")
    doubled = te.compute((12,), lambda i: a[i // 2] * 2.0, name="doubled")
    read = te.compute((4,), lambda i: doubled[places[i]], name="read")
    data, where = np.arange(12, dtype="float32"), np.array([1, 3, 5, 7], dtype)
    result = np.zeros(4, "float32")
    if way == "te":
        s = te.create_schedule(read.op)
        s[doubled].compute_inline()
        run(s, [a, places, read], data, where, result)
    else:
        sch = tir.Schedule(te.create_prim_func([a, places, read]))
        sch.compute_inline("doubled")
        interpret(sch.mod["main"], [data, where, result])
    np.testing.assert_array_equal(result, [0, 2, 4, 6])


def test_reads_from_both_ends_of_a_symbolic_size_with_copies() -> None:
    """Differences of nested minima and maxima were once simplified without an end here."""
    size = te.var("n")
    A = te.placeholder((size,), "int32", name="A")
    S = te.compute((size,), lambda i: te.max(A[i], A[size - 1 - i]), name="S")
    T = te.compute((size,), lambda i: S[i] + S[te.max(i - 1, 0)], name="T")
    s = te.create_schedule(T.op)
    copy = s.cache_write(T, "local")
    _, inner = s[copy].split(s[copy].op.axis[0], factor=8)
    s[S].compute_at(s[copy], inner)
    read = s.cache_read(A, "local", [S])
    s[read].compute_at(s[S], s[S].op.axis[0])
    built = tvm.build(s, [A, T], "llvm")
    for n in (1, 9, 20):
        a, result = np.random.default_rng(0).integers(-99, 99, n).astype("int32"), np.zeros(n, "int32")
        built(a, result)
        largest = np.maximum(a, a[::-1])
        assert result.tolist() == (largest + largest[np.maximum(np.arange(n) - 1, 0)]).tolist()


def test_a_chain_of_a_thousand_tensors_is_one_expression() -> None:
    A = te.placeholder((4,), name="A")
    chain = [A]
    for i in range(1000):
        chain.append(te.compute((4,), lambda j: chain[-1][j] + 1.0, name=f"T{i}"))
    s = te.create_schedule(chain[-1].op)
    for tensor in chain[1:-1]:
        s[tensor].compute_inline()
    a, out = tvm.nd.array(np.arange(4, dtype="float32")), tvm.nd.array(np.zeros(4, "float32"))
    tvm.build(s, [A, chain[-1]])(a, out)
    np.testing.assert_array_equal(out.numpy(), np.arange(4) + 1000)


def test_a_store_predicate_is_about_the_loops_of_its_stage() -> None:
    a = te.placeholder((8, 4), name="A")
    b = te.compute((8, 4), lambda i, j: a[i, j] + 1, name="B")
    schedule = te.create_schedule(b.op)
    _, inner = schedule[b].split(b.op.axis[0], 4)
    schedule[b].set_store_predicate(tvm.tir.all(inner.var < 3, b.op.axis[0].var > 0))
    data, result = np.random.rand(8, 4).astype("float32"), tvm.nd.array(np.zeros((8, 4), "float32"))
    tvm.build(schedule, [a, b])(tvm.nd.array(data), result)
    stored = [i % 4 < 3 and i > 0 for i in range(8)]
    np.testing.assert_array_equal(result.numpy(), np.where(np.array(stored)[:, None], data + 1, 0))


def test_reductions_of_one_name_each_have_a_cache() -> None:
    a = te.placeholder((6, 5), name="A")
    k, r = te.reduce_axis((0, 5), "k"), te.reduce_axis((0, 6), "r")
    rows = te.compute((6,), lambda i: te.sum(a[i, k], axis=k), name="sum")
    columns = te.compute((5,), lambda j: te.sum(a[r, j] * rows[r], axis=r), name="sum")
    s = te.create_schedule(columns.op)
    first, second = s.cache_write(rows, "local"), s.cache_write(columns, "local")
    s[first].compute_at(s[rows], s[rows].op.axis[0])
    s[second].compute_at(s[columns], s[columns].op.axis[0])
    data = rng.integers(0, 5, (6, 5)).astype("float32")
    result = np.zeros(5, "float32")
    run(s, [a, columns], data, result)
    np.testing.assert_array_equal(result, data.T @ data.sum(axis=1))
