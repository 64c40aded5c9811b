"""Tensorization: matches the inner loops of a stage against a tensor intrinsic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.arith import Analyzer, IntSet, union
from compiler.ir.error import ScheduleError
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Var, is_const_int
from compiler.ir.expr.substitute import substitute
from compiler.ir.functor import Mutator
from compiler.ir.structural import structural_equal
from compiler.te.definition.operation import ComputeOp, domain
from compiler.te.definition.tensor import Tensor
from compiler.te.definition.tensor_intrin import TensorIntrin
from compiler.te.lowering.message_passing import pass_up_domain
from compiler.te.relations.relation import Domains, Sets
from compiler.te.scheduling.stage import Stage
from compiler.tir.expressions.builtin import IF_THEN_ELSE

Region = tuple[expr.Range, ...]


@dataclass(frozen=True, slots=True)
class TensorizedRegion:
    """What the loops inside of a tensorized one cover in one iteration of those outside."""

    axes: dict[IterVar, expr.Range]
    inputs: dict[Tensor, Region]


def tensorized_loop(stage: Stage) -> int | None:
    """Return the position of the loop that is tensorized, or None if none is."""
    for at, axis in enumerate(stage.leaf_iter_vars):
        attr = stage.iter_var_attrs.get(axis)
        if attr is not None and attr.tensor_intrin is not None:
            return at
    return None


def infer_tensorized_region(stage: Stage, domains: Domains, analyzer: Analyzer) -> TensorizedRegion:
    """Return what the tensorized loop of a stage and those inside of it cover."""
    at = tensorized_loop(stage)
    assert at is not None
    sets: Sets = {}
    for place, axis in enumerate(stage.leaf_iter_vars):
        dom = domains[axis]
        if is_const_int(dom.extent, 1):
            sets[axis] = IntSet.single_point(dom.min)
        else:
            sets[axis] = IntSet.from_range(dom) if place >= at else IntSet.single_point(axis.var)
    pass_up_domain(stage, domains, sets, analyzer)
    axes = {axis: sets[axis].cover_range(domains[axis], analyzer) for axis in stage.op.root_iter_vars}
    over = {axis.var: IntSet.from_range(values) for axis, values in axes.items()}
    inputs: dict[Tensor, Region] = {}
    for tensor in stage.op.input_tensors:
        read = [region for t, region in stage.op.regions_read(tensor.op, over, analyzer) if t is tensor]
        inputs[tensor] = tuple(
            union([region[d] for region in read], analyzer).cover_range(expr.Range(0, extent), analyzer)
            for d, extent in enumerate(tensor.shape)
        )
    return TensorizedRegion(axes, inputs)


def matched_body(op: ComputeOp, region: TensorizedRegion, intrin: TensorIntrin) -> tuple[PrimExpr, ...]:
    """Return the body of an operation as one over the axes and the inputs of an intrinsic.

    Leading dimensions with one element may be missing from the intrinsic's regions.
    """
    computes = _computation(intrin)
    values: dict[Var, PrimExpr] = {}
    axes: dict[IterVar, IterVar] = {}
    for what, own, others in (
        ("dimension of the output", op.axis, computes.axis),
        ("reduction axis", op.reduce_axis, computes.reduce_axis),
    ):
        axes |= _matched_axes(intrin, what, own, others, region)
    for axis, values_there in region.axes.items():
        values[axis.var] = axes[axis].var + values_there.min if axis in axes else values_there.min
    if len(op.input_tensors) != len(intrin.inputs):
        raise _mismatch(intrin, f"it reads {len(intrin.inputs)} tensors, and {op.name!r} {len(op.input_tensors)}")
    inputs = dict(zip(op.input_tensors, intrin.inputs, strict=True))
    for tensor, declared in inputs.items():
        skipped = tensor.ndim - declared.ndim
        if skipped < 0:
            message = f"{declared.name!r} has {declared.ndim} dimensions, and {tensor.name!r} {tensor.ndim}"
            raise _mismatch(intrin, message)
        for r in region.inputs[tensor][:skipped]:
            _require_one(intrin, f"dimension of {tensor.name!r}", r)
    matcher = _Matcher(inputs, region.inputs, values)
    return tuple(_matched(e, matcher, axes) for e in op.body)


def check_match(stage: Stage, region: TensorizedRegion, intrin: TensorIntrin, values: Mapping[Var, PrimExpr]) -> None:
    """Reject an intrinsic that computes something else than the loops that it is to stand for.

    The definition of the intrinsic may use what the axes of the stage are in the loops.
    """
    op = stage.op
    if not isinstance(op, ComputeOp):
        raise _mismatch(intrin, f"stage {op.name!r} is not a computation")
    body = matched_body(op, region, intrin)
    computes = _computation(intrin)
    if len(body) != len(computes.body):
        raise _mismatch(intrin, f"it has {len(computes.body)} outputs, and {op.name!r} {len(body)}")
    analyzer = Analyzer()
    for axis in computes.root_iter_vars:
        analyzer.bind(axis.var, domain(axis))
    for own, other in zip(body, computes.body, strict=True):
        if own.dtype != other.dtype:
            raise _mismatch(intrin, f"it computes {other.dtype}, and {op.name!r} {own.dtype}")
        if not _same(substitute(own, values), substitute(other, values), analyzer):
            shown = _IndexSimplifier(analyzer)
            raise _mismatch(intrin, f"provided {shown.visit(own)}, declared {shown.visit(other)}")


def _computation(intrin: TensorIntrin) -> ComputeOp:
    assert isinstance(intrin.op, ComputeOp)
    return intrin.op


def _mismatch(intrin: TensorIntrin, message: str) -> ScheduleError:
    return ScheduleError(f"tensorize: the loops are not what {intrin.name!r} declares: {message}")


def _matched_axes(
    intrin: TensorIntrin, what: str, own: Sequence[IterVar], others: Sequence[IterVar], region: TensorizedRegion
) -> dict[IterVar, IterVar]:
    """Return the intrinsic's axis for each of an operation's, the leading ones left out that it lacks."""
    missing = len(own) - len(others)
    if missing < 0:
        raise _mismatch(intrin, f"it has {len(others)} of {what}, and the stage {len(own)}")
    for axis in own[:missing]:
        _require_one(intrin, what, region.axes[axis])
    return dict(zip(own[missing:], others, strict=True))


def _require_one(intrin: TensorIntrin, what: str, values: expr.Range) -> None:
    if not is_const_int(Analyzer().simplify(values.extent), 1):
        raise _mismatch(intrin, f"a {what} that it lacks has {values.extent} elements, and must have 1")


class _Matcher(Mutator):
    """Puts the intrinsic's inputs and axes in place of an operation's."""

    def __init__(
        self, inputs: Mapping[Tensor, Tensor], regions: Mapping[Tensor, Region], values: Mapping[Var, PrimExpr]
    ) -> None:
        self._inputs = inputs
        self._regions = regions
        self._values = values

    def visit_Var(self, n: Var) -> PrimExpr:
        return self._values.get(n, n)

    def visit_ProducerLoad(self, n: expr.ProducerLoad) -> PrimExpr:
        target = self._inputs[n.producer]
        indices = self._visit_tuple(n.indices)
        relative = [i - r.min for i, r in zip(indices, self._regions[n.producer], strict=True)]
        return expr.ProducerLoad(target, tuple(relative[n.producer.ndim - target.ndim :]))


def _matched(e: PrimExpr, matcher: _Matcher, axes: Mapping[IterVar, IterVar]) -> PrimExpr:
    if not isinstance(e, expr.Reduce):
        matched: PrimExpr = matcher.visit(e)
        return matched
    source, init = (tuple(matcher.visit(part) for part in parts) for parts in (e.source, e.init))
    over = tuple(axes[axis] for axis in e.axis if axis in axes)
    return expr.Reduce(e.combiner, source, over, matcher.visit(e.condition), e.value_index, init)


def _same(a: PrimExpr, b: PrimExpr, analyzer: Analyzer) -> bool:
    """Return whether two expressions are alike once they are simplified."""
    if isinstance(a, expr.Reduce) and isinstance(b, expr.Reduce):
        alike = len(a.source) == len(b.source) and len(a.init) == len(b.init) and a.value_index == b.value_index
        if not alike or not _same_reducer(a.combiner, b.combiner):
            return False
        if len(a.axis) != len(b.axis) or any(x is not y for x, y in zip(a.axis, b.axis, strict=True)):
            return False
        parts = zip((*a.source, a.condition, *a.init), (*b.source, b.condition, *b.init), strict=True)
        return all(_same(x, y, analyzer) for x, y in parts)
    return structural_equal(_canonical(a, analyzer), _canonical(b, analyzer))


def _same_reducer(a: expr.CommReducer, b: expr.CommReducer) -> bool:
    return a is b or structural_equal(a, b)


def _canonical(e: PrimExpr, analyzer: Analyzer) -> PrimExpr:
    chosen: PrimExpr = _Choices().visit(e)
    simplified: PrimExpr = _IndexSimplifier(analyzer).visit(analyzer.simplify(chosen))
    return simplified


class _Choices(Mutator):
    """Writes all choices alike, and drops hints."""

    def visit_Call(self, n: expr.Call) -> PrimExpr:
        args = self._visit_tuple(n.args)
        if n.op is IF_THEN_ELSE:
            return expr.Select(*args)
        if getattr(n.op, "name", "") == "tir.likely":
            return args[0]
        return n if args is n.args else expr.Call(n.dtype, n.op, args)


class _IndexSimplifier(Mutator):
    """Simplifies the indices of reads."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer

    def visit_ProducerLoad(self, n: expr.ProducerLoad) -> PrimExpr:
        indices: Sequence[PrimExpr] = self._visit_tuple(n.indices)
        return expr.ProducerLoad(
            n.producer, tuple(i if isinstance(i, (expr.IntImm, Var)) else self._analyzer.simplify(i) for i in indices)
        )
