"""Which threads, or iterations of a thread, become vector lanes when kernels are emulated on a CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.arith.analyzer import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Call, IntImm, PrimExpr, Var
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.node import rebuild
from compiler.ir.structural import structural_equal
from compiler.tir.analysis.side_effect import has_effect, is_pure
from compiler.tir.statements.buffer import BufferLoad, BufferStore
from compiler.tir.statements.stmt import AttrStmt, DeclBuffer, For, ForKind, LetStmt, Stmt
from compiler.tir.statements.stmt_functor import StmtExprVisitor
from compiler.tir.transform.threads.barrier_regions import Barriers
from compiler.tir.transform.threads.thread_vectors import MIN_THREADS, SplitLongLoops


@dataclass(frozen=True, slots=True)
class Lanes:
    """The code of a thread, with barriers in its long loops, and what the innermost loop runs over."""

    code: Stmt
    # the position along an axis of threads, or the variable of loop; None if long loops stay innermost
    axis: Var | None = None
    loop: For | None = None  # a loop of the thread that was taken out of the code: its iterations stand for threads


def choose_lanes(code: Stmt, positions: Sequence[tuple[Var, PrimExpr]], distinct: bool) -> Lanes:
    """Choose what runs in the innermost loop: what accesses neighbouring elements in most of the long loops.

    That are threads along x, where a device would run fast; threads along another axis, where accesses of a warp are
    far apart; or else, where each thread computes a row, the iterations of its own loop.  They are independent there,
    so that each can stand for a thread, as ``j`` does::

        for j in range(512):                                   for j in range(512):
            C[tx * 512 + j] = 0                                    C[tx * 512 + j] = 0
            for k in range(512):                         →     for k in range(512):
                C[tx * 512 + j] += A[tx * 512 + k] * B[k, j]       for j in range(512):
                                                                       C[tx * 512 + j] += A[tx * 512 + k] * B[k, j]

    The positions are the variable and the extent of each axis of threads, x first; ``distinct`` says that different
    pointers lead to different memory.
    """
    variables = [var for var, _ in positions]
    best, split = Lanes(code), 0
    for var, extent in positions:
        if _is_wide(extent):
            own = SplitLongLoops(code, var, variables)
            made = own.visit(code)
            if own.split > split:
                best, split = Lanes(made, var), own.split
    if split or not distinct or Barriers(code).around:
        return best
    return _own_loop(code, variables) or best


def _is_wide(extent: PrimExpr) -> bool:
    return isinstance(extent, IntImm) and extent.value >= MIN_THREADS


def _from_zero(n: For) -> bool:
    return n.kind == ForKind.SERIAL and isinstance(n.min, IntImm) and n.min.value == 0


def _own_loop(code: Stmt, variables: Sequence[Var]) -> Lanes | None:
    """Take a loop of independent iterations out of the code; None if that would bring no neighbours together."""
    around: list[Stmt] = []
    n = code
    while isinstance(n, For | DeclBuffer | AttrStmt):
        around.append(n)
        if isinstance(n, For) and _from_zero(n) and _is_wide(n.extent) and _independent(n):
            own = SplitLongLoops(n.body, n.loop_var, [*variables, n.loop_var])
            body = own.visit(n.body)
            if own.split:
                for outer in reversed(around[:-1]):
                    body = rebuild(outer, body=body)
                return Lanes(body, n.loop_var, n)
        n = n.body
    return None


def _independent(loop: For) -> bool:
    """Return whether the iterations of a loop write different elements, and read none that another one writes."""
    accesses = _Accesses()
    accesses.visit(loop.body)
    return accesses.known and all(_apart(accesses.of[pointer], loop, accesses.defined) for pointer in accesses.written)


def _apart(accesses: Sequence[BufferLoad | BufferStore], loop: For, defined: set[Var]) -> bool:
    """Return whether each iteration accesses one element of its own."""
    analyzer = Analyzer()
    first = accesses[0]
    index = first.indices[-1]
    places = [(n.buffer.dtype, n.buffer.elem_offset, n.indices) for n in accesses]
    if dt.lanes(index.dtype) > 1 or not all(structural_equal(place, places[0]) for place in places):
        return False
    reads = _Accesses()
    reads.visit(index)
    step = analyzer.simplify(substitute(index, {loop.loop_var: loop.loop_var + 1}) - index)
    is_fixed = not reads.of and defined.isdisjoint(free_vars(index))
    return is_fixed and isinstance(step, IntImm) and step.value != 0


class _Accesses(StmtExprVisitor):
    """Collects what some code accesses."""

    def __init__(self) -> None:
        self.of: dict[Var, list[BufferLoad | BufferStore]] = {}
        self.written: set[Var] = set()  # pointers to what is written
        self.defined: set[Var] = set()
        # whether that is all: no call does anything else, no pointer goes anywhere else, and nothing that is read is
        # kept beside memory
        self.known = True

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self.of.setdefault(n.buffer.data, []).append(n)
        self.visit_Node(n)

    def visit_BufferStore(self, n: BufferStore) -> None:
        self.of.setdefault(n.buffer.data, []).append(n)
        self.written.add(n.buffer.data)
        self.visit_Node(n)

    def visit_Call(self, n: Call) -> None:
        self.known = self.known and not has_effect(n)
        self.visit_Node(n)

    def visit_Var(self, n: Var) -> None:
        self.known = self.known and n.dtype != "handle"

    def visit_For(self, n: For) -> None:
        self.defined.add(n.loop_var)
        self.visit_Node(n)

    def visit_LetStmt(self, n: LetStmt) -> None:
        self.defined.add(n.var)
        self.known = self.known and is_pure(n.value)
        self.visit_Node(n)

    def _unknown(self, n: Stmt) -> None:
        self.known = False

    visit_Allocate = visit_Evaluate = visit_While = visit_AssertStmt = _unknown
