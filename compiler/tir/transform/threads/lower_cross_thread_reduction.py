"""Lowers cross-thread reductions: each thread reduces its part, then the threads combine their results."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import And, Call, CommReducer, IterVar, PrimExpr, Range, Var, const, is_const_int
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.node import rebuild
from compiler.tir.expressions.builtin import THREAD_ALLREDUCE, reinterpret
from compiler.tir.schedule.facts.block_reductions import BlockReduction, reduction_of_block
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion, BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AttrStmt, Evaluate, For, ForKind, Stmt, seq
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import FunctionRewrite


class LowerCrossThreadReduction(FunctionRewrite):
    """Replace reductions over loops that are bound to threads by a part for each thread and one for all of them.

    For example::

        for ki in T.thread_binding(32, "threadIdx.x"):         for ki in T.thread_binding(32, "threadIdx.x"):
            for ko in range(4):                                    in_thread_B[0] = 0.0
                with T.block("B"):                                 for ko in range(4):
                    vk = T.axis.reduce(128, ko * 32 + ki)  →           in_thread_B[0] = in_thread_B[0] + A[…]
                    with T.init():                                 T.tvm_thread_allreduce(1, in_thread_B[0], True,
                        B[0] = 0.0                                                        cross_thread_B[0], ki)
                    B[0] = B[0] + A[vk]                            if ki == 0:
                                                                       B[0] = cross_thread_B[0]

    with a block for each of the four statements.  :class:`LowerThreadAllreduce` lowers the call. Raises LoweringError
    if such a reduction combines elements and values otherwise than by ``+``, ``*``, ``min``, ``max``, or as the place
    and value of the largest or smallest, or another loop is among those of the reduction.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return func if func.is_from_schedule else func.with_body(_Lower().visit(func.body))


class _Lower(StmtMutator):
    def __init__(self) -> None:
        self._allocated: list[Buffer] = []

    def visit_Block(self, n: Block) -> Stmt:
        outer, self._allocated = self._allocated, []
        new: Block = self.visit_Node(n)
        if self._allocated:
            new = rebuild(new, alloc_buffers=(*new.alloc_buffers, *self._allocated))
        self._allocated = outer
        return new

    def visit_For(self, n: For) -> Stmt:
        reduction = _reduction_below(n)
        if reduction is None:
            return self.visit_Node(n)
        lowered = _LoweredReduction(reduction)
        self._allocated += lowered.buffers
        return lowered.statement()


@dataclass(frozen=True)
class _ThreadReduction:
    """A reduction block, and the loops around it that it reduces over."""

    loops: tuple[For, ...]
    realize: BlockRealize
    combination: BlockReduction


def _reduction_below(outermost: For) -> _ThreadReduction | None:
    """Return the reduction over threads whose first loop this is."""
    loops, stmt = [outermost], outermost.body
    while isinstance(stmt, For):
        loops.append(stmt)
        stmt = stmt.body
    if not isinstance(stmt, BlockRealize) or stmt.block.init is None:
        return None
    axes = list(zip(stmt.block.iter_vars, stmt.iter_values, strict=True))
    reduced = set(free_vars(tuple([value for axis, value in axes if axis.iter_type == IterVar.CommReduce])))
    threads = [loop for loop in loops if loop.kind is ForKind.THREAD_BINDING and loop.loop_var in reduced]
    if outermost.loop_var not in reduced or not threads:
        return None
    name = stmt.block.name_hint
    others = [loop for loop in loops if loop.loop_var not in reduced]
    if others:
        raise LoweringError(
            f"LowerCrossThreadReduction: loop {others[0].loop_var.name!r} is among those that block {name!r} reduces "
            "over; reorder it to the outside"
        )
    placing = set(free_vars(tuple([value for axis, value in axes if axis.iter_type != IterVar.CommReduce])))
    shared = [loop for loop in loops if loop.loop_var in placing]
    if shared:
        raise LoweringError(
            f"LowerCrossThreadReduction: loop {shared[0].loop_var.name!r} is among those that block {name!r} reduces "
            "over, and tells which element it computes; bind a loop that only reduces"
        )
    combination = reduction_of_block(stmt.block)
    if combination is None:
        raise LoweringError(f"LowerCrossThreadReduction: block {name!r} must combine an element with a value")
    return _ThreadReduction(tuple(loops), stmt, combination)


class _LoweredReduction:
    """The blocks that a reduction over threads becomes."""

    def __init__(self, reduction: _ThreadReduction) -> None:
        self._loops = reduction.loops
        self._realize = reduction.realize
        self._block = reduction.realize.block
        self._threads = [loop for loop in reduction.loops if loop.kind is ForKind.THREAD_BINDING]
        self._serial = [loop for loop in reduction.loops if loop.kind is not ForKind.THREAD_BINDING]
        self._combination = reduction.combination
        self._targets = reduction.combination.buffers
        self._cross = self._temporaries("cross_thread")
        in_thread = bool(self._serial) or not is_const_int(reduction.realize.predicate, 1)
        self._own = self._temporaries("in_thread") if in_thread else ()
        self.buffers = [*self._cross, *self._own]

    def _temporaries(self, prefix: str) -> tuple[Buffer, ...]:
        """Return a buffer of one element for each of those that are reduced into."""
        return tuple(
            decl_buffer((1,), target.dtype, f"{prefix}_{target.name}", strides=(1,), scope="local")
            for target in self._targets
        )

    def statement(self) -> Stmt:
        """Return the loops over threads around the blocks."""
        body = seq([*self._in_thread(), self._cross_thread(), self._write_back()])
        for loop in reversed(self._threads):
            body = rebuild(loop, body=body)
        return body

    def _in_thread(self) -> list[Stmt]:
        """Return the blocks in which a thread reduces its part."""
        if not self._own:
            return []
        own = [_only(buffer) for buffer in self._own]
        update: Stmt = self._realize_of(
            "in_thread", self._realize.predicate, self._combination.update(own, self._combination.values),
            self._values_read(), _regions(self._own),
        )  # fmt: skip
        for loop in reversed(self._serial):
            update = rebuild(loop, body=update)
        name = f"{self._block.name_hint}_in_thread_init"
        begin = Block((), (), _regions(self._own), name, self._combination.initial(own))
        return [BlockRealize((), const(True), begin), update]

    def _cross_thread(self) -> Stmt:
        combination = self._combination
        values = tuple(_only(buffer) for buffer in self._own) or combination.values
        identities = tuple(store.value for store in combination.stores)
        reducer = CommReducer(combination.left, combination.right, combination.combination, identities)
        threads = [loop.loop_var for loop in self._threads]
        results = [_only(buffer) for buffer in self._cross]
        arguments = (const(len(values), "uint32"), *values, const(True), *results, *threads)
        together = Evaluate(Call("handle", THREAD_ALLREDUCE, arguments))
        body = AttrStmt(reducer, "reduce_scope", reinterpret("handle", const(0, "uint64")), together)
        writes = _regions(self._cross)
        if not self._own:
            return self._realize_of("cross_thread", const(True), body, self._values_read(), writes)
        block = Block((), _regions(self._own), writes, f"{self._block.name_hint}_cross_thread", body)
        return BlockRealize((), const(True), block)

    def _write_back(self) -> Stmt:
        """Return the block in which the first of the threads, or each that has an element of its own, stores."""
        axes = zip(self._block.iter_vars, self._realize.iter_values, strict=True)
        spatial = [(axis, value) for axis, value in axes if axis.iter_type != IterVar.CommReduce]
        fresh = {axis.var: Var(axis.var.name, axis.var.dtype) for axis, _ in spatial}
        iter_vars = tuple(rebuild(axis, var=fresh[axis.var]) for axis, _ in spatial)
        indices = substitute(self._combination.stores[0].indices, fresh)
        element = tuple(Range.from_min_extent(i, 1) for i in indices)
        pairs = list(zip(self._targets, self._cross, strict=True))
        store = seq([BufferStore(target, _only(result), indices) for target, result in pairs])
        writes = tuple(BufferRegion(target, element) for target in self._targets)
        name = f"{self._block.name_hint}_write_back"
        block = Block(iter_vars, _regions(self._cross), writes, name, store)
        return BlockRealize(tuple(value for _, value in spatial), self._stores(), block)

    def _stores(self) -> PrimExpr:
        """Return the condition under which a thread stores the result."""
        reduced = {loop.loop_var for loop in self._loops}
        conditions = [c for c in _conjuncts(self._realize.predicate) if reduced.isdisjoint(free_vars(c))]
        if any(target.storage_scope != "local" for target in self._targets):
            conditions += [loop.loop_var.equal(loop.min) for loop in self._threads]
        result: PrimExpr = const(True)
        for condition in conditions:
            result = condition if is_const_int(result, 1) else And(result, condition)
        return result

    def _realize_of(
        self,
        suffix: str,
        predicate: PrimExpr,
        body: Stmt,
        reads: tuple[BufferRegion, ...],
        writes: tuple[BufferRegion, ...],
    ) -> BlockRealize:
        """Return the reduction's block with another body."""
        name = f"{self._block.name_hint}_{suffix}"
        block = rebuild(self._block, name_hint=name, body=body, init=None, reads=reads, writes=writes)
        return rebuild(self._realize, predicate=predicate, block=block)

    def _values_read(self) -> tuple[BufferRegion, ...]:
        return tuple(region for region in self._block.reads if region.buffer not in self._targets)


def _conjuncts(condition: PrimExpr) -> list[PrimExpr]:
    if isinstance(condition, And):
        return [*_conjuncts(condition.a), *_conjuncts(condition.b)]
    return [] if is_const_int(condition, 1) else [condition]


def _only(buffer: Buffer) -> BufferLoad:
    return BufferLoad(buffer, (const(0),))


def _regions(buffers: tuple[Buffer, ...]) -> tuple[BufferRegion, ...]:
    return tuple(BufferRegion(buffer, (Range(0, 1),)) for buffer in buffers)
