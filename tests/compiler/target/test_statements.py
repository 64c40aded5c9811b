"""Statements: loops, branches, allocations, assertions, parallel bodies, memory accesses of every shape."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import relay
from compiler.ir.error import BuildError, TVMError
from compiler.ir.expr.primexpr import Broadcast, IterVar, PrimExpr, Ramp, Range, Shuffle, StringImm, Var, const
from compiler.ir.instrument import CodeForm, Instrument, instrumented
from compiler.runtime.arrays.ndarray import array, empty
from compiler.runtime.parallel.threads import set_num_threads
from compiler.tir.expressions import op
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    Stmt,
    While,
    seq,
)
from tests.compiler.target.kernels import compile_module, function
from tests.machines import require

SERIAL, PARALLEL = ForKind.SERIAL, ForKind.PARALLEL


def load(buffer: Buffer, *indices: PrimExpr | int) -> PrimExpr:
    return BufferLoad(buffer, tuple(const(i) if isinstance(i, int) else i for i in indices))


def store(buffer: Buffer, value: PrimExpr, *indices: PrimExpr | int) -> Stmt:
    return BufferStore(buffer, value, tuple(const(i) if isinstance(i, int) else i for i in indices))


def iota(count: int, dtype: str = "float32") -> np.ndarray:
    return np.arange(count).astype(dtype)


@pytest.mark.parametrize("extent", [0, 1, 2, 7])
@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize("kind", [SERIAL, PARALLEL, ForKind.UNROLLED])
def test_loops_run_as_often_as_they_say(extent: int, first: int, kind: ForKind) -> None:
    out, i = decl_buffer((16,), "int32", "out"), Var("i")
    module = compile_module(function([out], For(i, first, extent, kind, store(out, i + 1, i))))
    result = array(np.zeros(16, "int32"))
    module(result)
    wanted = np.zeros(16, "int32")
    wanted[first : first + extent] = np.arange(first, first + extent) + 1
    np.testing.assert_array_equal(result.numpy(), wanted)


def test_extents_known_at_run_time() -> None:
    n, i = Var("n"), Var("i")
    out = decl_buffer((n,), "int32", "out")
    for kind in (SERIAL, PARALLEL):
        module = compile_module(function([out], For(i, 0, n, kind, store(out, i * i, i))))
        for size in (0, 1, 13):
            result = empty((size,), "int32")
            module(result)
            np.testing.assert_array_equal(result.numpy(), np.arange(size) ** 2)


@pytest.mark.parametrize(("first", "case"), [(0, False), (-57, True)])
def test_quotients_of_a_counter_that_is_not_negative_have_one_case(first: int, case: bool) -> None:
    """What is divided is the counter of a thread's part of the iterations, whose beginning is an argument."""
    out, i = decl_buffer((500,), "int32", "out"), Var("i")
    at = op.floordiv(i, 56) * 100 + op.floormod(i, 56) + 200
    module = compile_module(function([out], For(i, first, 114, PARALLEL, store(out, i, at))))
    assert ("sdiv" in module.get_source("ll")) == case
    result = array(np.zeros(500, "int32"))
    module(result)
    wanted, numbers = np.zeros(500, "int32"), np.arange(first, first + 114)
    wanted[numbers // 56 * 100 + numbers % 56 + 200] = numbers
    np.testing.assert_array_equal(result.numpy(), wanted)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_parallel_iterations_all_run(threads: int) -> None:
    a, out, i, j = decl_buffer((1000,), "int64", "a"), decl_buffer((1000,), "int64", "out"), Var("i"), Var("j")
    scale = Var("scale", "int64")
    inner = For(j, 0, 10, SERIAL, store(out, load(a, i * 10 + j) * scale, i * 10 + j))
    body = LetStmt(scale, const(3, "int64"), For(i, 0, 100, PARALLEL, inner))
    module = compile_module(function([a, out], body))
    result = empty((1000,), "int64")
    set_num_threads(threads)
    try:
        module(array(iota(1000, "int64")), result)
    finally:
        set_num_threads(None)
    np.testing.assert_array_equal(result.numpy(), 3 * np.arange(1000))


def test_a_parallel_loop_inside_of_another_is_refused() -> None:
    out, i, j = decl_buffer((100,), "int32", "out"), Var("i"), Var("j")
    body = For(i, 0, 10, PARALLEL, For(j, 0, 10, PARALLEL, store(out, i * j, i * 10 + j)))
    with pytest.raises(BuildError, match="Nested parallel loop is not supported: the loop over j runs inside"):
        compile_module(function([out], body))


def test_branches() -> None:
    out, i = decl_buffer((10,), "int32", "out"), Var("i")
    body = IfThenElse(i < 4, store(out, const(1), i), IfThenElse(i.equal(7), store(out, const(2), i)))
    module = compile_module(function([out], For(i, 0, 10, SERIAL, body)))
    result = array(np.zeros(10, "int32"))
    module(result)
    np.testing.assert_array_equal(result.numpy(), [1, 1, 1, 1, 0, 0, 0, 2, 0, 0])


def test_a_value_that_is_not_chosen_is_not_loaded() -> None:
    """The guarded element lies outside of its buffer by gigabytes."""
    a, out, i = decl_buffer((4,), "float32", "a"), decl_buffer((8,), "float32", "out"), Var("i")
    far = i * (1 << 27)
    padded = op.if_then_else(i < 1, load(a, far), const(-1.0, "float32"))
    guarded = op.if_then_else(op.all(i < 1, load(a, far) >= 0), const(1.0, "float32"), padded)
    module = compile_module(function([a, out], For(i, 0, 8, SERIAL, store(out, guarded, i))))
    result = empty((8,), "float32")
    module(array(iota(4)), result)
    np.testing.assert_array_equal(result.numpy(), [1, *[-1] * 7])


def test_while() -> None:
    out = decl_buffer((2,), "int32", "out")
    step = seq([store(out, load(out, 0) + load(out, 1), 0), store(out, load(out, 1) + 1, 1)])
    module = compile_module(function([out], While(load(out, 1) < 10, step)))
    result = array(np.zeros(2, "int32"))
    module(result)
    np.testing.assert_array_equal(result.numpy(), [45, 10])


@pytest.mark.parametrize("size", [16, 1 << 18])
@pytest.mark.parametrize("kind", [SERIAL, PARALLEL])
def test_allocations(size: int, kind: ForKind) -> None:
    """Small memory lies on the stack, large memory on the heap; each iteration has its own."""
    out, scratch = decl_buffer((6,), "float32", "out"), decl_buffer((size,), "float32", "scratch")
    i, j, k = Var("i"), Var("j"), Var("k")
    fill = For(j, 0, size, SERIAL, store(scratch, (i + j % 2).astype("float32"), j))
    total = For(k, 0, size, SERIAL, store(out, load(out, i) + load(scratch, k), i))
    body = Allocate(scratch.data, "float32", (const(size),), const(True), seq([fill, store(out, const(0.0), i), total]))
    module = compile_module(function([out], For(i, 0, 6, kind, body)))
    result = empty((6,), "float32")
    module(result)
    np.testing.assert_array_equal(result.numpy(), size * (np.arange(6) + 0.5))


@pytest.mark.parametrize("kind", [SERIAL, PARALLEL])
def test_assertions_stop_the_function(kind: ForKind) -> None:
    a, i = decl_buffer((8,), "int32", "a"), Var("i")
    check = AssertStmt(load(a, i) >= 0, StringImm("a must not be negative"), store(a, load(a, i) * 2, i))
    module = compile_module(function([a], For(i, 0, 8, kind, check)))
    good = array(iota(8, "int32"))
    module(good)
    np.testing.assert_array_equal(good.numpy(), 2 * np.arange(8))
    with pytest.raises(TVMError, match="kernel: a must not be negative"):
        module(array(np.array([1, 2, 3, -4, 5, 6, 7, 8], "int32")))


def test_memory_that_there_is_not() -> None:
    out, where, size = decl_buffer((1,), "float32", "out"), decl_buffer((2,), "int64", "where"), Var("size", "int64")
    scratch = decl_buffer((size,), "float32", "scratch")
    write = store(scratch, const(1.0), load(where, 0))
    copy = store(out, load(scratch, load(where, 1)), 0)
    body = Allocate(scratch.data, "float32", (size,), const(True), seq([write, copy]))
    module = compile_module(function([out, where], LetStmt(size, load(where, 0) + 1, body)))
    result = empty((1,))
    module(result, array(np.array([9, 9])))
    assert result.numpy() == 1
    with pytest.raises(TVMError, match="not enough memory for scratch"):
        module(result, array(np.array([1 << 50, 9])))


LANES = 8


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "float64"])
@pytest.mark.parametrize(("base", "stride"), [(0, 1), (5, 1), (40, -1), (3, 4), (30, -3), (7, 0)])
def test_strided_loads_and_stores(dtype: str, base: int, stride: int) -> None:
    a, out = decl_buffer((64,), dtype, "a"), decl_buffer((64,), dtype, "out")
    where = Ramp(const(base), const(stride), LANES) if stride else Broadcast(const(base), LANES)
    body = seq([store(out, load(a, where), Ramp(const(0), const(1), LANES))])
    back = where if stride else Ramp(const(base), const(2), LANES)
    body = seq([body, store(out, load(a, Ramp(const(8), const(1), LANES)), back)])
    data = (np.random.default_rng(0).integers(0, 100, 64) % (2 if dtype == "bool" else 100)).astype(dtype)
    result = array(np.zeros(64, dtype))
    compile_module(function([a, out], body))(array(data), result)
    wanted = np.zeros(64, dtype)
    lanes = np.arange(LANES)
    wanted[:LANES] = data[base + stride * lanes]
    wanted[base + (stride or 2) * lanes] = data[8 + lanes]
    np.testing.assert_array_equal(result.numpy(), wanted)


def test_indices_from_memory() -> None:
    """A gather and a scatter through loaded indices, signed and unsigned."""
    for dtype in ("int32", "int64", "uint8", "uint32"):
        a, which = decl_buffer((32,), "float32", "a"), decl_buffer((LANES,), dtype, "which")
        out = decl_buffer((32,), "float32", "out")
        index = load(which, Ramp(const(0), const(1), LANES))
        body = store(out, load(a, index) + Broadcast(const(1.0), LANES), index)
        picks = np.array([3, 31, 0, 8, 9, 17, 5, 4], dtype)
        result = array(np.zeros(32, "float32"))
        compile_module(function([a, which, out], body))(array(iota(32)), array(picks), result)
        wanted = np.zeros(32, "float32")
        wanted[picks] = picks.astype("float32") + 1
        np.testing.assert_array_equal(result.numpy(), wanted)


def test_shuffles() -> None:
    a, out = decl_buffer((8,), "int32", "a"), decl_buffer((4,), "int32", "out")
    low, high = load(a, Ramp(const(0), const(1), 4)), load(a, Ramp(const(4), const(1), 4))
    mixed = Shuffle((low, high), tuple(const(i) for i in (7, 0, 3, 4)))
    result = empty((4,), "int32")
    compile_module(function([a, out], store(out, mixed, Ramp(const(0), const(1), 4))))(array(iota(8, "int32")), result)
    np.testing.assert_array_equal(result.numpy(), [7, 0, 3, 4])


def test_buffers_of_several_dimensions_and_strides() -> None:
    rows, columns, i, j = Var("rows"), Var("columns"), Var("i"), Var("j")
    step = Var("step")
    a = decl_buffer((rows, columns), "float32", "a", strides=(step, const(1)))
    out = decl_buffer((columns, rows), "float32", "out")
    body = For(i, 0, rows, SERIAL, For(j, 0, columns, SERIAL, store(out, load(a, i, j), j, i)))
    module = compile_module(function([a, out], body))
    data = iota(60).reshape(6, 10)[:, 2:7]
    result = empty((5, 6))
    module(data, result)
    np.testing.assert_array_equal(result.numpy(), data.T)


def test_accumulators_stay_in_registers() -> None:
    """A tile of sums that is updated in a loop lives in vector registers: the loop stores nothing."""
    a, out, tile = (
        decl_buffer((4096,), "float32", "a"),
        decl_buffer((32,), "float32", "out"),
        decl_buffer((32,), "float32", "t"),
    )
    k, whole = Var("k"), Ramp(const(0), const(1), 32)
    body = seq(
        [
            store(tile, Broadcast(const(0.0), 32), whole),
            For(k, 0, 128, SERIAL, store(tile, load(tile, whole) + load(a, Ramp(k * 32, const(1), 32)), whole)),
            store(out, load(tile, whole), whole),
        ]
    )
    module = compile_module(function([a, out], Allocate(tile.data, "float32", (const(32),), const(True), body)))
    assert "alloca" not in module.get_source("ll")
    result = empty((32,))
    data = np.random.default_rng(0).random(4096).astype("float32")
    module(array(data), result)
    np.testing.assert_allclose(result.numpy(), data.reshape(128, 32).sum(0), rtol=1e-5)


def test_thread_axes_are_refused() -> None:
    out, i = decl_buffer((4,), "int32", "out"), Var("i")
    axis = IterVar(Range(0, 4), Var("threadIdx.x"), IterVar.ThreadIndex, "threadIdx.x")
    for body in (
        AttrStmt(axis, "thread_extent", const(4), store(out, i, 0)),
        For(i, 0, 4, ForKind.THREAD_BINDING, store(out, i, i), axis),
    ):
        with pytest.raises(BuildError, match="a CPU has none"):
            compile_module(function([out], body))


class _Texts(Instrument):
    def __init__(self) -> None:
        self.forms: list[tuple[str, str]] = []
        self.texts: list[str] = []

    def code_generated(self, form: CodeForm, language: str, text: str, milliseconds: float) -> None:
        self.forms.append((form, language))
        self.texts.append(text)


def test_instrumented_builds_tell_their_texts_with_locations() -> None:
    out, i = decl_buffer((64,), "float32", "out"), Var("i")
    body = For(i, 0, 8, PARALLEL, store(out, Broadcast(const(2.0), 8), Ramp(i * 8, const(1), 8)))
    module = function([out], body)
    texts = _Texts()
    with instrumented(texts):
        compile_module(module)
    assert texts.forms == [("emitted", "llvm"), ("optimised", "llvm"), ("assembly", "gas")]
    assert all(mark in text for mark, text in zip(("!dbg", "!dbg", ".loc"), texts.texts, strict=True))
    assert "!dbg" not in compile_module(module).get_source("ll")


def test_what_llvm_hoists_keeps_its_location() -> None:
    """The load of ``a[i]`` moves out of the inner loop; LLVM drops its location, which is then put back."""
    a, b, out = (decl_buffer((64,), "float32", name) for name in ("a", "b", "out"))
    i, j = Var("i"), Var("j")
    inner = For(j, 0, 64, SERIAL, store(out, load(a, i) * load(b, j) + load(out, j), j))
    module = function([a, b, out], For(i, 0, 64, PARALLEL, inner))
    texts = _Texts()
    with instrumented(texts):
        compile_module(module)
    loads = [line for line in texts.texts[1].splitlines() if " = load " in line]
    assert len(loads) >= 3
    assert all("!dbg" in line for line in loads)


@pytest.mark.parametrize("axes", [(1, 2, 3), (2, 3), (3,)])
def test_a_long_running_maximum_is_compiled_in_no_time(axes: tuple[int, ...]) -> None:
    """LLVM takes time exponential in the length of a chain of choices, so such loops are not unrolled."""
    data = np.random.default_rng(0).normal(size=(4, 32, 32, 32)).astype("float32")
    x = relay.var("x", shape=data.shape)
    largest = relay.create_executor("graph", target="llvm").evaluate(relay.Function([x], relay.max(x, axis=axes)))
    np.testing.assert_array_equal(largest(data).numpy(), data.max(axis=axes))


@pytest.mark.timeout(60)
def test_the_largest_of_many_unrolled_values_is_soon_compiled() -> None:
    # LLVM's search for checksums in loops doubled with each of the 64 maxima that unrolling made a chain of.
    x = relay.var("x", shape=(1, 16, 16, 16, 16))
    graph = relay.Function([x], relay.nn.adaptive_max_pool3d(x, (2, 2, 2), layout="NDHWC"))
    values = np.random.default_rng(1).random((1, 16, 16, 16, 16), "float32")
    expected = values.reshape(1, 2, 8, 2, 8, 2, 8, 16).max((2, 4, 6))
    result = relay.create_executor("graph", target="llvm -mcpu=native").evaluate(graph)(values)
    np.testing.assert_array_equal(result.numpy(), expected)


@pytest.mark.parametrize("rows", [6, 7, 8])
@pytest.mark.parametrize("cpu", ["x86-64-v2", "haswell", "skylake-avx512"])
def test_a_loop_with_other_first_rows_is_compiled(cpu: str, rows: int) -> None:
    # LLVM ended the process where it had taken one iteration off the loop, and wanted to take off as many as it may.
    require(target := f"llvm -mcpu={cpu}")
    x = relay.var("x", shape=(rows - 2, 4))
    padded = relay.nn.pad(x, ((1, 1), (1, 0)), pad_mode="edge")
    graph = relay.Function([x], relay.concatenate([padded, padded], axis=0))
    values = np.random.default_rng(1).random((rows - 2, 4), "float32")
    expected = np.concatenate([np.pad(values, ((1, 1), (1, 0)), "edge")] * 2)
    result = relay.create_executor("graph", target=target).evaluate(graph)(values)
    np.testing.assert_array_equal(result.numpy(), expected)
