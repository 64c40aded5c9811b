"""The schedule pane of tensor expressions: stages as nests of the loops that primitives created."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from app.artifacts import Loop, SplitLoop, Stage
from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import Add, IntImm, IterVar, Max, Min, Mul, PrimExpr, Range, Reduce, Var, is_const_int
from compiler.ir.origin import NO_SPAN
from compiler.te.definition.operation import ComputeOp
from compiler.te.definition.tensor import Operation
from compiler.te.definition.tensor_compute import TensorComputeOp
from compiler.te.lowering.bounds import infer_bound
from compiler.te.relations.split import Split
from compiler.te.scheduling import stage as te
from compiler.te.scheduling.group import Group, enclosing_groups
from compiler.te.scheduling.schedule import Schedule

_ANNOTATIONS = {IterVar.Unrolled: "unroll", IterVar.Vectorized: "vectorize", IterVar.Parallelized: "parallel"}


LoopRows = Callable[[Var, bool], list[int]]
"""Finds the loops over a variable in the final loop IR; see :meth:`~app.recorder.listings.FinalListing.loop_rows`."""


Extents = Mapping[IterVar, PrimExpr]


def split_loops(schedule: Schedule, extents: Extents) -> list[SplitLoop]:
    """Return the loops that the lines of the script split, as far as their extents are constant."""
    parents = {split.inner: split.parent for stage in schedule.stages for split in _splits(stage)}
    found = []
    for primitive in schedule.primitives:
        made = primitive.result if isinstance(primitive.result, (tuple, list)) else ()
        for axis in made:
            extent = extents.get(parents[axis]) if isinstance(axis, IterVar) and axis in parents else None
            if primitive.line and isinstance(extent, IntImm):
                found.append(SplitLoop(line=primitive.line, extent=extent.value))
    return found


def _splits(stage: te.Stage) -> Iterator[Split]:
    return (relation for relation in stage.relations if isinstance(relation, Split))


def schedule_stages(
    schedule: Schedule, loop_rows: LoopRows | None = None, extents: Extents | None = None
) -> list[Stage]:
    """Return the computed stages of a schedule in the order in which they are computed.

    Parameters
    ----------
    loop_rows : callable, optional
        Finds the loop that an axis became; without it, axes know the lines of the script alone.
    extents : mapping, optional
        Those of :func:`extents_of`, if the caller has them.
    """
    known = extents_of(schedule) if extents is None else extents
    names = Counter(axis.var.name for stage in schedule.stages for axis in loops_of(stage))

    def origins(axis: IterVar, stage: te.Stage) -> list[int]:
        rows = loop_rows(axis.var, names[axis.var.name] == 1) if loop_rows else []
        return rows or _lines(axis, stage)

    return [
        Stage(
            name=stage.op.name,
            placement=_placement(stage),
            loops=[
                _loop(axis, depth, stage, str(known.get(axis, "?")), origins(axis, stage))
                for depth, axis in enumerate(loops_of(stage))
            ],
            depth=len(loops_of(stage)),
            body=_body(stage.op),
            origins=sorted(stage.op.span),
        )
        for stage in shown_stages(schedule)
    ]


def extents_of(schedule: Schedule) -> dict[IterVar, PrimExpr]:
    """Return the extents of axes; where the schedule is illegal, those that are declared."""
    try:
        return {axis: r.extent for axis, r in infer_bound(schedule.normalize()).domains.items()}
    except TVMError:
        return {axis: domain.extent for axis, domain in _declared(schedule).items()}


def shown_stages(schedule: Schedule) -> list[te.Stage]:
    """Return the stages that the pane shows: those that are computed by loops."""
    return [stage for stage in schedule.stages if isinstance(stage.op, (ComputeOp, TensorComputeOp))]


def loops_of(stage: te.Stage) -> list[IterVar]:
    """Return the loops that the pane shows of a stage: none of one that is inlined."""
    return [] if stage.attach_type is te.AttachType.INLINE else stage.leaf_iter_vars


def _declared(schedule: Schedule) -> dict[IterVar, Range]:
    axes = [axis for stage in schedule.stages for axis in stage.op.root_iter_vars]
    return {axis: axis.dom for axis in axes if axis.dom is not None}


def _placement(stage: te.Stage) -> str:
    if stage.attach_type is te.AttachType.INLINE:
        return "inlined"
    placed: list[te.Stage | Group] = [stage]
    if stage.attach_type is te.AttachType.ROOT:
        placed += enclosing_groups(stage)
    for member in placed:
        if member.attach_type is te.AttachType.SCOPE and member.attach_stage and member.attach_ivar is not None:
            return f"at {member.attach_stage.op.name}, {member.attach_ivar.var.name}"
    return "root"


def _lines(axis: IterVar, stage: te.Stage) -> list[int]:
    """Return the origins of an axis that is not a loop of its own: the primitives that made it so, if any."""
    attr = stage.iter_var_attrs.get(axis)
    return sorted((attr.span if attr else NO_SPAN) or axis.span)


def _loop(axis: IterVar, depth: int, stage: te.Stage, extent: str, origins: list[int]) -> Loop:
    attr = stage.iter_var_attrs.get(axis)
    return Loop(
        name=axis.var.name,
        extent=extent,
        kind=_kind(axis, attr),
        annotation=_annotation(attr),
        origins=origins,
        depth=depth,
    )


def _kind(axis: IterVar, attr: te.IterVarAttr | None) -> Literal["spatial", "reduce", "thread"]:
    if axis.iter_type == IterVar.ThreadIndex or (attr is not None and attr.bind_thread is not None):
        return "thread"
    return "reduce" if axis.iter_type == IterVar.CommReduce else "spatial"


def _annotation(attr: te.IterVarAttr | None) -> str:
    if attr is None:
        return ""
    words = [_ANNOTATIONS[attr.iter_type]] if attr.iter_type in _ANNOTATIONS else []
    if attr.tensor_intrin is not None:
        words.append(f"tensorize {attr.tensor_intrin.name}")
    if attr.bind_thread is not None:
        words.append(attr.bind_thread.thread_tag or attr.bind_thread.var.name)
    words += [f"{key}={value}" for key, value in attr.pragmas]
    if attr.dim_align is not None:
        words.append(f"align {attr.dim_align[0]}+{attr.dim_align[1]}")
    words += [f"prefetch {'share of ' * each}{tensor.name}+{ahead}" for tensor, ahead, each in attr.prefetches]
    return ", ".join(words)


def _body(op: Operation) -> str:
    indices = ", ".join(axis.var.name for axis in op.axis)
    if isinstance(op, TensorComputeOp):
        regions = zip(op.inputs, op.input_regions, strict=True)
        read = ", ".join(f"{t.name}[{', '.join(map(_box, region))}]" for t, region in regions)
        return f"{op.name}[{indices}] {'+=' if op.reduce_axes else '='} {op.intrin.name}({read})"
    assert isinstance(op, ComputeOp)
    return f"{op.name}[{indices}] {_assigned(op.body[0])}"


def _box(r: Range) -> str:
    return str(r.min) if is_const_int(r.extent, 1) else f"{r.min}:{r.min + r.extent}"


def _assigned(value: PrimExpr) -> str:
    """Return the right-hand side, a common reduction as an update: ``+= A[i, k] * B[k, j]``."""
    if not isinstance(value, Reduce):
        return f"= {value}"
    source = ", ".join(str(s) for s in value.source)
    if len(value.source) > 1:
        return f"= combine({source})"
    match value.combiner.result[0]:
        case Add():
            return f"+= {source}"
        case Mul():
            return f"*= {source}"
        case Min():
            return f"min= {source}"
        case Max():
            return f"max= {source}"
    return f"= combine({source})"
