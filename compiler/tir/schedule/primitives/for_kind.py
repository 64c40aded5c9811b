"""Loop kinds: parallel, vectorized, unrolled, bound to threads."""

from __future__ import annotations

from compiler.ir.expr.primexpr import IterVar, Var
from compiler.tir.schedule.facts.concurrent_loops import check_independent
from compiler.tir.schedule.facts.conditions import check_affine_binding, check_subtree_compact_dataflow
from compiler.tir.schedule.facts.roles import LOOP
from compiler.tir.schedule.facts.thread_scope import check_thread_axis
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import rewritten
from compiler.tir.statements.stmt import ForKind


@primitive("Parallel", loop=LOOP)
def parallel(state: ScheduleState, loop: StmtSRef) -> None:
    """Let the iterations of a loop run on several threads.

    For example ``sch.parallel(i)``::

        for i in range(128): …       →       for i in T.parallel(128): …

    Every block inside is complete or a reduction, and the loop is part of data-parallel axes only. Raises ScheduleError
    if the iterations depend on each other as far as the blocks' signatures tell.
    """
    _carry_out(state, loop, ForKind.PARALLEL)


@primitive("Vectorize", loop=LOOP)
def vectorize(state: ScheduleState, loop: StmtSRef) -> None:
    """Let the iterations of a loop be the lanes of vectors.

    For example ``sch.vectorize(j)``::

        for j in range(8): …       →       for j in T.vectorized(8): …

    Every block inside is complete or a reduction, and the loop is part of data-parallel axes only. Raises ScheduleError
    if the iterations depend on each other as far as the blocks' signatures tell.
    """
    _carry_out(state, loop, ForKind.VECTORIZED)


@primitive("Bind", loop=LOOP)
def bind(state: ScheduleState, loop: StmtSRef, thread_axis: str) -> None:
    """Let the iterations of a loop be the threads of an axis.

    For example ``sch.bind(i, "threadIdx.x")``::

        for i in range(128): …       →       for i in T.thread_binding(128, thread="threadIdx.x"): …

    Every block inside is complete or a reduction; a loop of a reduction can be an axis ``threadIdx`` only. Axes are
    ``blockIdx.x``, ``threadIdx.x``, ``vthread.x``, … Raises ScheduleError if the iterations depend on each other as far
    as the blocks' signatures tell, and ArgumentError if threads have no such axis.
    """
    check_thread_axis("bind", thread_axis)
    _carry_out(state, loop, ForKind.THREAD_BINDING, thread_axis)


@primitive("Unroll", loop=LOOP)
def unroll(state: ScheduleState, loop: StmtSRef) -> None:
    """Write the iterations of a loop out, one after the other.

    For example ``sch.unroll(j)``::

        for j in range(4): …       →       for j in T.unroll(4): …
    """
    state.replace(loop, rewritten(loop.loop, kind=ForKind.UNROLLED, thread_binding=None))


def _carry_out(state: ScheduleState, loop: StmtSRef, kind: ForKind, thread_axis: str = "") -> None:
    if state.enable_check:
        check_subtree_compact_dataflow(state, loop)
    for block in state.subtree(loop):
        if block.is_block:
            check_affine_binding(state, block)
            check_independent(state, loop, kind, thread_axis, block)
    axis = IterVar(None, Var(thread_axis), IterVar.ThreadIndex, thread_axis) if thread_axis else None
    state.replace(loop, rewritten(loop.loop, kind=kind, thread_binding=axis))
