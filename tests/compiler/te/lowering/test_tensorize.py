"""Intrinsics: which computations they match, and what code that calls them computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir
from compiler.ir.error import ArgumentError, BoundError, ScheduleError
from compiler.ir.expr.primexpr import IterVar, Var
from compiler.te.scheduling.schedule import Schedule

RNG = np.random.default_rng(0)


def _vadd(n: int, **params: Any) -> Any:
    """Return an intrinsic that adds vectors, by loops of the IR builder."""
    x, y = (te.placeholder((n,), name=name) for name in "xy")
    z = te.compute((n,), lambda i: x[i] + y[i], name="z")

    def code(ins: Any, outs: Any) -> Any:
        ib = tir.ir_builder.create()
        a, b, c = (ib.buffer_ptr(buffer) for buffer in (*ins, *outs))
        with ib.for_range(0, n, name="lane") as i:
            c[i] = a[i] + b[i]
        return ib.get()

    return te.decl_tensor_intrin(z.op, code, name="vadd", default_buffer_params={"offset_factor": 1, **params})


def _gemv(m: int, n: int, reset: bool = True) -> Any:
    """Return an intrinsic that multiplies a matrix by a vector, with a statement for each part of a reduction."""
    w = te.placeholder((m, n), name="w")
    x = te.placeholder((n,), name="x")
    k = te.reduce_axis((0, n), name="k")
    z = te.compute((m,), lambda i: te.sum(w[i, k] * x[k], axis=k), name="z")
    rows = tir.decl_buffer(w.shape, w.dtype, name="w", offset_factor=1, strides=[te.var("ldw"), 1])

    def code(ins: Any, outs: Any) -> Any:
        def zero() -> Any:
            ib = tir.ir_builder.create()
            c = ib.buffer_ptr(outs[0])
            with ib.for_range(0, m) as i:
                c[i] = 0.0
            return ib.get()

        def update(start: bool) -> Any:
            ib = tir.ir_builder.create()
            a, b, c = (ib.buffer_ptr(buffer) for buffer in (*ins, *outs))
            with ib.for_range(0, m) as i:
                if start:
                    c[i] = 0.0
                with ib.for_range(0, n) as j:
                    c[i] = c[i] + a[i, j] * b[j]
            return ib.get()

        return update(True), zero() if reset else None, update(False)

    return te.decl_tensor_intrin(z.op, code, name="gemv", binds={w: rows}, default_buffer_params={"offset_factor": 1})


def _run(s: Schedule, args: list[te.Tensor], arrays: list[Any], like: Any) -> Any:
    result = tvm.nd.array(np.full_like(like, -77))
    tvm.build(s, args)(*(tvm.nd.array(a) for a in arrays), result)
    return result.numpy()


def _matmul(m: int, n: int, depth: int) -> tuple[list[te.Tensor], list[Any], Any]:
    A, B = te.placeholder((m, depth), name="A"), te.placeholder((n, depth), name="B")
    k = te.reduce_axis((0, depth), name="k")
    C = te.compute((m, n), lambda i, j: te.sum(B[j, k] * A[i, k], axis=k), name="C")
    a, b = (RNG.normal(size=s).astype("float32") for s in ((m, depth), (n, depth)))
    return [A, B, C], [a, b], a @ b.T


def test_a_vector_intrinsic_computes_a_part_of_a_loop() -> None:
    X, Y = (te.placeholder((64,), name=name) for name in "XY")
    Z = te.compute((64,), lambda i: X[i] + Y[i], name="Z")
    s = te.create_schedule(Z.op)
    _, inner = s[Z].split(Z.op.axis[0], factor=16)
    intrin = _vadd(16)
    s[Z].tensorize(inner, intrin)
    assert s[Z].iter_var_attrs[inner].tensor_intrin is intrin
    assert s[Z].iter_var_attrs[inner].iter_type == IterVar.Tensorized
    x, y = (RNG.normal(size=64).astype("float32") for _ in range(2))
    np.testing.assert_array_equal(_run(s, [X, Y, Z], [x, y], x), x + y)


def test_leading_dimensions_of_one_element_may_be_missing() -> None:
    X, Y = (te.placeholder((5, 16), name=name) for name in "XY")
    Z = te.compute((5, 16), lambda i, j: X[i, j] + Y[i, j], name="Z")
    s = te.create_schedule(Z.op)
    s[Z].tensorize(Z.op.axis[1], _vadd(16))
    x, y = (RNG.normal(size=(5, 16)).astype("float32") for _ in range(2))
    np.testing.assert_array_equal(_run(s, [X, Y, Z], [x, y], x), x + y)


def test_a_whole_reduction_is_inside() -> None:
    args, arrays, expected = _matmul(6, 32, 24)
    s = te.create_schedule(args[-1].op)
    _, inner = s[args[-1]].split(args[-1].op.axis[1], factor=8)
    s[args[-1]].tensorize(inner, _gemv(8, 24))
    np.testing.assert_allclose(_run(s, args, arrays, expected), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize("twice", [True, False])
def test_a_reduction_goes_on_outside(reset: bool, twice: bool) -> None:
    args, arrays, expected = _matmul(6, 32, 24)
    C = args[-1]
    s = te.create_schedule(C.op)
    jo, ji = s[C].split(C.op.axis[1], factor=8)
    ko, ki = s[C].split(C.op.reduce_axis[0], factor=4)
    outer = list(s[C].split(ko, factor=2)) if twice else [ko]
    s[C].reorder(jo, *outer, ji, ki)
    s[C].tensorize(ji, _gemv(8, 4, reset))
    np.testing.assert_allclose(_run(s, args, arrays, expected), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("reset", [True, False])
def test_initial_values_of_a_reduction_whose_domain_depends_on_the_element(reset: bool) -> None:
    A, B = te.placeholder((6, 24), name="A"), te.placeholder((32, 24), name="B")

    def product(i: Var, j: Var) -> Any:
        k = te.reduce_axis((0, i * 4), name="k")
        return te.sum(B[j, k] * A[i, k], axis=k)

    C = te.compute((6, 32), product, name="C")
    s = te.create_schedule(C.op)
    i, j = C.op.axis
    jo, ji = s[C].split(j, factor=8)
    ko, ki = s[C].split(C.op.reduce_axis[0], factor=4)
    s[C].reorder(i, ko, jo, ji, ki)
    s[C].tensorize(ji, _gemv(8, 4, reset))
    a, b = (RNG.normal(size=shape).astype("float32") for shape in ((6, 24), (32, 24)))
    expected = np.where(np.arange(24) < 4 * np.arange(6)[:, None], a, 0) @ b.T
    np.testing.assert_allclose(_run(s, [A, B, C], [a, b], expected), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_reduction_over_a_symbolic_number_of_calls(reset: bool, count: int) -> None:
    n = te.var("n")
    A, x = te.placeholder((16, n * 4), name="A"), te.placeholder((n * 4,), name="x")
    k = te.reduce_axis((0, n * 4), name="k")
    C = te.compute((16,), lambda i: te.sum(A[i, k] * x[k], axis=k), name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=8)
    ko, ki = s[C].split(k, factor=4)
    s[C].reorder(outer, ko, inner, ki)
    s[C].tensorize(inner, _gemv(8, 4, reset))
    a, b = RNG.normal(size=(16, 4 * count)).astype("float32"), RNG.normal(size=4 * count).astype("float32")
    result = tvm.nd.array(np.full(16, -77, "float32"))
    tvm.build(s, [n, A, x, C])(count, tvm.nd.array(a), tvm.nd.array(b), result)
    np.testing.assert_allclose(result.numpy(), a @ b, rtol=1e-4, atol=1e-5)


def test_a_cached_stage_is_tensorized() -> None:
    args, arrays, expected = _matmul(6, 32, 24)
    C = args[-1]
    s = te.create_schedule(C.op)
    cache = s.cache_write(C, "global")
    jo, _ = s[C].split(C.op.axis[1], factor=8)
    s[cache].compute_at(s[C], jo)
    ko, ki = s[cache].split(cache.op.reduce_axis[0], factor=4)
    s[cache].reorder(cache.op.axis[0], ko, cache.op.axis[1], ki)
    s[cache].tensorize(cache.op.axis[1], _gemv(8, 4))
    np.testing.assert_allclose(_run(s, args, arrays, expected), expected, rtol=1e-4, atol=1e-5)


def test_a_registered_function_computes_a_part() -> None:
    calls = []

    @tvm.register_func("tests.te.vadd", override=True)
    def vadd(a: Any, b: Any, c: Any) -> None:
        calls.append(a.shape)
        tvm.nd.array(a.numpy() + b.numpy()).copyto(c)

    x, y = (te.placeholder((16,), name=name) for name in "xy")
    z = te.compute((16,), lambda i: x[i] + y[i], name="z")
    intrin = te.decl_tensor_intrin(
        z.op,
        lambda ins, outs: tir.call_packed("tests.te.vadd", *ins, *outs),
        default_buffer_params={"offset_factor": 1},
    )
    X, Y = (te.placeholder((64,), name=name) for name in "XY")
    Z = te.compute((64,), lambda i: X[i] + Y[i], name="Z")
    s = te.create_schedule(Z.op)
    _, inner = s[Z].split(Z.op.axis[0], factor=16)
    s[Z].tensorize(inner, intrin)
    a, b = (RNG.normal(size=64).astype("float32") for _ in range(2))
    np.testing.assert_array_equal(_run(s, [X, Y, Z], [a, b], a), a + b)
    assert calls == [(16,)] * 4


def test_an_instruction_of_llvm_computes_a_part() -> None:
    x = te.placeholder((8,), name="x")
    z = te.compute((8,), lambda i: te.sqrt(x[i]), name="z")

    def code(ins: Any, outs: Any) -> Any:
        number = tir.const(1, "uint32")
        vector = ins[0].vload([0], "float32x8")
        return outs[0].vstore([0], tir.call_llvm_pure_intrin("float32x8", "llvm.sqrt.v8f32", number, vector))

    intrin = te.decl_tensor_intrin(z.op, code, default_buffer_params={"offset_factor": 8})
    X = te.placeholder((4, 24), name="X")
    Z = te.compute((4, 24), lambda i, j: te.sqrt(X[i, j]), name="Z")
    s = te.create_schedule(Z.op)
    _, inner = s[Z].split(Z.op.axis[1], factor=8)
    s[Z].tensorize(inner, intrin)
    a = RNG.uniform(size=(4, 24)).astype("float32")
    np.testing.assert_allclose(_run(s, [X, Z], [a], a), np.sqrt(a), rtol=1e-6)


# calls by definition


def test_a_definition_calls_an_intrinsic_on_regions() -> None:
    A, B = (te.placeholder((4, 16), name=name) for name in "AB")
    vadd = _vadd(16)
    C = te.compute((4, 16), lambda i: vadd(A[i, 0:16], B[i, 0:16]), name="C")
    D = te.compute((4, 16), lambda i, j: C[i, j] * 2.0, name="D")
    a, b = (RNG.normal(size=(4, 16)).astype("float32") for _ in range(2))
    s = te.create_schedule(D.op)
    np.testing.assert_allclose(_run(s, [A, B, D], [a, b], a), (a + b) * 2)
    s[C].compute_at(s[D], D.op.axis[0])
    np.testing.assert_allclose(_run(s, [A, B, D], [a, b], a), (a + b) * 2)


def test_the_regions_of_a_definition_are_cached() -> None:
    A, B = (te.placeholder((4, 16), name=name) for name in "AB")
    vadd = _vadd(16)
    C = te.compute((4, 16), lambda i: vadd(A[i, 0:16], B[i, 0:16]), name="C")
    s = te.create_schedule(C.op)
    s[C].split(C.op.axis[0], factor=2)
    near = s.cache_write(C, "local")
    copy = s.cache_read(A, "local", near)
    s[copy].compute_at(s[near], s[near].op.axis[0])
    s[near].compute_at(s[C], s[C].op.axis[0])
    a, b = (RNG.normal(size=(4, 16)).astype("float32") for _ in range(2))
    np.testing.assert_array_equal(_run(s, [A, B, C], [a, b], a), a + b)


@pytest.mark.parametrize("reset", [True, False])
def test_the_calls_of_a_definition_add_up(reset: bool) -> None:
    A, B = te.placeholder((3, 4, 8, 5), name="A"), te.placeholder((7, 4, 5), name="B")
    k = te.reduce_axis((0, 4), name="k")
    gemv = _gemv(8, 5, reset)
    C = te.compute((3, 7, 8), lambda i, j: gemv(A[i, k, 0:8, 0:5], B[j, k, 0:5], reduce_axis=k), name="C")
    s = te.create_schedule(C.op)
    io, ii = s[C].split(C.op.axis[0], factor=3)
    s[C].reorder(io, C.op.axis[1], ii)
    a, b = (RNG.normal(size=shape).astype("float32") for shape in ((3, 4, 8, 5), (7, 4, 5)))
    expected = np.einsum("ikmn,jkn->ijm", a, b)
    np.testing.assert_allclose(_run(s, [A, B, C], [a, b], expected), expected, rtol=1e-4, atol=1e-5)


def test_scalar_parameters_are_given_by_the_call() -> None:
    n, v, w = te.size_var("n"), te.size_var("v"), te.size_var("w")
    x = te.placeholder((n,), name="x")
    z = te.compute((n,), lambda i: x[i] * v + w, name="z")

    def code(ins: Any, outs: Any, scalars: Any) -> Any:
        ib = tir.ir_builder.create()
        a, c = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, n) as i:
            c[i] = a[i] * scalars[0].astype("float32") + scalars[1].astype("float32")
        return ib.get()

    intrin = te.decl_tensor_intrin(z.op, code, scalar_params=[v, w], default_buffer_params={"offset_factor": 1})
    assert tuple(intrin.scalar_params) == (v, w)
    A = te.placeholder((6, 7), name="A")
    C = te.compute((6, 7), lambda i, j: intrin(i * i, A[i, j], i + j), name="C")
    a = RNG.normal(size=(6, 7)).astype("float32")
    i, j = np.ogrid[:6, :7]
    expected = (a * (i * i) + (i + j)).astype("float32")
    np.testing.assert_allclose(_run(te.create_schedule(C.op), [A, C], [a], a), expected, rtol=1e-5)


# refusals


def _tensorized(fcompute: Any, intrin: Any, shape: Any = (32,), factor: int = 16) -> None:
    X, Y = (te.placeholder(shape, name=name) for name in "XY")
    Z = te.compute(shape, lambda *i: fcompute(X, Y, *i), name="Z")
    s = te.create_schedule(Z.op)
    _, inner = s[Z].split(Z.op.axis[-1], factor=factor)
    s[Z].tensorize(inner, intrin)
    tvm.lower(s, [X, Y, Z])


def test_another_computation_is_refused_with_both() -> None:
    with pytest.raises(ScheduleError, match=r"provided x\[i\] - y\[i\], declared x\[i\] \+ y\[i\]"):
        _tensorized(lambda x, y, i: x[i] - y[i], _vadd(16))


def test_what_is_equal_only_when_simplified_matches() -> None:
    _tensorized(lambda x, y, i: x[(i * 2 + 2) // 2 - 1] + y[i], _vadd(16))


@pytest.mark.parametrize(
    ("compute", "shape", "factor", "message"),
    [
        (lambda x, y, i: x[i] + y[i], (30,), 16, "is guarded by"),
        (lambda x, y, i: x[i] + x[i], (32,), 16, "it reads 2 tensors, and 'Z' 1"),
        (lambda x, y, i: x[i] + y[i], (32,), 8, "must have the extent 0 16"),
    ],
)
def test_what_does_not_fit_is_refused(compute: Any, shape: Any, factor: int, message: str) -> None:
    with pytest.raises(tvm.TVMError, match=message):
        _tensorized(compute, _vadd(16), shape, factor)


def _total(fcompute: Any, shape: Any = (4, 8), dtype: str = "float32") -> Any:
    """Return an intrinsic that reduces the rows of its only input."""
    x = te.placeholder(shape, dtype, name="x")
    axes = [te.reduce_axis((0, extent), name=f"k{d}") for d, extent in enumerate(shape[1:])]
    z = te.compute(shape[:1], lambda i: fcompute(x, i, *axes), name="z")
    call = lambda ins, outs: (tir.call_packed("f", *ins, *outs),) * 3  # noqa: E731
    return te.decl_tensor_intrin(z.op, call, name="total", default_buffer_params={"offset_factor": 1})


MAXIMUM = te.comm_reducer(tir.max, tir.min_value, name="maximum")
ROW_SUM = _total(lambda x, i, k: te.sum(x[i, k], axis=k))


@pytest.mark.parametrize(
    ("intrin", "fcompute", "message"),
    [
        (_total(lambda x, i, k: te.max(x[i, k], axis=k)), None, "provided .*declared"),
        (_total(lambda x, i, k: MAXIMUM(x[i, k], axis=k)), None, "provided .*declared"),
        (_total(lambda x, i, k: te.sum(x[i, k] + 1, axis=k)), None, "provided .*declared"),
        (_total(lambda x, i, k: te.sum(x[i, k], axis=k, where=k < 3)), None, "provided .*declared"),
        (_total(lambda x, i, k: te.sum(x[i, k], axis=k, init=1.0)), None, "provided .*declared"),
        (_total(lambda x, i: x[i] * 2.0, (4,)), None, "a reduction axis that it lacks has 8 elements, and must have 1"),
        (_total(lambda x, i, k, r: te.sum(x[i, k, r], axis=[k, r]), (4, 8, 2)), None, "it has 2 of reduction axis"),
        (ROW_SUM, lambda x, i, k: te.max(x[i, k], axis=k), "provided .*declared"),
        (ROW_SUM, lambda x, i, k: te.sum(x[i, k].astype("int32"), axis=k), "it computes float32, and 'Z' int32"),
    ],
)
def test_another_reduction_is_refused(intrin: Any, fcompute: Any, message: str) -> None:
    X, r = te.placeholder((4, 8), name="X"), te.reduce_axis((0, 8), name="r")
    fcompute = fcompute or (lambda x, i, k: te.sum(x[i, k], axis=k))
    Z = te.compute((4,), lambda i: fcompute(X, i, r), name="Z")
    s = te.create_schedule(Z.op)
    s[Z].tensorize(Z.op.axis[0], intrin)
    with pytest.raises(ScheduleError, match=message):
        tvm.lower(s, [X, Z])


def test_the_reduction_that_an_intrinsic_declares_is_not_refused() -> None:
    X, r = te.placeholder((4, 8), name="X"), te.reduce_axis((0, 8), name="r")
    Z = te.compute((4,), lambda i: te.sum(X[i, r], axis=r), name="Z")
    s = te.create_schedule(Z.op)
    s[Z].tensorize(Z.op.axis[0], ROW_SUM)
    tvm.lower(s, [X, Z])


def test_dimensions_that_an_intrinsic_lacks_have_one_element() -> None:
    """Of what it reads, of what it stores, and of the stage's outputs."""
    vadd = _vadd(16)

    def tensorized(Z: te.Tensor, axis: Any, *args: te.Tensor) -> None:
        s = te.create_schedule(Z.op)
        s[Z].tensorize(axis, vadd)
        tvm.lower(s, [*args, Z])

    X, Y, one = te.placeholder((16,), name="X"), te.placeholder((4, 16), name="Y"), te.placeholder((), name="one")
    rows = te.compute((4, 16), lambda i, j: X[j] + Y[i, j], name="Z")
    tensorized(rows, rows.op.axis[1], X, Y)
    with pytest.raises(ScheduleError, match="a dimension of the output that it lacks has 4 elements, and must have 1"):
        tensorized(rows, rows.op.axis[0], X, Y)
    diagonal = te.compute((4,), lambda i: X[i] + Y[i, i], name="Z")
    short = _vadd(4)
    s = te.create_schedule(diagonal.op)
    s[diagonal].tensorize(diagonal.op.axis[0], short)
    with pytest.raises(ScheduleError, match="a dimension of 'Y' that it lacks has 4 elements, and must have 1"):
        tvm.lower(s, [X, Y, diagonal])
    scalar = te.compute((16,), lambda i: X[i] + one(), name="Z")
    with pytest.raises(ScheduleError, match="'y' has 1 dimensions, and 'one' 0"):
        tensorized(scalar, scalar.op.axis[0], X, one)
    pair = te.compute((16,), lambda i: (X[i] + Y[0, i], X[i] - Y[0, i]), name="Z")
    s = te.create_schedule(pair[0].op)
    s[pair[0]].tensorize(pair[0].op.axis[0], vadd)
    with pytest.raises(ScheduleError, match="it has 1 outputs, and 'Z' 2"):
        tvm.lower(s, [X, Y, *pair])


def test_a_missing_statement_is_named() -> None:
    w = te.placeholder((8, 4), name="w")
    k = te.reduce_axis((0, 4), name="k")
    z = te.compute((8,), lambda i: te.sum(w[i, k], axis=k), name="z")
    intrin = te.decl_tensor_intrin(
        z.op,
        lambda ins, outs: tir.call_packed("sum", *ins, *outs),
        "rowsum",
        default_buffer_params={"offset_factor": 1},
    )
    W = te.placeholder((8, 16), name="W")
    r = te.reduce_axis((0, 16), name="r")
    Z = te.compute((8,), lambda i: te.sum(W[i, r], axis=r), name="Z")
    s = te.create_schedule(Z.op)
    ro, ri = s[Z].split(r, factor=4)
    s[Z].reorder(ro, Z.op.axis[0], ri)
    s[Z].tensorize(Z.op.axis[0], intrin)
    with pytest.raises(ScheduleError, match="'rowsum' declares no statement for the update"):
        tvm.lower(s, [W, Z])


def test_a_stage_inside_of_an_intrinsic_is_refused() -> None:
    X, Y = (te.placeholder((32,), name=name) for name in "XY")
    U = te.compute((32,), lambda i: X[i] * 2.0, name="U")
    Z = te.compute((32,), lambda i: U[i] + Y[i], name="Z")
    s = te.create_schedule(Z.op)
    _, inner = s[Z].split(Z.op.axis[0], factor=16)
    s[U].compute_at(s[Z], inner)
    s[Z].tensorize(inner, _vadd(16))
    with pytest.raises(
        ScheduleError, match=r"stage 'U' is computed at axis 'i.inner' of stage 'Z', which the intrinsic"
    ):
        tvm.lower(s, [X, Y, Z])


def test_declarations_are_checked() -> None:
    x = te.placeholder((4,), name="x")
    y = te.compute((4,), lambda i: x[i] + 1.0, name="y")
    z = te.compute((4,), lambda i: y[i] + 1.0, name="z")
    with pytest.raises(ArgumentError, match="'z' must read placeholders only, and 'y' is not one"):
        te.decl_tensor_intrin(z.op, lambda ins, outs: tir.const(0))
    with pytest.raises(ArgumentError, match="op must be a computation"):
        te.decl_tensor_intrin(x.op, lambda ins, outs: tir.const(0))
    with pytest.raises(ArgumentError, match="fcompute must return one statement or three, got 0"):
        te.decl_tensor_intrin(y.op, lambda ins, outs: [])
    with pytest.raises(ArgumentError, match="must return a call or a statement, got 'no'"):
        te.decl_tensor_intrin(y.op, lambda ins, outs: "no")
    vadd = _vadd(16)
    with pytest.raises(ArgumentError, match="expected 2 regions of tensors and 0 numbers, got 1 and 1"):
        vadd(x[0:4], 3)
    with pytest.raises(ArgumentError, match="expected 2 regions of tensors and 0 numbers, got 1 and 0"):
        vadd(x[0:4])
    s = te.create_schedule(y.op)
    with pytest.raises(ArgumentError, match=r"tensor_intrin must be made by te.decl_tensor_intrin, got 3"):
        s[y].tensorize(y.op.axis[0], 3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="expected 2 regions of tensors and 0 numbers, got 2 and 1"):
        vadd(x[0:4], x[0:4], 3)
    for part in (slice(0, 4, 2), slice(None, 4), slice(0, None)):
        with pytest.raises(ArgumentError, match="a slice must be begin:end, without a step"):
            x[part].region()
    with pytest.raises(BoundError, match="x: expected 1 index, got 2"):
        x[0:4, 0:4].region()
