"""The loop nest of a tensorized stage: loops around calls of an intrinsic on regions."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from compiler.ir.error import ScheduleError
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Range, Reduce, Var, const, is_const_int
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.origin import derived_from
from compiler.te.definition.extern import bind_buffer
from compiler.te.definition.operation import ComputeOp
from compiler.te.definition.tensor import Tensor
from compiler.te.definition.tensor_compute import TensorComputeOp
from compiler.te.definition.tensor_intrin import TensorIntrin
from compiler.te.lowering.guards import bound_predicates
from compiler.te.lowering.loop_nest import LoopNest, StageLoops, by_var, guarded
from compiler.te.lowering.message_passing import derived_axes, pass_up_index
from compiler.te.lowering.tensorize import check_match, infer_tensorized_region, tensorized_loop
from compiler.te.relations.relation import Values
from compiler.tir.expressions.op import any as any_of
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.producer_stmt import ProducerStore
from compiler.tir.statements.stmt import For, ForKind, IfThenElse, Stmt, seq

Regions = list[tuple[Tensor, tuple[Range, ...]]]


class IntrinsicNest(StageLoops):
    """Builds the statement of a stage that is tensorized, or that calls an intrinsic by its definition.

    ::

        for i in range(64):                           for i_outer in range(4):
            C[i] = A[i] + B[i]        →                   # A, B and C[i_outer * 16:i_outer * 16 + 16] as buffers of
                                                          T.call_extern("int32", "vadd16", …)

    With loops of the reduction outside, the initial values are stored first, or the first iteration is another
    statement than the others.
    """

    def build(self) -> Stmt:
        """Return the loops that call the intrinsic."""
        leaves = self.stage.leaf_iter_vars
        reducing = derived_axes(self.stage, set(self.stage.op.reduce_axis))
        begin = next((i for i, a in enumerate(leaves) if a in reducing), len(leaves))
        with derived_from(self.stage.op.span):
            nest = self.loops(leaves)
            pass_up_index(self.stage, self.domains, nest.values)
            intrin, at, inputs, outputs = self._parts(nest.values)
            predicates = self._predicates(nest.values, at)
            outer, inner = LoopNest(nest.wrappers[:begin]), LoopNest(nest.wrappers[begin:at])
            if at <= begin:
                call = self._call(intrin.body, "the computation", intrin, nest.values, inputs + outputs)
                return LoopNest(nest.wrappers[:at]).wrap(guarded(call, predicates))
            update = self._call(intrin.reduce_update, "the update", intrin, nest.values, inputs + outputs)
            if intrin.reduce_init is not None:
                init = self._init(intrin, nest.values, begin, at, reducing, outputs)
                return outer.wrap(seq([init, inner.wrap(guarded(update, predicates))]))
            first = self._call(intrin.body, "the computation", intrin, nest.values, inputs + outputs)
            later = self._later_iterations(nest.values, [a for a in leaves[begin:at] if a in reducing])
            body = IfThenElse(any_of(*later), update, first) if later else first
            iterations = inner.wrap(guarded(body, predicates))
            empty = self._empty([a for a in leaves[begin:at] if a in reducing])
            if empty:
                identity = self._identity(any_of(*empty), intrin, nest.values, begin, at, reducing, outputs)
                iterations = seq([identity, iterations])
            return outer.wrap(iterations)

    def _parts(self, values: Values) -> tuple[TensorIntrin, int, Regions, Regions]:
        """Return the intrinsic, how many loops are around it, and the regions that its buffers stand for."""
        op = self.stage.op
        if isinstance(op, TensorComputeOp):
            inputs = list(zip(op.inputs, op.input_regions, strict=True))
            return op.intrin, len(self.stage.leaf_iter_vars), inputs, [(t, op.output_region()) for t in op.outputs]
        at = tensorized_loop(self.stage)
        assert at is not None
        intrin = self.stage.iter_var_attrs[self.stage.leaf_iter_vars[at]].tensor_intrin
        assert intrin is not None
        region = infer_tensorized_region(self.stage, self.domains, self.analyzer)
        check_match(self.stage, region, intrin, by_var(values, tuple(values)))
        output = tuple(region.axes[axis] for axis in op.axis)
        return intrin, at, [(t, region.inputs[t]) for t in op.input_tensors], [(t, output) for t in op.outputs]

    def _predicates(self, values: Values, at: int, skip: Set[IterVar] = frozenset()) -> list[PrimExpr]:
        """Return the conditions around a call, which must not depend on what happens inside of it."""
        predicates = bound_predicates(self.stage, self.domains, values, self.analyzer, skip=skip)
        inside = {axis.var for axis in self.stage.leaf_iter_vars[at:]}
        for condition in predicates:
            if not inside.isdisjoint(free_vars(condition)):
                raise ScheduleError(
                    f"tensorize: a part of the loops inside of stage {self.stage.op.name!r} is guarded by {condition}, "
                    "which an intrinsic cannot be; split by a factor that divides the extent"
                )
        return predicates

    def _init(
        self, intrin: TensorIntrin, values: Values, begin: int, at: int, reducing: Set[IterVar], outputs: Regions
    ) -> Stmt:
        """Return the loops that store initial values."""
        return self._before_reduction(
            values,
            begin,
            at,
            reducing,
            lambda own: self._call(intrin.reduce_init, "the initial values", intrin, own, outputs),
        )

    def _before_reduction(
        self, values: Values, begin: int, at: int, reducing: Set[IterVar], store: Callable[[Values], Stmt]
    ) -> Stmt:
        """Return loops over the elements alone, around what ``store`` returns for the values of all loops."""
        leaves = self.stage.leaf_iter_vars
        loops = self.loops([a for a in leaves[begin:at] if a not in reducing], suffix=".init")
        own = loops.values  # the domains of its loops may depend on the loops outside of it
        own.update((a, values[a]) for a in leaves if a not in own)
        pass_up_index(self.stage, self.domains, own)
        predicates = self._predicates(own, at, reducing | set(self.stage.op.reduce_axis))
        return loops.wrap(guarded(store(own), predicates))

    def _empty(self, axes: Sequence[IterVar]) -> list[PrimExpr]:
        """Return the conditions one of which holds where a reduction has no iteration; none where it always has one."""
        extents = [self.domains[a].extent for a in axes]
        return [extent <= 0 for extent in extents if not self.analyzer.can_prove(extent > 0)]

    def _identity(
        self,
        empty: PrimExpr,
        intrin: TensorIntrin,
        values: Values,
        begin: int,
        at: int,
        reducing: Set[IterVar],
        outputs: Regions,
    ) -> Stmt:
        """Return the loops that store what a reduction of nothing is, where no statement of the intrinsic does."""
        op = self.stage.op if isinstance(self.stage.op, ComputeOp) else intrin.op
        reduction = op.body[0] if isinstance(op, ComputeOp) else None
        if not isinstance(reduction, Reduce):
            raise ScheduleError(
                f"tensorize: the reduction of stage {self.stage.op.name!r} may be empty, and {intrin.name!r} declares "
                "no statement for the initial values"
            )
        elements = reduction.combiner.identity_element

        def store(own: Values) -> Stmt:
            replaced = by_var(own, tuple(own))
            regions = [[_at(r, replaced) for r in region] for _, region in outputs]
            fills = [_fill(t, region, e) for (t, _), region, e in zip(outputs, regions, elements, strict=True)]
            return IfThenElse(substitute(empty, replaced), seq(fills))

        return self._before_reduction(values, begin, at, reducing, store)

    def _later_iterations(self, values: Values, axes: Sequence[IterVar]) -> list[PrimExpr]:
        """Return the conditions one of which holds in all iterations but the first."""
        several = [a for a in axes if not is_const_int(self.domains[a].extent, 1)]
        return [values[a].astype(a.var.dtype) > self.domains[a].min for a in several]

    def _call(self, code: Stmt | None, what: str, intrin: TensorIntrin, values: Values, regions: Regions) -> Stmt:
        """Return a statement of the intrinsic on regions, with buffers and variables of its own."""
        if code is None:
            raise ScheduleError(
                f"tensorize: {intrin.name!r} declares no statement for {what}, which stage {self.stage.op.name!r} needs"
            )
        replaced = by_var(values, tuple(values))
        buffers = intrin.buffers[len(intrin.buffers) - len(regions) :]
        body = substitute(code, replaced)
        for buffer, (tensor, region) in reversed(list(zip(buffers, regions, strict=True))):
            body = bind_buffer(buffer, tensor, [_at(r, replaced) for r in region], body)
        return substitute(body, _fresh_variables(buffers))


def _fill(tensor: Tensor, region: Sequence[Range], value: PrimExpr) -> Stmt:
    """Return loops that store one value in all elements of a region."""
    variables = [Var(f"i{d}", r.extent.dtype) for d, r in enumerate(region)]
    body: Stmt = ProducerStore(tensor, value, tuple(r.min + v for r, v in zip(region, variables, strict=True)))
    for var, r in reversed(list(zip(variables, region, strict=True))):
        body = For(var, const(0, var.dtype), r.extent, ForKind.SERIAL, body)
    return body


def _at(r: Range, values: dict[Var, PrimExpr]) -> Range:
    return Range.from_fields(substitute(r.min, values), substitute(r.extent, values))


def _fresh_variables(buffers: Sequence[Buffer]) -> dict[Var, PrimExpr]:
    """Return new variables for those that describe buffers, which have other values in each statement."""
    used = [v for b in buffers for v in (b.data, b.elem_offset, *b.strides) if isinstance(v, Var)]
    return {v: Var(v.name, v.dtype, v.type_annotation) for v in used}
