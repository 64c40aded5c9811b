"""Loops written out, on request or because they are short."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.ir.error import ArgumentError, LoweringError
from compiler.ir.primexpr import Var, const
from compiler.tir.buffer import decl_buffer
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import AttrStmt, BufferStore, For, ForKind, Stmt
from compiler.tir.transform import UnrollLoop
from tests.compiler.tir.transform.programs import apply, assert_same, function, loop, nodes

C = decl_buffer((64,), "int32", name="C")
i, j = Var("i"), Var("j")


def nest(outer: ForKind = ForKind.SERIAL, inner: ForKind = ForKind.SERIAL) -> Stmt:
    return loop(i, 8, loop(j, 8, BufferStore(C, i + j, (i * 8 + j,)), inner), outer)


def unrolled(body: Stmt, **options: Any) -> PrimFunc:
    func = function(body, C)
    after = apply(func, UnrollLoop(), config={"tir.UnrollLoop": options})
    assert_same(func, after)
    return after


def kinds(func: PrimFunc) -> list[ForKind]:
    """Return the kinds of the loops, outermost first."""
    return [n.kind for n in reversed(nodes(func, For))]


def test_marked_loops_are_written_out() -> None:
    after = unrolled(nest(inner=ForKind.UNROLLED))
    assert kinds(after) == [ForKind.SERIAL]
    assert len(nodes(after, BufferStore)) == 8
    assert not kinds(unrolled(nest(ForKind.UNROLLED, ForKind.UNROLLED)))


def test_nothing_to_unroll_returns_the_function_as_it_is() -> None:
    func = function(nest(), C)
    assert apply(func, UnrollLoop()) is func


@pytest.mark.parametrize(("limit", "left"), [(7, 2), (8, 1), (63, 1), (64, 0)])
def test_serial_loops_are_written_out_up_to_a_number_of_steps(limit: int, left: int) -> None:
    assert len(kinds(unrolled(nest(), auto_max_step=limit))) == left
    pragma = AttrStmt(None, "pragma_auto_unroll_max_step", const(limit), nest())
    assert len(kinds(unrolled(pragma))) == left


def test_serial_loops_are_written_out_up_to_an_extent() -> None:
    assert len(kinds(unrolled(nest(), auto_max_extent=8))) == 0
    assert len(kinds(unrolled(nest(), auto_max_extent=7))) == 2


def test_a_depth_limits_what_happens_by_itself() -> None:
    assert len(kinds(unrolled(nest(), auto_max_step=64, auto_max_depth=1))) == 1


def test_without_explicit_unrolling_loops_are_only_marked() -> None:
    assert kinds(unrolled(nest(), auto_max_step=64, explicit_unroll=False)) == [ForKind.UNROLLED] * 2
    assert kinds(unrolled(nest(inner=ForKind.UNROLLED), explicit_unroll=False)) == [ForKind.SERIAL, ForKind.UNROLLED]
    inner = AttrStmt(None, "pragma_unroll_explicit", const(0), nest())
    both = AttrStmt(None, "pragma_auto_unroll_max_step", const(64), inner)
    assert kinds(unrolled(both)) == [ForKind.UNROLLED] * 2


def test_a_loop_that_does_not_begin_at_zero() -> None:
    body = For(i, 3, 4, ForKind.UNROLLED, BufferStore(C, i, (i,)))
    assert not kinds(unrolled(body))
    shifted = loop(j, 4, For(i, j, 4, ForKind.UNROLLED, BufferStore(C, i, (i,))))
    assert kinds(unrolled(shifted)) == [ForKind.SERIAL]


def test_loops_of_no_iteration_disappear() -> None:
    assert not nodes(unrolled(loop(i, 0, BufferStore(C, i, (i,)), ForKind.UNROLLED)), BufferStore)


def test_parallel_and_vectorized_loops_are_never_written_out_by_themselves() -> None:
    assert kinds(unrolled(nest(ForKind.PARALLEL, ForKind.PARALLEL), auto_max_step=64)) == [ForKind.PARALLEL] * 2


def test_an_extent_that_is_not_constant_is_an_error() -> None:
    n = Var("n")
    func = function(loop(i, n, BufferStore(C, i, (i,)), ForKind.UNROLLED), C, scalars=(n,))
    with pytest.raises(LoweringError, match=r"extent of an unrolled loop must be constant, got n \(loop 'i'\)"):
        apply(func, UnrollLoop())


def test_a_pragma_needs_a_constant() -> None:
    n = Var("n")
    func = function(AttrStmt(None, "pragma_auto_unroll_max_step", n, nest()), C, scalars=(n,))
    with pytest.raises(LoweringError, match="pragma: auto_unroll_max_step must be a constant int, got n"):
        apply(func, UnrollLoop())


def test_an_unknown_option_is_an_error_that_proposes_the_nearest() -> None:
    with pytest.raises(ArgumentError, match="no option 'auto_max_steps'; did you mean 'auto_max_step'"):
        unrolled(nest(), auto_max_steps=3)
    with pytest.raises(ArgumentError, match="UnrollLoop: auto_max_step must be of type int, got 'many'"):
        unrolled(nest(), auto_max_step="many")
