"""``read_at`` and ``write_at``: copy the accessed region once per iteration of a loop."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.arith import Analyzer
from compiler.arith.int_set import IntSet, union
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Range, Var, const
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.node import rebuild
from compiler.ir.origin import current_span, derived_from
from compiler.tir.schedule.buffers import ReplaceBuffers, inserted, renamed_buffer, statements_of
from compiler.tir.schedule.facts.bindings import conjuncts
from compiler.tir.schedule.facts.conditions import buffer_of, scope_root
from compiler.tir.schedule.facts.initial_values import scatters
from compiler.tir.schedule.facts.regions import accessed_box, covers, facts_at, merged, relaxed_loops
from compiler.tir.schedule.facts.roles import BLOCK, LOOP
from compiler.tir.schedule.facts.stated_accesses import check_users_stated
from compiler.tir.schedule.facts.stored_elements import stored_boxes
from compiler.tir.schedule.primitives.cache import BufferIndex, full_region
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import ancestors, blocks_in, changed, loop_range
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion
from compiler.tir.statements.stmt import BufferStore, For, ForKind, Stmt
from compiler.tir.statements.stmt_functor import StmtMutator


@primitive("ReadAt", loop=LOOP, block=BLOCK, read_buffer_index=BufferIndex("read"))
def read_at(
    state: ScheduleState, loop: StmtSRef, block: StmtSRef, read_buffer_index: int, storage_scope: str
) -> StmtSRef:
    """Let the blocks under a loop read a copy of a buffer, which each iteration of the loop makes as it begins.

    For example ``sch.read_at(k_0, "C", 1, "shared")``::

        for k_0 in range(16):                for k_0 in range(16):
            for k_1 in range(8):                 with T.block("B_shared"):
                … B[k_0 * 8 + k_1]     →             B_shared[k_0 * 8:k_0 * 8 + 8] = B[k_0 * 8:k_0 * 8 + 8]
                                                 for k_1 in range(8):
                                                     … B_shared[k_0 * 8 + k_1]

    Raises ScheduleError if the block reads no such buffer, and ArgumentError if the loop is not around the block, or a
    block under it writes the buffer.
    """
    buffer = buffer_of(block, read_buffer_index, "read")
    return _copied_at(state, loop, block, buffer, storage_scope, is_read=True)


@primitive("WriteAt", loop=LOOP, block=BLOCK, write_buffer_index=BufferIndex("write"))
def write_at(
    state: ScheduleState, loop: StmtSRef, block: StmtSRef, write_buffer_index: int, storage_scope: str
) -> StmtSRef:
    """Let the blocks under a loop write other memory, which each iteration of the loop copies out as it ends.

    For example ``sch.write_at(i_0, "C", 0, "local")``::

        for i_0 in range(16):                for i_0 in range(16):
            for i_1 in range(8):                 for i_1 in range(8):
                C[i_0 * 8 + i_1] = …   →             C_local[i_0 * 8 + i_1] = …
                                                 with T.block("C_local"):
                                                     C[i_0 * 8:i_0 * 8 + 8] = C_local[i_0 * 8:i_0 * 8 + 8]

    Raises ScheduleError if the block writes no such buffer, and ArgumentError if the loop is not around the block, or
    the copy would be made before a reduction is complete.
    """
    buffer = buffer_of(block, write_buffer_index, "write")
    _check_complete_below(state, loop, block)
    return _copied_at(state, loop, block, buffer, storage_scope, is_read=False)


def _copied_at(
    state: ScheduleState, loop: StmtSRef, block: StmtSRef, buffer: Buffer, storage_scope: str, is_read: bool
) -> StmtSRef:
    operation, name = "read_at" if is_read else "write_at", block.block.name_hint
    if loop not in list(ancestors(block)):
        raise ArgumentError(f"{operation}: loop {loop.loop.loop_var.name!r} is not around block {name!r}")
    scope = scope_root(state, loop)
    check_users_stated(state, loop, buffer)
    users = [other for other in state.child_blocks(loop) if _accesses(other.block, buffer)]
    if is_read and any(region.buffer is buffer for user in users for region in user.block.writes):
        raise ArgumentError(f"read_at: a block under loop {loop.loop.loop_var.name!r} writes {buffer.name}")
    if not is_read:
        _check_all_written(state, loop, users, buffer, storage_scope)
    copy = renamed_buffer(buffer, f"{buffer.name}_{storage_scope.replace('.', '_')}", storage_scope)
    source, target = (buffer, copy) if is_read else (copy, buffer)
    region = _accessed(state, loop, users, buffer, storage_scope)
    with derived_from(current_span() | loop.loop.span):
        stage = _copy(loop, source, target, region, f"{buffer.name}_{storage_scope}")
    replace = ReplaceBuffers({buffer: copy})
    rewritten = replace.visit(loop.loop.body)
    places = [at for at, stmt in enumerate(statements_of(loop.loop.body)) if _has_block(stmt, users)]
    position = places[0] if is_read else places[-1] + 1
    new_loop = rebuild(loop.loop, body=inserted(rewritten, position, stage))
    body = _Replace(loop.loop, new_loop).visit(scope.block.body)
    new = changed(scope.block, body=body, alloc_buffers=(*scope.block.alloc_buffers, copy))
    state.replace(scope, new, {**replace.reuse, scope.block: new})
    state.refresh(scope)
    return state.sref_of(stage.block)


def _check_all_written(
    state: ScheduleState, loop: StmtSRef, users: Sequence[StmtSRef], buffer: Buffer, storage_scope: str
) -> None:
    """Reject to copy out elements that the blocks under a loop read before they write them, or leave as they are."""
    analyzer = facts_at(users[0])
    writers = [user for user in users if any(region.buffer is buffer for region in user.block.writes)]
    always = all(
        runs_in_each_iteration(state, writer, loop, analyzer) and not scatters(writer.block, buffer)
        for writer in writers
    )
    boxes = [
        box
        for user in writers
        for box in stored_boxes(state.realize_of(user), buffer, together(user, loop, storage_scope), analyzer)
    ]
    region = tuple([IntSet.from_range(side) for side in _accessed(state, loop, users, buffer, storage_scope)])
    written = any(covers(box, region, analyzer) for box in merged(boxes, analyzer))
    if not written or not always or any(read.buffer is buffer for read in users[0].block.reads):
        raise ArgumentError(
            f"write_at: the blocks under loop {loop.loop.loop_var.name!r} read elements of {buffer.name} before they "
            "write them, or leave some as they are, which the copy would overwrite"
        )


def together(user: StmtSRef, loop: StmtSRef, storage_scope: str) -> dict[Var, Range]:
    """Return the loops of which a copy holds all elements: those inside, and threads that can wait for each other.

    A copy in global memory belongs to one iteration, as in classic TVM: what blocks of threads write is not complete
    before the kernel ends.
    """
    return relaxed_loops(user, loop, None if storage_scope.startswith("global") else storage_scope)


def runs_in_each_iteration(state: ScheduleState, block: StmtSRef, loop: StmtSRef, analyzer: Analyzer) -> bool:
    """Return whether a block runs in each iteration of a loop, for some iterations of the loops inside of it."""
    first: dict[Var, PrimExpr] = {var: domain.min for var, domain in relaxed_loops(block, loop).items()}
    return all(
        analyzer.can_prove(substitute(part, first))
        for part in conjuncts(state.realize_of(block).predicate)
        if not first.keys() >= set(free_vars(part))
    )


def _accesses(block: Block, buffer: Buffer) -> bool:
    return any(region.buffer is buffer for region in (*block.reads, *block.writes))


def _has_block(stmt: Stmt, users: Sequence[StmtSRef]) -> bool:
    blocks = {user.block for user in users}
    return any(realize.block in blocks for realize in blocks_in(stmt))


def _check_complete_below(state: ScheduleState, loop: StmtSRef, block: StmtSRef) -> None:
    """Reject a reduction of which some loop is around the one whose iterations copy the result."""
    realize = state.realize_of(block)
    pairs = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    reduced = {var for axis, value in pairs if axis.iter_type == IterVar.CommReduce for var in free_vars(value)}
    for around in (loop, *ancestors(loop)):
        if isinstance(around.stmt, For) and around.loop.loop_var in reduced:
            raise ArgumentError(
                f"write_at: block {block.block.name_hint!r} is a reduction over loop {around.loop.loop_var.name!r}, "
                "which must be inside of the loop that copies the result"
            )


def _accessed(
    state: ScheduleState, loop: StmtSRef, users: Sequence[StmtSRef], buffer: Buffer, storage_scope: str
) -> tuple[Range, ...]:
    """Return the box that blocks access in one iteration of a loop, in all threads that share the copy."""
    analyzer = facts_at(users[0])
    boxes = [
        accessed_box(state.realize_of(user), region, together(user, loop, storage_scope), analyzer)
        for user in users
        for region in (*user.block.reads, *user.block.writes)
        if region.buffer is buffer
    ]
    sides = [union(sets, analyzer) for sets in zip(*boxes, strict=True)]
    return tuple([side.cover_range(dim, analyzer) for side, dim in zip(sides, full_region(buffer), strict=True)])


def _copy(loop: StmtSRef, source: Buffer, target: Buffer, region: Sequence[Range], name: str) -> BlockRealize:
    """Return a block that copies a region, with an axis for each loop that the region depends on."""
    around = {sref.loop.loop_var: sref.loop for sref in (loop, *ancestors(loop)) if isinstance(sref.stmt, For)}
    used = [var for var in dict.fromkeys(free_vars(tuple(region))) if var in around]
    axes = [
        IterVar(loop_range(around[var]), Var(f"v{index}", var.dtype), IterVar.DataPar) for index, var in enumerate(used)
    ]
    own = substitute(tuple(region), {var: axis.var for var, axis in zip(used, axes, strict=True)})
    loops = [Var(f"ax{index}", side.extent.dtype) for index, side in enumerate(own)]
    simplify = Analyzer().simplify
    indices = tuple([simplify(side.min + var) for side, var in zip(own, loops, strict=True)])
    body: Stmt = BufferStore(target, BufferLoad(source, indices), indices)
    for var, side in reversed(list(zip(loops, own, strict=True))):
        body = For(var, const(0, var.dtype), side.extent, ForKind.SERIAL, body)
    block = Block(
        tuple(axes),
        (BufferRegion(source, own),),
        (BufferRegion(target, own),),
        name,
        body,
        annotations={"auto_copy": const(1)},
    )
    return BlockRealize(tuple(used), const(True, "bool"), block)


class _Replace(StmtMutator):
    """Puts one loop in place of another one."""

    def __init__(self, old: For, new: For) -> None:
        self._old = old
        self._new = new

    def visit_For(self, n: For) -> Stmt:
        return self._new if n is self._old else rebuild(n, body=self.visit(n.body))

    def visit_Block(self, n: Block) -> Stmt:
        return n
