"""Virtual threads: interleaves the work of several threads in one."""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.ir.error import LoweringError, show
from compiler.ir.expr.primexpr import Call, IntImm, IterVar, PrimExpr, Var, const
from compiler.ir.expr.substitute import substitute
from compiler.ir.functor import Visitor, nodes_of
from compiler.ir.node import Node, rebuild
from compiler.ir.origin import inheriting
from compiler.tir.analysis.features import features
from compiler.tir.expressions.arithmetic import floordiv
from compiler.tir.expressions.builtin import ACCESS_PTR
from compiler.tir.expressions.device_ops import CONTEXT_ID
from compiler.tir.statements import stmt as tir
from compiler.tir.statements.allocations import element_count
from compiler.tir.statements.buffer import Buffer, BufferLoad, moved_index
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.renewal import RenewDefs
from compiler.tir.statements.stmt import Stmt, seq
from compiler.tir.statements.stmt_functor import StmtExprMutator, StmtMutator
from compiler.tir.transform.pass_base import FunctionRewrite

_WRITES = 2
"""The bit of an address that memory is written through."""
UNROLL_BELOW = 16
"""Fewer virtual threads than this are written out one after the other; more become a loop."""


class InjectVirtualThread(FunctionRewrite):
    """Let one thread do the work of several virtual threads, statement by statement.

    An axis bound to ``te.thread_axis("vthread")`` disappears.  Each statement that depends on it is repeated for each
    virtual thread, inside of the loops around it, so that the threads advance side by side; memory that each of them
    needs for itself is allocated as many times::

        # vthread of extent 2                     B = T.allocate([16])
        B = T.allocate([8])                       for i in range(8):
        for i in range(8):                   →        B[i] = A[i]
            B[i] = A[vthread * 32 + i]                B[8 + i] = A[32 + i]

    What calls write through ``T.tvm_access_ptr`` counts as well.  Threads of an axis with another name, such as
    ``cthread``, share no memory that is allocated inside, and ``T.tvm_context_id()`` is their number. Raises
    LoweringError if the number of threads is no constant, or the pointer of memory that each thread has for itself is
    used otherwise than by loads, stores and ``T.tvm_access_ptr``.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if "virtual_thread" not in features(func).attrs:
            return func
        return func.with_body(_FindThreads().visit(func.body))


class _FindThreads(StmtMutator):
    def visit_AttrStmt(self, n: tir.AttrStmt) -> Stmt:
        body = self.visit(n.body)
        if n.attr_key != "virtual_thread":
            return rebuild(n, body=body)
        if not isinstance(n.value, IntImm):
            raise LoweringError(f"InjectVirtualThread: the number of threads must be constant, got {show(n.value)}")
        if not isinstance(n.node, IterVar):
            raise LoweringError(f"InjectVirtualThread: expected a thread axis, got {show(n.node)}")
        if not n.node.thread_tag.startswith("vthread"):
            body = _ContextIds(n.node.var).visit(body)
            touched = _allocated(body)
        else:
            touched = _touched(body, n.node.var)
        with inheriting(n.span):
            return _Inject(n.node.var, n.value.value, touched).visit(body)


class _ContextIds(StmtExprMutator):
    """Puts the number of a thread in place of ``tvm_context_id``."""

    def __init__(self, var: Var) -> None:
        self._var = var

    def visit_Call(self, n: Call) -> PrimExpr:
        return self._var if n.op is CONTEXT_ID else self.visit_Node(n)


def _allocated(body: Stmt) -> set[Var]:
    """Return the pointers allocated in a statement."""
    accesses = _Accesses()
    accesses.visit(body)
    return accesses.allocated


def _touched(body: Stmt, var: Var) -> set[Var]:
    """Return the pointers allocated in ``body`` whose memory holds something that depends on the thread."""
    accesses = _Accesses()
    accesses.visit(body)
    touched: set[Var] = set()
    size = -1
    while size != len(touched):
        size = len(touched)
        for data, uses in accesses.stores:
            if data in accesses.allocated and data not in touched and (var in uses or uses & touched):
                touched.add(data)
    return touched


class _Accesses(Visitor):
    """Collects, for each store, the variables and pointers that decide where and what it stores, or whether."""

    def __init__(self) -> None:
        self.allocated: set[Var] = set()
        self.stores: list[tuple[Var, set[Var]]] = []
        self._around: list[set[Var]] = [set()]

    def visit_Allocate(self, n: tir.Allocate) -> None:
        self.allocated.add(n.buffer_var)
        self.visit(n.body)

    def visit_BufferStore(self, n: tir.BufferStore) -> None:
        uses = _uses(n.value).union(*map(_uses, n.indices))
        self.stores.append((n.buffer.data, uses.union(*self._around)))

    def visit_Evaluate(self, n: tir.Evaluate) -> None:
        uses = _uses(n.value).union(*self._around)
        self.stores += [(data, uses) for data in _written_through_pointers(n.value)]

    def visit_IfThenElse(self, n: tir.IfThenElse) -> None:
        self._within(_uses(n.condition), n.then_case, n.else_case)

    def visit_For(self, n: tir.For) -> None:
        self._within(_uses(n.min) | _uses(n.extent), n.body)

    def visit_While(self, n: tir.While) -> None:
        self._within(_uses(n.condition), n.body)

    def visit_LetStmt(self, n: tir.LetStmt) -> None:
        self._within(_uses(n.value), n.body)

    def _within(self, uses: set[Var], *bodies: Stmt | None) -> None:
        self._around.append(uses)
        for body in bodies:
            if body is not None:
                self.visit(body)
        self._around.pop()


def _written_through_pointers(e: PrimExpr) -> list[Var]:
    """Return the memory whose addresses are handed to calls that may write it."""
    written: list[Var] = []
    for n in nodes_of(e, Call):
        if n.op is ACCESS_PTR and isinstance(n.args[1], Var):
            mask = n.args[4]
            if not isinstance(mask, IntImm) or mask.value & _WRITES:
                written.append(n.args[1])
    return written


def _uses(e: Node) -> set[Var]:
    """Return the variables and the pointers of loads within an expression."""
    return {n.buffer.data if isinstance(n, BufferLoad) else n for n in nodes_of(e, Var, BufferLoad)}


class _Inject(StmtExprMutator):
    """Repeats what depends on the thread, as far inside as possible."""

    def __init__(self, var: Var, count: int, touched: set[Var]) -> None:
        self._var = var
        self._count = count
        self._own = touched
        self._wanted = {var, *touched}
        self._sizes: dict[Var, PrimExpr] = {}
        self._buffers: dict[Buffer, Buffer] = {}
        self._inside = False

    def _depends(self, *exprs: PrimExpr) -> bool:
        return not self._inside and any(_uses(e) & self._wanted for e in exprs)

    def _repeat(self, n: Stmt) -> Stmt:
        """Write the statement out for each thread, or run it in a loop over the threads."""
        self._inside = True
        body = self.visit(n)
        self._inside = False
        if self._count < UNROLL_BELOW:
            copies = [substitute(body, {self._var: const(k, self._var.dtype)}) for k in range(self._count)]
            return seq([RenewDefs().visit(copy) for copy in copies])
        thread = Var(self._var.name + ".s", self._var.dtype)
        body = substitute(body, {self._var: thread})
        zero, count = const(0, thread.dtype), const(self._count, thread.dtype)
        return tir.For(thread, zero, count, tir.ForKind.SERIAL, body)

    def visit_BufferStore(self, n: tir.BufferStore) -> Stmt:
        if n.buffer.data in self._own and not self._inside:
            return self._repeat(n)
        if self._depends(n.value, *n.indices, *([] if n.predicate is None else [n.predicate])):
            return self._repeat(n)
        value, indices = self.visit(n.value), self._visit_tuple(n.indices)
        if n.buffer.data in self._own:
            buffer, moved = self._moved(n.buffer, indices)
            return rebuild(n, buffer=buffer, value=value, indices=moved, predicate=self._visit_optional(n.predicate))
        buffer, predicate = self._shared(n.buffer), self._visit_optional(n.predicate)
        return rebuild(n, buffer=buffer, value=value, indices=indices, predicate=predicate)

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        indices = self._visit_tuple(n.indices)
        if n.buffer.data in self._own:
            buffer, indices = self._moved(n.buffer, indices)
            return rebuild(n, buffer=buffer, indices=indices, predicate=self._visit_optional(n.predicate))
        buffer, predicate = self._shared(n.buffer), self._visit_optional(n.predicate)
        return rebuild(n, buffer=buffer, indices=indices, predicate=predicate)

    def visit_Call(self, n: Call) -> PrimExpr:
        if n.op is not ACCESS_PTR or n.args[1] not in self._own:
            return self.visit_Node(n)
        kind, data, offset, extent, mask = n.args
        assert isinstance(data, Var)
        part = floordiv(self._sizes[data], const(dt.lanes(kind.dtype)))
        own = self._var * part + self.visit(offset)
        return rebuild(n, args=(kind, data, own, self.visit(extent), mask))

    def visit_Var(self, n: Var) -> PrimExpr:
        if n in self._own:
            raise LoweringError(
                f"InjectVirtualThread: {n.name!r} is memory that each virtual thread has for itself; pass a part of it "
                "to a call by T.tvm_access_ptr or T.address_of"
            )
        return n

    def _moved(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> tuple[Buffer, tuple[PrimExpr, ...]]:
        """Return the access to the thread's own part of the memory."""
        size = self._sizes[buffer.data]
        view = self._buffers.get(buffer)
        if view is None:
            view = self._buffers[buffer] = rebuild(buffer, shape=(size * self._count,))
        return view, (moved_index(indices[0], self._var * size),)

    def _shared(self, buffer: Buffer) -> Buffer:
        """Return the view of memory that the threads share; its shape does not depend on them."""
        if buffer.data not in self._sizes or not any(self._var in _uses(extent) for extent in buffer.shape):
            return buffer
        view = self._buffers.get(buffer)
        if view is None:
            view = self._buffers[buffer] = rebuild(buffer, shape=(self._sizes[buffer.data],))
        return view

    def visit_Evaluate(self, n: tir.Evaluate | tir.LetStmt | tir.AttrStmt) -> Stmt:
        if self._depends(n.value):
            return self._repeat(n)
        return self.visit_Node(n)

    visit_LetStmt = visit_AttrStmt = visit_Evaluate

    def visit_For(self, n: tir.For) -> Stmt:
        if self._depends(n.min, n.extent):
            return self._repeat(n)
        return self.visit_Node(n)

    def visit_While(self, n: tir.While | tir.IfThenElse | tir.AssertStmt) -> Stmt:
        if self._depends(n.condition):
            return self._repeat(n)
        return self.visit_Node(n)

    visit_IfThenElse = visit_AssertStmt = visit_While

    def visit_Allocate(self, n: tir.Allocate) -> Stmt:
        if self._depends(*n.extents):
            return self._repeat(n)
        if self._inside:  # allocated anew for each thread already
            self._own.discard(n.buffer_var)
            return self.visit_Node(n)
        size = self._sizes[n.buffer_var] = element_count(n.extents)
        if n.buffer_var not in self._own:
            return self.visit_Node(n)
        body = self.visit(n.body)
        return rebuild(n, extents=(size * self._count,), body=body)
