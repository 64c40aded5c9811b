"""Double buffering: fills the next buffer while the current one is in use."""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.ir.expr.primexpr import LT, Call, FloorDiv, IntImm, Max, PrimExpr, Var, binary, const
from compiler.ir.expr.substitute import substitute, uses_var
from compiler.ir.functor import Visitor
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.op import CallEffect, Op
from compiler.ir.transform import PassContext
from compiler.tir.analysis.features import features
from compiler.tir.statements.allocations import element_count
from compiler.tir.statements.buffer import Buffer, BufferLoad, moved_index
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.renewal import RenewDefs
from compiler.tir.statements.stmt import (
    THREAD_KEYS,
    Allocate,
    AttrStmt,
    BufferStore,
    DeclBuffer,
    For,
    ForKind,
    IfThenElse,
    SeqStmt,
    Stmt,
    seq,
)
from compiler.tir.statements.stmt_functor import StmtExprMutator, StmtMutator
from compiler.tir.transform.pass_base import PrimFuncPass

MARKER = "double_buffer_scope"


@dataclass(eq=False)
class BufferFill:
    """A statement that fills one or several marked buffers."""

    marker: AttrStmt
    body: Stmt
    allocations: dict[Var, Allocate]  # where the memory of the marked buffers is allocated, outermost marker first
    _views: dict[Buffer, Buffer] = field(default_factory=dict)

    def both_halves(self, buffer: Buffer) -> Buffer:
        """Return the view of doubled memory that stands for one of the single memory."""
        view = self._views.get(buffer)
        if view is None:
            size = element_count(self.allocations[buffer.data].extents)
            view = self._views[buffer] = rebuild(buffer, shape=(size * 2,))
        return view


def fillings_ahead(loop: For) -> list[BufferFill]:
    """Return what the body of a loop fills in each iteration and can fill for the next one instead.

    None is within another one, within an inner loop, or under a condition.
    """
    search = _Search()
    search.collect(loop.body)
    if not search.markers:
        return []
    everything = _Accesses.of(loop.body)
    fillings = []
    for marker in search.markers:
        data, body = _marked(marker)
        allocations = {d: search.allocations[d] for d in data if d in search.allocations}
        if len(allocations) == len(data):
            fillings.append(BufferFill(marker, body, allocations))
    moved = [f for f in fillings if _can_be_moved(f, loop) and _has_flat_memory_of_its_own(f, everything)]
    return [f for f in moved if _is_all_of(f, loop) or _is_independent(f, everything)]


def _marked(marker: AttrStmt) -> tuple[list[Var], Stmt]:
    """Return the memory that markers, one directly in the other, stand for, and the statement in the innermost one."""
    data = []
    body: Stmt = marker
    while isinstance(body, AttrStmt) and body.attr_key == MARKER:
        data.append(body.node)
        body = body.body
    return data, body


def _can_be_moved(filling: BufferFill, loop: For) -> bool:
    """Return whether the memory can be allocated outside of the loop."""
    extents = [extent for alloc in filling.allocations.values() for extent in alloc.extents]
    return not any(uses_var(extent, loop.loop_var) for extent in extents)


def _has_flat_memory_of_its_own(filling: BufferFill, everything: _Accesses) -> bool:
    """Return whether all accesses of the marked memory are known, and have one index."""
    if any(data in everything.escaping for data in filling.allocations):
        return False
    return all(_is_flat(b, filling.allocations[b.data]) for b in everything.buffers if b.data in filling.allocations)


def _is_all_of(filling: BufferFill, loop: For) -> bool:
    """Return whether an iteration does nothing else: whatever it does, it does in the same order then."""
    body = loop.body
    while isinstance(body, (Allocate, DeclBuffer)):
        body = body.body
    return body is filling.marker


def _is_independent(filling: BufferFill, everything: _Accesses) -> bool:
    """Return whether the filling only writes its own memory, reads nothing that the rest writes, and has no effects."""
    inside = _Accesses.of(filling.body)
    own = filling.allocations.keys() | inside.allocated
    if inside.has_effects or any(store.buffer.data not in own for store in inside.stores):
        return False
    own_stores = set(inside.stores)
    return all(store in own_stores or store.buffer.data not in inside.loads for store in everything.stores)


def _is_flat(buffer: Buffer, allocation: Allocate) -> bool:
    return len(buffer.shape) == 1 and buffer.dtype == allocation.dtype


class _Search:
    """Collects the allocations and the outermost markers of a loop's body, what is under a condition left out."""

    def __init__(self) -> None:
        self.allocations: dict[Var, Allocate] = {}
        self.markers: list[AttrStmt] = []

    def collect(self, n: Stmt) -> None:
        todo = [n]
        while todo:
            match todo.pop():
                case Allocate() as alloc:
                    self.allocations[alloc.buffer_var] = alloc
                    todo.append(alloc.body)
                case DeclBuffer() as declaration:
                    todo.append(declaration.body)
                case SeqStmt(stmts):
                    todo.extend(reversed(stmts))
                case AttrStmt() as attr if attr.attr_key == MARKER:
                    self.markers.append(attr)
                case AttrStmt() as attr if attr.attr_key not in THREAD_KEYS:
                    todo.append(attr.body)


@dataclass
class _Accesses(Visitor):
    """What a statement does with memory."""

    loads: set[Var] = field(default_factory=set)
    stores: list[BufferStore] = field(default_factory=list)
    buffers: set[Buffer] = field(default_factory=set)
    allocated: set[Var] = field(default_factory=set)
    escaping: set[Var] = field(default_factory=set)
    has_effects: bool = False

    @classmethod
    def of(cls, stmt: Stmt) -> _Accesses:
        accesses = cls()
        accesses.visit(stmt)
        return accesses

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self.loads.add(n.buffer.data)
        self.buffers.add(n.buffer)
        for index in n.indices:
            self.visit(index)

    def visit_BufferStore(self, n: BufferStore) -> None:
        self.stores.append(n)
        self.buffers.add(n.buffer)
        for operand in (n.value, *n.indices):
            self.visit(operand)

    def visit_Allocate(self, n: Allocate) -> None:
        self.allocated.add(n.buffer_var)
        self.visit(n.body)

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        self.visit(n.value)
        self.visit(n.body)

    def visit_Call(self, n: Call) -> None:
        effect = n.op.effect if isinstance(n.op, Op) else CallEffect.UPDATE_STATE
        self.has_effects |= effect.value >= CallEffect.READ_STATE.value
        self.visit_Node(n)

    def visit_Var(self, n: Var) -> None:
        if n.dtype == "handle":
            self.escaping.add(n)


class InjectDoubleBuffer(PrimFuncPass, configurable=True):
    """Fill the buffer of the next iteration while the current one is being read.

    For a buffer marked by ``s[B].double_buffer()`` twice the memory is allocated, outside of the loop.  Before the
    loop its first half is filled; iteration ``i`` fills half ``(i + 1) % 2`` for the next one and reads half
    ``i % 2``, so that memory traffic and arithmetic overlap::

        for i in range(64):                           B = T.allocate([8]); fill(B[0:4], 0)
            B = T.allocate([4])                       for i in range(63):
            fill(B, i)                           →        fill(B[(i + 1) % 2 * 4:…], i + 1)
            use(B, i)                                     use(B[i % 2 * 4:…], i)
                                                      use(B[63 % 2 * 4:…], 63)

    A buffer that cannot be filled ahead stays as it is: one whose filling reads what the same iteration computed
    before, and one within the filling of another.  What is filled together (the outputs of an ``argmin``) is doubled
    together. ``PassContext(config={"tir.InjectDoubleBuffer": {"split_loop": 2}})`` sets the option for a whole build.
    ``split_loop`` is how many iterations the body of the new loop holds; 0 keeps one loop with a guard.
    """

    split_loop: int = 1

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        if "double_buffer_scope" not in features(func).attrs:
            return func
        return func.with_body(_Inject(self.configured(ctx).split_loop).visit(func.body))


class _Inject(StmtMutator):
    def __init__(self, split: int) -> None:
        self._split = split

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        body = self.visit(n.body)
        if n.attr_key == "double_buffer_scope":
            return body
        return rebuild(n, body=body)

    def visit_For(self, n: For) -> Stmt:
        fillings = fillings_ahead(n) if n.kind == ForKind.SERIAL else []
        if not fillings:
            return rebuild(n, body=self.visit(n.body))
        step = n.loop_var - n.min
        ahead = _FillAhead(n, fillings)
        body = ahead.visit(n.body)
        for filling in fillings:
            body = _UseHalf(filling, step % 2).visit(body)
        loop = seq([*self._before(n, fillings), self._loop(n, self.visit(body))])
        for filling in fillings:
            for data, alloc in filling.allocations.items():
                for buffer in [b for b in ahead.declared if b.data is data]:
                    loop = DeclBuffer(filling.both_halves(buffer), loop)
                loop = rebuild(alloc, extents=(element_count(alloc.extents) * 2,), body=loop)
        return loop

    def _before(self, n: For, fillings: list[BufferFill]) -> list[Stmt]:
        """Fill the first half for the first iteration."""
        first: list[Stmt] = []
        for filling in fillings:
            fill = substitute(filling.body, {n.loop_var: n.min})
            fill = _UseHalf(filling, const(0, n.loop_var.dtype)).visit(fill)
            if not isinstance(n.extent, IntImm):
                fill = IfThenElse(n.extent > 0, fill)
            first.append(self.visit(RenewDefs().visit(fill)))
        return first

    def _loop(self, n: For, body: Stmt) -> Stmt:
        """Leave out the last iterations, which have nothing to fill, and let one turn hold several iterations."""
        split = self._split
        if split <= 0:
            return rebuild(n, body=body)
        outer = Var(n.loop_var.name + ".outer", n.loop_var.dtype)
        turns = binary(FloorDiv, n.extent - 1, split)
        if not isinstance(turns, IntImm):
            turns = Max(turns, const(0, turns.dtype))
        copies = [body, *(RenewDefs().visit(body) for _ in range(2 * split - 1))]
        turn = [substitute(copies[k], {n.loop_var: n.min + (outer * split + k)}) for k in range(split)]
        main = rebuild(n, loop_var=outer, min=const(0, outer.dtype), extent=turns, body=seq(turn))
        rest: list[Stmt] = []
        for k in range(split):
            last = turns * split + k
            copy = _DropMarks().visit(substitute(copies[split + k], {n.loop_var: n.min + last}))
            rest.append(IfThenElse(binary(LT, last, n.extent), copy))
        return seq([main, *rest])


class _DropMarks(StmtMutator):
    """Drops the marks of what is filled ahead: behind the loop the next statement reads it, not the next turn."""

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        body = self.visit(n.body)
        return body if n.attr_key == "double_buffer_write" else rebuild(n, body=body)


class _FillAhead(StmtMutator):
    """Takes the allocations out of the body and makes each filling one for the next iteration."""

    def __init__(self, loop: For, fillings: list[BufferFill]) -> None:
        self._loop = loop
        self._fillings = {filling.marker: filling for filling in fillings}
        self._allocations = {alloc for filling in fillings for alloc in filling.allocations.values()}
        self._moved = {alloc.buffer_var for alloc in self._allocations}
        self.declared: list[Buffer] = []  # the buffers whose declarations it has taken out, too

    def visit_DeclBuffer(self, n: DeclBuffer) -> Stmt:
        if n.buffer.data not in self._moved:
            return rebuild(n, body=self.visit(n.body))
        self.declared.append(n.buffer)
        return self.visit(n.body)

    def visit_Allocate(self, n: Allocate) -> Stmt:
        body = self.visit(n.body)
        return body if n in self._allocations else rebuild(n, body=body)

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        filling = self._fillings.get(n)
        return self.visit_Node(n) if filling is None else self._fill_next(filling)

    def _fill_next(self, filling: BufferFill) -> Stmt:
        loop = self._loop
        following = loop.loop_var + 1
        write = substitute(filling.body, {loop.loop_var: following})
        write = _UseHalf(filling, (following - loop.min) % 2).visit(write)
        for data in reversed(filling.allocations):
            write = AttrStmt(data, "double_buffer_write", const(1), write)
        return IfThenElse(following - loop.min < loop.extent, write)


class _UseHalf(StmtExprMutator):
    """Moves the accesses of a filling's buffers into one half of their doubled memory.

    Those within ``double_buffer_write`` are in their half already.
    """

    def __init__(self, filling: BufferFill, half: PrimExpr) -> None:
        self._filling = filling
        self._offsets = {data: half * element_count(alloc.extents) for data, alloc in filling.allocations.items()}

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key == "double_buffer_write" and n.node in self._offsets:
            return n
        return self.visit_Node(n)

    def _moved(self, n: BufferLoad | BufferStore) -> BufferLoad | BufferStore:
        access: BufferLoad | BufferStore = self.visit_Node(n)
        if n.buffer.data not in self._offsets:
            return access
        index = moved_index(access.indices[0], self._offsets[n.buffer.data])
        return rebuild(access, buffer=self._filling.both_halves(n.buffer), indices=(index,))

    visit_BufferLoad = visit_BufferStore = _moved
