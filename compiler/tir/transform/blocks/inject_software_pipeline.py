"""Software pipelining: overlaps the stages of consecutive iterations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import is_const_int
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, SeqStmt, Stmt
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.blocks.regions_of_block import block_of
from compiler.tir.transform.blocks.software_pipeline import Pipeline, pipelined
from compiler.tir.transform.pass_base import PrimFuncPass

STAGE = "software_pipeline_stage"
ORDER = "software_pipeline_order"
ASYNC_STAGES = "software_pipeline_async_stages"


class InjectSoftwarePipeline(PrimFuncPass):
    """Let the blocks of an iteration run at the same time as blocks of others, where a loop is annotated so.

    The annotation ``software_pipeline_stage`` says how many iterations later each block of the body runs, and
    ``software_pipeline_order`` its position among the blocks.  For the stages ``[0, 1]`` and the order ``[0, 1]``::

        for i in range(16):              B = T.alloc_buffer((2, 1))
            B = T.alloc_buffer((1,))     B[0, 0] = A[0] * 2.0
            B[0] = A[i] * 2.0         →  for i in range(15):
            C[i] = B[0] + 1.0                B[(i + 1) % 2, 0] = A[i + 1] * 2.0
                                             C[i] = B[i % 2, 0] + 1.0
                                         C[15] = B[1, 0] + 1.0

    A buffer has as many versions as iterations need it at a time.  Whether iterations may overlap otherwise, e.g. where
    one reads what the one before stores into a parameter, is for who annotates the loop to know.

    The blocks of the stages in ``software_pipeline_async_stages`` run within ``async_scope``.  They are committed to
    the queue of their stage, and who reads what they store waits until at most so many commits of it are under way::

        with T.attr(0, "async_commit_queue_scope", 0):      with T.attr(0, "async_wait_queue_scope", 0):
            with T.attr(0, "async_scope", 1):                   with T.attr(0, "async_wait_inflight_count", 1):
                B[(i + 1) % 2, 0] = A[i + 1] * 2.0                  C[i] = B[i % 2, 0] + 1.0

    Raises ArgumentError if there are not as many stages or positions as blocks, or a block would run before one that it
    depends on.

    Parameters
    ----------
    separate_commits : bool
        Whether the iterations that fill the pipeline commit as often as those of its loop.  Without it they commit
        together what the loop commits before and after a block that waits for both; TVM does so, whose first waits are
        then too short.
    """

    separate_commits: bool = False

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        return func.with_body(_Inject(self.separate_commits).visit(func.body))


class _Inject(StmtMutator):
    def __init__(self, separate_commits: bool) -> None:
        self._separate_commits = separate_commits

    def visit_For(self, n: For) -> Stmt:
        new: For = self.visit_Node(n)
        if STAGE not in n.annotations and ORDER not in n.annotations:
            return new
        pipeline = replace(_pipeline(new), separate_commits=self._separate_commits)
        _check(pipeline)
        return pipelined(pipeline)


def _pipeline(loop: For) -> Pipeline:
    """Return what the annotations of a loop ask for."""
    allocations, statements = _body(loop.body)
    stages, order = _numbers(loop, STAGE), _numbers(loop, ORDER)
    for key, numbers in ((STAGE, stages), (ORDER, order)):
        if len(numbers) != len(statements):
            raise ArgumentError(
                f"InjectSoftwarePipeline: loop {loop.loop_var.name!r} has {len(statements)} blocks, "
                f"got {len(numbers)} numbers in {key}"
            )
    others = {key: value for key, value in loop.annotations.items() if key not in (STAGE, ORDER, ASYNC_STAGES)}
    asynchronous = frozenset(int(stage) for stage in loop.annotations.get(ASYNC_STAGES, ()))
    return Pipeline(loop, allocations, tuple(map(_as_block, statements)), stages, order, others, asynchronous)


def _numbers(loop: For, key: str) -> tuple[int, ...]:
    given: Any = loop.annotations.get(key)
    if given is None:
        raise ArgumentError(f"InjectSoftwarePipeline: loop {loop.loop_var.name!r} has no annotation {key}")
    return tuple(int(number) for number in given)


def _body(stmt: Stmt) -> tuple[tuple[Buffer, ...], tuple[Stmt, ...]]:
    """Return the buffers that exist during an iteration, and what it does."""
    allocations: tuple[Buffer, ...] = ()
    if isinstance(stmt, BlockRealize) and is_const_int(stmt.predicate, 1) and not stmt.block.match_buffers:
        allocations, stmt = stmt.block.alloc_buffers, stmt.block.body
    return allocations, stmt.seq if isinstance(stmt, SeqStmt) else (stmt,)


def _as_block(stmt: Stmt) -> Block:
    """Return a statement as a block that states what it reads and writes."""
    if isinstance(stmt, BlockRealize) and is_const_int(stmt.predicate, 1):
        return stmt.block
    return block_of(stmt).block


def _check(pipeline: Pipeline) -> None:
    """Reject positions that are none, and blocks that would run before what they depend on."""
    name = pipeline.loop.loop_var.name
    if len(set(pipeline.order)) != len(pipeline.order):
        raise ArgumentError(
            f"InjectSoftwarePipeline: loop {name!r}: two blocks have the same position: {pipeline.order}"
        )
    if min(pipeline.stages) < 0:
        raise ArgumentError(f"InjectSoftwarePipeline: loop {name!r}: stages must begin at 0, got {pipeline.stages}")
    for later in range(len(pipeline.blocks)):
        for first in range(later):
            if pipeline.depends(first, later) and not pipeline.keeps(first, later):
                raise ArgumentError(
                    f"InjectSoftwarePipeline: loop {name!r}: block {later} depends on block {first}, and must have a "
                    "later stage, or a later position in the same stage"
                )
