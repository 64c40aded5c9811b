"""Commit and wait operations for the asynchronous stages of a software pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compiler.arith.analyzer import Analyzer
from compiler.ir.expr.primexpr import PrimExpr, const, is_const_int
from compiler.ir.node import rebuild
from compiler.tir.expressions.builtin import if_then_else
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferRegion
from compiler.tir.statements.stmt import AttrStmt, Stmt, seq
from compiler.tir.transform.blocks.regions_of_block import block_of

ASYNC_SCOPE = "async_scope"
"""The attribute around statements that may run asynchronously."""
COMMIT_QUEUE = "async_commit_queue_scope"
WAIT_QUEUE = "async_wait_queue_scope"
WAIT_COUNT = "async_wait_inflight_count"


@dataclass(frozen=True)
class Step:
    """A block of a pipeline at an iteration."""

    index: int  # which block it is, in the order of the program
    iteration: PrimExpr
    realize: BlockRealize  # the block for that iteration, and whether it runs


@dataclass(frozen=True)
class _Commit:
    """Adjacent steps of one asynchronous stage, which are committed together: positions ``begin`` up to ``end``."""

    stage: int
    begin: int
    end: int


@dataclass(frozen=True)
class _Wait:
    """Before the step at a position, at most ``count`` commits of a stage may be under way."""

    position: int
    stage: int
    count: PrimExpr


class AsyncQueues:
    """What the asynchronous stages of a pipeline store, and who has to wait for it."""

    def __init__(
        self,
        blocks: Sequence[Block],
        stages: Sequence[int],
        async_stages: frozenset[int],
        order: Sequence[int],
        separate: bool,
        low: PrimExpr,
        analyzer: Analyzer,
    ) -> None:
        self.stages = stages  # the stage of each
        self.async_stages = async_stages
        self.order = order  # the position of each block among those of an iteration of the loop
        # whether blocks are committed together only if no other block runs between them in the loop, even where that
        # one does not run yet
        self.separate = separate
        self.low = low
        self.analyzer = analyzer  # knows the ranges of the loops' variables
        self.reads = [_buffers(block.reads) for block in blocks]
        self.writes = [_buffers(block.writes) for block in blocks]

    def synchronized(self, steps: Sequence[Step], end: PrimExpr) -> list[Stmt]:
        """Return the steps of an iteration, in order, with their commits and waits."""
        if not self.async_stages:
            return [step.realize for step in steps]
        return _Part(self, steps, end).statements()

    def awaited(self, step: Step) -> list[int]:
        """Return the asynchronous stages whose results a step reads: those of its own stage and of earlier ones."""
        read, own = self.reads[step.index], self.stages[step.index]
        stored = {self.stages[i] for i, written in enumerate(self.writes) if written & read}
        return sorted(stage for stage in stored & self.async_stages if stage <= own)


def _buffers(regions: Sequence[BufferRegion]) -> set[Buffer]:
    return {region.buffer for region in regions}


class _Part:
    """The steps of one of the loops of a pipeline."""

    def __init__(self, queues: AsyncQueues, steps: Sequence[Step], end: PrimExpr) -> None:
        self._queues = queues
        self._steps = steps
        self._end = end
        self._prove = queues.analyzer.can_prove
        self._commits = self._runs()
        self._waits = self._merged_waits()

    def _runs(self) -> list[_Commit]:
        commits: list[_Commit] = []
        for position, step in enumerate(self._steps):
            stage = self._queues.stages[step.index]
            last = commits[-1] if commits else None
            if last is not None and (last.stage, last.end) == (stage, position) and self._is_together(position):
                commits[-1] = replace(last, end=position + 1)
            elif stage in self._queues.async_stages:
                commits.append(_Commit(stage, position, position + 1))
        return commits

    def _is_together(self, position: int) -> bool:
        """Return whether a step can be committed with the one before."""
        before, step = self._steps[position - 1 : position + 1]
        order = self._queues.order
        between = range(order[before.index] + 1, order[step.index])
        return not (self._queues.separate and any(place in between for place in order))

    def _merged_waits(self) -> list[_Wait]:
        """Return the waits of all steps, without those that an earlier one makes needless."""
        waits: dict[int, list[_Wait]] = {}
        for position, step in enumerate(self._steps):
            for stage in self._queues.awaited(step):
                wait = _Wait(position, stage, self._count(position, stage))
                earlier = waits.setdefault(stage, [])
                if not earlier or not self._merge(earlier, wait):
                    earlier.append(wait)
        return [self._predicated(wait) for each in waits.values() for wait in each]

    def _merge(self, earlier: list[_Wait], wait: _Wait) -> bool:
        """Let the last wait do for another one as well, and return whether it does."""
        last = earlier[-1]
        between = sum(c.stage == wait.stage and last.position <= c.begin < wait.position for c in self._commits)
        if self._prove(last.count + between <= wait.count):
            return True
        if between or not self._prove(wait.count < last.count):
            return False
        earlier[-1] = replace(last, count=wait.count)
        return True

    def _count(self, position: int, stage: int) -> PrimExpr:
        """Return how many commits may be under way when a step reads what a stage has stored.

        These are the commits after the one of the iteration that the step is at, as many as iterations have been begun
        since then for each of the commits of an iteration.
        """
        iteration = self._steps[position].iteration
        count: PrimExpr = const(0)
        for newest in self._newest(position, stage):
            if not self._prove(newest >= self._queues.low):
                return const(0)
            count = count + self._queues.analyzer.simplify(newest - iteration)
        return self._queues.analyzer.simplify(count)

    def _newest(self, position: int, stage: int) -> list[PrimExpr]:
        """Return the last iteration that each commit that a step waits for has been made for."""
        read = self._queues.reads[self._steps[position].index]
        own = [commit for commit in self._commits if commit.stage == stage]
        if not own:
            return [self._end - 1]
        newest = []
        for commit in own:
            writers = [p for p in range(commit.begin, commit.end) if self._queues.writes[self._steps[p].index] & read]
            if writers:
                iteration = self._steps[commit.begin].iteration
                newest.append(iteration if writers[0] < position else iteration - 1)
        return newest

    def _predicated(self, wait: _Wait) -> _Wait:
        """Return a wait for everything where the stage commits nothing any more."""
        commit = next((commit for commit in self._commits if commit.stage == wait.stage), None)
        if commit is None or is_const_int(wait.count, 0):
            return wait
        runs = self._steps[commit.begin].realize.predicate
        if is_const_int(runs, 1):
            return wait
        return replace(wait, count=if_then_else(runs, wait.count, const(0)))

    def statements(self) -> list[Stmt]:
        """Return the steps with their commits and waits."""
        commits = {commit.begin: commit for commit in self._commits}
        statements: list[Stmt] = []
        position = 0
        while position < len(self._steps):
            commit = commits.get(position)
            statements.append(self._committed(commit) if commit is not None else self._awaiting(position))
            position = position + 1 if commit is None else commit.end
        return statements

    def _awaiting(self, position: int) -> BlockRealize:
        realize = self._steps[position].realize
        body = self._after_waits(position, realize.block.body)
        return rebuild(realize, block=rebuild(realize.block, body=body))

    def _committed(self, commit: _Commit) -> BlockRealize:
        """Return one block that runs steps asynchronously and commits them."""
        steps = self._steps[commit.begin : commit.end]
        blocks = [step.realize.block for step in steps]
        # What has views of buffers stays a block of its own.
        does = [BlockRealize((), const(True), block) if block.match_buffers else block.body for block in blocks]
        bodies = [
            self._after_waits(commit.begin + i, AttrStmt(0, ASYNC_SCOPE, const(1), each)) for i, each in enumerate(does)
        ]
        allocations = tuple(buffer for block in blocks if not block.match_buffers for buffer in block.alloc_buffers)
        whole = block_of(AttrStmt(0, COMMIT_QUEUE, const(commit.stage), seq(bodies)), allocations)
        return rebuild(whole, predicate=steps[0].realize.predicate)

    def _after_waits(self, position: int, body: Stmt) -> Stmt:
        for wait in self._waits:
            if wait.position == position:
                counted = AttrStmt(0, WAIT_COUNT, wait.count, body)
                body = AttrStmt(0, WAIT_QUEUE, const(wait.stage), counted)
        return body
