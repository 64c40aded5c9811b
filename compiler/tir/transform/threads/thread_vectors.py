"""Rewrites emulated threads so that LLVM can vectorise them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.arith.analyzer import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Call, IntImm, Var
from compiler.ir.expr.substitute import substitute
from compiler.ir.functor import nodes_of
from compiler.ir.node import rebuild
from compiler.tir.analysis.uniformity import Uniformity
from compiler.tir.expressions.builtin import ADDRESS_OF, storage_sync
from compiler.tir.statements.allocations import pointer_scope
from compiler.tir.statements.buffer import BufferLoad, BufferStore
from compiler.tir.statements.stmt import Allocate, Evaluate, For, ForKind, IfThenElse, LetStmt, Stmt, While, seq
from compiler.tir.statements.stmt_functor import StmtExprVisitor, StmtMutator, StmtVisitor
from compiler.tir.transform.threads.barrier_regions import Barriers

MAX_STEPS = 256
"""Stores and calls of a thread that LLVM may write out, so that the loop over threads is the innermost one."""
MIN_THREADS = 4
"""Along an axis, of which a vector is worth making."""


def steps(n: Stmt) -> float:
    """Return how many stores and calls a thread makes in a statement; infinity where that depends on anything."""
    counter = _Steps()
    counter.visit(n)
    return counter.total


class _Steps(StmtVisitor):
    def __init__(self) -> None:
        self.total: float = 0
        self._times: float = 1

    def visit_BufferStore(self, n: BufferStore | Evaluate) -> None:
        self.total += self._times

    visit_Evaluate = visit_BufferStore

    def visit_For(self, n: For) -> None:
        outer = self._times
        self._times *= n.extent.value if isinstance(n.extent, IntImm) else math.inf
        self.visit(n.body)
        self._times = outer

    def visit_While(self, n: While) -> None:
        self.total = math.inf


class SplitLongLoops(StmtMutator):
    """Puts a barrier into long loops, so that the loop over threads is inside of them, and LLVM can vectorize it.

    That is done where threads with consecutive numbers access neighbouring elements::

        for k in range(512):                   for k in range(512):
            C[tx] = C[tx] + A[k] * B[k, tx] →      T.tvm_storage_sync("shared")
                                                   C[tx] = C[tx] + A[k] * B[k, tx]

    ``x`` is the position along the axis whose threads are to be neighbours.
    """

    def __init__(self, code: Stmt, x: Var, positions: Sequence[Var]) -> None:
        self.split = 0
        self._around = Barriers(code).around
        self._var = x
        self._uniformity = Uniformity(positions)
        self._analyzer = Analyzer()

    def visit_For(self, n: For) -> Stmt:
        if not self._uniformity.holds(n.min, n.extent) or n.kind != ForKind.SERIAL:
            return n
        if n not in self._around and steps(n) <= MAX_STEPS:
            return n
        if n not in self._around and steps(n.body) <= MAX_STEPS:
            if not self._is_side_by_side(n.body):
                return n
            self.split += 1
            return rebuild(n, body=seq([Evaluate(storage_sync("shared")), n.body]))
        return self.visit_Node(n)

    def visit_Allocate(self, n: Allocate) -> Stmt:
        if not pointer_scope(n.buffer_var).startswith("shared"):
            self._uniformity.varying.add(n.buffer_var)
        return self.visit_Node(n)

    def visit_LetStmt(self, n: LetStmt) -> Stmt:
        if not self._uniformity.holds(n.value):
            self._uniformity.varying.add(n.var)
        return self.visit_Node(n)

    def visit_IfThenElse(self, n: IfThenElse) -> Stmt:
        return self.visit_Node(n) if self._uniformity.holds(n.condition) else n

    def visit_While(self, n: While) -> Stmt:
        return self.visit_Node(n) if n in self._around else n

    def _is_side_by_side(self, body: Stmt) -> bool:
        """Return whether consecutive threads access neighbouring elements, or one, of all memory but their own."""
        return all(self._is_near(n) for n in nodes_of(body, BufferLoad, BufferStore))

    def _is_near(self, n: BufferLoad | BufferStore) -> bool:
        index = n.indices[-1]
        if dt.lanes(index.dtype) > 1:
            return False
        if n.buffer.scope() == "local":
            return True
        stride = self._analyzer.simplify(substitute(index, {self._var: self._var + 1}) - index)
        return isinstance(stride, IntImm) and stride.value in (0, 1)


class ContiguousMemory(StmtExprVisitor):
    """Finds memory of a thread whose elements must stay side by side, or better do.

    It is accessed by vectors, by address, as another type, or by loops too long to be written out, which LLVM
    vectorizes in place of the loop over threads.
    """

    def __init__(self, code: Stmt) -> None:
        self.pointers: set[Var] = set()
        self._around = Barriers(code).around
        self._dtypes: dict[Var, str] = {}
        self._is_long = False
        self.visit(code)

    def visit_For(self, n: For) -> None:
        outer = self._is_long
        self._is_long = outer or (n not in self._around and steps(n) > MAX_STEPS)
        self.visit_Node(n)
        self._is_long = outer

    def visit_Var(self, n: Var) -> None:
        self.pointers.add(n)

    def visit_Call(self, n: Call) -> None:
        self.visit_Node(n)
        if n.op is ADDRESS_OF and isinstance(n.args[0], BufferLoad):
            self.pointers.add(n.args[0].buffer.data)

    def visit_BufferLoad(self, n: BufferLoad | BufferStore) -> None:
        self.visit_Node(n)
        self._access(n)

    visit_BufferStore = visit_BufferLoad

    def _access(self, n: BufferLoad | BufferStore) -> None:
        buffer = n.buffer
        dtype = self._dtypes.setdefault(buffer.data, buffer.dtype)
        if self._is_long or dt.lanes(n.indices[-1].dtype) > 1 or dtype != buffer.dtype:
            self.pointers.add(buffer.data)


class UnrollShortLoops(StmtMutator):
    """Marks short loops, so that LLVM writes them out."""

    def visit_For(self, n: For) -> Stmt:
        is_short = n.kind == ForKind.SERIAL and steps(n) <= MAX_STEPS
        return rebuild(n, kind=ForKind.UNROLLED if is_short else n.kind, body=self.visit(n.body))
