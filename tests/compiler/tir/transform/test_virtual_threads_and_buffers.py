"""Virtual threads, double buffers and prefetches."""

from __future__ import annotations

import pytest

from compiler.ir.error import LoweringError
from compiler.ir.primexpr import IterVar, Range, Var, const
from compiler.tir.buffer import Buffer, BufferLoad, decl_buffer
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    Prefetch,
    Stmt,
    seq,
)
from compiler.tir.transform import InjectDoubleBuffer, InjectPrefetch, InjectVirtualThread, StorageRewrite
from tests.compiler.tir.transform.programs import allocate, apply, assert_same, function, loop, nodes

A, C = decl_buffer((80,), "int32", name="A"), decl_buffer((80,), "int32", name="C")
i, j, T = Var("i"), Var("j"), Var("vthread")


def threads(count: int, body: Stmt) -> tuple[PrimFunc, PrimFunc]:
    """Return a function with virtual threads, and one with a loop in their place."""
    axis = IterVar(Range(0, count), T, IterVar.ThreadIndex, "vthread")
    marked = function(AttrStmt(axis, "virtual_thread", const(count), body), A, C)
    return marked, function(loop(T, count, body), A, C)


def injected(count: int, body: Stmt) -> PrimFunc:
    marked, looped = threads(count, body)
    after = apply(marked, InjectVirtualThread())
    assert_same(looped, after)
    assert not nodes(after, AttrStmt)
    return after


def local(name: str, size: int) -> Buffer:
    return decl_buffer((size,), "int32", name=name)


def test_each_thread_has_its_own_memory_and_statements_alternate() -> None:
    buffer = local("L", 4)
    fill = loop(i, 4, BufferStore(buffer, A[T * 4 + i], (i,)))
    use = loop(j, 4, BufferStore(C, buffer[j] + 1, (T * 4 + j,)))
    after = injected(2, allocate(buffer, seq([fill, use])))
    (memory,) = nodes(after, Allocate)
    assert int(memory.extents[0]) == 8
    assert len(nodes(after, For)) == 2
    assert len(nodes(after, BufferStore)) == 4


def test_memory_that_does_not_depend_on_the_thread_is_shared() -> None:
    buffer = local("L", 4)
    fill = loop(i, 4, BufferStore(buffer, A[i] * 3, (i,)))
    use = loop(j, 4, BufferStore(C, buffer[j] + T, (T * 4 + j,)))
    after = injected(2, allocate(buffer, seq([fill, use])))
    assert int(nodes(after, Allocate)[0].extents[0]) == 4
    assert len(nodes(after, BufferStore)) == 3


def test_dependence_spreads_through_memory() -> None:
    first, second = local("L", 1), local("M", 1)
    zero = (const(0),)
    body = seq(
        [
            BufferStore(first, A[T], zero),
            BufferStore(second, first[0] + 1, zero),
            BufferStore(C, second[0], (T,)),
        ]
    )
    after = injected(3, allocate(first, allocate(second, body)))
    assert [int(n.extents[0]) for n in nodes(after, Allocate)] == [3, 3]


def test_many_threads_become_a_loop() -> None:
    after = injected(20, loop(i, 4, BufferStore(C, A[T * 4 + i], (T * 4 + i,))))
    assert [n.loop_var.name for n in reversed(nodes(after, For))] == ["i", "vthread.s"]


def test_conditions_lets_and_extents_that_depend_on_the_thread() -> None:
    t = Var("t")
    injected(3, IfThenElse(T < 2, BufferStore(C, A[T], (T,)), BufferStore(C, A[T + 5], (T,))))
    injected(3, LetStmt(t, T * 2, BufferStore(C, t, (t,))))
    injected(3, For(i, 0, T + 1, ForKind.SERIAL, BufferStore(C, A[i] + T, (T * 4 + i,))))


def test_a_branch_on_the_thread_makes_the_memory_its_own() -> None:
    buffer = local("L", 1)
    zero = (const(0),)
    body = seq(
        [
            BufferStore(buffer, const(5), zero),
            IfThenElse(T < 1, BufferStore(buffer, const(9), zero)),
            BufferStore(C, buffer[0], (T,)),
        ]
    )
    assert int(nodes(injected(2, allocate(buffer, body)), Allocate)[0].extents[0]) == 2


def test_threads_within_threads() -> None:
    u = Var("u")
    axis = IterVar(Range(0, 2), u, IterVar.ThreadIndex, "vthread")
    buffer = local("L", 1)
    zero = (const(0),)
    store = seq([BufferStore(buffer, A[T * 2 + u], zero), BufferStore(C, buffer[0], (T * 2 + u,))])
    inner = allocate(buffer, store)
    marked, _ = threads(3, AttrStmt(axis, "virtual_thread", const(2), inner))
    _, looped = threads(3, loop(u, 2, inner))
    after = apply(marked, InjectVirtualThread())
    assert_same(looped, after)
    assert int(nodes(after, Allocate)[0].extents[0]) == 6


def test_the_number_of_threads_must_be_constant() -> None:
    n = Var("n")
    axis = IterVar(Range(0, n), T, IterVar.ThreadIndex, "vthread")
    func = function(AttrStmt(axis, "virtual_thread", n, BufferStore(C, T, (T,))), C, scalars=(n,))
    with pytest.raises(LoweringError, match="number of threads must be constant, got n"):
        apply(func, InjectVirtualThread())


def buffered(extent: object, reads: Buffer = A, low: int = 0) -> PrimFunc:
    """Return a function that fills a marked buffer from ``reads`` and uses it, in each iteration."""
    buffer = local("B", 4)
    k = Var("k")
    fill = loop(j, 4, BufferStore(buffer, reads[i * 4 + j] + 1, (j,)))
    use = loop(k, 4, BufferStore(C, buffer[k] * 2 + buffer[3 - k], (i * 4 + k,)))
    marked = AttrStmt(buffer.data, "double_buffer_scope", const(1), fill)
    scalars = (extent,) if isinstance(extent, Var) else ()
    body = For(i, low, extent, ForKind.SERIAL, allocate(buffer, seq([marked, use])))  # type: ignore[arg-type]
    return function(body, A, C, scalars=scalars)


@pytest.mark.parametrize("split", [0, 1, 2, 3])
@pytest.mark.parametrize("extent", [1, 2, 5, 8])
def test_the_next_iteration_is_filled_ahead(extent: int, split: int) -> None:
    func = buffered(extent)
    after = apply(func, InjectDoubleBuffer(), config={"tir.InjectDoubleBuffer": {"split_loop": split}})
    (memory,) = nodes(after, Allocate)
    assert int(memory.extents[0]) == 8
    assert isinstance(after.body, Allocate)
    assert_same(func, after)
    assert_same(func, apply(after, StorageRewrite()))


@pytest.mark.parametrize("n", [0, 1, 4])
def test_a_symbolic_loop_is_buffered_too(n: int) -> None:
    func = buffered(Var("n"))
    assert_same(func, apply(func, InjectDoubleBuffer()), scalars={"n": n})


def test_a_loop_that_does_not_begin_at_zero_is_buffered_too() -> None:
    func = buffered(4, low=2)
    assert_same(func, apply(func, InjectDoubleBuffer()))


def test_what_depends_on_the_same_iteration_is_not_filled_ahead() -> None:
    func = buffered(4, reads=C)
    after = apply(func, InjectDoubleBuffer())
    assert int(nodes(after, Allocate)[0].extents[0]) == 4
    assert not nodes(after, AttrStmt)
    assert_same(func, after)


def test_a_prefetch_names_the_box_of_a_later_iteration() -> None:
    a = decl_buffer((64, 64), "int32", name="A")
    c = decl_buffer((64, 64), "int32", name="C")
    inner = loop(j, 64, BufferStore(c, a[i, j] + a[i, 63 - j], (i, j)))
    func = function(loop(i, 60, AttrStmt(a, "prefetch_scope", const(2), inner)), a, c)
    (hint,) = nodes(apply(func, InjectPrefetch()), Prefetch)
    assert hint.buffer is a
    assert [str(r.min) for r in hint.bounds] == ["i + 2", "0"]
    assert int(hint.bounds[1].extent) == 64


def test_a_prefetch_of_something_never_read_is_dropped() -> None:
    func = function(loop(i, 8, AttrStmt(A, "prefetch_scope", const(2), BufferStore(C, i, (i,)))), A, C)
    after = apply(func, InjectPrefetch())
    assert not nodes(after, Prefetch)
    assert not nodes(after, AttrStmt)
    assert not nodes(after, BufferLoad)
