"""Reductions whose domain depends on the element, and loops that are made of elements and reduction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir
from compiler.ir.error import ScheduleError
from compiler.ir.expr.primexpr import IterVar, Var
from compiler.te.scheduling.schedule import Schedule
from compiler.tir.interpreter import interpret

RNG = np.random.default_rng(0)


def _check(s: Schedule, args: list[te.Tensor], arrays: list[Any], expected: Any) -> None:
    for run in (_interpreted, _built):
        result = np.full_like(expected, -77)
        run(s, args, [*arrays, result])
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def _interpreted(s: Schedule, args: list[te.Tensor], arrays: list[Any]) -> None:
    interpret(tvm.lower(s, args)["main"], arrays)


def _built(s: Schedule, args: list[te.Tensor], arrays: list[Any]) -> None:
    given = [tvm.nd.array(a) for a in arrays]
    tvm.build(s, args)(*given)
    arrays[-1][...] = given[-1].numpy()


def _triangular() -> tuple[te.Tensor, te.Tensor, IterVar]:
    """Return a matrix, and the sums of its rows left of the diagonal."""
    A = te.placeholder((11, 11), name="A")
    axes = []

    def row(i: Var) -> Any:
        axes.append(te.reduce_axis((0, i), name="k"))
        return te.sum(A[i, axes[0]], axis=axes[0])

    return A, te.compute((11,), row, name="B"), axes[0]


def _plain(s: Schedule, b: te.Tensor, k: IterVar) -> None:
    pass


def _split_both(s: Schedule, b: te.Tensor, k: IterVar) -> None:
    s[b].split(b.op.axis[0], factor=4)
    s[b].split(k, factor=3)


def _cached(s: Schedule, b: te.Tensor, k: IterVar) -> None:
    c = s.cache_write(b, "local")
    s[c].compute_at(s[b], s[b].op.axis[0])


def _cached_after_split(s: Schedule, b: te.Tensor, k: IterVar) -> None:
    s[b].split(b.op.axis[0], factor=4)
    s.cache_write(b, "local")


def _parts_of_one_element(s: Schedule, b: te.Tensor, k: IterVar) -> None:
    s[b].split(k, nparts=2)
    c = s.cache_write(b, "local")
    s[c].split(s[c].op.reduce_axis[0], nparts=3)
    s[c].compute_at(s[b], s[b].op.axis[0])


@pytest.mark.parametrize("schedule", [_plain, _split_both, _cached, _cached_after_split, _parts_of_one_element])
def test_the_domain_of_a_reduction_may_depend_on_the_element(schedule: Callable[..., None]) -> None:
    A, B, k = _triangular()
    a = RNG.normal(size=(11, 11)).astype("float32")
    s = te.create_schedule(B.op)
    schedule(s, B, k)
    _check(s, [A, B], [a], np.tril(a, -1).sum(1))


def test_what_a_triangular_sum_reads_is_computed_where_it_is_read() -> None:
    X = te.placeholder((16,), name="X")
    Y = te.compute((16,), lambda i: X[i] * 2.0, name="Y")

    def head(i: Var) -> Any:
        k = te.reduce_axis((0, i + 1), name="k")
        return te.sum(Y[k], axis=k)

    Z = te.compute((16,), head, name="Z")
    s = te.create_schedule(Z.op)
    outer, _ = s[Z].split(Z.op.axis[0], factor=5)
    s[Y].compute_at(s[Z], outer)
    x = RNG.normal(size=16).astype("float32")
    _check(s, [X, Z], [x], np.cumsum(2 * x))


@pytest.mark.parametrize("factor", [2, 3, 4, 5])
def test_a_triangular_reduction_does_not_run_too_far_where_a_split_leaves_a_remainder(factor: int) -> None:
    """What is computed in its loop would read elements that do not exist; the guard skips only the sum itself."""
    X = te.placeholder((5,), name="X")
    Y = te.compute((5,), lambda i: X[i] * 2.0, name="Y")
    Z = te.compute((5,), lambda i: Y[i] + 1.0, name="Z")

    def head(i: Var) -> Any:
        k = te.reduce_axis((0, i + 1), name="k")
        return te.sum(Z[k], axis=k)

    C = te.compute((5,), head, name="C")
    s = te.create_schedule(C.op)
    s[C].split(C.op.axis[0], factor=factor)
    s[Z].compute_at(s[C], C.op.reduce_axis[0])
    x = RNG.normal(size=5).astype("float32")
    _check(s, [X, C], [x], np.cumsum(2 * x + 1))


@pytest.mark.parametrize("factor", [4, 3])
def test_elements_are_computed_inside_of_a_reduction_whose_domain_depends_on_others(factor: int) -> None:
    A = te.placeholder((6, 6, 8), name="A")

    def head(i: Var, j: Var) -> Any:
        k = te.reduce_axis((0, i), name="k")
        return te.sum(A[i, k, j], axis=k)

    B = te.compute((6, 8), head, name="B")
    s = te.create_schedule(B.op)
    i, j = B.op.axis
    outer, inner = s[B].split(j, factor=factor)
    s[B].reorder(i, outer, B.op.reduce_axis[0], inner)
    if 8 % factor == 0:
        s[B].vectorize(inner)
    a = RNG.normal(size=(6, 6, 8)).astype("float32")
    below = np.tril(np.ones((6, 6), "float32"), -1)
    _check(s, [A, B], [a], np.einsum("ikj,ik->ij", a, below))


def test_the_combiner_may_depend_on_the_element() -> None:
    X = te.placeholder((9,), name="X")

    def row(n: Var) -> Any:
        k = te.reduce_axis((0, n), name="k")
        at_least = te.comm_reducer(
            lambda x, y: te.max(x + y, n.astype("float32")), lambda t: tir.Select(n > 1, te.const(0, t), n.astype(t))
        )
        return at_least(X[k], axis=k)

    Y = te.compute((9,), row, name="Y")
    s = te.create_schedule(Y.op)
    s.cache_write(Y, "local")
    x = RNG.normal(size=9).astype("float32")
    expected = []
    for n in range(9):
        value = np.float32(0 if n > 1 else n)
        for k in range(n):
            value = max(value + x[k], np.float32(n))
        expected.append(value)
    _check(s, [X, Y], [x], np.array(expected, "float32"))


def _rows() -> tuple[te.Tensor, te.Tensor, IterVar]:
    A = te.placeholder((6, 10), name="A")
    k = te.reduce_axis((0, 10), name="k")
    return A, te.compute((6,), lambda i: te.sum(A[i, k], axis=k), name="B"), k


@pytest.mark.parametrize("factor", [None, 1, 7, 60])
@pytest.mark.parametrize("reduction_first", [False, True])
def test_elements_and_reduction_share_a_loop(factor: int | None, reduction_first: bool) -> None:
    A, B, k = _rows()
    s = te.create_schedule(B.op)
    axes = [k, B.op.axis[0]] if reduction_first else [B.op.axis[0], k]
    s[B].reorder(*axes)
    fused = s[B].fuse(*axes)
    if factor:
        s[B].split(fused, factor=factor)
    a = RNG.normal(size=(6, 10)).astype("float32")
    _check(s, [A, B], [a], a.sum(1))


def test_a_shared_loop_is_one_of_a_reduction() -> None:
    A, B, k = _rows()
    s = te.create_schedule(B.op)
    fused = s[B].fuse(B.op.axis[0], k)
    assert fused.iter_type == IterVar.CommReduce
    with pytest.raises(ScheduleError, match=r"vectorize: .* is a reduction axis"):
        s[B].vectorize(fused)
    with pytest.raises(
        ScheduleError, match=r"rfactor: axis 'i.k.fused' of stage 'B' is fused with a data-parallel axis"
    ):
        s.rfactor(B, fused)
    with pytest.raises(ScheduleError, match="cache_write: a loop of 'B' is made of a data-parallel axis"):
        s.cache_write(B, "local")
    s[B].bind(fused, te.thread_axis("threadIdx.x"))
    with pytest.raises(ScheduleError, match="which threads cannot share"):
        tvm.lower(s, [A, B])


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("tile", [1, 2])
@pytest.mark.parametrize("placed", ["root", "row", "tile"])
def test_elements_fused_with_a_triangular_reduction(placed: str, tile: int, more: int) -> None:
    A = te.placeholder((5,), name="A")

    def before(i: Any) -> Any:
        k = te.reduce_axis((0, i + more), name="k")
        return te.sum(A[k], axis=k)

    B = te.compute((5,), before, name="B")
    C = te.compute((5,), lambda i: B[i] * 2.0, name="C")
    s = te.create_schedule(C.op)
    _, inner = s[B].split(B.op.axis[0], tile)
    s[B].fuse(inner, s[B].op.reduce_axis[0])
    outer, _ = s[C].split(C.op.axis[0], 2)
    if placed != "root":
        s[B].compute_at(s[C], outer if placed == "tile" else s[C].leaf_iter_vars[1])
    a = np.arange(1, 6, dtype="float32")
    out = tvm.nd.array(np.full(5, -77, "float32"))
    tvm.build(s, [A, C])(tvm.nd.array(a), out)
    np.testing.assert_array_equal(out.numpy(), [2 * a[: i + more].sum() for i in range(5)])


def test_a_triangular_reduction_has_no_partial_results() -> None:
    _, B, k = _triangular()
    with pytest.raises(ScheduleError, match="rfactor: the domain of the reduction of stage 'B' depends on the element"):
        te.create_schedule(B.op).rfactor(B, k)


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("start", ["tensor", "number"])
def test_partial_results_start_from_the_identity_and_their_reduction_from_init(start: str, place: int) -> None:
    A, D = te.placeholder((3, 11), name="A"), te.placeholder((3, 4), name="D")
    k = te.reduce_axis((0, 11), name="k")
    B = te.compute(
        (3, 4), lambda i, j: te.sum(A[i, k] * (j + 1), axis=k, init=D[i, j] if start == "tensor" else 2.5), name="B"
    )
    s = te.create_schedule(B.op)
    s.rfactor(B, s[B].split(k, nparts=3)[0], place)
    a, d = RNG.random((3, 11), "float32"), RNG.random((3, 4), "float32")
    expected = a.sum(axis=1)[:, None] * np.arange(1, 5, dtype="float32") + (d if start == "tensor" else 2.5)
    _check(s, [A, D, B], [a, d], expected.astype("float32"))


@pytest.mark.parametrize("asked", ["factor", "nparts"])
def test_parts_of_a_reduction_are_as_many_as_asked_for_beyond_its_axis(asked: str) -> None:
    """Like TVM, lest a loop that is bound to 64 threads later have fewer than the other stages of its kernel."""
    A = te.placeholder((4, 5), name="A")
    k = te.reduce_axis((0, 5), name="k")
    B = te.compute((4,), lambda i: te.max(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(k, **{asked: 64})
    partial = s.rfactor(B, inner if asked == "factor" else outer)
    assert partial.shape[0].value == 64
    a = -1 - RNG.random((4, 5), "float32")
    _check(s, [A, B], [a], a.max(axis=1))


def test_a_variable_that_nothing_gives_a_value_is_refused_by_build() -> None:
    n, scale = te.size_var("n"), te.size_var("scale")
    X = te.placeholder((n,), name="X")
    Y = te.compute((n,), lambda i: X[i] * scale, name="Y")
    s = te.create_schedule(Y.op)
    assert "scale" in str(tvm.lower(s, [X, Y]))
    with pytest.raises(tvm.TVMError, match="variable 'scale' is used where it has no value"):
        tvm.build(s, [X, Y])
    x = tvm.nd.array(np.arange(4, dtype="float32"))
    y = tvm.nd.array(np.zeros(4, "float32"))
    tvm.build(s, [X, Y, scale])(x, y, 3)
    np.testing.assert_array_equal(y.numpy(), np.arange(4) * 3)


def test_intrinsics_of_integers_are_refused_by_build_alone() -> None:
    X = te.placeholder((4,), "int32", name="X")
    Y = te.compute((4,), lambda i: te.exp(X[i]), name="Y")
    assert Y.dtype == "int32"
    s = te.create_schedule(Y.op)
    tvm.lower(s, [X, Y])
    with pytest.raises(tvm.TVMError, match="needs a floating-point operand, got int32"):
        tvm.build(s, [X, Y])


def test_bfloat16_is_computed_in_single_precision_and_rounded() -> None:
    X = te.placeholder((6,), "bfloat16", name="X")
    Y = te.compute((6,), lambda i: X[i] * X[i] + X[i], name="Y")
    x = (np.arange(6, dtype="float32") * 1.25).view("uint32") >> 16
    given, out = tvm.nd.array(x.astype("uint16")), tvm.nd.array(np.zeros(6, "uint16"))
    tvm.build(te.create_schedule(Y.op), [X, Y])(given, out)
    result = (out.numpy().astype("uint32") << 16).view("float32")
    single = (x << 16).astype("uint32").view("float32")
    np.testing.assert_allclose(result, single * single + single, rtol=2**-8)


def test_what_a_triangular_reduction_reads_at_its_own_loop_is_known_for_all_rows() -> None:
    X = te.placeholder((4, 6), "int32", name="X")
    k = te.reduce_axis((0, 6), name="k")
    T = te.compute((4,), lambda i: te.sum(X[i, k], axis=k), name="T")

    def first_rows(i):
        r = te.reduce_axis((0, i + 1), name="r")
        return te.sum(T[r], axis=r)

    U = te.compute((4,), first_rows, name="U")
    V = te.compute((4,), lambda i: U[i] + 1, name="V")
    s = te.create_schedule(V.op)
    s[V].unroll(V.op.axis[0])
    s[U].compute_at(s[V], V.op.axis[0])
    s.cache_write(T, "local")
    s[T].compute_at(s[U], s[U].op.reduce_axis[0])
    x = np.arange(24, dtype="int32").reshape(4, 6)
    out = tvm.nd.array(np.zeros(4, "int32"))
    tvm.build(s, [X, V])(tvm.nd.array(x), out)
    np.testing.assert_array_equal(out.numpy(), np.cumsum(x.sum(1)) + 1)
