"""Scopes of the printer: names, and where definitions are printed.

A buffer or variable that no statement defines is declared in the innermost block that holds all of its uses, right
before the statement that uses it first.  :class:`Definitions` finds these places in one walk; :class:`Names` hands
out names that are unique where they are visible.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from compiler.ir.expr.primexpr import CommReducer, IterVar, Let, PrimExpr, ProducerLoad, Reduce, Var
from compiler.ir.expr.substitute import uses_var
from compiler.ir.functor import Visitor, parts_of
from compiler.ir.names import free_name
from compiler.ir.node import Node
from compiler.tir.statements import stmt as tir
from compiler.tir.statements.block import Block, MatchBufferRegion
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.producer_stmt import BufferRealize, Prefetch, ProducerRealize
from compiler.tir.statements.stmt import THREAD_KEYS, Stmt

_RESERVED = frozenset((*keyword.kwlist, "range"))
"""What no variable can be called in Python's syntax."""


class Named(Protocol):
    """A variable, buffer or tensor."""

    @property
    def name(self) -> str: ...


class Names:
    """Names of nodes, unique among those that are visible."""

    def __init__(self, reserved: Iterable[str] = ("T", "I"), with_addresses: bool = False) -> None:
        self._of: dict[object, str] = {}
        self._reserved = frozenset((*reserved, *_RESERVED))
        self._taken: set[str] = set(self._reserved)
        self._with_addresses = with_addresses

    def get(self, n: object) -> str | None:
        """Return the name that ``n`` has, or None."""
        return self._of.get(n)

    def define(self, n: object, hint: str) -> str:
        """Give ``n`` a free name like ``hint``, unless it has one."""
        name = self._of.get(n)
        if name is None:
            free = free_name(re.sub(r"\W", "_", hint) or "v", self._taken)
            name = self._of[n] = f"{free}_{id(n):#x}" if self._with_addresses else free
            self._taken.add(name)
        return name

    def undeclared(self, n: Named) -> str:
        """Return the name of what the text does not define: its own, unless something else in the text has it."""
        name = self._of.get(n)
        if name is None:
            name = self._of[n] = n.name if n.name in self._reserved else free_name(n.name, self._taken)
            self._taken.add(name)
        return name

    def alias(self, n: object, text: str) -> None:
        """Let ``n`` be written as ``text``, which needs no definition: a field of something that has a name."""
        self._of.setdefault(n, text)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Forget at the end what is defined inside."""
        saved = dict(self._of), set(self._taken)
        try:
            yield
        finally:
            self._of, self._taken = saved


class Definitions(Visitor):
    """Finds what has to be declared, and before which statement."""

    def __init__(self) -> None:
        self.before: dict[Stmt, list[Var | Buffer]] = {}  # for a statement, what its block declares right before it
        self.at_top: list[Var | Buffer] = []  # what is declared before the first statement of a function
        self._path: list[Stmt] = []
        self._bound: dict[object, int] = {}
        self._first: dict[Var | Buffer, list[Stmt]] = {}
        self._depth: dict[object, int] = {}

    def of_function(self, func: PrimFunc) -> None:
        """Find the definitions of a function, its buffers included."""
        self._bind(*func.params)
        for buffer in func.buffer_map.values():
            self._bind(*_defined_by(buffer))
        for buffer in func.buffer_map.values():
            self._use_all(buffer.shape)
        self.of_statement(func.body)

    def of_statement(self, stmt: Stmt) -> None:
        """Find the definitions of a statement."""
        self._statement(stmt)
        for n, path in self._first.items():
            self._place(n, path, self._depth[n])

    def of_expression(self, n: Node) -> None:
        """Find the definitions of an expression or a region."""
        if isinstance(n, Buffer):
            self._use_buffer(n)
        elif isinstance(n, CommReducer):
            self._bind(*n.lhs, *n.rhs)
        self.visit(n)
        self.at_top.extend(self._first)

    def _place(self, n: Var | Buffer, path: list[Stmt], depth: int) -> None:
        """Choose the innermost scope that holds the last common ancestor of all uses, and the first use in it."""
        inside = depth - 1
        while inside >= 0 and not _has_scope(path, inside):
            inside -= 1
        in_branch = inside > 0 and isinstance(path[inside - 1], tir.IfThenElse)
        if not in_branch or _allocates(path[inside], n):
            inside += 1  # the body of a branch shares the scope of the branch
        while inside < len(path) and isinstance(path[inside], tir.SeqStmt):
            inside += 1
        if path:
            self.before.setdefault(path[min(inside, len(path) - 1)], []).append(n)
        else:
            self.at_top.append(n)

    # the walk

    def _statement(self, stmt: Stmt) -> None:
        self._path.append(stmt)
        self.visit(stmt)
        self._path.pop()

    def visit_Stmt(self, n: Stmt) -> None:
        for part in parts_of(n, Node):
            if isinstance(part, Stmt):
                self._statement(part)
            else:
                self.visit(part)

    def visit_BufferStore(self, n: tir.BufferStore) -> None:
        self._use_buffer(n.buffer)
        self._use_all(n.indices)
        self.visit(n.value)
        if n.predicate is not None:
            self.visit(n.predicate)

    def visit_For(self, n: tir.For) -> None:
        self.visit(n.min)
        self.visit(n.extent)
        self._within(n.body, n.loop_var)

    def visit_LetStmt(self, n: tir.LetStmt) -> None:
        self.visit(n.value)
        self._within(n.body, n.var)

    def visit_Allocate(self, n: tir.Allocate) -> None:
        self._use_all(n.extents)
        self.visit(n.condition)
        self._within(n.body, n.buffer_var)

    def visit_AllocateConst(self, n: tir.AllocateConst) -> None:
        self._use_all(n.extents)
        self._within(n.body, n.buffer_var)

    def visit_DeclBuffer(self, n: tir.DeclBuffer) -> None:
        self._use_all((n.buffer.data, *n.buffer.shape))
        self._within(n.body, n.buffer)

    def visit_BufferRealize(self, n: BufferRealize) -> None:
        self._use_buffer(n.buffer)
        self._use_all(n.bounds)
        self.visit(n.condition)
        self._statement(n.body)

    def visit_Prefetch(self, n: Prefetch) -> None:
        self._use_buffer(n.buffer)
        self._use_all(n.bounds)

    def visit_AttrStmt(self, n: tir.AttrStmt) -> None:
        if isinstance(n.node, IterVar) and n.attr_key in THREAD_KEYS:
            self.visit(n.value)
            self._within(n.body, n.node.var)
            return
        self._subject(n.node)
        self.visit(n.value)
        self._statement(n.body)

    def _subject(self, subject: object) -> None:
        """Note the use of what an attribute is about."""
        if isinstance(subject, Buffer):
            self._use_buffer(subject)
        elif isinstance(subject, IterVar):
            self._use(subject.var)
        elif isinstance(subject, PrimExpr):
            self.visit(subject)
        elif isinstance(subject, (tuple, list)):
            for item in subject:
                self._subject(item)

    def visit_IfThenElse(self, n: tir.IfThenElse) -> None:
        self.visit(n.condition)
        self._statement(n.then_case)
        if n.else_case is not None:
            self._statement(n.else_case)

    def visit_Block(self, n: Block) -> None:
        axes = [axis.var for axis in n.iter_vars]
        own = [part for buffer in n.alloc_buffers for part in (buffer, buffer.data)]
        matched = [part for match in n.match_buffers for part in _defined_by(match.buffer)]
        self._use_all(tuple(axis.dom for axis in n.iter_vars if axis.dom is not None))
        self._bind(*axes, *own, *matched)
        self._use_all(tuple(dim for buffer in n.alloc_buffers for dim in (*buffer.shape, *buffer.strides)))
        self._use_all((*n.reads, *n.writes, *n.match_buffers))
        for stmt in (n.init, n.body):
            if stmt is not None:
                self._statement(stmt)
        self._release(*axes, *own, *matched)

    def visit_MatchBufferRegion(self, n: MatchBufferRegion) -> None:
        self.visit(n.source)

    def visit_Var(self, n: Var) -> None:
        self._use(n)

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self._use_buffer(n.buffer)
        self._use_all(n.indices)
        if n.predicate is not None:
            self.visit(n.predicate)

    def visit_BufferRegion(self, n: BufferRegion) -> None:
        self._use_buffer(n.buffer)
        self._use_all(n.region)

    def visit_ProducerLoad(self, n: ProducerLoad) -> None:
        self._use_all(n.indices)

    def visit_Let(self, n: Let) -> None:
        self.visit(n.value)
        self._use(n.var)  # the text declares it ahead, and names its value within the expression
        self.visit(n.body)

    def visit_Reduce(self, n: Reduce) -> None:
        axes = [axis.var for axis in n.axis]
        self._bind(*axes)
        self._use_all(n.source)
        self.visit(n.condition)
        self._release(*axes)

    def _within(self, body: Stmt, defined: object) -> None:
        self._bind(defined)
        self._statement(body)
        self._release(defined)

    def _bind(self, *nodes: object) -> None:
        for n in nodes:
            self._bound[n] = self._bound.get(n, 0) + 1

    def _release(self, *nodes: object) -> None:
        for n in nodes:
            self._bound[n] -= 1
            if not self._bound[n]:
                del self._bound[n]

    def _use_all(self, items: Iterable[object]) -> None:
        for item in items:
            self.visit(item)

    def _use_buffer(self, buffer: Buffer) -> None:
        if buffer in self._bound:
            return
        self._use_all(buffer.shape)
        self._use(buffer)

    def _use(self, n: Var | Buffer) -> None:
        """Note a use, and shorten the common path of all uses of ``n`` to what this one shares."""
        if n in self._bound:
            return
        if n not in self._first:
            self._first[n] = list(self._path)
            self._depth[n] = len(self._path)
            return
        first, depth = self._first[n], min(self._depth[n], len(self._path))
        while depth and first[depth - 1] is not self._path[depth - 1]:
            depth -= 1
        self._depth[n] = depth

    def visit_Node(self, n: Node) -> None:
        self._use_all(parts_of(n, Node))


def layout_fields(buffer: Buffer) -> dict[Var, str]:
    """Return the variables that are a stride or the offset of a buffer, and no part of its shape."""
    fields = {f"strides[{index}]": stride for index, stride in enumerate(buffer.strides)}
    fields["elem_offset"] = buffer.elem_offset
    layout: dict[Var, str] = {}
    for name, value in fields.items():
        if isinstance(value, Var) and not any(uses_var(extent, value) for extent in buffer.shape):
            layout.setdefault(value, name)
    return layout


def _defined_by(buffer: Buffer) -> list[Var | Buffer]:
    """Return what begins to exist where a buffer is matched: itself, its pointer, variables of its layout."""
    return [buffer, buffer.data, *layout_fields(buffer)]


_SCOPES = (
    tir.Allocate,
    tir.AllocateConst,
    tir.AssertStmt,
    tir.AttrStmt,
    BufferRealize,
    tir.DeclBuffer,
    tir.For,
    tir.LetStmt,
    ProducerRealize,
    tir.While,
)


def _allocates(stmt: Stmt, n: object) -> bool:
    """Return whether a statement allocates the memory that a buffer views."""
    return isinstance(stmt, (tir.Allocate, tir.AllocateConst)) and isinstance(n, Buffer) and n.data is stmt.buffer_var


def _has_scope(path: list[Stmt], index: int) -> bool:
    """Return whether definitions can stand in the statement at ``index``: what holds for a body, and branches."""
    return isinstance(path[index], _SCOPES) or (index > 0 and isinstance(path[index - 1], tir.IfThenElse))
