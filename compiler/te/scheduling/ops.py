"""``ScheduleOps``: the statement of a schedule, with each tensor realised around its producer and readers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set

from compiler.ir.error import ScheduleError
from compiler.ir.expr.primexpr import IterVar, PrimExpr, ProducerLoad, Var, const
from compiler.ir.origin import derived_from
from compiler.ir.structural import structural_equal
from compiler.te.definition.extern import ExternOp
from compiler.te.definition.hybrid_op import HybridOp
from compiler.te.definition.mutator import TensorMutator
from compiler.te.definition.operation import ComputeOp, PlaceholderOp
from compiler.te.definition.scan import ScanOp
from compiler.te.definition.tensor import Tensor
from compiler.te.definition.tensor_compute import TensorComputeOp
from compiler.te.lowering.bounds import Bounds, attach_path
from compiler.te.lowering.hybrid_nest import HybridNest
from compiler.te.lowering.intrinsic_nest import IntrinsicNest
from compiler.te.lowering.loop_nest import ComputeNest
from compiler.te.lowering.scan_nest import ScanNest
from compiler.te.lowering.tensorize import tensorized_loop
from compiler.te.scheduling.schedule import Schedule
from compiler.te.scheduling.stage import AttachType, Stage
from compiler.te.scheduling.storage import storage_scope
from compiler.tir.expressions.builtin import tvm_tuple
from compiler.tir.statements.producer_stmt import ProducerRealize, ProducerStore
from compiler.tir.statements.stmt import THREAD_KEYS, AttrStmt, Stmt, seq


class StatementBuilder:
    """Builds the statement of a whole schedule from its stages.

    Buffers of ``arguments``, by default of all tensors, have no room outside of their shapes.
    """

    def __init__(
        self, schedule: Schedule, bounds: Bounds, arguments: Set[Tensor] | None = None, keep_trivial_loops: bool = False
    ) -> None:
        self._schedule = schedule
        self._bounds = bounds
        self._arguments = arguments
        self._keep_trivial_loops = keep_trivial_loops
        self.aliases = _aliases(schedule)
        self._initial = {t.op for s in schedule.stages if isinstance(s.op, ScanOp) for t in s.op.init}
        self._attached: dict[IterVar, list[Stage]] = defaultdict(list)
        for stage in schedule.stages:
            if stage.attach_ivar is not None and stage.op not in self._initial:
                self._attached[stage.attach_ivar].append(stage)

    def body(self) -> Stmt:
        """Return the statement of all stages; thread axes are named wherever they are bound."""
        stages = self._schedule.stages
        roots = [s for s in stages if s.attach_type is AttachType.ROOT and s.op not in self._initial]
        return self._pipelines(reversed(roots), None)

    def _pipelines(self, stages: Iterable[Stage], body: Stmt | None) -> Stmt:
        """Put stages before ``body``, the first one nearest to it."""
        for stage in stages:
            if not isinstance(stage.op, PlaceholderOp):
                body = self._pipeline(stage, body)
        return seq([]) if body is None else body

    def _pipeline(self, stage: Stage, consumer: Stmt | None) -> Stmt:
        producer = self._producer(stage)
        with derived_from(stage.op.span | stage.place_span):
            if stage.rolling:
                for t in stage.op.outputs:
                    producer = AttrStmt(t, "rolling_buffer_scope", const(True), producer)
            if stage.double_buffered:
                for t in stage.op.outputs:
                    producer = AttrStmt(t, "double_buffer_scope", const(1), producer)
            pipeline = producer if consumer is None else seq([producer, consumer])
            scope = storage_scope(stage, self._threads_around(stage))
            for t in reversed(stage.op.outputs):
                if t not in self.aliases:
                    pipeline = self._realize(stage, t, scope, pipeline)
        return pipeline

    def _producer(self, stage: Stage) -> Stmt:
        """Return the statement that computes a stage."""
        if isinstance(stage.op, ExternOp):
            with derived_from(stage.op.span):
                return stage.op.statement()
        if isinstance(stage.op, ScanOp):
            return self._scan(stage, stage.op)
        if isinstance(stage.op, HybridOp):
            domains, analyzer = self._bounds.domains, self._bounds.analyzer
            return HybridNest(stage, domains, analyzer, self._with_attached, self._keep_trivial_loops).build()
        if isinstance(stage.op, TensorComputeOp) or tensorized_loop(stage) is not None:
            self._check_nothing_inside(stage)
            domains, analyzer = self._bounds.domains, self._bounds.analyzer
            return IntrinsicNest(stage, domains, analyzer, self._with_attached, self._keep_trivial_loops).build()
        nest = ComputeNest(
            stage,
            self._bounds.domains,
            self._bounds.analyzer,
            self._with_attached,
            _store,
            _load,
            has_room_for_domain=self._has_room(stage),
            keep_trivial_loops=self._keep_trivial_loops,
        )
        return nest.build()

    def _check_nothing_inside(self, stage: Stage) -> None:
        """Reject stages that are computed in loops that an intrinsic stands for."""
        at = tensorized_loop(stage)
        for axis in [] if at is None else stage.leaf_iter_vars[at:]:
            for inside in self._attached.get(axis, ()):
                raise ScheduleError(
                    f"tensorize: stage {inside.op.name!r} is computed at axis {axis.var.name!r} of stage "
                    f"{stage.op.name!r}, which the intrinsic replaces"
                )

    def _has_room(self, stage: Stage) -> bool:
        """Return whether the outputs of a stage are buffers of its own, which are as large as its domain."""
        outputs = stage.op.outputs
        if self._arguments is None or not self.aliases.keys().isdisjoint(outputs):
            return False
        return self._arguments.isdisjoint(outputs)

    def _scan(self, stage: Stage, op: ScanOp) -> Stmt:
        """Return the initial elements, then the loop of the steps; what is computed in a step is attached to that."""
        initial = {t.op for t in op.init}
        inits = [s for s in self._schedule.stages if s.op in initial]
        with derived_from(op.span):
            steps = ScanNest(stage, self._bounds.domains, self._bounds.analyzer, self._with_attached)
            return seq([self._pipelines(reversed(inits), None), steps.build()])

    def _realize(self, stage: Stage, tensor: Tensor, scope: str, body: Stmt) -> Stmt:
        region = stage.op.realized(tensor.value_index, self._bounds.domains)
        body = ProducerRealize(tensor, region, const(True), body, scope)
        for d, axis in enumerate(stage.op.axis):
            attr = stage.iter_var_attrs.get(axis)
            if attr is not None and attr.dim_align is not None:
                body = AttrStmt(tensor, "buffer_dim_align", tvm_tuple(d, *attr.dim_align), body)
        return body

    def _threads_around(self, stage: Stage) -> list[IterVar]:
        path = set(attach_path(stage))
        attrs = (item for s in self._schedule.stages for item in s.iter_var_attrs.items())
        return [attr.bind_thread for axis, attr in attrs if axis in path and attr.bind_thread is not None]

    def _with_attached(self, axis: IterVar, body: Stmt) -> Stmt:
        attached = self._attached.get(axis)
        return self._pipelines(reversed(attached), body) if attached else body


def _aliases(schedule: Schedule) -> dict[Tensor, Tensor]:
    """Return the tensors that lie in the memory of others: the elements and the state of scans in their results."""
    aliases: dict[Tensor, Tensor] = {}
    for op in (stage.op for stage in schedule.stages):
        if isinstance(op, ScanOp):
            for same in (op.init, op.update, op.state_placeholder):
                aliases.update(zip(same, op.outputs, strict=True))
    return aliases


def _store(op: ComputeOp, index: int, value: PrimExpr, indices: tuple[PrimExpr, ...]) -> Stmt:
    return ProducerStore(op.output(index), value, indices)


def _load(op: ComputeOp, index: int, indices: tuple[PrimExpr, ...]) -> PrimExpr:
    return ProducerLoad(op.output(index), indices)


class ThreadMerger(TensorMutator):
    """Names each thread axis once: inner stages share the threads around them."""

    def __init__(self, tensors: Mapping[Tensor, Tensor] | None = None) -> None:
        super().__init__(tensors)
        self._threads: dict[Var, PrimExpr] = {}

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key in THREAD_KEYS:
            return self._thread(n)
        if isinstance(n.node, Tensor):
            return AttrStmt(self._tensor(n.node), n.attr_key, n.value, self.visit(n.body))
        if n.attr_key == "buffer_bind_scope":
            buffer, tensor = n.node
            return AttrStmt((buffer, self._tensor(tensor)), n.attr_key, n.value, self.visit(n.body))
        return self.visit_Node(n)

    def _thread(self, n: AttrStmt) -> Stmt:
        outer = self._threads.get(n.node.var)
        if outer is not None:
            if not structural_equal(outer, n.value):
                raise ScheduleError(
                    f"bind: thread axis {n.node.thread_tag!r} must have one extent, got {outer} and {n.value} inside"
                )
            body: Stmt = self.visit(n.body)
            return body
        self._threads[n.node.var] = n.value
        result: Stmt = self.visit_Node(n)
        del self._threads[n.node.var]
        return result
