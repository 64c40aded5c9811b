"""``tvm.te.schedule``: the individual steps of lowering a schedule, and its classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from compiler.arith import Analyzer
from compiler.ir.error import ScheduleError, UnavailableError, expected
from compiler.ir.expr.primexpr import IterVar, PrimExpr, ProducerLoad, Range, Var, const, is_const_int
from compiler.ir.extension import offer
from compiler.ir.functor import Visitor
from compiler.runtime.container import Array, Map
from compiler.te.definition.dataflow import post_dfs_order
from compiler.te.definition.operation import ComputeOp
from compiler.te.definition.scan import ScanOp, fixed_axes, scan_body
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.lowering.bounds import Bounds, infer_bound
from compiler.te.lowering.bounds import attach_path as path_of
from compiler.te.lowering.specialized_condition import SpecializedCondition
from compiler.te.lowering.to_tir import Argument, Binds, statement_to_prim_func
from compiler.te.relations.fuse import Fuse
from compiler.te.relations.rebase import Rebase
from compiler.te.relations.relation import Relation
from compiler.te.relations.singleton import Singleton
from compiler.te.relations.split import Split
from compiler.te.scheduling.ops import StatementBuilder, ThreadMerger
from compiler.te.scheduling.schedule import Schedule, create_schedule
from compiler.te.scheduling.stage import AttachType, Stage
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AttrStmt, Stmt

__all__ = [
    "AutoInlineBroadcast", "AutoInlineElemWise", "AutoInlineInjective", "Buffer", "CreateAttachPath", "CreateReadGraph",
    "Fuse", "InferBound", "IterVar", "IterVarRelation", "PostDFSOrder", "Rebase", "ScanFixPointAnalysis", "ScanGetBody",
    "Schedule", "ScheduleOps", "SchedulePostProcRewriteForTensorCore", "SchedulePostProcToPrimFunc", "Singleton",
    "SpecializedCondition", "Split", "Stage", "VerifyCompactBuffer", "create_schedule",
]  # fmt: skip

IterVarRelation = Relation


def InferBound(schedule: Schedule) -> Map[IterVar, Range]:
    """Infer the domains of all axes of a schedule.

    Raises ScheduleError if a stage is inlined and therefore has no loops.

    Examples
    --------
    >>> bounds = te.schedule.InferBound(s.normalize())
    >>> bounds[B.op.axis[0]].extent
    """
    _check_schedule("InferBound", schedule)
    for stage in schedule.stages:
        if stage.attach_type is AttachType.INLINE:
            raise ScheduleError(
                f"InferBound: stage {stage.op.name!r} is inlined and has no loops; call schedule.normalize() first"
            )
    domains = Map(infer_bound(schedule).domains)
    for stage in schedule.stages:
        for axis, attr in stage.iter_var_attrs.items():
            if attr.bind_thread is not None and axis in domains:
                domains[attr.bind_thread] = domains[axis]
    return domains


def ScheduleOps(schedule: Schedule, dom_map: Mapping[IterVar, Range], debug_keep_trivial_loop: bool = False) -> Stmt:
    """Return the loops that a schedule describes, which store to tensors.

    Raises ScheduleError if the layout of a stage is transformed.
    """
    _check_schedule("ScheduleOps", schedule)
    for stage in schedule.stages:
        if stage.layout_transforms:
            raise ScheduleError(
                f"ScheduleOps: the layout of stage {stage.op.name!r} is transformed; call tvm.lower(schedule, args)"
            )
    bounds = Bounds(dict(dom_map), Analyzer(), {stage.op: path_of(stage) for stage in schedule.stages})
    for stage in reversed(schedule.stages):
        for axis in stage.leaf_iter_vars:
            if axis in bounds.domains:
                bounds.analyzer.bind(axis.var, bounds.domains[axis], override=True)
    builder = StatementBuilder(schedule, bounds, keep_trivial_loops=debug_keep_trivial_loop)
    defined = {t: s.origin_op.output(i) for s in schedule.stages for i, t in enumerate(s.op.outputs)}
    defined |= {t: defined[result] for t, result in builder.aliases.items()}
    result: Stmt = ThreadMerger(defined).visit(builder.body())
    return result


def SchedulePostProcToPrimFunc(
    arg_list: Sequence[Argument], body: Stmt, extern_buffer: Binds | None = None
) -> PrimFunc:
    """Return a function of a statement over tensors, with a buffer for each of them."""
    return statement_to_prim_func(list(arg_list), body, extern_buffer)


def SchedulePostProcRewriteForTensorCore(
    stmt: Stmt, schedule: Schedule, extern_buffer: Mapping[Tensor, Buffer] | None = None
) -> Stmt:
    """Refuse to rewrite loops for the tensor cores of a GPU.

    Raises UnavailableError if it is called.
    """
    raise UnavailableError(
        "SchedulePostProcRewriteForTensorCore: tensor cores are not inferred from a schedule;"
        " tensorize it with the intrinsics of tvm.topi.cuda.tensor_intrin"
    )


def VerifyCompactBuffer(stmt: Stmt) -> bool:
    """Return whether all buffers that a statement over tensors makes may be compact."""
    verifier = _BindsBuffers()
    verifier.visit(stmt)
    return not verifier.binds


class _BindsBuffers(Visitor):
    binds = False

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        self.binds = self.binds or n.attr_key == "buffer_bind_scope"
        self.visit_Node(n)


def CreateReadGraph(ops: Sequence[Operation]) -> Map[Operation, Array[Tensor]]:
    """Return what each operation reads."""
    return Map({op: Array(op.input_tensors) for op in post_dfs_order(ops)})


def PostDFSOrder(outputs: Sequence[Operation], g: Mapping[Operation, Sequence[Tensor]]) -> Array[Operation]:
    """Return the operations of a graph, each after those that it reads."""
    return Array(op for op in post_dfs_order(outputs) if op in g)


def CreateAttachPath(schedule: Schedule) -> Map[Operation, Array[IterVar]]:
    """Return the loops of other stages, innermost first, that each operation is computed in; none outside of all."""
    _check_schedule("CreateAttachPath", schedule)
    return Map({stage.op: Array(path_of(stage)) for stage in schedule.stages})


def ScanGetBody(scan_op: Operation) -> Array[Operation]:
    """Return the operations that a step of a scan carries out."""
    return Array((scan_op, *reversed(scan_body(_scan("ScanGetBody", scan_op)))))


def ScanFixPointAnalysis(scan_op: Operation) -> Map[IterVar, PrimExpr]:
    """Return 1 for each ``spatial_axis_`` of a scan along which a part of the result needs only that of the state."""
    fixed = fixed_axes(_scan("ScanFixPointAnalysis", scan_op))
    return Map({axis: const(int(is_fixed)) for axis, is_fixed in fixed.items()})


def _scan(name: str, op: object) -> ScanOp:
    if not isinstance(op, ScanOp):
        expected(name, "scan_op", "the operation of a scan", op)
    return op


def AutoInlineElemWise(schedule: Schedule) -> None:
    """Inline the stages that read only the elements at their own indices, the outputs left out."""
    _auto_inline("AutoInlineElemWise", schedule, _elementwise)


def AutoInlineBroadcast(schedule: Schedule) -> None:
    """Inline the stages that read elements at some of their own indices, in order, the outputs left out."""
    _auto_inline("AutoInlineBroadcast", schedule, _broadcast)


def AutoInlineInjective(schedule: Schedule) -> None:
    """Inline the stages that reduce nothing, the outputs left out."""
    _auto_inline("AutoInlineInjective", schedule, lambda op: True)


def _auto_inline(name: str, schedule: Schedule, fits: Callable[[ComputeOp], bool]) -> None:
    _check_schedule(name, schedule)
    stored = {t.op for s in schedule.stages if not isinstance(s.op, ComputeOp) for t in s.op.input_tensors}
    for stage in schedule.stages:
        scheduled = stage.relations or stage.attach_type in (AttachType.INLINE, AttachType.SCOPE)
        op = stage.op
        if scheduled or stage.is_output or op.reduce_axis or op in stored:
            continue
        if isinstance(op, ComputeOp) and fits(op):
            stage.compute_inline()


def _elementwise(op: ComputeOp) -> bool:
    axes = tuple(a.var for a in op.axis)
    return all(len(at) == len(axes) and all(i is v for i, v in zip(at, axes, strict=True)) for at in _reads(op))


def _broadcast(op: ComputeOp) -> bool:
    places: dict[Var, int] = {a.var: d for d, a in enumerate(op.axis)}
    return all(_in_order([places.get(i, -1) if isinstance(i, Var) else None for i in at], at) for at in _reads(op))


def _in_order(places: list[int | None], indices: Sequence[PrimExpr]) -> bool:
    """Return whether the indices that are axes come in the order of these, and all others are zero."""
    axes = [p for p in places if p is not None]
    rest = [i for i, p in zip(indices, places, strict=True) if p is None]
    return -1 not in axes and axes == sorted(set(axes)) and all(is_const_int(i, 0) for i in rest)


class _Reads(Visitor):
    def __init__(self) -> None:
        self.indices: list[tuple[PrimExpr, ...]] = []

    def visit_ProducerLoad(self, n: ProducerLoad) -> None:
        self.indices.append(n.indices)
        self.visit_Node(n)


def _reads(op: ComputeOp) -> list[tuple[PrimExpr, ...]]:
    """Return the indices of all elements that an operation reads."""
    reads = _Reads()
    for e in op.body:
        reads.visit(e)
    return reads.indices


def _check_schedule(name: str, schedule: object) -> None:
    if not isinstance(schedule, Schedule):
        expected(name, "schedule", "a schedule", schedule)


offer("tvm.te.schedule", __all__, globals())
