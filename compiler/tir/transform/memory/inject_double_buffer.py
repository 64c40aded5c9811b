"""Double buffering: fills the next buffer while the current one is in use."""

from __future__ import annotations

from compiler.ir.expr.primexpr import LT, FloorDiv, IntImm, Max, PrimExpr, Var, binary, const
from compiler.ir.expr.substitute import substitute
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import PassContext
from compiler.tir.analysis.features import features
from compiler.tir.statements.allocations import element_count
from compiler.tir.statements.buffer import Buffer, BufferLoad, moved_index
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    DeclBuffer,
    For,
    ForKind,
    IfThenElse,
    Stmt,
    seq,
)
from compiler.tir.statements.stmt_functor import StmtExprMutator, StmtMutator
from compiler.tir.transform.memory.double_buffer_filling import BufferFill, fillings_ahead
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

    A buffer that cannot be filled ahead stays as it is: one whose filling reads what the same iteration computed
    before, and one within the filling of another.  What is filled together (the outputs of an ``argmin``) is doubled
    together.
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
            first.append(self.visit(fill))
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
        turn = [substitute(body, {n.loop_var: n.min + (outer * split + k)}) for k in range(split)]
        main = rebuild(n, loop_var=outer, min=const(0, outer.dtype), extent=turns, body=seq(turn))
        rest: list[Stmt] = []
        for k in range(split):
            last = turns * split + k
            copy = _DropMarks().visit(substitute(body, {n.loop_var: n.min + last}))
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

    def _moved(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> tuple[Buffer, tuple[PrimExpr, ...]]:
        return self._filling.both_halves(buffer), (moved_index(indices[0], self._offsets[buffer.data]),)

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        indices = self._visit_tuple(n.indices)
        if n.buffer.data in self._offsets:
            buffer, indices = self._moved(n.buffer, indices)
            return rebuild(n, buffer=buffer, indices=indices, predicate=self._visit_optional(n.predicate))
        return rebuild(n, indices=indices, predicate=self._visit_optional(n.predicate))

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        value, indices = self.visit(n.value), self._visit_tuple(n.indices)
        if n.buffer.data in self._offsets:
            buffer, moved = self._moved(n.buffer, indices)
            return rebuild(n, buffer=buffer, value=value, indices=moved, predicate=self._visit_optional(n.predicate))
        return rebuild(n, value=value, indices=indices, predicate=self._visit_optional(n.predicate))
