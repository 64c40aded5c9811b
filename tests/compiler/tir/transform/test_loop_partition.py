"""Loops are cut where their guards change, and the middle runs without them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.ir.error import ArgumentError
from compiler.ir.primexpr import And, Call, Var, const
from compiler.tir import op as tir
from compiler.tir.buffer import Buffer, decl_buffer
from compiler.tir.builtin import LIKELY
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import AttrStmt, BufferStore, For, ForKind, IfThenElse, Stmt
from compiler.tir.transform import LoopPartition, Simplify
from tests.compiler.tir.transform.programs import apply, assert_same, function, loop, nodes

CONSTANT = {"tir.LoopPartition": {"partition_const_loop": True}}


def symbolic(size: Var, kind: ForKind = ForKind.SERIAL) -> tuple[PrimFunc, Buffer]:
    """Return a function that splits ``size`` iterations by 8, guarded."""
    io, ii = Var("io"), Var("ii")
    a, c = decl_buffer((size,), "int32", name="A"), decl_buffer((size,), "int32", name="C")
    index = io * 8 + ii
    guarded = IfThenElse(tir.likely(index < size), BufferStore(c, a[index] + 1, (index,)))
    return function(loop(io, (size + 7) // 8, loop(ii, 8, guarded), kind), a, c, scalars=(size,)), c


def constant(extent: int, outer: int, inner: int) -> PrimFunc:
    io, ii = Var("io"), Var("ii")
    a, c = decl_buffer((extent,), "int32", name="A"), decl_buffer((extent,), "int32", name="C")
    index = io * inner + ii
    guarded = IfThenElse(tir.likely(index < extent), BufferStore(c, a[index] + 1, (index,)))
    return function(loop(io, outer, loop(ii, inner, guarded)), a, c)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 16, 31])
@pytest.mark.parametrize("kind", [ForKind.SERIAL, ForKind.PARALLEL])
def test_a_symbolic_loop_gets_a_middle_without_guard(n: int, kind: ForKind) -> None:
    func, _ = symbolic(Var("n"), kind)
    after = apply(func, LoopPartition())
    middle, rest = after.body.seq  # type: ignore[attr-defined]
    assert middle.kind == rest.kind == kind
    assert not nodes(middle, IfThenElse)
    assert len(nodes(rest, IfThenElse)) == 1
    assert str(middle.extent) == "n // 8"
    assert_same(func, after, scalars={"n": n})


def test_constant_loops_are_left_whole_unless_asked() -> None:
    func = constant(100, 4, 32)
    assert len(nodes(apply(func, LoopPartition()), For)) == 2
    after = apply(func, LoopPartition(), config=CONSTANT)
    assert not nodes(after, IfThenElse)
    assert sorted(n.extent.value for n in nodes(after, For)) == [3, 4, 32]
    assert_same(func, after)


def test_a_loop_with_the_hint_is_cut() -> None:
    func = constant(100, 4, 32)
    hinted = func.with_body(AttrStmt(None, "pragma_loop_partition_hint", const(1), func.body))
    after = apply(hinted, LoopPartition())
    assert len(nodes(after, For)) == 3
    assert_same(func, after)


@settings(max_examples=40, deadline=None)
@given(extent=st.integers(1, 40), inner=st.integers(1, 12), surplus=st.integers(0, 3))
def test_every_element_is_computed_once(extent: int, inner: int, surplus: int) -> None:
    func = constant(extent, (extent + inner - 1) // inner + surplus, inner)
    after = apply(func, LoopPartition(), config=CONSTANT)
    assert not nodes(after, IfThenElse)
    assert_same(func, after)


def test_a_guard_from_below_and_one_from_above() -> None:
    i = Var("i")
    a, c = decl_buffer((40,), "int32", name="A"), decl_buffer((50,), "int32", name="C")
    inside = And(tir.likely(i >= 5), tir.likely(i < 45))
    func = function(loop(i, 50, BufferStore(c, tir.if_then_else(inside, a[i - 5], 0), (i,))), a, c)
    after = apply(func, LoopPartition(), Simplify(), config=CONSTANT)
    assert [n.extent.value for n in nodes(after, For)] == [5, 40, 5]
    assert not nodes(after, Call)
    assert_same(func, after)


def test_guards_of_two_loops() -> None:
    names = [Var(n) for n in ("yo", "xo", "yi", "xi")]
    yo, xo, yi, xi = names
    a, c = decl_buffer((10, 7), "int32", name="A"), decl_buffer((10, 7), "int32", name="C")
    y, x = yo * 4 + yi, xo * 4 + xi
    body: Stmt = IfThenElse(tir.likely(y < 10), IfThenElse(tir.likely(x < 7), BufferStore(c, a[y, x], (y, x))))
    for var, extent in reversed(list(zip(names, (3, 2, 4, 4), strict=True))):
        body = loop(var, extent, body)
    func = function(body, a, c)
    after = apply(func, LoopPartition(), config=CONSTANT)
    assert not nodes(after, IfThenElse)
    assert_same(func, after)


def test_a_guard_that_reads_memory_is_kept() -> None:
    i, n = Var("i"), Var("n")
    a, c = decl_buffer((n,), "int32", name="A"), decl_buffer((n,), "int32", name="C")
    body = IfThenElse(tir.likely(i < a[i]), BufferStore(c, const(1), (i,)))
    func = function(loop(i, n, body), a, c, scalars=(n,))
    after = apply(func, LoopPartition())
    assert len(nodes(after, For)) == 1
    assert_same(func, after, scalars={"n": 9})


def test_the_marks_are_gone_afterwards() -> None:
    func = constant(100, 4, 32)
    assert not [n for n in nodes(apply(func, LoopPartition()), Call) if n.op is LIKELY]


def test_an_unknown_option_is_an_error() -> None:
    with pytest.raises(ArgumentError, match=r"tir.LoopPartition: there is no option 'partition_const'"):
        apply(constant(10, 3, 4), LoopPartition(), config={"tir.LoopPartition": {"partition_const": True}})


def test_a_loop_that_is_written_out_keeps_its_constant_extent() -> None:
    i, n, c = Var("i"), Var("n"), decl_buffer((8,), "int32", name="C")
    body = IfThenElse(tir.likely(i < n), BufferStore(c, const(1), (i,)))
    for kind in (ForKind.UNROLLED, ForKind.VECTORIZED):
        func = function(loop(i, 8, body, kind), c, scalars=(n,))
        after = apply(func, LoopPartition(), config=CONSTANT)
        assert [int(x.extent) for x in nodes(after, For)] == [8]
        assert_same(func, after, scalars={"n": 3})
