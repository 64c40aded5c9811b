"""Software pipelining: overlaps the stages of consecutive iterations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from compiler.arith.analyzer import Analyzer
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import Call, IntImm, Max, PrimExpr, Range, Var, const, is_const_int
from compiler.ir.expr.substitute import substitute
from compiler.ir.node import rebuild
from compiler.ir.op import Op
from compiler.ir.origin import user_place
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.renewal import RenewDefs
from compiler.tir.statements.statement import Annotations
from compiler.tir.statements.stmt import For, ForKind, SeqStmt, Stmt, seq
from compiler.tir.statements.stmt_functor import StmtExprMutator, StmtMutator
from compiler.tir.transform.blocks.regions_of_block import block_of
from compiler.tir.transform.pass_base import FunctionRewrite
from compiler.tir.transform.threads.async_queues import AsyncQueues, Step
from compiler.tir.transform.threads.infer_fragment import FRAGMENT_OPS, Fragments


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
            buffer: rebuild(buffer, shape=(const(count), *buffer.shape), strides=_strides(buffer))
            for buffer, count in versions.items()
            if count > 1
        }
        fragments = Fragments()
        fragments.visit(self._loop.body)
        rewrite = _Versions(self._buffers, self._loop.loop_var - self._loop.min, pipeline.depth == 1, fragments.shapes)
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


_WITH_OFFSETS = "tir.tvm_access_ptr", "tir.tvm_mma_", "tir.tvm_bmma_", "tir.mma_", "tir.ptx_"
"""How the names of operators begin that take where to begin after a pointer."""


def _strides(buffer: Buffer) -> tuple[PrimExpr, ...]:
    return (buffer.strides[0] * buffer.shape[0], *buffer.strides) if buffer.strides else ()


class _Versions(StmtExprMutator):
    """Lets each iteration use its own version of a buffer, also by pointers: those are followed by where they begin.

    Blocks state that version where iterations overlap the next one only, all versions otherwise.
    """

    def __init__(
        self,
        buffers: Mapping[Buffer, Buffer],
        iteration: PrimExpr,
        states_version: bool,
        fragments: Mapping[Var, tuple[int, int, int]],
    ) -> None:
        self._buffers = buffers
        self._iteration = iteration
        self._states_version = states_version
        self._fragments = fragments
        self._by_pointer = {buffer.data: buffer for buffer in buffers}

    def visit_Call(self, n: Call) -> PrimExpr:
        call: Call = self.visit_Node(n)
        args = list(call.args)
        for at, pointer in enumerate(n.args):
            buffer = self._by_pointer.get(pointer) if isinstance(pointer, Var) else None
            if buffer is not None:
                name = n.op.name if isinstance(n.op, Op) else ""
                place = at + (4 if name in FRAGMENT_OPS else 1)
                if not name.startswith(_WITH_OFFSETS) and name not in FRAGMENT_OPS:
                    raise ArgumentError(
                        f"InjectSoftwarePipeline: {buffer.name} has a version for each iteration, and {n}"
                        f"{user_place(n.span)} takes its pointer without saying where to begin; give it access_ptr"
                    )
                args[place] = args[place] + self._version(self._buffers[buffer]) * self._size(buffer)
        return rebuild(call, args=tuple(args))

    def _size(self, buffer: Buffer) -> PrimExpr:
        """Return how far a version is from the next one: in elements, or in fragments."""
        size = buffer.strides[0] * buffer.shape[0] if buffer.strides else math.prod(buffer.shape, start=const(1))
        if buffer.data not in self._fragments:
            return size
        m, n, k = self._fragments[buffer.data]
        return size // {"wmma.matrix_a": m * k, "wmma.matrix_b": n * k}.get(buffer.scope(), m * n)

    def _version(self, new: Buffer) -> PrimExpr:
        return self._iteration % new.shape[0]

    def _moved(self, n: BufferLoad | BufferStore) -> BufferLoad | BufferStore:
        access: BufferLoad | BufferStore = self.visit_Node(n)
        new = self._buffers.get(n.buffer)
        return access if new is None else rebuild(access, buffer=new, indices=(self._version(new), *access.indices))

    visit_BufferLoad = visit_BufferStore = _moved

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


STAGE = "software_pipeline_stage"
ORDER = "software_pipeline_order"
ASYNC_STAGES = "software_pipeline_async_stages"


class InjectSoftwarePipeline(FunctionRewrite):
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

    def rewrite(self, func: PrimFunc) -> PrimFunc:
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
