"""Builds software pipelines: which buffers need multiple versions, and the prologue, body and epilogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compiler.arith.analyzer import Analyzer
from compiler.ir.expr.primexpr import IntImm, Max, PrimExpr, Range, Var, const
from compiler.ir.expr.substitute import substitute
from compiler.ir.node import rebuild
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion, BufferStore
from compiler.tir.statements.renewal import RenewDefs
from compiler.tir.statements.statement import Annotations
from compiler.tir.statements.stmt import For, ForKind, Stmt, seq
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.blocks.regions_of_block import block_of
from compiler.tir.transform.threads.async_queues import AsyncQueues, Step


@dataclass(frozen=True)
class Pipeline:
    """A loop whose statements have stages."""

    loop: For
    allocations: tuple[Buffer, ...]  # the buffers that exist during an iteration
    blocks: tuple[Block, ...]  # what the loop does, in order
    # how many iterations later each block runs, and its position in the new loop
    stages: tuple[int, ...]
    order: tuple[int, ...]
    annotations: Annotations = field(default_factory=dict)  # what the loop says beside its stages
    async_stages: frozenset[int] = frozenset()  # the stages whose blocks are carried out asynchronously
    separate_commits: bool = False  # whether the iterations that fill the pipeline commit as often as those of its loop

    @property
    def depth(self) -> int:
        """The last stage: how many iterations begin before the first one ends."""
        return max(self.stages)

    def versions(self, buffer: Buffer) -> int:
        """Return how many iterations' contents of a buffer are needed at a time."""
        writers = [i for i, block in enumerate(self.blocks) if _region_of(block.writes, buffer)]
        readers = [i for i, block in enumerate(self.blocks) if _region_of(block.reads, buffer)]
        if not writers or not readers:
            return 1
        count = max(self.stages[i] for i in readers) - min(self.stages[i] for i in writers) + 1
        if count == 2 and not any(self._overtakes(w, r, buffer) for w in writers for r in readers):
            return 1
        return max(count, 1)

    def _overtakes(self, writer: int, reader: int, buffer: Buffer) -> bool:
        """Return whether a block stores for a later iteration before another one has read what it stored before."""
        if self.stages[writer] >= self.stages[reader] or self.order[writer] >= self.order[reader]:
            return False
        written, read = (_region_of(self.blocks[writer].writes, buffer), _region_of(self.blocks[reader].reads, buffer))
        return any(_may_meet(a, b) for a in written for b in read)

    def depends(self, first: int, later: int) -> bool:
        """Return whether a block reads or overwrites what an earlier one stores, or stores what it reads."""
        a, b = self.blocks[first], self.blocks[later]
        stored = {region.buffer for region in a.writes}
        return any(region.buffer in stored for region in (*b.reads, *b.writes))

    def keeps(self, first: int, later: int) -> bool:
        """Return whether a block of an iteration runs before another one of the same iteration."""
        return (self.stages[first], self.order[first]) < (self.stages[later], self.order[later])


def _region_of(regions: Sequence[BufferRegion], buffer: Buffer) -> list[BufferRegion]:
    return [region for region in regions if region.buffer is buffer]


def _may_meet(a: BufferRegion, b: BufferRegion) -> bool:
    prove = Analyzer().can_prove
    return not any(
        prove(x.min + x.extent <= y.min) or prove(y.min + y.extent <= x.min)
        for x, y in zip(a.region, b.region, strict=True)
    )


def pipelined(pipeline: Pipeline) -> Stmt:
    """Return the loops that carry out a pipeline: those that fill it, the loop itself, and those that empty it.

    They are in a block that has the buffers, with as many versions as iterations need them at a time.
    """
    return _Emission(pipeline).statement()


class _Emission:
    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._analyzer = Analyzer()
        self._loop = pipeline.loop
        versions = {buffer: pipeline.versions(buffer) for buffer in pipeline.allocations}
        self._buffers = {
            buffer: rebuild(buffer, shape=(const(count), *buffer.shape), strides=())
            for buffer, count in versions.items()
            if count > 1
        }
        rewrite = _Versions(self._buffers, self._loop.loop_var - self._loop.min, pipeline.depth == 1)
        self._blocks = [rewrite.visit(block) for block in pipeline.blocks]
        self._queues = AsyncQueues(
            self._blocks,
            pipeline.stages,
            pipeline.async_stages,
            pipeline.order,
            pipeline.separate_commits,
            self._loop.min,
            self._analyzer,
        )

    def statement(self) -> Stmt:
        """Return the block around all loops."""
        low, depth = self._loop.min, self._pipeline.depth
        high = low + self._loop.extent
        enough = self._analyzer.can_prove(high >= low + depth)
        filled = high if enough else Max(high, low + depth)
        parts = [
            self._part(low, low + depth, unrolled=True),
            self._part(low + depth, high, unrolled=False),
            self._part(filled, high + depth, unrolled=True),
        ]
        body = seq([part for part in parts if part is not None])
        allocations = tuple(self._buffers.get(buffer, buffer) for buffer in self._pipeline.allocations)
        return block_of(body, allocations)

    def _part(self, begin: PrimExpr, end: PrimExpr, unrolled: bool) -> Stmt | None:
        """Return the iterations from ``begin`` up to ``end``, each of which runs the blocks for earlier ones."""
        extent = self._analyzer.simplify(end - begin)
        if self._analyzer.can_prove(extent <= 0):
            return None
        once = self._analyzer.can_prove_equal(extent, 1)
        var = Var(self._loop.loop_var.name, self._loop.loop_var.dtype)
        at = begin if once else begin + var
        if not once:
            self._analyzer.bind(var, Range.from_min_extent(const(0, var.dtype), extent))
        steps = [step for index in self._in_order() for step in self._run(index, at)]
        body = seq(self._queues.synchronized(steps, self._loop.min + self._loop.extent))
        if not once:
            kind = ForKind.UNROLLED if unrolled else self._loop.kind
            body = For(var, const(0, var.dtype), extent, kind, body, None, self._pipeline.annotations)
        return block_of(body)

    def _in_order(self) -> list[int]:
        return sorted(range(len(self._blocks)), key=lambda index: self._pipeline.order[index])

    def _run(self, index: int, at: PrimExpr) -> list[Step]:
        """Return a block for the iteration that it is at; none where no iteration is."""
        prove, simplify = self._analyzer.can_prove, self._analyzer.simplify
        iteration = simplify(at - self._pipeline.stages[index])
        low = self._loop.min
        high = low + self._loop.extent
        if prove(iteration < low) or prove(iteration >= high):
            return []
        conditions = [c for c in (iteration >= low, iteration < high) if not prove(c)]
        block = RenewDefs().visit(substitute(self._blocks[index], {self._loop.loop_var: iteration}))
        predicate: PrimExpr = const(True)
        for condition in conditions:
            predicate = condition if isinstance(predicate, IntImm) else predicate & condition
        simplified = _SimplifyIndices(self._analyzer).visit(block)
        return [Step(index, iteration, BlockRealize((), simplify(predicate), simplified))]


class _Versions(StmtExprMutator):
    """Lets each iteration use its own version of a buffer.

    Blocks state that version where iterations overlap the next one only, all versions otherwise.
    """

    def __init__(self, buffers: Mapping[Buffer, Buffer], iteration: PrimExpr, states_version: bool) -> None:
        self._buffers = buffers
        self._iteration = iteration
        self._states_version = states_version

    def _version(self, new: Buffer) -> PrimExpr:
        return self._iteration % new.shape[0]

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        indices = self._visit_tuple(n.indices)
        new = self._buffers.get(n.buffer)
        predicate = self._visit_optional(n.predicate)
        if new is None:
            return rebuild(n, indices=indices, predicate=predicate)
        return rebuild(n, buffer=new, indices=(self._version(new), *indices), predicate=predicate)

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        indices, value = self._visit_tuple(n.indices), self.visit(n.value)
        new = self._buffers.get(n.buffer)
        predicate = self._visit_optional(n.predicate)
        if new is None:
            return rebuild(n, value=value, indices=indices, predicate=predicate)
        return rebuild(n, buffer=new, value=value, indices=(self._version(new), *indices), predicate=predicate)

    def visit_BufferRegion(self, n: BufferRegion) -> BufferRegion:
        new = self._buffers.get(n.buffer)
        if new is None:
            return n
        first, count = (self._version(new), const(1)) if self._states_version else (const(0), new.shape[0])
        return BufferRegion(new, (Range.from_min_extent(first, count), *n.region))


class _SimplifyIndices(StmtExprMutator):
    """Simplifies indices, values and conditions."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer

    def visit_PrimExpr(self, n: PrimExpr) -> PrimExpr:
        return self._analyzer.simplify(n)
