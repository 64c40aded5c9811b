"""Inserts barriers between the threads of a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from compiler.arith.analyzer import Analyzer
from compiler.arith.int_set import IntervalSet, IntSet
from compiler.arith.interval_arithmetic import eval_set
from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call, IterVar, Not, PrimExpr, Range, StringImm, Var, is_const_int
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.functor import Functor, Visitor
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.origin import user_place
from compiler.ir.transform import PassContext
from compiler.ir.types import PointerType
from compiler.tir.analysis.features import features
from compiler.tir.analysis.side_effect import reads_memory
from compiler.tir.analysis.thread_axes import is_thread, thread_axes
from compiler.tir.analysis.uniformity import Uniformity, varying_values
from compiler.tir.expressions.builtin import ACCESS_PTR, STORAGE_SYNC, storage_sync
from compiler.tir.statements import stmt as tir
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, Stmt, While
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.memory.merge_shared_memory_allocations import MemoryReuse
from compiler.tir.transform.pass_base import PrimFuncPass
from compiler.tir.transform.threads.thread_elements import ThreadElements, apart, apart_after_steps

_ORDERED = {
    **dict.fromkeys(("shared", "shared.dyn"), ("shared", "shared.dyn", "warp")),
    "warp": ("warp",),
    "global": ("global",),
}
"""By the scope of a barrier, the memory whose accesses it orders; a block that waits waits in each of its warps."""


class ThreadSync(PrimFuncPass):
    """Let the threads of a block wait for each other where one reads or overwrites what another one stored.

    For example, with ``B`` in shared memory::

        B[threadIdx_x] = A[threadIdx_x]             B[threadIdx_x] = A[threadIdx_x]
        C[threadIdx_x] = B[7 - threadIdx_x]    →    T.tvm_storage_sync("shared")
                                                    C[threadIdx_x] = B[7 - threadIdx_x]

    What an iteration of a loop leaves behind counts for the next one as well; and so does what lay in memory before,
    where :class:`MergeSharedMemoryAllocations` lets two allocations share it. Raises LoweringError if the threads had
    to wait within a branch or loop that not all of them take, or take as often.

    Accesses to the storage ``storage_scope`` are looked at, e.g. ``shared``.
    """

    storage_scope: str

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        if "thread_extent" not in features(func).attrs:
            return func
        plan = _Plan(self.storage_scope, Uniformity(varying_values(func.body)), ctx)
        plan.visit(func.body)
        if not (plan.waiting or plan.closing):
            return func
        return func.with_body(_Insert(plan.waiting, plan.closing, self.storage_scope).visit(func.body))


class _Access(NamedTuple):
    """An access to the memory that the threads of a block share."""

    data: Var
    writes: bool
    indices: tuple[PrimExpr, ...]
    box: tuple[IntervalSet, ...]
    ahead: bool
    """Whether it fills the half of a double buffer that is not in use."""
    conditions: tuple[PrimExpr, ...]
    """What holds for the threads that come to it."""


class _Summary(NamedTuple):
    """What a statement accesses before the threads wait in it for the first time, and after the last one."""

    head: list[_Access]
    tail: list[_Access]
    waits: bool


class _Plan(Functor):
    """Summarises statements and finds those before which threads wait."""

    def __init__(self, scope: str, uniformity: Uniformity, ctx: PassContext) -> None:
        self.waiting: set[Stmt] = set()
        """The statements before which threads wait."""
        self.closing: set[While] = set()
        """The loops at the end of whose bodies threads wait."""
        self._scope = scope
        self._uniformity = uniformity
        self._ctx = ctx
        self._reuse: MemoryReuse | None = None
        """Of the kernel that is looked at; None outside of kernels."""
        self._domains: dict[Var, IntervalSet] = {}
        self._analyzer = Analyzer()
        self._elements: ThreadElements | None = None
        """Of the kernel that is looked at; None outside of kernels."""
        self._loops: list[Var] = []
        """The variables of the loops around the statement that is looked at."""
        self._threads: set[Var] = set()
        self._ran: set[Var] = set()
        """The variables of all loops so far."""
        self._values: dict[Var, PrimExpr] = {}
        """The values of variables that are defined where they are used."""
        self._conditions: list[PrimExpr] = []
        self._ahead: frozenset[Var] = frozenset()
        self._divergence: For | While | tir.IfThenElse | None = None
        """The outermost statement around whose body only some threads may come to, or come to as often."""

    # statements

    def visit_SeqStmt(self, n: tir.SeqStmt) -> _Summary:
        return self._joined(n.seq, [self.visit(stmt) for stmt in n.seq])

    def visit_Allocate(self, n: tir.Allocate | tir.DeclBuffer) -> _Summary:
        summary: _Summary = self.visit(n.body)
        return summary

    visit_DeclBuffer = visit_Allocate

    def visit_AttrStmt(self, n: tir.AttrStmt) -> _Summary:
        if n.attr_key == "thread_extent" and isinstance(n.node, IterVar):
            self._domains[n.node.var] = IntSet.from_range(Range.from_min_extent(0, n.value))
            return self._launch(n, n.node)
        ahead = self._ahead
        if n.attr_key == "double_buffer_write" and isinstance(n.node, Var):
            self._ahead |= {n.node}
        summary: _Summary = self.visit(n.body)
        self._ahead = ahead
        return summary

    def _launch(self, n: tir.AttrStmt, axis: IterVar) -> _Summary:
        outer = self._elements, self._reuse
        if is_thread(axis.thread_tag):
            self._threads.add(axis.var)
        if self._elements is None:
            # The threads of a warp differ in the first axis alone, and no other threads see the memory of a warp.
            axes = thread_axes(n).values()
            shared = [a for a in axes if is_thread(a.tag) and (self._scope != "warp" or a.tag == "threadIdx.x")]
            self._elements = ThreadElements(shared, self._uniformity, self._analyzer)
            self._reuse = MemoryReuse(n.body, self._scope, self._ctx)
        summary: _Summary = self.visit(n.body)
        self._elements, self._reuse = outer
        return summary

    def visit_For(self, n: For) -> _Summary:
        first, last = (eval_set(end, self._domains, self._analyzer) for end in (n.min, n.min + n.extent - 1))
        self._domains[n.loop_var] = IntervalSet(first.min_value, last.max_value)
        self._loops.append(n.loop_var)
        self._ran.add(n.loop_var)
        with self._under(n, n.min, n.extent):
            once = self._leaf(n.min, n.extent)
            whole = self._repeated(n)
        self._loops.pop()
        if self._analyzer.can_prove(n.extent > 0):
            return _Summary(once.head + whole.head, whole.tail if whole.waits else once.tail + whole.tail, whole.waits)
        return _Summary(once.head + whole.head, once.tail + whole.tail, False)  # it may have no iteration

    def visit_While(self, n: While) -> _Summary:
        asked = self._leaf(n.condition)
        with self._under(n, n.condition):
            whole = self._repeated(n)
            if self._race(whole.head, asked.tail, None):
                self._wait(n.body)
            if self._race(asked.head, whole.tail, None):
                self._require_all(n)
                self.closing.add(n)
        return _Summary(asked.head + whole.head, asked.tail + whole.tail, False)

    @contextmanager
    def _under(
        self, n: For | While | tir.IfThenElse, *values: PrimExpr, condition: PrimExpr | None = None
    ) -> Iterator[None]:
        """Note that threads come to the statements within as values say, which may differ between threads."""
        outer = self._divergence
        if outer is None and not self._uniformity.holds(*values):
            self._divergence = n
        known = [] if condition is None else [condition]
        self._conditions += known
        yield
        del self._conditions[len(self._conditions) - len(known) :]
        self._divergence = outer

    def _repeated(self, over: For | While) -> _Summary:
        """Summarise the body of a loop: what an iteration leaves behind meets the next one."""
        items = over.body.seq if isinstance(over.body, tir.SeqStmt) else (over.body,)
        summaries = [self.visit(item) for item in items]
        carried = self._joined(items, summaries).tail
        for item, summary in zip(items, summaries, strict=True):
            if item in self.waiting:
                break
            if self._race(summary.head, carried, over):
                self._wait(item)
                break
            if summary.waits:
                break
        whole = self._joined(items, summaries)
        # What an iteration fills ahead is what the next one reads, and so does what comes behind the loop; a loop that
        # only fills ahead itself is a part of such an iteration.
        return whole._replace(tail=[access._replace(ahead=access.data in self._ahead) for access in whole.tail])

    def visit_IfThenElse(self, n: tir.IfThenElse) -> _Summary:
        asked = self._leaf(n.condition)
        head, tail = asked.head, asked.tail
        for side, condition in ((n.then_case, n.condition), (n.else_case, Not(n.condition))):
            if side is not None:
                with self._under(n, n.condition, condition=condition):
                    summary = self.visit(side)
                    if self._race(summary.head, asked.tail, None):
                        self._wait(side)
                        summary = summary._replace(head=[], waits=True)
                head, tail = head + summary.head, tail + summary.tail
        return _Summary(head, tail, False)  # the threads of a block may have taken the side where nobody waits

    def visit_LetStmt(self, n: tir.LetStmt) -> _Summary:
        self._values[n.var] = substitute(n.value, self._values)
        return self._before(self._leaf(n.value), n.body)

    def visit_AssertStmt(self, n: tir.AssertStmt) -> _Summary:
        return self._before(self._leaf(n.condition), n.body)

    def _before(self, first: _Summary, body: Stmt) -> _Summary:
        rest = self.visit(body)
        if body not in self.waiting and self._race(rest.head, first.tail, None):
            self._wait(body)
        if body in self.waiting:
            return _Summary(first.head, rest.tail, True)
        return _Summary(first.head + rest.head, rest.tail if rest.waits else first.tail + rest.tail, rest.waits)

    def visit_BufferStore(self, n: tir.BufferStore) -> _Summary:
        loads = self._leaf(n.value, *n.indices).head
        store = self._access(n.buffer.data, n.indices, True)
        accesses = loads if store is None else [*loads, store]
        return _Summary(accesses, accesses, False)

    def visit_Evaluate(self, n: tir.Evaluate) -> _Summary:
        if isinstance(n.value, Call) and n.value.op is STORAGE_SYNC:
            scope = n.value.args[0]
            return _Summary([], [], isinstance(scope, StringImm) and self._scope in _ORDERED.get(scope.value, ()))
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
            if item not in self.waiting and self._race(summary.head, pending, None):
                self._wait(item)
            if item in self.waiting:
                pending, waits = [], True
            if not waits:
                head = head + summary.head
            pending = summary.tail if summary.waits else pending + summary.tail
            waits = waits or summary.waits
        return _Summary(head, pending, waits)

    def _wait(self, n: Stmt) -> None:
        self._require_all(n)
        self.waiting.add(n)

    def _require_all(self, n: Stmt) -> None:
        """Raise where not all threads come to a statement at which they must wait."""
        if self._divergence is not None:
            raise LoweringError(_divergence_message(n, self._divergence, self._scope))

    # accesses

    def _access(self, data: Var, indices: tuple[PrimExpr, ...], writes: bool) -> _Access | None:
        kind = data.type_annotation
        if self._elements is None or not isinstance(kind, PointerType) or kind.storage_scope != self._scope:
            return None
        places = tuple([substitute(index, self._values) for index in indices])
        box = tuple([self._range(place) for place in places])
        return _Access(data, writes, places, box, data in self._ahead, tuple(self._conditions))

    def _range(self, place: PrimExpr) -> IntervalSet:
        if reads_memory(place):
            return IntSet.everything()
        return eval_set(place, self._domains, self._analyzer)

    def _race(self, later: list[_Access], earlier: list[_Access], over: For | While | None) -> bool:
        return any(self._races(a, b, over) for a in later for b in earlier)

    def _races(self, a: _Access, b: _Access, over: For | While | None) -> bool:
        """Return whether two threads may access one element, one of them to change it."""
        if not (a.writes or b.writes):
            return False
        if a.data is not b.data:
            return self._reuse is not None and self._reuse.may_share(a.data, b.data)
        if len(a.box) != len(b.box):
            return True
        if not a.box and a.writes and b.writes:
            return False  # stores of whole matrices by warps
        if over is None and b.ahead and b.writes and not (a.ahead or a.writes):
            return False  # what is read behind it lies in the other half
        if any(apart(x, y, self._analyzer) for x, y in zip(a.box, b.box, strict=True)):
            return False
        return not (self._of_one_thread(a, b, over) or self._apart_at_once(a, b, over))

    def _of_one_thread(self, a: _Access, b: _Access, over: For | While | None) -> bool:
        """Return whether no two threads access one element, each in its place."""
        indices = (*a.indices, *b.indices)
        if self._elements is None or not a.indices or any(reads_memory(index) for index in indices):
            return False
        if not self._changing(over).isdisjoint(free_vars(indices)):
            return False
        return not self._elements.meet(a.indices, b.indices, a.conditions, b.conditions)

    def _changing(self, over: For | While | None) -> set[Var]:
        """Return the loops that may be elsewhere at another access: in another iteration of one, or in the same."""
        here = over.loop_var if isinstance(over, For) else None
        return self._ran.difference(var for var in self._loops if var is not here)

    def _apart_at_once(self, a: _Access, b: _Access, over: For | While | None) -> bool:
        """Return whether the elements differ while the loops around both accesses are where they are."""
        domains = {var: self._domains[var] for var in self._changing(over) | self._threads}
        pairs = [(x, y) for x, y in zip(a.indices, b.indices, strict=True) if not (reads_memory(x) or reads_memory(y))]
        if over is None:
            ends = [[eval_set(index, domains, self._analyzer) for index in pair] for pair in pairs]
            return any(apart(x, y, self._analyzer) for x, y in ends)
        if not isinstance(over, For):
            return False
        del domains[over.loop_var]
        return any(apart_after_steps(x, y, over.loop_var, domains, self._analyzer) for x, y in pairs)


def _divergence_message(waiting: Stmt, divergent: For | While | tir.IfThenElse, scope: str) -> str:
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
    def __init__(self, waiting: set[Stmt], closing: set[While], scope: str) -> None:
        self._waiting = waiting
        self._closing = closing
        self._scope = scope

    def _barrier(self) -> Stmt:
        return tir.Evaluate(storage_sync(self._scope))

    def _after_wait(self, n: Stmt, new: Stmt) -> Stmt:
        return tir.SeqStmt((self._barrier(), new)) if n in self._waiting else new

    def visit_Stmt(self, n: Stmt) -> Stmt:
        return self._after_wait(n, self.visit_Node(n))

    def visit_While(self, n: While) -> Stmt:
        body = self.visit(n.body)
        new = rebuild(n, body=tir.SeqStmt((body, self._barrier())) if n in self._closing else body)
        return self._after_wait(n, new)

    def visit_SeqStmt(self, n: tir.SeqStmt) -> Stmt:
        return self._after_wait(n, rebuild(n, seq=tir.SeqStmt(tuple([self.visit(stmt) for stmt in n.seq])).seq))
