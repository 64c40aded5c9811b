"""The interpreter against NumPy, and against programs that do what they must not do."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import (
    Broadcast,
    Cast,
    Div,
    FloorDiv,
    FloorMod,
    IterVar,
    Let,
    Max,
    Min,
    Mod,
    PrimExpr,
    Ramp,
    Range,
    Select,
    Shuffle,
    Var,
    const,
    convert,
)
from compiler.ir.types import PointerType, PrimType
from compiler.tir.expressions import op
from compiler.tir.expressions.evaluation import DivisionByZero
from compiler.tir.interpreter import AssertionFailed, OutOfBounds, UninitializedRead, interpret
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.producer_stmt import BufferRealize
from compiler.tir.statements.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    Stmt,
    While,
    seq,
)


def function(body: Stmt, *buffers: Buffer, scalars: tuple[Var, ...] = ()) -> PrimFunc:
    params = tuple(Var(b.name, "handle") for b in buffers)
    return PrimFunc((*params, *scalars), body, None, dict(zip(params, buffers, strict=True)))


def loop(var: Var, extent: int | PrimExpr, body: Stmt, kind: ForKind = ForKind.SERIAL) -> For:
    return For(var, const(0), convert(extent), kind, body)


def run_expression(e: PrimExpr, *buffers: Buffer, arrays: tuple[np.ndarray, ...] = ()) -> np.ndarray:
    lanes = 1 if "x" not in e.dtype else int(e.dtype.split("x")[1])
    element = e.dtype.split("x")[0]
    out = decl_buffer((lanes,), element, "out")
    index = const(0) if lanes == 1 else Ramp(const(0), const(1), lanes)
    result = np.zeros(lanes, element)
    interpret(function(BufferStore(out, e, (index,)), *buffers, out), [*arrays, result])
    return result


def test_matmul_over_realized_accumulator() -> None:
    n, m, k = 5, 4, 3
    a, b, c = decl_buffer((n, k), name="A"), decl_buffer((k, m), name="B"), decl_buffer((n, m), name="C")
    local = decl_buffer((n, m), name="local")
    i, j, r = Var("i"), Var("j"), Var("r")
    update = local[i, j] + a[i, r] * b[r, j]
    body = seq(
        [
            BufferStore(local, const(0.0), (i, j)),
            loop(r, k, BufferStore(local, update, (i, j))),
            BufferStore(c, local[i, j], (i, j)),
        ]
    )
    row = BufferRealize(local, (Range.from_min_extent(i, 1), Range(0, m)), const(True), loop(j, m, body))
    rng = np.random.default_rng(0)
    x, y = rng.random((n, k), np.float32), rng.random((k, m), np.float32)
    z = np.zeros((n, m), np.float32)
    interpret(function(loop(i, n, row, ForKind.PARALLEL), a, b, c), [x, y, z])
    np.testing.assert_allclose(z, x @ y, rtol=1e-6)


def test_vectors_of_flat_memory() -> None:
    a, b = decl_buffer((16,), "int32", "A"), decl_buffer((16,), "int32", "B")
    scratch = Var("scratch", "handle", PointerType(PrimType("int32")))
    t = decl_buffer((4,), "int32", "t", data=scratch)
    i = Var("i")
    whole, part = Ramp(const(0), const(1), 4), Ramp(i * 4, const(1), 4)
    body = seq(
        [
            BufferStore(t, BufferLoad(a, (part,)) * Broadcast(const(3), 4), (whole,)),
            BufferStore(b, BufferLoad(t, (Ramp(const(3), const(-1), 4),)), (part,)),
        ]
    )
    program = loop(i, 4, Allocate(scratch, "int32", (const(4),), const(True), body))
    x, y = np.arange(16, dtype=np.int32), np.zeros(16, np.int32)
    interpret(function(program, a, b), [x, y])
    np.testing.assert_array_equal(y, (x * 3).reshape(4, 4)[:, ::-1].reshape(-1))


def test_out_of_bounds_names_buffer_index_and_shape() -> None:
    a = decl_buffer((4, 8), name="A")
    i = Var("i")
    body = loop(i, 5, BufferStore(a, const(1.0), (i, const(7))))
    with pytest.raises(OutOfBounds, match=r"write of A\[4, 7\] is outside of its shape \(4, 8\)"):
        interpret(function(body, a), [np.zeros((4, 8), np.float32)])


def test_out_of_bounds_lane_and_realized_box() -> None:
    a = decl_buffer((8,), name="A")
    load = BufferLoad(a, (Ramp(const(6), const(1), 4),))
    with pytest.raises(OutOfBounds, match=r"read of A\[\[6, 7, 8, 9\]\]"):
        run_expression(load, a, arrays=(np.zeros(8, np.float32),))
    local = decl_buffer((8,), name="local")
    box = BufferRealize(local, (Range.from_min_extent(2, 3),), const(True), BufferStore(local, const(0.0), (const(1),)))
    with pytest.raises(OutOfBounds, match=r"write of local\[1\] is outside of its shape \(2:5\)"):
        interpret(function(box), [])


def test_negative_index_does_not_wrap() -> None:
    a = decl_buffer((8,), name="A")
    with pytest.raises(OutOfBounds):
        run_expression(a[const(-1)], a, arrays=(np.zeros(8, np.float32),))


def test_select_reads_both_sides_and_if_then_else_one() -> None:
    a = decl_buffer((4,), name="A")
    arrays = (np.arange(4, dtype=np.float32),)
    i = Var("i")

    def guarded(choose: PrimExpr) -> Stmt:
        return LetStmt(i, const(4), BufferStore(a, choose, (const(0),)))

    lazy = op.if_then_else(i < 4, a[i], const(9.0))
    interpret(function(guarded(lazy), a), list(arrays))
    assert arrays[0][0] == 9
    with pytest.raises(OutOfBounds):
        interpret(function(guarded(Select(i < 4, a[i], const(9.0))), a), list(arrays))


def test_reading_what_was_never_written() -> None:
    out, local = decl_buffer((2,), name="out"), decl_buffer((2,), name="local")
    body = seq([BufferStore(local, const(1.0), (const(0),)), BufferStore(out, local[const(1)], (const(0),))])
    realize = BufferRealize(local, (Range(0, 2),), const(True), body)
    with pytest.raises(UninitializedRead, match="local"):
        interpret(function(realize, out), [np.zeros(2, np.float32)])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_integers_wrap_around_as_numpy_does(dtype: str) -> None:
    info = np.iinfo(dtype)
    values = np.array([info.min, info.max, 1, 3], dtype)
    a = decl_buffer((4,), dtype, "A")
    for kind, expected in (("+", values + values[::-1]), ("-", values - values[::-1]), ("*", values * values[::-1])):
        for i in range(4):
            x, y = a[const(i)], a[const(3 - i)]
            e = {"+": x + y, "-": x - y, "*": x * y}[kind]
            assert run_expression(e, a, arrays=(values,))[0] == expected[i]
        ramp, back = Ramp(const(0), const(1), 4), Ramp(const(3), const(-1), 4)
        u, v = BufferLoad(a, (ramp,)), BufferLoad(a, (back,))
        vector = {"+": u + v, "-": u - v, "*": u * v}[kind]
        np.testing.assert_array_equal(run_expression(vector, a, arrays=(values,)), expected)


@pytest.mark.parametrize(("a", "b"), [(7, 2), (-7, 2), (7, -2), (-7, -2), (-8, 2)])
def test_both_roundings_of_division(a: int, b: int) -> None:
    x, y = Var("x"), Var("y")
    out = decl_buffer((4,), "int32", "out")
    results = [FloorDiv(x, y), FloorMod(x, y), Div(x, y), Mod(x, y)]
    body = seq([BufferStore(out, e, (const(i),)) for i, e in enumerate(results)])
    got = np.zeros(4, np.int32)
    interpret(function(body, out, scalars=(x, y)), [got, a, b])
    assert got.tolist() == [a // b, a % b, int(a / b), a - int(a / b) * b]
    with pytest.raises(DivisionByZero):
        interpret(function(body, out, scalars=(x, y)), [got, a, 0])


def test_casts() -> None:
    a = decl_buffer((3,), "float32", "A")
    values = np.array([-1.5, 300.7, np.nan], np.float32)
    assert run_expression(Cast("int32", a[const(0)]), a, arrays=(values,))[0] == -1
    assert run_expression(Cast("int8", a[const(1)]), a, arrays=(values,))[0] == 300 - 256
    assert run_expression(Cast("float16", a[const(1)]), a, arrays=(values,))[0] == np.float16(300.7)
    assert run_expression(Cast("bool", a[const(0)]), a, arrays=(values,))[0]


def test_intrinsics_use_their_reference() -> None:
    a = decl_buffer((2,), "float32", "A")
    values = np.array([0.3, 2.5], np.float32)
    for name in ("exp", "tanh", "sqrt", "erf", "sigmoid", "floor", "round"):
        built = getattr(op, name)(a[const(1)])
        expected = built.op.reference(values[1])
        assert run_expression(built, a, arrays=(values,))[0] == expected
    x = const(1 << 20)
    assert run_expression(op.popcount(x + 3))[0] == 3
    assert run_expression(op.clz(x))[0] == 11
    assert run_expression(op.reinterpret("int32", const(1.0)))[0] == np.float32(1).view(np.int32)


def test_while_threads_let_and_assert() -> None:
    a = decl_buffer((6,), "int32", "A")
    count = decl_buffer((1,), "int32", "count")
    zero = const(0)
    step = seq([BufferStore(a, count[zero], (count[zero],)), BufferStore(count, count[zero] + 1, (zero,))])
    x, y = np.zeros(6, np.int32), np.zeros(1, np.int32)
    interpret(function(While(count[zero] < 6, step), a, count), [x, y])
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    thread = IterVar(Range(0, 6), Var("threadIdx.x"), IterVar.ThreadIndex, "threadIdx.x")
    doubled = BufferStore(a, a[thread.var] * 2, (thread.var,))
    interpret(function(AttrStmt(thread, "thread_extent", const(6), doubled), a), [x])
    assert x.tolist() == [0, 2, 4, 6, 8, 10]
    with pytest.raises(AssertionFailed, match="too many"):
        interpret(function(AssertStmt(count[zero] < 3, convert("too many"), Evaluate(zero)), count), [y])


def test_symbolic_shape_is_read_off_the_array() -> None:
    n, i = Var("n"), Var("i")
    a, b = decl_buffer((n,), name="A"), decl_buffer((n + 1,), name="B")
    body = loop(i, n, IfThenElse(i < n, BufferStore(b, a[i] + 1.0, (i,))))
    x, y = np.ones(7, np.float32), np.zeros(8, np.float32)
    interpret(function(body, a, b), [x, y])
    assert y.tolist() == [2.0] * 7 + [0.0]
    with pytest.raises(ArgumentError, match="argument 1"):
        interpret(function(body, a, b), [x, np.zeros(7, np.float32)])


@pytest.mark.parametrize(
    ("array", "message"),
    [(np.zeros((2, 2), np.float32), "2 dimensions|1 dimensions"), (np.zeros(4, np.float64), "float32"), (3.0, "array")],
)
def test_arguments_that_do_not_fit(array: object, message: str) -> None:
    a = decl_buffer((4,), name="A")
    with pytest.raises(ArgumentError, match=message):
        interpret(function(Evaluate(const(0)), a), [array])


def test_strided_arrays_are_changed_in_place() -> None:
    a = decl_buffer((3,), name="A")
    i = Var("i")
    base = np.arange(6, dtype=np.float32)
    interpret(function(loop(i, 3, BufferStore(a, a[i] * 2.0, (i,))), a), [base[::2]])
    assert base.tolist() == [0, 1, 4, 3, 8, 5]


def test_expressions_and_loops_of_any_depth() -> None:
    a = decl_buffer((4,), "int32", "A")
    left: PrimExpr = a[const(1)]
    right: PrimExpr = a[const(1)]
    chosen: PrimExpr = a[const(1)]
    for k in range(300):
        left = left + a[const(k % 4)] * 2
        right = a[const(k % 4)] - (right * 1 + k)
        chosen = op.if_then_else(a[const(0)] > k, const(k), Max(chosen, a[const(2)]))
    values = np.array([5, -3, 7, 11], np.int32)
    expected_left, expected_right, expected_chosen = -3, -3, -3
    for k in range(300):
        expected_left += int(values[k % 4]) * 2
        expected_right = int(values[k % 4]) - (expected_right + k)
        expected_chosen = k if values[0] > k else max(expected_chosen, 7)
    assert run_expression(left, a, arrays=(values,))[0] == expected_left
    assert run_expression(right, a, arrays=(values,))[0] == expected_right
    assert run_expression(chosen, a, arrays=(values,))[0] == expected_chosen
    count = decl_buffer((1,), "int32", "count")
    loops = [Var(f"i{d}") for d in range(40)]
    total: PrimExpr = const(1)
    for var in loops:
        total = total + var
    body: Stmt = BufferStore(count, count[const(0)] + total, (const(0),))
    for d, var in enumerate(loops):
        body = loop(var, 2 if d % 8 == 0 else 1, body)
    result = np.zeros(1, np.int32)
    interpret(function(body, count), [result])
    assert result[0] == 32 + 5 * 16


def test_let_keeps_its_value_in_a_deep_body() -> None:
    x = Var("x")
    body: PrimExpr = x
    for k in range(100):
        body = Min(body + 1, x + 1000 + k)
    assert run_expression(Let(x, const(5), body))[0] == 105


def test_buffers_of_vectors_gathers_and_shuffles() -> None:
    wide = decl_buffer((2,), "float32x4", "wide", data=Var("data", "handle", PointerType(PrimType("float32"))))
    a = decl_buffer((8,), "float32", "A")
    values = np.arange(8, dtype=np.float32)
    copy = BufferStore(wide, BufferLoad(a, (Ramp(const(4), const(1), 4),)), (const(1),))
    back = BufferStore(a, BufferLoad(wide, (const(1),)), (Ramp(const(0), const(1), 4),))
    got = values.copy()
    interpret(function(Allocate(wide.data, "float32x4", (const(2),), const(True), seq([copy, back])), a), [got])
    assert got.tolist() == [4, 5, 6, 7, 4, 5, 6, 7]
    index = decl_buffer((4,), "int32", "I")
    gathered = BufferLoad(a, (BufferLoad(index, (Ramp(const(0), const(1), 4),)),))
    order = np.array([3, 3, 0, 6], np.int32)
    assert run_expression(gathered, a, index, arrays=(values, order)).tolist() == [3, 3, 0, 6]
    four = BufferLoad(a, (Ramp(const(0), const(1), 4),))
    assert run_expression(Shuffle((four,), (const(2),)), a, arrays=(values,))[0] == 2
    assert run_expression(op.vectorhigh("float32x2", four), a, arrays=(values,)).tolist() == [2, 3]
    both = op.vectorcombine("float32x8", four, four)
    assert run_expression(both, a, arrays=(values,)).tolist() == [0, 1, 2, 3] * 2


def test_a_flat_buffer_larger_than_its_memory() -> None:
    a = decl_buffer((4,), name="A")
    alias = decl_buffer((8,), name="alias", data=a.data)
    with pytest.raises(OutOfBounds, match="alias, element 6, is outside of its memory of 4"):
        interpret(function(BufferStore(alias, const(0.0), (const(6),)), a), [np.zeros(4, np.float32)])


def test_arrays_are_changed_up_to_where_the_program_failed() -> None:
    a = decl_buffer((4,), name="A")
    i = Var("i")
    got = np.zeros(4, np.float32)
    with pytest.raises(OutOfBounds):
        interpret(function(loop(i, 9, BufferStore(a, const(1.0), (i * 2,))), a), [got])
    assert got.tolist() == [1, 0, 1, 0]


def test_both_sides_of_a_conjunction_are_evaluated() -> None:
    a = decl_buffer((4,), name="A")
    i = Var("i")
    for condition in (op.all(i < 4, a[i] > 0.0), op.any(i >= 4, a[i] > 0.0)):
        guarded = LetStmt(i, const(4), IfThenElse(condition, Evaluate(const(0))))
        with pytest.raises(OutOfBounds):
            interpret(function(guarded, a), [np.zeros(4, np.float32)])


def test_a_row_that_is_partly_written() -> None:
    pointer = Var("t", "handle", PointerType(PrimType("float32")))
    t, out = decl_buffer((8,), name="t", data=pointer), decl_buffer((4,), name="out")
    row = Ramp(const(0), const(1), 4)
    for first, fails in ((4, False), (1, True)):
        write = BufferStore(t, Broadcast(const(1.0), 4), (Ramp(const(4), const(1), 4),))
        read = BufferStore(out, BufferLoad(t, (Ramp(const(first), const(1), 4),)), (row,))
        body = Allocate(pointer, "float32", (const(8),), const(True), seq([write, read]))
        if fails:
            with pytest.raises(UninitializedRead, match="element 1"):
                interpret(function(body, out), [np.zeros(4, np.float32)])
        else:
            interpret(function(body, out), [np.zeros(4, np.float32)])


def test_a_vector_is_a_value_and_not_the_memory_it_came_from() -> None:
    a = decl_buffer((4,), name="A")
    row = Ramp(const(0), const(1), 4)
    old = Var("old", "float32x4")
    swap = seq([BufferStore(a, Broadcast(const(0.0), 4), (row,)), BufferStore(a, old + old, (row,))])
    got = np.arange(4, dtype=np.float32)
    interpret(function(LetStmt(old, BufferLoad(a, (row,)), swap), a), [got])
    assert got.tolist() == [0, 2, 4, 6]


def test_a_lane_divided_by_zero() -> None:
    a = decl_buffer((4,), "int32", "A")
    lanes = BufferLoad(a, (Ramp(const(0), const(1), 4),))
    for kind in (FloorDiv, FloorMod, Div, Mod):
        with pytest.raises(DivisionByZero):
            run_expression(kind(Broadcast(const(3), 4), lanes), a, arrays=(np.array([1, 2, 0, 4], np.int32),))


def test_not_a_number() -> None:
    a = decl_buffer((2,), "float32", "A")
    values = np.array([np.nan, 1], np.float32)
    nan, one = a[const(0)], a[const(1)]
    assert run_expression(Min(nan, one), a, arrays=(values,))[0] == 1
    assert np.isnan(run_expression(Min(one, nan), a, arrays=(values,))[0])
    assert np.isnan(run_expression(Max(one, nan), a, arrays=(values,))[0])
    row = BufferLoad(a, (Ramp(const(0), const(1), 2),))
    lowest = run_expression(Min(row, Broadcast(const(0.5), 2)), a, arrays=(values,))
    assert lowest.tolist() == [0.5, 0.5]
    assert run_expression(Cast("int32", nan), a, arrays=(values,))[0] == 0
    assert run_expression(Cast("int32x2", row), a, arrays=(values,)).tolist() == [0, 1]
