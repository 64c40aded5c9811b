"""Functions of blocks made from definitions of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir
from compiler.ir.error import ArgumentError, DTypeError
from compiler.ir.structural import structural_equal

RNG = np.random.default_rng(0)


def _run(args: list[Any], arrays: list[Any], like: Any, dtype: str | None = None) -> Any:
    func = te.create_prim_func(args, dtype)
    assert structural_equal(tvm.script.from_source(func.script()), func)
    out = tvm.nd.array(np.full_like(like, -77))
    tvm.build(func)(*(tvm.nd.array(a) for a in arrays), out)
    return out.numpy()


def _matmul_and_more() -> tuple[list[te.Tensor], list[Any], Any]:
    A, B = te.placeholder((4, 8), name="A"), te.placeholder((4, 8), name="B")
    k = te.reduce_axis((0, 8), "k")
    C = te.compute((4, 4), lambda x, y: te.sum(A[x, k] * B[y, k], axis=k), name="C")
    D = te.compute((4, 4), lambda x, y: C[x, y] + 1, name="C")
    a, b = (RNG.normal(size=(4, 8)).astype("float32") for _ in range(2))
    return [A, B, D], [a, b], a @ b.T + 1


def test_each_operation_is_a_block() -> None:
    args, _, _ = _matmul_and_more()
    expected = """\
    C_1 = T.alloc_buffer((4, 4))
    for x, y, k in T.grid(4, 4, 8):
        with T.block("C"):
            v_x, v_y, v_k = T.axis.remap("SSR", [x, y, k])
            T.reads(A[v_x, v_k], B[v_y, v_k])
            T.writes(C_1[v_x, v_y])
            with T.init():
                C_1[v_x, v_y] = T.float32(0.0)
            C_1[v_x, v_y] = C_1[v_x, v_y] + A[v_x, v_k] * B[v_y, v_k]
    for x, y in T.grid(4, 4):
        with T.block("C_1"):
            v_x, v_y = T.axis.remap("SS", [x, y])
            T.reads(C_1[v_x, v_y])
            T.writes(C[v_x, v_y])
            C[v_x, v_y] = C_1[v_x, v_y] + T.float32(1.0)"""
    assert expected in te.create_prim_func(args).script()


@pytest.mark.parametrize("dtype", [None, "int64"])
def test_results_are_those_of_numpy(dtype: str | None) -> None:
    args, arrays, expected = _matmul_and_more()
    np.testing.assert_allclose(_run(args, arrays, expected, dtype), expected, rtol=1e-5)


def test_indices_are_of_the_type_that_is_asked_for() -> None:
    args, _, _ = _matmul_and_more()
    script = te.create_prim_func(args, index_dtype_override="int64").script()
    assert "T.grid(T.int64(4), T.int64(4), T.int64(8))" in script
    n = te.var("n", "int64")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1, name="B")
    loop = te.create_prim_func([A, B]).body.block.body
    assert loop.loop_var.dtype == loop.extent.dtype == "int64"


@pytest.mark.parametrize("dtype", [None, "int64"])
def test_values_and_conditions_of_axes(dtype: str | None) -> None:
    A = te.placeholder((6, 7), name="A")
    index = te.placeholder((7,), "int32", name="index")
    B = te.compute(
        (6, 7), lambda i, j: tir.if_then_else(i * 2 > j, A[i, index[j]], (i - j).astype("float32")), name="B"
    )
    a = RNG.normal(size=(6, 7)).astype("float32")
    where = RNG.integers(0, 7, 7).astype("int32")
    i, j = np.ogrid[:6, :7]
    expected = np.where(i * 2 > j, a[:, where], i - j).astype("float32")
    np.testing.assert_array_equal(_run([A, index, B], [a, where], expected, dtype), expected)


def test_the_condition_of_a_reduction_stays() -> None:
    A = te.placeholder((5, 8), name="A")
    k = te.reduce_axis((0, 8), "k")
    B = te.compute((5,), lambda i: te.sum(A[i, k], axis=k, where=k > i), name="B")
    a = RNG.normal(size=(5, 8)).astype("float32")
    expected = np.array([row[i + 1 :].sum() for i, row in enumerate(a)])
    np.testing.assert_allclose(_run([A, B], [a], expected), expected, rtol=1e-5)


def test_several_outputs() -> None:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: (A[i] + 1, A[i] * 2), name="B")
    C = te.compute((n,), lambda i: B[0][i] - B[1][i], name="C")
    a = RNG.normal(size=9).astype("float32")
    np.testing.assert_allclose(_run([A, C], [a], a), 1 - a, rtol=1e-5, atol=1e-6)
    script = te.create_prim_func([A, C]).script()
    assert 'T.block("B_v0")' in script
    assert 'T.block("B_v1")' in script


def test_a_reduction_of_tuples_reads_before_it_writes() -> None:
    A = te.placeholder((4, 9), "int32", name="A")
    k = te.reduce_axis((0, 9), "k")
    argmax = te.comm_reducer(
        lambda x, y: (tir.Select(x[1] >= y[1], x[0], y[0]), tir.Select(x[1] >= y[1], x[1], y[1])),
        lambda t0, t1: (te.const(-1, t0), te.min_value(t1)),
    )
    where, _ = B = te.compute((4,), lambda i: argmax((k.var, A[i, k]), axis=k), name="B")
    a = RNG.permutation(36).reshape(4, 9).astype("int32")
    out, best = (tvm.nd.array(np.zeros(4, "int32")) for _ in range(2))
    tvm.build(te.create_prim_func([A, *B]))(tvm.nd.array(a), out, best)
    np.testing.assert_array_equal(out.numpy(), a.argmax(1))
    np.testing.assert_array_equal(best.numpy(), a.max(1))
    assert where.dtype == "int32"


def test_extern_operations_are_opaque_blocks() -> None:
    @tvm.register_func("tests.te.negative", override=True)
    def negative(x: Any, y: Any) -> None:
        tvm.nd.array(-x.numpy()).copyto(y)

    A = te.placeholder((4, 5), name="A")
    B = te.compute((4, 5), lambda i, j: A[i, j] + 1, name="B")
    C = te.extern((4, 5), [B], lambda ins, outs: tir.call_packed("tests.te.negative", ins[0], outs[0]), name="C")
    D = te.compute((4, 5), lambda i, j: C[i, j] * 2, name="D")
    func = te.create_prim_func([A, D])
    a = RNG.normal(size=(4, 5)).astype("float32")
    out = tvm.nd.array(np.zeros_like(a))
    tvm.build(func)(tvm.nd.array(a), out)
    np.testing.assert_allclose(out.numpy(), -(a + 1) * 2, rtol=1e-6)


def test_parameters_of_an_extern_operation_begin_anywhere() -> None:
    A, P = te.placeholder((8, 8), name="A"), te.placeholder((1,), name="P")
    C = te.extern(
        (8, 8), [A, P], lambda ins, outs: tir.call_extern("", "f", ins[0].data, outs[0].data, ins[1][0]), name="C"
    )
    func = te.create_prim_func([A, P, C])
    assert [str(buffer.elem_offset) for buffer in func.buffer_map.values()] == ["elem_offset"] * 3
    assert "A = T.match_buffer(var_A, (8, 8), offset_factor=1)" in str(func)
    assert "T.reads(A[0:8, 0:8], P[0])" in str(func)
    assert 'T.call_extern("void", "f", A.data, C.data, P[0])' in str(func)


def test_what_may_be_laid_out_anew_is_said_of_the_function() -> None:
    A, B = te.placeholder((4,), name="A"), te.placeholder((4,), name="B")
    C = te.compute((4,), lambda i: A[i] * B[i], name="C", attrs={"layout_free_placeholders": [B]})
    D = te.compute((4,), lambda i: C[i] + 1, name="D", attrs={"layout_free_placeholders": [C]})
    func = te.create_prim_func([A, B, D])
    assert func.attrs["layout_free_buffers"] == [1]
    assert func.script().count('T.block_attr({"layout_free_placeholders": [C]})') == 1


def test_mistakes_are_named() -> None:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1, name="B")
    with pytest.raises(ArgumentError, match="placeholder 'A' is read, and must be among ops"):
        te.create_prim_func([B])
    with pytest.raises(ArgumentError, match="expected tensors and variables, got 3"):
        te.create_prim_func([A, 3])  # type: ignore[list-item]
    state = te.placeholder((4, 2))
    scan = te.scan(te.compute((1, 2), lambda _, i: 0.0), te.compute((4, 2), lambda t, i: state[t - 1, i]), state)
    with pytest.raises(DTypeError, match="Unsupported Operation: ScanOp"):
        te.create_prim_func([scan])


def test_axes_of_one_iteration_stay_in_indices() -> None:
    A = te.placeholder((1, 8), name="A")
    func = te.create_prim_func([A, te.compute((1, 8), lambda i, j: A[i, (j + 4) - 4] + 1.0, name="B")])
    assert "B[v_i, v_j] = A[v_i, v_j] + T.float32(1.0)" in func.script()


def test_combiners_stay_as_they_are_written() -> None:
    best = te.comm_reducer(lambda x, y: tir.Select(x >= y, x, y), tir.min_value, name="best")
    A, k = te.placeholder((4, 8), name="A"), te.reduce_axis((0, 8), "k")
    func = te.create_prim_func([A, te.compute((4,), lambda i: best(A[i, k], k), name="B")])
    assert "B[v_i] = T.Select(B[v_i] >= A[v_i, v_k], B[v_i], A[v_i, v_k])" in func.script()


def test_a_block_whose_condition_never_holds_reads_nothing() -> None:
    A = te.placeholder((1, 4), "int32", name="A")
    B = te.compute((1, 4), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((1, 4), lambda i, j: tir.if_then_else(i > 0, B[i - 1, j], A[i, j]), name="C")
    sch = tir.Schedule(te.create_prim_func([A, C]))
    sch.compute_inline("B")
    a, c = np.arange(4, dtype="int32").reshape(1, 4), np.zeros((1, 4), "int32")
    tvm.build(sch.mod, target="llvm")(a, c)
    np.testing.assert_array_equal(c, a)
