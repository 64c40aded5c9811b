"""The loop nest of one stage: loops, guards, stores, and the stages attached inside."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field

from compiler.arith import Analyzer
from compiler.ir.error import ScheduleError
from compiler.ir.expr.primexpr import CommReducer, IntImm, IterVar, Min, PrimExpr, Reduce, Var, is_const_int
from compiler.ir.expr.substitute import substitute, uses_var
from compiler.ir.node import rebuild
from compiler.ir.origin import NO_SPAN, Span, derived_from
from compiler.te.definition.compute_body import reads_tensors, reducer_at
from compiler.te.definition.operation import ComputeOp, domain, has_dependent_domains
from compiler.te.lowering.cross_thread import reduce_across_threads
from compiler.te.lowering.guards import bound_predicates, guarded_condition
from compiler.te.lowering.message_passing import derived_axes, pass_up_index
from compiler.te.relations.relation import Domains, Values
from compiler.te.scheduling.primitives import line_of
from compiler.te.scheduling.stage import IterVarAttr, Stage
from compiler.te.scheduling.storage import is_virtual, owned_by_thread
from compiler.tir.expressions.builtin import likely
from compiler.tir.statements.stmt import THREAD_KEYS, AttrStmt, For, ForKind, IfThenElse, LetStmt, Stmt, seq
from compiler.tir.transform.memory.inject_prefetch import PREFETCH, PREFETCH_SHARE

WithAttached = Callable[[IterVar, Stmt], Stmt]
"""``with_attached(axis, body)`` puts the stages that are computed at a loop in front of the loop's body."""

_KIND: dict[int | None, ForKind] = {
    IterVar.Vectorized: ForKind.VECTORIZED,
    IterVar.Unrolled: ForKind.UNROLLED,
    IterVar.Parallelized: ForKind.PARALLEL,
}


@dataclass(slots=True)
class LoopNest:
    """A loop nest without a body, outermost first, and the value of each axis in the innermost loop."""

    wrappers: list[Callable[[Stmt], Stmt]] = field(default_factory=list)
    values: Values = field(default_factory=dict)

    def wrap(self, body: Stmt, begin: int = 0) -> Stmt:
        """Return the loops from the position ``begin`` on, with ``body`` in the innermost one."""
        for wrap in reversed(self.wrappers[begin:]):
            body = wrap(body)
        return body


class StageLoops:
    """Builds the loops of a stage.

    ``with_attached(axis, body)`` puts the stages that are computed at a loop in front of the loop's body.
    """

    def __init__(
        self,
        stage: Stage,
        domains: Domains,
        analyzer: Analyzer,
        with_attached: WithAttached,
        keep_trivial_loops: bool = False,
    ) -> None:
        self.stage = stage
        self.domains = domains
        self.analyzer = analyzer
        self.with_attached = with_attached
        self.keep_trivial_loops = keep_trivial_loops
        self.dependent = has_dependent_domains(stage.op)

    def loops(self, axes: Sequence[IterVar], suffix: str = "") -> LoopNest:
        """Return the loops over some axes, outermost first; with a suffix to their names, nothing is attached."""
        nest = LoopNest()
        for axis in axes:
            attr = self.stage.iter_var_attrs.get(axis)
            wrap, value = self._loop(axis, attr, suffix, nest.values)
            nest.wrappers.append(wrap)
            nest.values[axis] = value
        return nest

    def _loop(
        self, axis: IterVar, attr: IterVarAttr | None, suffix: str, values: Values
    ) -> tuple[Callable[[Stmt], Stmt], PrimExpr]:
        """Return a function that wraps a body in the loop, and the value of the axis in that body.

        ``values`` has the values of all axes by the time that the loop is made.
        """
        dom = self.domains[axis]
        span = axis.span | self.stage.op.span | self.stage.place_span | (attr.span if attr is not None else NO_SPAN)
        with_attached: WithAttached = (lambda _, body: body) if suffix else self._with_inside
        thread = attr.bind_thread if attr is not None else None
        if thread is not None:
            return self._thread_loop(axis, thread, span, with_attached)
        if isinstance(dom.extent, IntImm) and dom.extent.value == 1 and not self.keep_trivial_loops:
            return (lambda body: _pragmas(axis, attr, with_attached(axis, body))), dom.min
        kind = self._kind(axis, attr)
        var = Var(axis.var.name + suffix, axis.var.dtype) if suffix else axis.var
        if suffix:
            self.analyzer.bind(var, dom, override=True)

        def wrap(body: Stmt) -> Stmt:
            with derived_from(span):
                begin, extent = self._at(dom.min, values), self._at(dom.extent, values)
                return _pragmas(axis, attr, For(var, begin, extent, kind, with_attached(axis, body)))

        return wrap, var

    def _with_inside(self, axis: IterVar, body: Stmt) -> Stmt:
        """Put in front of the body of a loop what is computed and what is fetched there."""
        attr = self.stage.iter_var_attrs.get(axis)
        body = self.with_attached(axis, body)
        for tensor, ahead, shared in reversed(attr.prefetches if attr is not None else ()):
            body = AttrStmt(tensor, PREFETCH_SHARE if shared else PREFETCH, ahead, body)
        return body

    def _at(self, e: PrimExpr, values: Values) -> PrimExpr:
        """Return what a part of a domain is in the loops, where domains of reductions depend on the elements."""
        if not self.dependent:
            return e
        axes = self.stage.op.axis
        return substitute(e, by_var({axis: self._within_domain(axis, values[axis]) for axis in axes}, axes))

    def _within_domain(self, axis: IterVar, value: PrimExpr) -> PrimExpr:
        """Return the value of an axis, and the last one of its domain where the loops run past that.

        The guards around the body skip such an iteration, but a reduction that is as long as its element says would
        still run too far, and with it the stages that are computed inside.
        """
        for dom in (self.domains[axis], domain(axis)):
            last = dom.min + dom.extent - 1
            if not self.analyzer.can_prove(value <= last):
                value = Min(value, last)
        return value

    def _kind(self, axis: IterVar, attr: IterVarAttr | None) -> ForKind:
        kind = ForKind.SERIAL if attr is None else _KIND.get(attr.iter_type, ForKind.SERIAL)
        if kind is ForKind.VECTORIZED and not isinstance(self.domains[axis].extent, IntImm):
            line = line_of(self.stage.schedule.primitives, "vectorize", self.stage.op.name)
            raise ScheduleError(
                f"vectorize: axis {axis.var.name!r} of stage {self.stage.op.name!r} must have a constant extent, "
                f"got {self.domains[axis].extent}{line}; split it by a constant factor and vectorize the inner loop"
            )
        return kind

    def _thread_loop(
        self, axis: IterVar, thread: IterVar, span: Span, with_attached: WithAttached
    ) -> tuple[Callable[[Stmt], Stmt], PrimExpr]:
        dom = self.domains[axis]
        self.analyzer.bind(thread.var, dom, override=True)
        if thread.dom is not None and not self.analyzer.can_prove_equal(thread.dom.extent, dom.extent):
            raise ScheduleError(
                f"bind: axis {axis.var.name!r} of stage {self.stage.op.name!r} must have the extent "
                f"{thread.dom.extent} of thread axis {thread.var.name!r}, got {dom.extent}"
                f"{line_of(self.stage.schedule.primitives, 'bind', self.stage.op.name)}; split the axis by that extent"
            )
        self._require_one_loop(axis, thread)
        key = THREAD_KEYS[is_virtual(thread)]

        def wrap(body: Stmt) -> Stmt:
            with derived_from(span | thread.span):
                owner = thread if thread.dom is not None else rebuild(thread, dom=dom)
                return AttrStmt(owner, key, dom.extent, with_attached(axis, body))

        # Each thread has memory of its own, which holds its part alone: the part begins at the thread's first element.
        # Virtual threads share what is computed outside of their loop; what is reduced is not part of the memory.
        own = not is_virtual(thread) and owned_by_thread(self.stage.scope, thread) and not self._is_reduced(axis)
        return wrap, dom.min if own else thread.var.astype(axis.var.dtype) + dom.min

    def _require_one_loop(self, axis: IterVar, thread: IterVar) -> None:
        """Reject two loops along one thread axis: they would run over their diagonal."""
        if is_virtual(thread) or is_const_int(self.domains[axis].extent, 1):
            return
        for other in self.stage.leaf_iter_vars:
            attr = self.stage.iter_var_attrs.get(other)
            bound = None if attr is None or other is axis else attr.bind_thread
            if bound is None or bound.thread_tag != thread.thread_tag or is_const_int(self.domains[other].extent, 1):
                continue
            stage = self.stage.op.name
            raise ScheduleError(
                f"bind: axes {axis.var.name!r} and {other.var.name!r} of stage {stage!r} are both bound to "
                f"{thread.thread_tag}{line_of(self.stage.schedule.primitives, 'bind', stage)}, so that only their "
                "diagonal would be computed; fuse them, or bind one to another thread axis"
            )

    def _is_reduced(self, axis: IterVar) -> bool:
        op = self.stage.op
        return isinstance(op, ComputeOp) and axis in derived_axes(self.stage, set(op.reduce_axis))


class ComputeNest(StageLoops):
    """Builds the statement that computes a stage.

    Parameters
    ----------
    load : callable
        ``load(op, index, indices)`` is the expression that reads an element of the stage itself.
    has_room_for_domain : bool
        Whether the buffer stored to has room for the whole domain, and not just for the declared shape.
    """

    def __init__(
        self,
        stage: Stage,
        domains: Domains,
        analyzer: Analyzer,
        with_attached: WithAttached,
        store: Callable[[ComputeOp, int, PrimExpr, tuple[PrimExpr, ...]], Stmt],
        load: Callable[[ComputeOp, int, tuple[PrimExpr, ...]], PrimExpr],
        has_room_for_domain: bool,
        keep_trivial_loops: bool = False,
    ) -> None:
        assert isinstance(stage.op, ComputeOp)
        super().__init__(stage, domains, analyzer, with_attached, keep_trivial_loops)
        self.op: ComputeOp = stage.op
        self.store = store
        self.load = load
        self.has_room_for_domain = has_room_for_domain

    def build(self) -> Stmt:
        """Return the loops that compute the stage."""
        with derived_from(self.op.span):
            nest = self.loops(self.stage.leaf_iter_vars)
            pass_up_index(self.stage, self.domains, nest.values)
            nest.values.update({axis: self._at(value, nest.values) for axis, value in nest.values.items()})
            predicates = bound_predicates(self.stage, self.domains, nest.values, self.analyzer)
            predicates = [self._at(condition, nest.values) for condition in predicates]
            if isinstance(self.op.body[0], Reduce):
                return self._reduction(self.op.body[0], nest, predicates)
            replaced = by_var(nest.values, self.op.root_iter_vars)
            stores = [self._store(i, substitute(e, replaced), nest.values) for i, e in enumerate(self.op.body)]
            return nest.wrap(guarded(seq(stores), predicates))

    def _store(self, index: int, value: PrimExpr, values: Values) -> Stmt:
        with derived_from(self.op.span | value.span):
            stored = self.store(self.op, index, value, self._indices(values))
            predicate = self.stage.store_predicate
            if predicate is None:
                return stored
            return IfThenElse(substitute(predicate, {axis.var: at for axis, at in values.items()}), stored)

    def _indices(self, values: Values) -> tuple[PrimExpr, ...]:
        return tuple(values[a] for a in self.op.axis)

    # reductions

    def _reduction(self, reduction: Reduce, nest: LoopNest, predicates: list[PrimExpr]) -> Stmt:
        """Loops over elements stay outside; where reduction loops begin, initial values are stored first."""
        leaves = self.stage.leaf_iter_vars
        reducing = derived_axes(self.stage, set(self.op.reduce_axis))
        if any(self.stage.thread_of(a) is not None for a in leaves if a in reducing):
            return self._across_threads(reduction, nest, predicates, reducing)
        begin = next((i for i, a in enumerate(leaves) if a in reducing), len(leaves))
        update = nest.wrap(guarded(self._update(reduction, nest.values), predicates), begin)
        # A loop that is made of elements and reduction initializes an element several times, but before any update.
        init = self._init(reduction, nest, begin, reducing - derived_axes(self.stage, set(self.op.axis)))
        return LoopNest(nest.wrappers[:begin]).wrap(seq([init, update]))

    def _across_threads(
        self, reduction: Reduce, nest: LoopNest, predicates: list[PrimExpr], reducing: Set[IterVar]
    ) -> Stmt:
        """Loops over elements and threads stay outside; each thread carries out the other loops by itself."""
        mixed = reducing & derived_axes(self.stage, set(self.op.axis))
        if not mixed.isdisjoint(self.stage.leaf_iter_vars):
            raise ScheduleError(
                f"bind: a loop of stage {self.op.name!r} fuses a data-parallel axis with a reduction axis, which"
                f" threads cannot share; bind the axes before they are fused"
            )
        replaced = by_var(nest.values, self.op.root_iter_vars)
        outer, serial = LoopNest(), LoopNest()
        threads: list[Var] = []
        for axis, wrap in zip(self.stage.leaf_iter_vars, nest.wrappers, strict=True):
            thread = self.stage.thread_of(axis)
            if axis in reducing and thread is not None:
                threads.append(thread.var)
            (serial if axis in reducing and thread is None else outer).wrappers.append(wrap)
        skip = reducing | set(self.op.reduce_axis)
        own = bound_predicates(self.stage, self.domains, nest.values, self.analyzer, skip=skip)
        body = reduce_across_threads(
            reducer_at(reduction.combiner, replaced),
            [substitute(e, replaced) for e in reduction.source],
            guarded_condition(substitute(reduction.condition, replaced), predicates),
            threads,
            serial.wrap if serial.wrappers else None,
            lambda results: guarded(seq([self._store(i, e, nest.values) for i, e in enumerate(results)]), own),
        )
        return outer.wrap(body)

    def _init(self, reduction: Reduce, nest: LoopNest, begin: int, reducing: Set[IterVar]) -> Stmt:
        outer, rest = self.stage.leaf_iter_vars[:begin], self.stage.leaf_iter_vars[begin:]
        inner = self.loops([a for a in rest if a not in reducing], suffix=".init")
        values = inner.values  # the domains of its loops may depend on the loops outside of it
        values.update((a, nest.values[a]) for a in outer)
        pass_up_index(self.stage, self.domains, values)
        starts = reduction.init or tuple(reduction.combiner.identity_element)
        anywhere = self.has_room_for_domain and not any(reads_tensors(e) for e in starts)
        skip = reducing | set(self.op.reduce_axis)
        predicates = bound_predicates(
            self.stage, self.domains, values, self.analyzer, skip=skip, skip_own_domain=anywhere
        )
        replaced = by_var(values, self.op.axis)
        stores = [self._store(i, substitute(e, replaced), values) for i, e in enumerate(starts)]
        return inner.wrap(guarded(seq(stores), predicates))

    def _update(self, reduction: Reduce, values: Values) -> Stmt:
        indices = self._indices(values)
        replaced = by_var(values, self.op.root_iter_vars)
        combiner = reducer_at(reduction.combiner, replaced)
        operands: dict[Var, PrimExpr] = {}
        for i, (left, right, source) in enumerate(zip(combiner.lhs, combiner.rhs, reduction.source, strict=True)):
            operands[left] = self.load(self.op, i, indices)
            operands[right] = substitute(source, replaced)
        with derived_from(reduction.span):
            results = [substitute(e, operands) for e in combiner.result]
        body = self._simultaneous_stores(combiner, results, values)
        condition = substitute(reduction.condition, replaced)
        return body if self.analyzer.can_prove(condition) else IfThenElse(condition, body)

    def _simultaneous_stores(self, combiner: CommReducer, results: Sequence[PrimExpr], values: Values) -> Stmt:
        """Store all results; those that later ones would read overwritten are bound to variables first."""
        early = [
            any(uses_var(combiner.result[later], combiner.lhs[i]) for later in range(i + 1, len(results)))
            for i in range(len(results))
        ]
        if not any(early):
            return seq([self._store(i, e, values) for i, e in enumerate(results)])
        if _last_can_go_first(combiner.result, combiner.lhs):
            order = reversed(range(len(results)))
            return seq([self._store(i, results[i], values) for i in order])
        variables = [Var(f"{self.op.name}.v{i}.next", e.dtype) for i, e in enumerate(results)]
        body = seq([self._store(i, v, values) for i, v in enumerate(variables)])
        for v, e in zip(reversed(variables), reversed(results), strict=True):
            body = LetStmt(v, e, body)
        return body


def guarded(body: Stmt, predicates: Sequence[PrimExpr]) -> Stmt:
    """Return ``body`` inside of one condition each, the first one outermost."""
    for condition in reversed(predicates):
        body = IfThenElse(likely(condition), body)
    return body


def _pragmas(axis: IterVar, attr: IterVarAttr | None, loop: Stmt) -> Stmt:
    if attr is not None:
        for key, value in reversed(attr.pragmas):
            loop = AttrStmt(axis, f"pragma_{key}", value, loop)
    return loop


def by_var(values: Values, axes: Sequence[IterVar]) -> dict[Var, PrimExpr]:
    """Return what stands for the variables of axes whose values are other expressions."""
    return {a.var: values[a] for a in axes if values[a] is not a.var}


def _last_can_go_first(results: Sequence[PrimExpr], lhs: Sequence[Var]) -> bool:
    return not any(
        uses_var(results[i], lhs[later]) for i in range(len(results)) for later in range(i + 1, len(results))
    )
