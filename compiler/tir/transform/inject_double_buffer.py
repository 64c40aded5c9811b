"""Double buffering: filling the next buffer while the current one is in use."""

from __future__ import annotations

from typing import Any

from compiler.ir.functor import Mutator, Visitor
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.primexpr import LT, FloorDiv, IntImm, Max, PrimExpr, Var, binary, const
from compiler.ir.substitute import substitute
from compiler.ir.transform import PassContext
from compiler.tir.analysis.features import features
from compiler.tir.buffer import Buffer, BufferLoad
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import Allocate, AttrStmt, BufferStore, For, ForKind, IfThenElse, Stmt, seq
from compiler.tir.stmt_functor import StmtMutator, StmtVisitor
from compiler.tir.transform.pass_base import PrimFuncPass


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

    A buffer whose filling reads what the same iteration computed before cannot be filled ahead and stays as it is.
    ``PassContext(config={"tir.InjectDoubleBuffer": {"split_loop": 2}})`` sets the option for a whole build.

    Parameters
    ----------
    split_loop : int
        How many iterations the body of the new loop holds; 0 keeps one loop with a guard.
    """

    split_loop: int = 1

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        if "double_buffer_scope" not in features(func).attrs:
            return func
        return func.with_body(_Inject(self.configured(ctx).split_loop).visit(func.body))


class _Doubled:
    """A buffer within the loop that it is allocated in."""

    def __init__(self, alloc: Allocate, fill: AttrStmt) -> None:
        self.alloc = alloc
        self.fill = fill
        self.size: PrimExpr = const(1, alloc.extents[0].dtype if alloc.extents else "int32")
        for extent in alloc.extents:
            self.size = self.size * extent
        self._wide: dict[Buffer, Buffer] = {}

    def wide(self, buffer: Buffer) -> Buffer:
        """Return the view of both halves."""
        view = self._wide.get(buffer)
        if view is None:
            view = self._wide[buffer] = rebuild(buffer, shape=(self.size * 2,))
        return view


class _Inject(StmtMutator):
    def __init__(self, split: int) -> None:
        self._split = split

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        body = self.visit(n.body)
        if n.attr_key == "double_buffer_scope":
            return body  # type: ignore[no-any-return]
        return rebuild(n, body=body)

    def visit_For(self, n: For) -> Stmt:
        doubled_buffers = _find(n) if n.kind == ForKind.SERIAL else []
        if not doubled_buffers:
            body = self.visit(n.body)
            return rebuild(n, body=body)
        step = n.loop_var - n.min
        ahead = _Ahead(n, doubled_buffers)
        body = self.visit(ahead.visit(n.body))
        for doubled in doubled_buffers:
            body = _Halves(doubled, step % 2).visit(body)
        loop = seq([*self._before(n, doubled_buffers), self._loop(n, body)])
        for doubled in reversed(doubled_buffers):
            loop = rebuild(doubled.alloc, extents=(doubled.size * 2,), body=loop)
        return loop

    def _before(self, n: For, doubled_buffers: list[_Doubled]) -> list[Stmt]:
        """Fill the first half for the first iteration."""
        fills: list[Stmt] = []
        for doubled in doubled_buffers:
            fill = substitute(doubled.fill.body, {n.loop_var: n.min})
            fill = _Halves(doubled, const(0, n.loop_var.dtype)).visit(fill)
            if not isinstance(n.extent, IntImm):
                fill = IfThenElse(n.extent > 0, fill)
            fills.append(self.visit(fill))
        return fills

    def _loop(self, n: For, body: Stmt) -> Stmt:
        """Leave out the last iterations, which have nothing to fill, and let one turn hold several iterations."""
        split = self._split
        if split <= 0:
            return rebuild(n, body=body)
        outer = Var(n.loop_var.name + ".outer", n.loop_var.dtype)
        turns = binary(FloorDiv, n.extent - 1, split)
        if not isinstance(turns, IntImm):
            turns = Max(turns, const(0, turns.dtype))
        turn = [substitute(body, {n.loop_var: n.min + (outer * split + k)}) for k in range(split)]
        main = rebuild(n, loop_var=outer, min=const(0, outer.dtype), extent=turns, body=seq(turn))
        rest: list[Stmt] = []
        for k in range(split):
            last = turns * split + k
            copy = substitute(body, {n.loop_var: n.min + last})
            rest.append(IfThenElse(binary(LT, last, n.extent), copy))
        return seq([main, *rest])


def _find(n: For) -> list[_Doubled]:
    """Return the marked buffers whose innermost loop is ``n`` and that can be filled ahead."""
    finder = _Finder()
    finder.visit(n.body)
    candidates = [_Doubled(finder.allocs[data], fill) for data, fill in finder.fills.items() if data in finder.allocs]
    return [c for c in candidates if not _depends_on_iteration(n, c)]


class _Finder(StmtVisitor):
    """Collects allocations and markers of a loop body, those of inner loops left out."""

    def __init__(self) -> None:
        self.allocs: dict[Any, Allocate] = {}
        self.fills: dict[Any, AttrStmt] = {}
        self._depth = 0

    def visit_For(self, n: For) -> None:
        self._depth += 1
        self.visit(n.body)
        self._depth -= 1

    def visit_Allocate(self, n: Allocate) -> None:
        if not self._depth:
            self.allocs[n.buffer_var] = n
        self.visit(n.body)

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        if n.attr_key == "double_buffer_scope" and not self._depth:
            self.fills[n.node] = n
        self.visit(n.body)


def _depends_on_iteration(n: For, doubled: _Doubled) -> bool:
    """Return whether filling reads memory that the rest of the loop writes."""
    inside, everything = _Accesses(), _Accesses()
    inside.visit(doubled.fill.body)
    everything.visit(n.body)
    others = [data for data, store in everything.stores if not any(store is s for _, s in inside.stores)]
    return any(data in inside.loads for data in others)


class _Accesses(Visitor):
    def __init__(self) -> None:
        self.loads: set[Var] = set()
        self.stores: list[tuple[Var, BufferStore]] = []

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self.loads.add(n.buffer.data)
        self.visit_Node(n)

    def visit_BufferStore(self, n: BufferStore) -> None:
        self.stores.append((n.buffer.data, n))
        self.visit_Node(n)


class _Ahead(StmtMutator):
    """Takes the allocations out of the body and makes each filling one for the next iteration."""

    def __init__(self, loop: For, doubled_buffers: list[_Doubled]) -> None:
        self._loop = loop
        self._doubled_buffers = doubled_buffers

    def visit_Allocate(self, n: Allocate) -> Stmt:
        if any(n is d.alloc for d in self._doubled_buffers):
            return self.visit(n.body)  # type: ignore[no-any-return]
        return self.visit_Node(n)  # type: ignore[no-any-return]

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        for doubled in self._doubled_buffers:
            if n is doubled.fill:
                return self._fill_next(doubled)
        return self.visit_Node(n)  # type: ignore[no-any-return]

    def _fill_next(self, doubled: _Doubled) -> Stmt:
        loop = self._loop
        following = loop.loop_var + 1
        body = substitute(doubled.fill.body, {loop.loop_var: following})
        half = (following - loop.min) % 2
        body = _Halves(doubled, half).visit(body)
        data = doubled.alloc.buffer_var
        write = AttrStmt(data, "double_buffer_write", const(1), body)
        return IfThenElse(following - loop.min < loop.extent, write)


class _Halves(Mutator):
    """Moves the accesses of a buffer into one half of the doubled memory, except within ``double_buffer_write``."""

    def __init__(self, doubled: _Doubled, half: PrimExpr) -> None:
        self._doubled = doubled
        self._data = doubled.alloc.buffer_var
        self._offset = half * doubled.size

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key == "double_buffer_write" and n.node is self._data:
            return n
        return self.visit_Node(n)  # type: ignore[no-any-return]

    def _moved(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> tuple[Buffer, tuple[PrimExpr, ...]]:
        return self._doubled.wide(buffer), (self._offset + indices[0],)

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        indices = self._visit_tuple(n.indices)
        if n.buffer.data is self._data:
            return BufferLoad(*self._moved(n.buffer, indices))
        return n if indices is n.indices else BufferLoad(n.buffer, indices)

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        value, indices = self.visit(n.value), self._visit_tuple(n.indices)
        if n.buffer.data is self._data:
            buffer, moved = self._moved(n.buffer, indices)
            return BufferStore(buffer, value, moved)
        if value is n.value and indices is n.indices:
            return n
        return BufferStore(n.buffer, value, indices)
