"""Rejects barriers that not all threads of a block reach."""

from __future__ import annotations

from compiler.ir.error import LoweringError, show
from compiler.ir.origin import user_place
from compiler.tir.analysis.divergent_threads import disagreeing_threads
from compiler.tir.analysis.features import features
from compiler.tir.analysis.thread_axes import launch_of, thread_axes
from compiler.tir.analysis.uniformity import DivergentBarrier, divergent_barrier
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, IfThenElse, Stmt
from compiler.tir.statements.stmt_functor import StmtVisitor
from compiler.tir.transform.pass_base import FunctionRewrite


class VerifyBarriers(FunctionRewrite):
    """Check that all threads of a block come to the same barriers; nothing changes.

    For example::

        tx = T.launch_thread("threadIdx.x", 64)
        if tx < 5:                                 # refused: threads 5 to 63 never come
            T.tvm_storage_sync("shared")

    Conditions may read what all threads agree about: sizes, the block's position, memory of the block, and memory of a
    thread in which all threads store the same. Raises LoweringError if a barrier is in a branch or loop that not all
    threads take, or take as often: the message names the lines, the condition, two threads that differ, and what would
    make it legal.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if "thread_extent" in features(func).attrs:
            _check(func)
        return func


def _check(func: PrimFunc) -> None:
    divergent = divergent_barrier(func.body)
    if divergent is not None:
        raise LoweringError(_message(divergent, func))


def _message(divergent: DivergentBarrier, func: PrimFunc) -> str:
    barrier, around, decides = divergent
    kind = "branch" if isinstance(around, IfThenElse) else "loop"
    which = f"{kind} over {around.loop_var.name}" if isinstance(around, For) else kind
    return (
        f"VerifyBarriers: a barrier{user_place(barrier.span)} is under a condition that differs between threads: the "
        f"{which}{user_place(around.span)} depends on {show(decides)}, so that not all threads of a block come to it"
        f"{_example(divergent, func)}; move the barrier out, or let the condition depend on the block alone"
    )


def _example(divergent: DivergentBarrier, func: PrimFunc) -> str:
    """Return two threads that go different ways, as the message says it; nothing where only a run knows some."""
    kernels = _Kernels(divergent.barrier)
    kernels.visit(func.body)
    axes = {} if kernels.around is None else thread_axes(kernels.around)
    threads = disagreeing_threads(divergent.decides, axes)
    if threads is None:
        return ""
    one, other = (", ".join(f"{tag} = {at}" for tag, at in position.items()) for position in threads)
    return f": the thread {one} goes another way than {other}"


class _Kernels(StmtVisitor):
    """Finds the kernel that a barrier is in."""

    def __init__(self, barrier: Stmt) -> None:
        self.around: Stmt | None = None
        self._barrier = barrier
        self._kernel: Stmt | None = None

    def visit_Stmt(self, n: Stmt) -> None:
        outer = self._kernel
        if outer is None and launch_of(n) is not None:
            self._kernel = n
        if n is self._barrier:
            self.around = self._kernel
        self.visit_Node(n)
        self._kernel = outer
