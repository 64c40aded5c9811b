"""Stage primitives for storage: scope, layout, alignment, double buffering and prefetching."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce

from compiler.arith import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, ScheduleError, show
from compiler.ir.expr.primexpr import ExprLike, IterVar, PrimExpr, Range, Var, const, convert
from compiler.te.definition.operation import ComputeOp
from compiler.te.definition.tensor import Tensor
from compiler.te.relations.transform import Transform
from compiler.te.scheduling.primitives import primitive
from compiler.te.scheduling.stage_state import StageState, position
from compiler.tir.layout.index_map import IndexMap


class StageStorage(StageState):
    """The storage primitives of a stage."""

    @primitive
    def set_scope(self, scope: str) -> None:
        """Store this stage in a storage scope, e.g. ``local`` or ``shared``.

        ::

            B = T.Buffer((8,))            →               B = T.Buffer((8,), scope="local")
        """
        if not isinstance(scope, str):
            raise ArgumentError(f"set_scope: scope must be a string, got {show(scope)} ({self})")
        self._must_be_computed("set_scope")
        self.scope = scope

    @primitive
    def storage_align(self, axis: IterVar, factor: int, offset: int) -> None:
        """Pad the stride of a dimension to ``k * factor + offset`` elements, to avoid bank conflicts.

        ::

            T.realize(B[0:4, 0:30])       →               T.attr(B, "buffer_dim_align", T.tvm_tuple(0, 32, 1))
                                                          T.realize(B[0:4, 0:30])
        """
        if position(list(self.op.axis), axis) < 0:
            raise ScheduleError(f"storage_align: axis must be one of s[{self.op.name}].op.axis, got {show(axis)}")
        for name, value, kind in (("factor", factor, "positive"), ("offset", offset, "non-negative")):
            if not isinstance(value, int) or value < (kind == "positive"):
                got = f"got {show(value)} ({self.describe(axis)})"
                raise ArgumentError(f"storage_align: {name} must be a {kind} int, {got}")
        self._set_attr(axis, replace(self._attr(axis), dim_align=(factor, offset)))

    @primitive
    def transform_layout(self, mapping_function: Callable[..., object]) -> list[IterVar] | None:
        """Transform the layout of this stage's buffer, and traverse the elements in that order; returns the new loops.

        What reads the stage follows.  Transformations that are applied one after another take the dimensions that the
        one before made.  For example ``s[B].transform_layout(lambda i, j: [j // 4, i, j % 4])``::

            for i, j in T.grid(16, 32):                   for axis0, axis1, axis2 in T.grid(8, 16, 4):
                B[i, j] = A[i, j]         →                   B[axis0, axis1, axis2] = A[axis1, axis0 * 4 + axis2]

        ``te.AXIS_SEPARATOR`` between two indices says that the dimensions on both sides of it belong to different
        dimensions of the physical memory.  Where memory has one dimension, as that of CPUs, buffers are flattened to
        one, whatever separators there are.  The loops of a stage other than a computation of elements stay as they are,
        and None is returned.
        """
        if not callable(mapping_function):
            got = f"got {show(mapping_function)} ({self})"
            raise ArgumentError(f"transform_layout: mapping_function must be a function, {got}")
        shape = tuple(self.op.output(0).shape)
        for earlier in self.layout_transforms:
            shape = earlier.map_shape(shape)
        dtype = shape[0].dtype if shape else "int32"
        try:
            index_map, separators = IndexMap.from_func_with_separators(mapping_function, len(shape), index_dtype=dtype)
        except ArgumentError as error:
            raise ArgumentError(f"transform_layout: {error} ({self})") from error
        loops = self._traverse(index_map, shape)
        self.layout_transforms = (*self.layout_transforms, index_map)
        self.axis_separators = tuple(separators)
        return loops

    def _traverse(self, index_map: IndexMap, shape: tuple[PrimExpr, ...]) -> list[IterVar] | None:
        """Create loops over the dimensions of the new layout, if this stage has loops over those of the old one."""
        axes = self._axes_of_layout() if isinstance(self.op, ComputeOp) else None
        try:
            inverse = index_map.inverse(shape) if axes is not None else index_map.non_surjective_inverse(shape)[0]
        except ArgumentError as error:
            where = f"the shape ({_text(shape)}) of stage {self.op.name!r}"
            raise ScheduleError(f"transform_layout: {index_map} must be bijective over {where}") from error
        if axes is None:
            return None
        extents = index_map.map_shape(shape)
        if not Analyzer().can_prove_equal(_product(extents), _product(shape)):
            raise ScheduleError(
                f"transform_layout: {index_map} leaves unused elements in the layout ({_text(extents)}) of stage "
                f"{self.op.name!r}, which has the shape ({_text(shape)})"
            )
        at = min(self.require_leaf("transform_layout", axis) for axis in axes)
        self.leaf_iter_vars = [a for a in self.leaf_iter_vars if position(axes, a) < 0]
        self.leaf_iter_vars[at:at] = axes
        made = [IterVar(Range(0, n), Var(f"axis{d}", n.dtype), IterVar.DataPar) for d, n in enumerate(extents)]
        self.relate(Transform(tuple(axes), tuple(made), index_map, inverse, shape), at)
        return made

    def _axes_of_layout(self) -> Sequence[IterVar] | None:
        """Return the axes over the dimensions of the buffer; None if the stage traverses another layout."""
        if not self.layout_transforms:
            return self.op.axis or None
        return next((r.transformed_variables for r in reversed(self.relations) if isinstance(r, Transform)), None)

    @primitive
    def set_store_predicate(self, predicate: ExprLike) -> None:
        """Store elements only where a condition on threads holds, e.g. in the first of them.

        ::

            B[i] = A[i]                   →               if threadIdx_x == 0:
                                                              B[i] = A[i]
        """
        self._must_be_computed("set_store_predicate")
        condition = convert(predicate)
        if condition.dtype != "bool":
            raise ArgumentError(f"set_store_predicate: predicate must be of type bool, got {show(condition)} ({self})")
        self.store_predicate = condition

    @primitive
    def double_buffer(self) -> None:
        """Double-buffer this stage: fill one buffer while the other one is read.

        ::

            for k in range(8):                            fill B with part 0
                fill B with part k        →               for k in range(8):
                use B                                         fill the other B with part k + 1
                                                              use B, and turn to the other one
        """
        self._must_be_computed("double_buffer")
        if self.is_output:
            raise ScheduleError(f"double_buffer: stage {self.op.name!r} is an output, which has one buffer")
        self.double_buffered = True

    @primitive
    def rolling_buffer(self) -> None:
        """Keep the rows that the next iteration reads again, instead of recomputing them.

        For a stage that is computed in a loop of its reader, where the windows that are read overlap.
        """
        self._must_be_computed("rolling_buffer")
        if self.is_output:
            raise ScheduleError(f"rolling_buffer: stage {self.op.name!r} is an output, which is stored as a whole")
        self.rolling = True

    @primitive
    def prefetch(self, tensor: Tensor, var: IterVar, offset: ExprLike, shared: bool = False) -> None:
        """Prefetch what a later iteration of a loop reads of a tensor.

        With ``shared``, loops around that read the same again fetch what the loop around *them* reads ``offset``
        iterations later, a share in each of their iterations: of what the stage reads, or of what was copied for it.
        It is not part of classic TVM.

        ::

            for i in range(64):                           for i in range(64):
                B[i] = A[i]               →                   prefetch A[i + 2]
                                                              B[i] = A[i]
        """
        self.require_leaf("prefetch", var)
        if not isinstance(tensor, Tensor):
            raise ArgumentError(f"prefetch: tensor must be a tensor, got {show(tensor)} ({self.describe(var)})")
        read = [*self.op.input_tensors]
        if shared:
            read += [original for copy in read for original in copy.op.input_tensors]
        if not any(t is tensor for t in read):
            raise ScheduleError(f"prefetch: stage {self.op.name!r} does not read {tensor.name!r}")
        ahead = convert(offset)
        if not dt.is_integral(ahead.dtype):
            raise ArgumentError(f"prefetch: offset must be an integer, got {show(ahead)} ({self.describe(var)})")
        attr = self._attr(var)
        self._set_attr(var, replace(attr, prefetches=(*attr.prefetches, (tensor, ahead, shared))))


def _product(dims: Sequence[PrimExpr]) -> PrimExpr:
    return reduce(operator.mul, dims, const(1, dims[0].dtype))


def _text(dims: Sequence[PrimExpr]) -> str:
    return ", ".join(map(str, dims))
