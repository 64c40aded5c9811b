"""``compute_inline`` and ``reverse_compute_inline``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.arith import Analyzer, IterMapLevel, eval_set
from compiler.arith.iterators.detect_iter_map import detect_iter_map
from compiler.arith.iterators.inverse_affine_iter_map import inverse_affine_iter_map
from compiler.ir.expr.primexpr import And, IntImm, PrimExpr, Range, Var, is_const_int
from compiler.ir.expr.substitute import free_vars, substitute, values_of
from compiler.ir.functor import nodes_of
from compiler.ir.node import Node, rebuild
from compiler.ir.structural import structural_equal
from compiler.tir.analysis.block_access import get_block_read_write_region
from compiler.tir.schedule.buffers import BlockMutator
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.bindings import conjunction
from compiler.tir.schedule.facts.conditions import (
    check_complete_block,
    check_not_output_block,
    check_runs_everywhere,
    scope_root,
)
from compiler.tir.schedule.facts.regions import facts_at, pointers_at
from compiler.tir.schedule.facts.roles import BLOCK
from compiler.tir.schedule.facts.stated_accesses import check_closed
from compiler.tir.schedule.primitives.cache import only_writer
from compiler.tir.schedule.primitives.navigation import consumers_of, producers_of
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import changed
from compiler.tir.statements.block import Block, BlockRealize, MatchBufferRegion
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion
from compiler.tir.statements.stmt import BufferStore, IfThenElse, SeqStmt, Stmt


@primitive("ComputeInline", block=BLOCK)
def compute_inline(state: ScheduleState, block: StmtSRef) -> None:
    """Compute each element of a block where it is read, instead of storing it.

    For example ``sch.compute_inline("B")``::

        B[vi] = A[vi] * 2.0       →
        C[vi] = B[vi] + 1.0                C[vi] = A[vi] * 2.0 + 1.0

    The block is complete, stores one element for each iteration, and is not an output. Raises ScheduleError if it is
    not one, or its buffer is used otherwise than by loads.
    """
    scope = scope_root(state, block)
    buffer = _only_buffer(block, {region.buffer for region in block.block.writes}, "write")
    check_not_output_block(block, scope)
    check_complete_block(state, block, scope)
    check_closed(block)
    store = _only_store(block)
    variables = _distinct_variables(block, store)
    inline = _InlineLoads(state, scope, buffer, store.value, variables, leaf_of(state, block, scope))
    _replace_scope(state, scope, inline, buffer)


@primitive("ReverseComputeInline", block=BLOCK)
def reverse_compute_inline(state: ScheduleState, block: StmtSRef) -> None:
    """Compute a block where its input is stored, instead of storing that.

    For example ``sch.reverse_compute_inline("C")``::

        B[vi] = A[vi] * 2.0       →        C[vi] = A[vi] * 2.0 + 1.0
        C[vi] = B[vi] + 1.0

    The block is complete, stores one element for each iteration, and is the only consumer of its single producer.
    Raises ScheduleError if it is not one, or which element it needs of its producer is not one to one.
    """
    scope = scope_root(state, block)
    written = {region.buffer for other in state.child_blocks(scope) for region in other.block.writes}
    buffer = _only_buffer(block, {r.buffer for r in block.block.reads if r.buffer in written}, "read")
    check_complete_block(state, block, scope)
    producer = _only_producer(state, block, scope, buffer)
    check_complete_block(state, producer, scope)
    check_not_output_block(producer, scope)
    check_runs_everywhere(state, block)
    check_closed(block)
    store = _only_store(block)
    indices = _only_indices(block, store, buffer)
    _check_inside(block, buffer, indices)
    consumer = _Consumer(state, block, store, buffer, indices)
    inline = _InlineStores(state, scope, buffer, consumer, producer, leaf_of(state, block, scope))
    _replace_scope(state, scope, inline, buffer)


# conditions


def _only_buffer(block: StmtSRef, buffers: set[Buffer], kind: str) -> Buffer:
    if len(buffers) != 1:
        refuse(
            f"The block {{0}} is required to {kind} exactly one buffer that is made within its scope, "
            f"but got {len(buffers)}",
            block,
        )
    return next(iter(buffers))


def _refuse_body(block: StmtSRef) -> None:
    refuse(
        "The body of the block {0} is required to be one store `A[i, j, k, ...] = f(i, j, k, ...)`, where the indices "
        "that tell which element it is are distinct, and tell the values of all axes of the block",
        block,
    )


def _only_store(block: StmtSRef) -> BufferStore:
    body = block.block.body
    if not isinstance(body, BufferStore) or block.block.init is not None:
        _refuse_body(block)
    assert isinstance(body, BufferStore)
    return body


def _distinct_variables(block: StmtSRef, store: BufferStore) -> list[Var | None]:
    """Return the variable of each index of a store; None for a constant."""
    axes = {axis.var for axis in block.block.iter_vars}
    variables = [index if isinstance(index, Var) else None for index in store.indices]
    named = [var for var in variables if var is not None]
    fine = all(var is not None or isinstance(i, IntImm) for var, i in zip(variables, store.indices, strict=True))
    if not fine or len(set(named)) < len(named) or not set(named) <= axes:
        _refuse_body(block)
    if axes & set(free_vars(store.value)) - set(named):
        _refuse_body(block)
    return variables


def _only_indices(block: StmtSRef, store: BufferStore, buffer: Buffer) -> tuple[PrimExpr, ...]:
    loads = [n for n in nodes_of(store, BufferLoad) if n.buffer is buffer]
    if not loads or any(not structural_equal(load.indices, loads[0].indices) for load in loads):
        _refuse_body(block)
    return loads[0].indices


def _check_inside(block: StmtSRef, buffer: Buffer, indices: Sequence[PrimExpr]) -> None:
    """Reject a consumer with iterations that may need no element, as those that pad do."""
    domains = {axis.var: axis.dom for axis in block.block.iter_vars if axis.dom is not None}
    analyzer = facts_at(block)
    for index, dim in zip(indices, buffer.shape, strict=True):
        values = eval_set(index, domains, analyzer)
        inside = values.is_bounded() and analyzer.can_prove(values.min_value >= 0)
        if not inside or not analyzer.can_prove(values.max_value < dim):
            refuse(
                f"Some iterations of block {{0}} may need no element of {buffer.name}: they would be left out", block
            )


def _only_producer(state: ScheduleState, block: StmtSRef, scope: StmtSRef, buffer: Buffer) -> StmtSRef:
    producers = producers_of(state, block)
    writer = only_writer(state, scope, buffer)
    if writer is None or producers != [writer] or consumers_of(state, writer) != [block]:
        refuse(
            "The consumer block {0} to be inlined is required to have only a single producer block, and the producer "
            "block should be a complete block who has only a single consumer",
            block,
        )
    return writer


def leaf_of(state: ScheduleState, block: StmtSRef, scope: StmtSRef) -> Stmt:
    """Return the statement that is in a sequence for the sake of a block only.

    Raises IllegalStepError if there is nothing else in the scope.
    """
    stmt: Stmt = state.realize_of(block)
    above = block.parent
    while above is not None and above is not scope and above.loop.body is stmt:
        stmt, above = above.loop, above.parent
    around = None if above is None or above.stmt is None else above.stmt.body
    if not isinstance(around, SeqStmt) or not any(item is stmt for item in around.seq):
        refuse(
            "The block {0} is the only leaf in the scope {1}, which cannot be removed; otherwise the scope will be "
            "empty.",
            block,
            scope,
        )
    return stmt


# rewriting


def _replace_scope(state: ScheduleState, scope: StmtSRef, inline: _Inline, buffer: Buffer) -> None:
    body = inline.visit(scope.block.body)
    left = tuple([other for other in scope.block.alloc_buffers if other is not buffer])
    new = changed(scope.block, body=body, alloc_buffers=left)
    assert isinstance(new, Block)
    state.replace(scope, new, {**inline.reuse, scope.block: new})


class _Inline(BlockMutator):
    """Removes a statement, and rewrites how others access a buffer; the regions of rewritten blocks follow."""

    def __init__(self, state: ScheduleState, scope: StmtSRef, buffer: Buffer, removed: Stmt) -> None:
        BlockMutator.__init__(self)
        self.scope = scope
        self.buffer = buffer
        self._removed = removed
        self._pointers = pointers_at(state, scope)

    def visit_PrimExpr(self, n: PrimExpr) -> PrimExpr:
        """Rebuild an expression with its operands."""
        return self.visit_Node(n)

    def visit_SeqStmt(self, n: SeqStmt) -> Stmt:
        """Leave out the statement that is removed."""
        left = tuple([self.visit(item) for item in n.seq if item is not self._removed])
        return left[0] if len(left) == 1 else rebuild(n, seq=left)

    def visit_Var(self, n: Var) -> PrimExpr:
        """Reject uses of the buffer's pointer."""
        if n is self.buffer.data:
            self._refuse_opaque()
        return n

    def visit_MatchBufferRegion(self, n: MatchBufferRegion) -> Node:
        """Reject other names for the buffer."""
        if n.source.buffer is self.buffer:
            self._refuse_opaque()
        return n

    def visit_BufferRegion(self, n: BufferRegion) -> BufferRegion:
        """Leave regions to be found anew."""
        return n

    def _refuse_opaque(self) -> None:
        refuse(
            f"The buffer {self.buffer.name} to be inlined has opaque access (e.g. `B.data`), or its subregion is "
            "matched into other blocks in {0}",
            self.scope,
        )

    def rewrite_block(self, n: Block) -> Block:
        """Rewrite what a block does; what it then reads and writes is found from that."""
        accesses = any(region.buffer is self.buffer for region in (*n.reads, *n.writes))
        pointers = dict(self._pointers)
        self._pointers.update({buffer.data: buffer for buffer in n.alloc_buffers})
        new: Block = self.visit_Node(n)
        if accesses:
            reads, writes = get_block_read_write_region(new, self._pointers)
            new = rebuild(new, reads=tuple(reads), writes=tuple(writes))
        self._pointers = pointers
        return new


class _InlineLoads(_Inline):
    """Puts the value of elements in place of loads."""

    def __init__(
        self,
        state: ScheduleState,
        scope: StmtSRef,
        buffer: Buffer,
        value: PrimExpr,
        variables: Sequence[Var | None],
        removed: Stmt,
    ) -> None:
        _Inline.__init__(self, state, scope, buffer, removed)
        self._value = value
        self._variables = variables

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        """Return the value of the element."""
        indices = self._visit_tuple(n.indices)
        if n.buffer is not self.buffer:
            if n.buffer.data is self.buffer.data:
                self._refuse_opaque()
            return rebuild(n, indices=indices)
        given = zip(self._variables, indices, strict=True)
        return substitute(self._value, values_of((var, index) for var, index in given if var is not None))

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        """Reject stores to the same memory by another name."""
        if n.buffer.data is self.buffer.data:
            self._refuse_opaque()
        return self.visit_Node(n)


@dataclass(frozen=True, slots=True, eq=False)
class _Consumer:
    """A block that is computed where its input is stored."""

    state: ScheduleState
    block: StmtSRef
    store: BufferStore
    buffer: Buffer
    indices: tuple[PrimExpr, ...]  # which element of its input it needs, in terms of its axes

    def axes_of(self, element: Sequence[PrimExpr]) -> dict[Var, PrimExpr]:
        """Return the values of its axes for which it needs an element."""
        axes = self.block.block.iter_vars
        domains = {axis.var: axis.dom for axis in axes if axis.dom is not None}
        fixed = {var: dom.min for var, dom in domains.items() if is_const_int(dom.extent, 1)}
        if all(isinstance(index, (Var, IntImm)) for index in self.indices):
            values = {i: e for i, e in zip(self.indices, element, strict=True) if isinstance(i, Var)}
        else:
            result = detect_iter_map(self.indices, domains, True, IterMapLevel.Bijective)
            values = inverse_affine_iter_map(result.indices, element) if result.indices else {}
        values = {**fixed, **values}
        if any(axis.var not in values for axis in axes):
            _refuse_body(self.block)
        return values

    def within(
        self, values: Mapping[Var, PrimExpr], element: Sequence[PrimExpr], analyzer: Analyzer
    ) -> PrimExpr | None:
        """Return the condition under which an iteration needs an element; None if one always does."""
        needed = substitute(self.indices, values)
        conditions = [a.equal(b) for a, b in zip(needed, element, strict=True) if not analyzer.can_prove_equal(a, b)]
        for axis in self.block.block.iter_vars:
            value, dom = values[axis.var], axis.dom
            assert isinstance(dom, Range)
            conditions += [c for c in (value >= dom.min, value < dom.min + dom.extent) if not analyzer.can_prove(c)]
        result: PrimExpr | None = None
        for condition in conditions:
            result = condition if result is None else And(result, condition)
        return None if result is None else analyzer.simplify(result)


class _InlineStores(_Inline):
    """Puts what a consumer does with an element in place of its store."""

    def __init__(
        self,
        state: ScheduleState,
        scope: StmtSRef,
        buffer: Buffer,
        consumer: _Consumer,
        producer: StmtSRef,
        removed: Stmt,
    ) -> None:
        _Inline.__init__(self, state, scope, buffer, removed)
        self._consumer = consumer
        self._producer = producer.block
        self._is_inside = False
        self._predicate: PrimExpr | None = None
        self._analyzer = facts_at(producer)

    def visit_BlockRealize(self, n: BlockRealize) -> Stmt:
        """Rewrite the producer, and the blocks in it, only."""
        outside = not self._is_inside
        if outside and n.block is not self._producer:
            return n
        self._is_inside = True
        for axis in n.block.iter_vars:
            if axis.dom is not None:
                self._analyzer.bind(axis.var, axis.dom, override=True)
        new: BlockRealize = self.visit_Node(n)
        self._is_inside = not outside
        if outside and self._predicate is not None:
            values = dict(zip((axis.var for axis in n.block.iter_vars), n.iter_values, strict=True))
            return rebuild(new, predicate=conjunction(n.predicate, substitute(self._predicate, values)))
        return new

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        """Reject that the producer reads what it writes."""
        if n.buffer.data is self.buffer.data:
            self._refuse_opaque()
        return self.visit_Node(n)

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        """Return what the consumer does with the element."""
        new: BufferStore = self.visit_Node(n)
        if new.buffer is not self.buffer:
            if new.buffer.data is self.buffer.data:
                self._refuse_opaque()
            return new
        values = self._consumer.axes_of(new.indices)
        store = _ReplaceLoads(self.buffer, new.value).visit(self._consumer.store)
        assert isinstance(store, BufferStore)
        store = substitute(store, values)
        condition = self._consumer.within(values, new.indices, self._analyzer)
        if condition is not None and n is self._producer.body:
            self._predicate = condition
            return store
        return store if condition is None else IfThenElse(condition, store)


class _ReplaceLoads(BlockMutator):
    """Puts a value in place of all loads of a buffer."""

    def __init__(self, buffer: Buffer, value: PrimExpr) -> None:
        BlockMutator.__init__(self)
        self._buffer = buffer
        self._value = value

    def visit_PrimExpr(self, n: PrimExpr) -> PrimExpr:
        return self.visit_Node(n)

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        return self._value if n.buffer is self._buffer else self.visit_Node(n)
