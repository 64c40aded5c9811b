"""Storage rewriting: moves, shares and retypes allocations."""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Call, PrimExpr, Var, const
from compiler.ir.expr.substitute import substitute
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.origin import NO_SPAN, derived_from
from compiler.ir.transform import PassContext, register_config_option
from compiler.tir.analysis.features import features
from compiler.tir.expressions.builtin import ACCESS_PTR
from compiler.tir.statements.buffer import Buffer, BufferLoad, moved_index
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, AttrStmt, BufferStore, DeclBuffer, For, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator, StmtMutator
from compiler.tir.transform.loops.vector_type import use_vector_types
from compiler.tir.transform.memory.storage_lifetime import Lifetimes
from compiler.tir.transform.memory.storage_plan import Storage, element_bits, plan
from compiler.tir.transform.pass_base import PrimFuncPass

register_config_option("tir.disable_storage_rewrite", (bool, int))


class StorageRewrite(PrimFuncPass):
    """Allocate memory once, outside of the loops, and let buffers that are not alive together share it.

    An allocation moves out of serial loops, up to the function or to the parallel loop or thread that it belongs to.
    There a buffer takes over the memory of one that is no longer needed, even within one statement if that reads
    and writes element by element::

        for n in range(32):                               B = T.allocate([1024], "float32", "global")
            B = T.allocate([1024], …)                     for n in range(32):
            C = T.allocate([1024], …)            →            fill(B)
            fill(B)                                           for i in range(1024):
            for i in range(1024):                                 B_1[i] = B[i] * 2.0
                C[i] = B[i] * 2.0                             use(B_1)
            use(C)

    Buffers of a storage scope with a tag, such as ``local.L0A``, are in a user-defined memory: they become one
    allocation, whose size is checked against what ``register_func("tvm.info.mem.<scope>")`` says.  Memory that is
    only accessed by aligned vectors of one length becomes an array of such vectors.  The option
    ``tir.disable_storage_rewrite`` leaves everything as it is.
    """

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        if ctx.config.get("tir.disable_storage_rewrite") or Allocate not in features(func).nodes:
            return func
        return func.with_body(use_vector_types(rewrite_storage(func.body)))


def rewrite_storage(body: Stmt) -> Stmt:
    """Return ``body`` with its allocations moved to their regions, and shared."""
    body = _RenameAllocations().visit(body)
    lives = [x for x in Lifetimes(body).lifetimes.values() if x.movable]
    touched = [x for x in lives if x.last >= 0]
    storages = plan(touched)
    taken = {x.alloc for x in lives}
    rewrite = _Rewrite(storages, taken)
    return rewrite.allocated(None, rewrite.visit(body))


class _RenameAllocations(StmtMutator):
    """Gives every allocation a variable of its own: a loop that was cut in pieces allocates the same ones in each."""

    def __init__(self) -> None:
        self._seen: set[Var] = set()

    def visit_Allocate(self, n: Allocate) -> Stmt:
        var = n.buffer_var
        if var in self._seen:
            fresh = Var(var.name, var.dtype, var.type_annotation, span=var.span)
            n = rebuild(n, buffer_var=fresh, body=substitute(n.body, {var: fresh}))
        self._seen.add(n.buffer_var)
        return self.visit_Node(n)


class _Rewrite(StmtExprMutator):
    def __init__(self, storages: list[Storage], taken: set[Allocate]) -> None:
        self._taken = taken
        self._at: dict[Stmt | None, list[Storage]] = {}
        self._var: dict[Var, Var] = {}
        self._buffers: dict[Buffer, Buffer] = {}
        self._offsets: dict[Var, int] = {}
        """Where the buffers begin that do not at the beginning of their memory, in bits."""
        for storage in storages:
            self._at.setdefault(storage.region, []).append(storage)
            for life in storage.members:
                var = life.alloc.buffer_var
                if var is not storage.var:
                    self._var[var] = storage.var
                if storage.offsets.get(life):
                    self._offsets[var] = storage.offsets[life]

    def allocated(self, region: Stmt | None, body: Stmt) -> Stmt:
        """Return ``body`` below the allocations of a region."""
        for storage in reversed(self._at.get(region, ())):
            first = storage.members[0].alloc
            with derived_from(NO_SPAN.union(*[x.alloc.span for x in storage.members])):
                body = rebuild(first, extents=storage.extents, body=body)
        return body

    def visit_For(self, n: For) -> Stmt:
        low, extent, body = self.visit(n.min), self.visit(n.extent), self.allocated(n, self.visit(n.body))
        return rebuild(n, min=low, extent=extent, body=body)

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        value, body = self.visit(n.value), self.allocated(n, self.visit(n.body))
        subject = self._var.get(n.node, n.node) if isinstance(n.node, Var) else n.node
        return rebuild(n, node=subject, value=value, body=body)

    def visit_Allocate(self, n: Allocate) -> Stmt:
        body = self.visit(n.body)
        if n in self._taken:
            return body
        return rebuild(n, body=body)

    def visit_DeclBuffer(self, n: DeclBuffer) -> Stmt:
        return rebuild(n, buffer=self._buffer(n.buffer), body=self.visit(n.body))

    def visit_Var(self, n: Var) -> PrimExpr:
        return self._var.get(n, n)

    def _buffer(self, buffer: Buffer) -> Buffer:
        data = self._var.get(buffer.data)
        if data is None:
            return buffer
        view = self._buffers.get(buffer)
        if view is None:
            shape = buffer.shape
            if (offset := self._offset(buffer)) and len(shape) == 1:
                shape = (shape[0] + const(offset, shape[0].dtype),)
            view = self._buffers[buffer] = rebuild(buffer, data=data, name=data.name, shape=shape)
        return view

    def _offset(self, buffer: Buffer) -> int:
        """Return how many elements of its memory are before those of a buffer."""
        return self._offsets.get(buffer.data, 0) // element_bits(buffer.dtype)

    def _place(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> tuple[PrimExpr, ...]:
        """Return the indices of an element in the memory that its buffer lies in."""
        indices = self._visit_tuple(indices)
        offset = self._offset(buffer)
        if not offset:
            return indices
        return (moved_index(indices[0], const(offset, dt.element(indices[0].dtype))), *indices[1:])

    def visit_Call(self, n: Call) -> PrimExpr:
        bits = self._offsets.get(n.args[1]) if n.op is ACCESS_PTR and isinstance(n.args[1], Var) else None
        new: Call = self.visit_Node(n)
        if bits is None:
            return new
        offset = new.args[2] + bits // element_bits(new.args[0].dtype)
        return rebuild(new, args=(*new.args[:2], offset, *new.args[3:]))

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        buffer, indices = self._buffer(n.buffer), self._place(n.buffer, n.indices)
        return rebuild(n, buffer=buffer, indices=indices, predicate=self._visit_optional(n.predicate))

    def visit_BufferStore(self, n: BufferStore) -> BufferStore:
        buffer, value, indices = self._buffer(n.buffer), self.visit(n.value), self._place(n.buffer, n.indices)
        return rebuild(n, buffer=buffer, value=value, indices=indices, predicate=self._visit_optional(n.predicate))
