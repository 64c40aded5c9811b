"""Reductions across threads are shuffles, or go through shared memory; any order of the threads gives the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import te, tir
from compiler.driver.build import build
from compiler.driver.emulate import emulate
from compiler.driver.lower import lower
from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call, StringImm
from compiler.runtime.arrays import ndarray as nd
from compiler.target.target import Target
from compiler.tir.expressions.builtin import STORAGE_SYNC
from compiler.tir.expressions.device_ops import WARP_SHUFFLE_DOWN
from compiler.tir.script import from_source
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate
from compiler.tir.transform import LowerThreadAllreduce
from tests.compiler.tir.transform.programs import apply, nodes
from tests.compiler.tir.transform.thread_runs import run_threads

GPU = Target("cuda")


def row_sums(rows: int, columns: int, threads: int, groups: int = 1, reduce_axis: str = "threadIdx.x") -> PrimFunc:
    """Return the sums of rows, ``groups`` rows a block, each by some threads."""
    source = te.placeholder((rows, columns), "int32", name="A")
    k = te.reduce_axis((0, columns), "k")
    sums = te.compute((rows,), lambda i: te.sum(source[i, k], k), name="B")
    s = te.create_schedule(sums.op)
    _, inner = s[sums].split(sums.op.reduce_axis[0], factor=threads)
    block, row = s[sums].split(sums.op.axis[0], factor=groups)
    s[sums].bind(block, te.thread_axis("blockIdx.x"))
    s[sums].bind(row, te.thread_axis("threadIdx.y" if reduce_axis == "threadIdx.x" else "threadIdx.x"))
    s[sums].bind(inner, te.thread_axis(reduce_axis))
    return lower(s, [source, sums])["main"]  # type: ignore[no-any-return]


def lowered(func: PrimFunc, target: Target | None = None) -> PrimFunc:
    return apply(func if target is None else func.with_attr("target", target), LowerThreadAllreduce())


def check_row_sums(func: PrimFunc, rows: int, columns: int) -> None:
    data = np.random.default_rng(0).integers(0, 100, (rows, columns)).astype("int32")
    sums = np.zeros(rows, "int32")
    run_threads(func, [data, sums])
    np.testing.assert_array_equal(sums, data.sum(1))


def shuffles(func: PrimFunc) -> int:
    return len([call for call in nodes(func, Call) if call.op is WARP_SHUFFLE_DOWN])


def waits(func: PrimFunc) -> list[str]:
    """Return for whom threads wait, at each barrier."""
    calls = [call for call in nodes(func, Call) if call.op is STORAGE_SYNC]
    return [call.args[0].value for call in calls if isinstance(call.args[0], StringImm)]


def scopes(func: PrimFunc) -> set[str]:
    return {n.buffer_var.type_annotation.storage_scope for n in nodes(func, Allocate)}


@pytest.mark.parametrize(("columns", "threads", "groups"), [(16, 4, 1), (12, 6, 1), (14, 7, 3), (8, 8, 4), (3, 1, 2)])
def test_values_pass_through_shared_memory(columns: int, threads: int, groups: int) -> None:
    func = lowered(row_sums(2 * groups, columns, threads, groups))
    assert not shuffles(func)
    assert ("shared" in scopes(func)) == (threads > 1)
    check_row_sums(func, 2 * groups, columns)


@pytest.mark.parametrize(
    ("threads", "groups", "steps"), [(32, 1, 5), (8, 8, 3), (2, 16, 1), (16, 4, 4), (3, 1, 2), (5, 1, 3), (24, 1, 5)]
)
def test_threads_of_one_warp_shuffle(threads: int, groups: int, steps: int) -> None:
    func = lowered(row_sums(groups, 2 * threads, threads, groups), GPU)
    assert shuffles(func) == steps
    assert scopes(func) == {"local"}
    assert not [call for call in nodes(func, Call) if call.op is STORAGE_SYNC]
    check_row_sums(func, groups, 2 * threads)


@pytest.mark.parametrize(("threads", "groups"), [(64, 1), (128, 2), (96, 2)])
def test_results_of_several_warps_pass_through_shared_memory(threads: int, groups: int) -> None:
    func = lowered(row_sums(2 * groups, threads, threads, groups), GPU)
    assert shuffles(func)
    assert scopes(func) == {"local", "shared"}
    check_row_sums(func, 2 * groups, threads)


@pytest.mark.parametrize(("threads", "groups", "axis"), [(12, 3, "threadIdx.x"), (8, 4, "threadIdx.y")])
def test_threads_of_groups_that_divide_no_warp_or_are_no_neighbours_use_shared_memory(
    threads: int, groups: int, axis: str
) -> None:
    func = lowered(row_sums(groups, threads, threads, groups, axis), GPU)
    assert not shuffles(func)
    assert set(waits(func)) == {"shared"}
    check_row_sums(func, groups, threads)


@pytest.mark.parametrize(("threads", "steps_of_a_warp"), [(33, 5), (40, 5), (100, 5)])
def test_only_a_warp_waits_where_the_threads_left_are_of_one(threads: int, steps_of_a_warp: int) -> None:
    """Each step's result is read by half as many threads; that of the last one by the whole block."""
    func = lowered(row_sums(2, threads, threads), GPU)
    assert not shuffles(func)
    scopes_of_waits = waits(func)
    assert scopes_of_waits.count("warp") == steps_of_a_warp
    assert scopes_of_waits[-1] == "shared"
    check_row_sums(func, 2, threads)
    data = np.random.default_rng(0).integers(0, 100, (2, threads)).astype("int32")
    sums = nd.array(np.zeros(2, "int32"))
    emulate(row_sums(2, threads, threads), target="cuda")(nd.array(data), sums)
    np.testing.assert_array_equal(sums.numpy(), data.sum(1))


def test_a_warp_of_another_size_is_the_targets() -> None:
    func = lowered(row_sums(1, 32, 32), Target("metal -thread_warp_size=16"))
    assert shuffles(func) == 4 + 1
    assert scopes(func) == {"local", "shared"}
    func = lowered(row_sums(1, 64, 64), Target("rocm"))
    assert Target("rocm").thread_warp_size == 64
    assert waits(func) == ["shared", "shared", *["warp"] * 5, "shared"]
    check_row_sums(func, 1, 64)


@pytest.mark.parametrize(("dtype", "shuffled"), [("int8", False), ("float16", True), ("int64", True)])
def test_values_of_a_register_are_shuffled(dtype: str, shuffled: bool) -> None:
    source = te.placeholder((32,), dtype, name="A")
    k = te.reduce_axis((0, 32), "k")
    largest = te.compute((1,), lambda _: te.max(source[k], k), name="B")
    s = te.create_schedule(largest.op)
    s[largest].bind(largest.op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    assert bool(shuffles(lowered(lower(s, [source, largest])["main"], GPU))) == shuffled


@pytest.mark.parametrize("target", ["cuda", "opencl", "metal", "rocm"])
def test_threads_reduce_truth_values(target: str) -> None:
    """A ``bool`` lies in memory as an ``int8``."""
    either = te.comm_reducer(lambda a, b: tir.any(a, b), lambda dtype: tir.const(False, dtype))
    source = te.placeholder((2, 32), "bool", name="A")
    k = te.reduce_axis((0, 32), "k")
    found = te.compute((2,), lambda i: either(source[i, k], axis=k), name="B")
    s = te.create_schedule(found.op)
    s[found].bind(found.op.axis[0], te.thread_axis("blockIdx.x"))
    s[found].bind(found.op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    data = np.zeros((2, 32), "bool")
    data[1, 13] = True
    result = nd.array(np.array([True, False]))
    emulate(s, [source, found], target)(nd.array(data), result)
    assert result.numpy().tolist() == [False, True]
    (kernels,) = build(s, [source, found], target).imported_modules
    assert "main_kernel" in kernels.get_source()


@pytest.mark.parametrize("target", [None, GPU])
def test_several_values_reduce_at_once(target: Any) -> None:
    """The position of the largest element."""

    def combine(a: Any, b: Any) -> Any:
        return tir.Select(a[1] >= b[1], a[0], b[0]), tir.Select(a[1] >= b[1], a[1], b[1])

    largest = te.comm_reducer(combine, lambda i, v: (te.const(-1, i), te.min_value(v)), name="argmax")
    index, value = (te.placeholder((32,), "int32", name=name) for name in ("I", "V"))
    k = te.reduce_axis((0, 32), "k")
    out = te.compute((1,), lambda _: largest((index[k], value[k]), axis=k), name="out")
    s = te.create_schedule(out[0].op)
    s[out[0]].bind(s[out[0]].op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    func = lowered(lower(s, [index, value, *out])["main"], target)
    data = np.random.default_rng(1).permutation(32).astype("int32")
    results = [np.zeros(1, "int32"), np.zeros(1, "int32")]
    run_threads(func, [np.arange(32, dtype="int32"), data, *results])
    assert [int(r[0]) for r in results] == [int(data.argmax()), 31]


def test_the_number_of_threads_is_constant() -> None:
    n = te.var("n")
    source = te.placeholder((n,), "int32", name="A")
    k = te.reduce_axis((0, n), "k")
    total = te.compute((1,), lambda _: te.sum(source[k], k), name="B")
    s = te.create_schedule(total.op)
    s[total].bind(total.op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    with pytest.raises(LoweringError, match=r"the extent of threadIdx.x must be a constant"):
        lowered(lower(s, [source, total])["main"])


def test_the_reduction_stays_marked_and_its_result_is_allocated_where_it_was() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((24,), "float32"), B: T.Buffer((1,), "float32")):
    tx = T.launch_thread("threadIdx.x", 24)
    sum = T.decl_buffer((1,), "float32", scope="local")
    with T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), "reduce_scope", 0):
        T.tvm_thread_allreduce(T.uint32(1), A[tx], T.bool(True), sum[0], tx)
    B[0] = sum[0]
"""
    lines = [line.strip() for line in str(lowered(from_source(text), GPU)).splitlines()]
    result = lines.index('red_buf0 = T.decl_buffer((1,), scope="local")')
    mark = next(number for number, line in enumerate(lines) if "reduce_scope" in line)
    assert result < mark < lines.index("if tx + 16 < 24:") < lines.index("B[0] = red_buf0[0]")
