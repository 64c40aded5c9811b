"""Letting the threads of a block wait for each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from compiler.arith.analyzer import Analyzer
from compiler.arith.int_set import IntervalSet, IntSet
from compiler.arith.interval_arithmetic import eval_set
from compiler.ir.error import LoweringError
from compiler.ir.functor import Functor, Visitor
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.origin import user_place
from compiler.ir.primexpr import Call, IterVar, PrimExpr, Range, StringImm, Var, is_const_int
from compiler.ir.structural import structural_equal
from compiler.ir.substitute import free_vars
from compiler.ir.transform import PassContext
from compiler.ir.types import PointerType
from compiler.tir.analysis.features import features
from compiler.tir.analysis.uniformity import Uniformity, varying_values
from compiler.tir.buffer import Buffer, BufferLoad
from compiler.tir.builtin import ACCESS_PTR, STORAGE_SYNC
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
)
from compiler.tir.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import PrimFuncPass


class ThreadSync(PrimFuncPass):
    """Let the threads of a block wait for each other where one reads or overwrites what another one stored.

    For example, with ``B`` in shared memory::

        B[threadIdx_x] = A[threadIdx_x]             B[threadIdx_x] = A[threadIdx_x]
        C[threadIdx_x] = B[7 - threadIdx_x]    →    T.tvm_storage_sync("shared")
                                                    C[threadIdx_x] = B[7 - threadIdx_x]

    What an iteration of a loop leaves behind counts for the next one as well.

    Parameters
    ----------
    storage_scope : str
        The storage whose accesses are looked at, e.g. ``shared``.

    Raises
    ------
    LoweringError
        If the threads had to wait within a branch or loop that not all of them take, or take as often.
    """

    storage_scope: str

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        if "thread_extent" not in features(func).attrs:
            return func
        plan = _Plan(self.storage_scope, Uniformity(varying_values(func.body)))
        plan.visit(func.body)
        return func.with_body(_Insert(plan.waiting, self.storage_scope).visit(func.body)) if plan.waiting else func


class _Access(NamedTuple):
    """An access to the memory that the threads of a block share."""

    data: Var
    writes: bool
    indices: tuple[PrimExpr, ...]
    box: tuple[IntervalSet, ...]
    ahead: bool
    """Whether it fills the half of a double buffer that is not in use."""


class _Summary(NamedTuple):
    """What a statement accesses before the threads wait in it for the first time, and after the last one."""

    head: list[_Access]
    tail: list[_Access]
    waits: bool


class _Plan(Functor):
    """Summarises statements and finds those before which threads wait."""

    def __init__(self, scope: str, uniformity: Uniformity) -> None:
        self.waiting: set[Stmt] = set()
        self._scope = scope
        self._uniformity = uniformity
        self._domains: dict[Var, IntervalSet] = {}
        self._analyzer = Analyzer()
        self._threads: set[Var] = set()
        self._ahead = False
        self._divergence: For | While | IfThenElse | None = None
        """The outermost statement around whose body only some threads may come to, or come to as often."""

    # statements

    def visit_SeqStmt(self, n: SeqStmt) -> _Summary:
        return self._joined(n.seq, [self.visit(stmt) for stmt in n.seq])

    def visit_Allocate(self, n: Allocate) -> _Summary:
        return self.visit(n.body)  # type: ignore[no-any-return]

    def visit_DeclBuffer(self, n: DeclBuffer) -> _Summary:
        return self.visit(n.body)  # type: ignore[no-any-return]

    def visit_AttrStmt(self, n: AttrStmt) -> _Summary:
        if n.attr_key == "thread_extent" and isinstance(n.node, IterVar):
            self._domains[n.node.var] = IntSet.from_range(Range.from_min_extent(0, n.value))
            fresh = {n.node.var} - self._threads
            self._threads |= fresh
            summary = self.visit(n.body)
            self._threads -= fresh
            return summary  # type: ignore[no-any-return]
        ahead, self._ahead = self._ahead, self._ahead or n.attr_key == "double_buffer_write"
        summary = self.visit(n.body)
        self._ahead = ahead
        return summary  # type: ignore[no-any-return]

    def visit_For(self, n: For) -> _Summary:
        self._domains[n.loop_var] = IntSet.from_range(Range.from_min_extent(n.min, n.extent))
        with self._under(n, n.min, n.extent):
            return self._repeated((n.min, n.extent), n.body)

    def visit_While(self, n: While) -> _Summary:
        with self._under(n, n.condition):
            return self._repeated((n.condition,), n.body)

    @contextmanager
    def _under(self, n: For | While | IfThenElse, *values: PrimExpr) -> Iterator[None]:
        """Note that threads come to the statements within as values say, which may differ between threads."""
        outer = self._divergence
        if outer is None and not self._uniformity.holds(*values):
            self._divergence = n
        yield
        self._divergence = outer

    def _repeated(self, values: tuple[PrimExpr, ...], body: Stmt) -> _Summary:
        """Summarise a loop: what an iteration leaves behind meets the next one."""
        items = body.seq if isinstance(body, SeqStmt) else (body,)
        summaries = [self.visit(item) for item in items]
        carried = self._joined(items, summaries).tail
        for item, summary in zip(items, summaries, strict=True):
            if item in self.waiting:
                break
            if self._race(summary.head, carried, True):
                self._wait(item)
                break
            if summary.waits:
                break
        once = self._leaf(*values)
        whole = self._joined(items, summaries)
        tail = whole.tail if whole.waits else once.tail + whole.tail
        # What an iteration fills ahead is what the next one reads, and so does what comes behind the loop.
        behind = [access._replace(ahead=False) for access in tail]
        return _Summary(once.head + whole.head, behind, whole.waits)

    def visit_IfThenElse(self, n: IfThenElse) -> _Summary:
        head, tail = self._leaf(n.condition)[:2]
        with self._under(n, n.condition):
            for side in (n.then_case, n.else_case):
                if side is not None:
                    summary = self.visit(side)
                    head, tail = head + summary.head, tail + summary.tail
        return _Summary(head, tail, False)  # the threads of a block may have taken the side where nobody waits

    def visit_LetStmt(self, n: LetStmt) -> _Summary:
        return self._before(self._leaf(n.value), n.body)

    def visit_AssertStmt(self, n: AssertStmt) -> _Summary:
        return self._before(self._leaf(n.condition), n.body)

    def _before(self, first: _Summary, body: Stmt) -> _Summary:
        rest = self.visit(body)
        return _Summary(first.head + rest.head, rest.tail if rest.waits else first.tail + rest.tail, rest.waits)

    def visit_BufferStore(self, n: BufferStore) -> _Summary:
        loads = self._leaf(n.value, *n.indices).head
        store = self._access(n.buffer.data, n.indices, True)
        accesses = loads if store is None else [*loads, store]
        return _Summary(accesses, accesses, False)

    def visit_Evaluate(self, n: Evaluate) -> _Summary:
        if isinstance(n.value, Call) and n.value.op is STORAGE_SYNC:
            scope = n.value.args[0]
            return _Summary([], [], isinstance(scope, StringImm) and scope.value == self._scope)
        return self._leaf(n.value)

    def _leaf(self, *values: PrimExpr) -> _Summary:
        loads = _Loads()
        for value in values:
            loads.visit(value)
        every = [self._access(data, indices, writes) for data, indices, writes in loads.accesses]
        accesses = [access for access in every if access is not None]
        return _Summary(accesses, accesses, False)

    def _joined(self, items: Sequence[Stmt], summaries: Sequence[_Summary]) -> _Summary:
        """Summarise statements in order; the threads wait before one that races with what is pending."""
        head: list[_Access] = []
        pending: list[_Access] = []
        waits = False
        for item, summary in zip(items, summaries, strict=True):
            if item not in self.waiting and self._race(summary.head, pending, False):
                self._wait(item)
            if item in self.waiting:
                pending, waits = [], True
            if not waits:
                head = head + summary.head
            pending = summary.tail if summary.waits else pending + summary.tail
            waits = waits or summary.waits
        return _Summary(head, pending, waits)

    def _wait(self, n: Stmt) -> None:
        if self._divergence is not None:
            raise LoweringError(_divergence_message(n, self._divergence, self._scope))
        self.waiting.add(n)

    # accesses

    def _access(self, data: Var, indices: tuple[PrimExpr, ...], writes: bool) -> _Access | None:
        kind = data.type_annotation
        if not self._threads or not isinstance(kind, PointerType) or kind.storage_scope != self._scope:
            return None
        box = tuple([eval_set(index, self._domains, self._analyzer) for index in indices])
        return _Access(data, writes, indices, box, self._ahead)

    def _race(self, later: list[_Access], earlier: list[_Access], carried: bool) -> bool:
        return any(self._races(a, b, carried) for a in later for b in earlier)

    def _races(self, a: _Access, b: _Access, carried: bool) -> bool:
        """Return whether two threads may access one element, one of them to change it."""
        if a.data is not b.data or not (a.writes or b.writes):
            return False
        if len(a.box) != len(b.box):
            return True
        if a.writes and b.writes and structural_equal(a.indices, b.indices):
            return False  # the same store, element by element
        if self._own_element(a, b, carried):
            return False
        if not carried and a.ahead != b.ahead and not (a.writes and b.writes):
            return False
        return not any(self._apart(x, y) for x, y in zip(a.box, b.box, strict=True))

    def _own_element(self, a: _Access, b: _Access, carried: bool) -> bool:
        """Return whether each thread accesses an element of its own, the same one both times."""
        used = set(free_vars(a.indices))
        if not used & self._threads or not structural_equal(a.indices, b.indices):
            return False
        return not carried or not used.intersection(self._domains) - self._threads

    def _apart(self, x: IntervalSet, y: IntervalSet) -> bool:
        if not (x.is_bounded() and y.is_bounded()):
            return False
        prove = self._analyzer.can_prove
        return prove(x.max_value < y.min_value) or prove(y.max_value < x.min_value)


def _divergence_message(waiting: Stmt, divergent: For | While | IfThenElse, scope: str) -> str:
    if isinstance(divergent, For):
        decides = f"the loop over {divergent.loop_var.name} runs {divergent.extent} times"
    else:
        decides = f"the condition is {divergent.condition}"
    return (
        f"ThreadSync: threads must wait for each other{user_place(waiting.span)} because of what they share in {scope} "
        f"memory, but they cannot within a branch that not all of them take{user_place(divergent.span)}: {decides}, "
        "which differs between threads; let the extents divide the loops that are bound to threads, or compute the "
        "shared stage outside of the branch"
    )


class _Loads(Visitor):
    """Collects what expressions access: pointer, indices (none for all of it), and whether it is written."""

    def __init__(self) -> None:
        self.accesses: list[tuple[Var, tuple[PrimExpr, ...], bool]] = []

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self.accesses.append((n.buffer.data, n.indices, False))
        self.visit_Node(n)

    def visit_Call(self, n: Call) -> None:
        if n.op is ACCESS_PTR and isinstance(n.args[1], Var):
            mask = n.args[4]
            self.accesses.append((n.args[1], (), not is_const_int(mask, Buffer.READ)))
            return
        self.visit_Node(n)


class _Insert(StmtMutator):
    def __init__(self, waiting: set[Stmt], scope: str) -> None:
        self._waiting = waiting
        self._scope = scope

    def visit_Stmt(self, n: Stmt) -> Stmt:
        new: Stmt = self.visit_Node(n)
        if n not in self._waiting:
            return new
        wait = Evaluate(Call("int32", STORAGE_SYNC, (StringImm(self._scope),)))
        return SeqStmt((wait, new))

    def visit_SeqStmt(self, n: SeqStmt) -> Stmt:
        return rebuild(n, seq=SeqStmt(tuple([self.visit(stmt) for stmt in n.seq])).seq)
