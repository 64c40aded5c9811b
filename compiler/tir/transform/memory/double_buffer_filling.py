"""Which double buffers of a loop can be filled one iteration ahead."""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.ir.expr.primexpr import Call, Var
from compiler.ir.expr.substitute import uses_var
from compiler.ir.functor import Visitor
from compiler.ir.node import rebuild
from compiler.ir.op import CallEffect, Op
from compiler.tir.statements.allocations import element_count
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.stmt import THREAD_KEYS, Allocate, AttrStmt, BufferStore, DeclBuffer, For, SeqStmt, Stmt

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
