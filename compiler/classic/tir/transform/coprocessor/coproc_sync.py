"""Synchronises the host, a coprocessor and the coprocessor's units."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.arith.analyzer import Analyzer
from compiler.arith.int_set import IntervalSet, union
from compiler.classic.tir.transform.coprocessor.coproc_accesses import (
    COPROC_SCOPE,
    Access,
    AccessPlanner,
    SharedMemory,
    Step,
)
from compiler.classic.tir.transform.coprocessor.coproc_dependences import Dependences
from compiler.ir import dtype as dt
from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call, ExprLike, IterVar, PrimExpr, Var, const, convert
from compiler.ir.op import Op
from compiler.tir.analysis.features import features
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Evaluate, For, Stmt, While, seq
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.pass_base import FunctionRewrite

Inserted = dict[Stmt, list[Stmt]]


class CoProcSync(FunctionRewrite):
    """Let the host, a coprocessor and its units wait for each other where they access the same memory.

    For example, where the coprocessor ``cop`` reads and writes what the host has written::

                                                   A[i] = A[i] + 1.0
        A[i] = A[i] + 1.0                          cop.coproc_read_barrier(A, 32, 0, 10)
        with T.attr(cop, "coproc_scope", 1):       with T.attr(cop, "coproc_scope", 1):
            for j in range(10):               →        for j in range(10):
                A[j] = A[j] + 2.0                          A[j] = A[j] + 2.0
                                                   cop.coproc_sync()
                                                   cop.coproc_write_barrier(A, 32, 0, 10)

    A unit pushes a token (``coproc_dep_push(from, to)``) that the next unit pops (``coproc_dep_pop``) before it begins,
    also from one iteration of a loop to the next.  The operators are those that a program has registered under the name
    of the coprocessor's axis, e.g. ``tir.cop.coproc_sync``. Raises LoweringError if a function works with several
    coprocessors, or what is accessed of a buffer has no bounds.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if COPROC_SCOPE not in features(func).attrs:
            return func
        memory = SharedMemory()
        shared = memory.of(func.body)
        coproc = _only(memory.coprocs)
        calls = _Calls(coproc.var.name)
        sync, barriers = _Waits(shared, calls), _Barriers(shared, calls)
        sync.run_to_the_end(func.body)
        barriers.run_both(func.body)
        units = Dependences(coproc, calls.push, calls.pop)
        units.run(func.body)
        before, after = _joined(barriers.before, units.before), _joined(sync.after, barriers.after, units.after)
        return func.with_body(_Insert(before, after).visit(func.body))


def _only(coprocs: Sequence[IterVar]) -> IterVar:
    if len(coprocs) != 1:
        names = ", ".join(axis.var.name for axis in coprocs)
        raise LoweringError(f"CoProcSync: a function may use only one coprocessor, got {names or 'none'}")
    return coprocs[0]


def _joined(*parts: Inserted) -> Inserted:
    joined: Inserted = {}
    for part in parts:
        for stmt, inserted in part.items():
            joined.setdefault(stmt, []).extend(inserted)
    return joined


class _Calls:
    """Makes the calls to the operators of a coprocessor."""

    def __init__(self, coproc: str) -> None:
        self._coproc = coproc

    def _call(self, name: str, *args: ExprLike) -> Stmt:
        return Evaluate(Call("int32", Op.get(f"tir.{self._coproc}.coproc_{name}"), tuple(map(convert, args))))

    def sync(self) -> Stmt:
        """Let the host wait for the coprocessor."""
        return self._call("sync")

    def push(self, source: int, target: int) -> Stmt:
        """Let a unit tell another one that it is done."""
        return self._call("dep_push", source, target)

    def pop(self, source: int, target: int) -> Stmt:
        """Let a unit wait for another one."""
        return self._call("dep_pop", source, target)

    def barrier(self, kind: str, accesses: Sequence[Access]) -> Stmt:
        """Make the elements of some accesses coherent: before the coprocessor's ``read`` or after its ``write``."""
        data, dtype = accesses[0].data, accesses[0].dtype
        if any(len(a.box) != 1 or a.dtype != dtype for a in accesses):
            raise LoweringError(f"CoProcSync: {data.name!r} must be accessed as one dimension of one type")
        low, extent = _covered(data, [a.box[0] for a in accesses])
        return self._call(f"{kind}_barrier", data, dt.bits(dtype), low, extent)


def _covered(data: Var, sets: Sequence[IntervalSet]) -> tuple[PrimExpr, PrimExpr]:
    """Return the begin and the extent of the elements in any of the sets."""
    analyzer = Analyzer()
    whole = union(sets, analyzer)
    if not whole.is_bounded():
        raise LoweringError(f"CoProcSync: the accessed region of {data.name!r} is unbounded")
    low = analyzer.simplify(whole.min_value)
    return low, analyzer.simplify(whole.max_value + const(1, low.dtype) - low)


class _Waits(AccessPlanner):
    """Plans where the host waits: before it touches what the coprocessor wrote, or writes what that has read."""

    def __init__(self, shared: set[Var], calls: _Calls) -> None:
        super().__init__(shared)
        self._calls = calls
        self.after: Inserted = {}

    def run_to_the_end(self, body: Stmt) -> None:
        """Plan for a function, at whose end the coprocessor is done."""
        steps = self._sequence(body)
        pending = self.plan(steps, None)
        if any(a is not None for a in pending):
            self._wait_after(steps[-1].stmt)
        if not self.after:
            self._wait_after(body)

    def _wait_after(self, stmt: Stmt) -> None:
        self.after[stmt] = [self._calls.sync()]

    def plan(self, steps: Sequence[Step], loop: For | While | None) -> list[Access | None]:
        pending: list[Access] = []
        waits = False
        for index, step in enumerate(steps):
            if None in step.accesses:
                pending, waits = [], True
            if any(a is not None and _conflicts(a, pending) for a in step.accesses):
                self._wait_after(steps[index - 1].stmt)
                pending, waits = [], True
            pending += [a for a in step.accesses if a is not None and a.by_coproc]
        if loop is not None and self._carried(steps, pending):
            self._wait_after(steps[-1].stmt)
            pending, waits = [], True
        return [*([None] if waits else []), *pending]

    def _carried(self, steps: Sequence[Step], pending: list[Access]) -> bool:
        """Return whether what is pending at the end of an iteration conflicts with the next one before a wait."""
        for step in steps:
            if any(a is not None and _conflicts(a, pending) for a in step.accesses):
                return True
            if step.stmt in self.after:
                return False
        return False


def _conflicts(access: Access, pending: Sequence[Access]) -> bool:
    return not access.by_coproc and any(a.data is access.data and (access.writes or a.writes) for a in pending)


class _Barriers(AccessPlanner):
    """Plans where memory is made coherent.

    What the host has written is made coherent before the coprocessor reads it; what the coprocessor has written, before
    the host reads it.  The latter is planned from the first statement on, the former, alike, from the last one back:
    one barrier serves all accesses of the coprocessor up to that of the host.
    """

    def __init__(self, shared: set[Var], calls: _Calls) -> None:
        super().__init__(shared)
        self._calls = calls
        self._for_coproc = True
        self.before: Inserted = {}
        self.after: Inserted = {}

    def run_both(self, body: Stmt) -> None:
        """Plan the barriers for the coprocessor's reads and those for its writes."""
        for self._for_coproc in (True, False):
            self.run(body)

    def plan(self, steps: Sequence[Step], loop: For | While | None) -> list[Access | None]:
        ordered = list(reversed(steps)) if self._for_coproc else list(steps)
        host: list[Access] = []
        pending: dict[Var, list[Access]] = {}
        for index, step in enumerate(ordered):
            for access in self._of_interest(step, by_coproc=False):
                self._end(pending, access, ordered[index - 1])
                host.append(access)
            for access in self._of_interest(step, by_coproc=True):
                pending.setdefault(access.data, []).append(access)
        if loop is not None:
            for access in host:
                self._end(pending, access, ordered[-1])
        return [*host, *(access for accesses in pending.values() for access in accesses)]

    def _of_interest(self, step: Step, by_coproc: bool) -> list[Access]:
        """Return the coprocessor's reads and the host's writes, or the other way round."""
        writes = by_coproc is not self._for_coproc
        return [a for a in step.accesses if a is not None and a.by_coproc is by_coproc and a.writes is writes]

    def _end(self, pending: dict[Var, list[Access]], access: Access, nearest: Step) -> None:
        """Let a barrier stand between an access of the host and the coprocessor's accesses to the same memory."""
        accesses = pending.pop(access.data, None)
        if accesses is None:
            return
        place, kind = (self.before, "read") if self._for_coproc else (self.after, "write")
        place.setdefault(nearest.stmt, []).append(self._calls.barrier(kind, accesses))


class _Insert(StmtExprMutator):
    def __init__(self, before: Inserted, after: Inserted) -> None:
        self._before = before
        self._after = after

    def visit_PrimExpr(self, n: PrimExpr) -> PrimExpr:
        return n

    def visit_Stmt(self, n: Stmt) -> Stmt:
        before, after = self._before.get(n, []), self._after.get(n, [])
        new = self.visit_Node(n)
        return seq([*before, new, *after]) if before or after else new
