"""Stages: the schedules of single operations, and the primitives that shape them."""

from __future__ import annotations

from dataclasses import replace

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, ScheduleError, show
from compiler.ir.expr.primexpr import ExprLike, IntImm, IterVar, Reduce, convert
from compiler.te.definition.dataflow import depends_on
from compiler.te.definition.operation import ComputeOp
from compiler.te.definition.tensor_intrin import TensorIntrin
from compiler.te.relations import fuse, import_relations, reverse, split
from compiler.te.scheduling.group import require_same_group
from compiler.te.scheduling.primitives import primitive
from compiler.te.scheduling.stage_state import AttachType, IterVarAttr, position, stage_primitives
from compiler.te.scheduling.stage_storage import StageStorage

__all__ = ["AttachType", "IterVarAttr", "Stage"]

import_relations()


@stage_primitives.install
class Stage(StageStorage):
    """The schedule of one operation, changed by primitives; a schedule has one stage per operation.

    The primitives that make axes stand beside their relations, in :mod:`compiler.te.relations`.

    Attributes
    ----------
    leaf_iter_vars : list of IterVar
        The loops, from the outermost to the innermost.
    all_iter_vars : list of IterVar
        The axes of the operation, and all that primitives made of them.
    """

    # loops

    # Type checkers know these by name; the decorator above installs whatever else is registered.
    split = split.split
    fuse = fuse.fuse
    reverse = reverse.reverse

    @primitive
    def tile(
        self,
        x_parent: IterVar,
        y_parent: IterVar,
        x_factor: ExprLike | None = None,
        y_factor: ExprLike | None = None,
        x_nparts: ExprLike | None = None,
        y_nparts: ExprLike | None = None,
    ) -> tuple[IterVar, IterVar, IterVar, IterVar]:
        """Tile two loops: split both, and move the inner loops innermost.

        ::

            for x in range(64):                           for x_outer, y_outer in T.grid(8, 4):
                for y in range(64):       →                   for x_inner, y_inner in T.grid(8, 16):
                    …                                             …

        Of each loop either the size of a tile (``x_factor``) or the number of tiles (``x_nparts``) must be given.
        """
        x_outer, x_inner = self.split(x_parent, factor=x_factor, nparts=x_nparts)
        y_outer, y_inner = self.split(y_parent, factor=y_factor, nparts=y_nparts)
        self.reorder(x_outer, y_outer, x_inner, y_inner)
        return x_outer, y_outer, x_inner, y_inner

    @primitive
    def reorder(self, *args: IterVar) -> None:
        """Reorder loops, outermost first; the others stay where they are.

        ::

            for i, j, k in T.grid(4, 8, 16):      →       for k, j, i in T.grid(16, 8, 4):
                …                                             …

        Raises ScheduleError if one of them is not a loop of this stage, given twice, or runs over the steps of a scan.
        """
        places = [self.require_leaf("reorder", a) for a in args]
        for axis in args:
            self._must_be_unordered("reorder", axis)
        for i, axis in enumerate(args):
            if position(list(args[:i]), axis) >= 0:
                raise ScheduleError(f"reorder: each axis must be given once, got {axis.var.name!r} twice")
        for place, axis in zip(sorted(places), args, strict=True):
            self.leaf_iter_vars[place] = axis
            self._set_attr(axis, self._attr(axis))

    # how a loop is carried out

    @primitive
    def vectorize(self, var: IterVar) -> None:
        """Vectorize a loop over elements; lowering raises an error where its extent is not constant.

        ::

            for i in range(8):                            B[0:8] = A[0:8] + T.Broadcast(1.0, 8)
                B[i] = A[i] + 1.0         →

        Raises ScheduleError if it is a loop of another stage, over a reduction or over the steps of a scan, or longer
        than the longest vector.
        """
        self._must_be_parallel("vectorize", var)
        extent = var.dom.extent if var.dom is not None else None
        if isinstance(extent, IntImm) and extent.value > dt.MAX_LANES:
            raise ScheduleError(
                f"vectorize: a vector has at most {dt.MAX_LANES:,} lanes, and {var.var.name!r} of stage "
                f"{self.op.name!r} has {extent.value:,} iterations; split it and vectorize the inner loop"
            )
        self._set_attr(var, replace(self._attr(var), iter_type=IterVar.Vectorized))

    @primitive
    def parallel(self, var: IterVar) -> None:
        """Parallelize a loop over elements, not over a reduction, over several cores.

        ::

            for i in range(8):            →               for i in T.parallel(8):
                …                                             …
        """
        self._must_be_parallel("parallel", var)
        self._set_attr(var, replace(self._attr(var), iter_type=IterVar.Parallelized))

    @primitive
    def unroll(self, var: IterVar) -> None:
        """Unroll a loop; lowering raises an error where its extent is not constant.

        ::

            for i in range(2):                            B[0] = A[0]
                B[i] = A[i]               →               B[1] = A[1]
        """
        self.require_leaf("unroll", var)
        self._set_attr(var, replace(self._attr(var), iter_type=IterVar.Unrolled))

    @primitive
    def bind(self, ivar: IterVar, thread_ivar: IterVar) -> None:
        """Bind a loop to a thread axis, made by ``te.thread_axis``, whose extent, if it has one, is that of the loop.

        ::

            for i in range(8):                            threadIdx_x = T.launch_thread("threadIdx.x", 8)
                B[i] = A[i]               →               B[threadIdx_x] = A[threadIdx_x]

        Raises ArgumentError if ``thread_ivar`` is not a thread axis. Raises ScheduleError if ``ivar`` is not a loop of
        this stage, or runs over the steps of a scan.
        """
        self.require_leaf("bind", ivar)
        self._must_be_unordered("bind", ivar)
        if not isinstance(thread_ivar, IterVar) or thread_ivar.iter_type != IterVar.ThreadIndex:
            raise ArgumentError(
                f"bind: thread_ivar must be made by te.thread_axis, got {show(thread_ivar)} ({self.describe(ivar)})"
            )
        self._set_attr(ivar, replace(self._attr(ivar), bind_thread=thread_ivar))

    @primitive
    def pragma(self, var: IterVar, pragma_type: str, pragma_value: ExprLike | None = None) -> None:
        """Annotate a loop for the passes, e.g. ``pragma(i, "auto_unroll_max_step", 16)``; the value is 1 by default.

        ::

            for i in range(8):            →               T.attr(i, "pragma_auto_unroll_max_step", 16)
                …                                         for i in range(8):
                                                              …

        Pragmas of the types ``unroll`` and ``vectorize`` are the primitives of these names.  ``tile_product`` has a sum
        of products computed in tile registers, where a CPU has them: of the outermost loop of a reduction, inside of
        which are up to 32 rows by 16 lanes, and innermost up to 16 groups of two bfloat16 or four bytes. Raises
        ArgumentError if ``pragma_type`` is not a string. Raises ScheduleError if ``var`` is not a loop of this stage.
        """
        self.require_leaf("pragma", var)
        if not isinstance(pragma_type, str):
            raise ArgumentError(f"pragma: pragma_type must be a string, got {show(pragma_type)} ({self.describe(var)})")
        if pragma_type in ("unroll", "vectorize"):
            getattr(self, pragma_type)(var)
            return
        value = convert(1 if pragma_value is None else pragma_value)
        attr = self._attr(var)
        self._set_attr(var, replace(attr, pragmas=(*attr.pragmas, (pragma_type, value))))

    @primitive
    def tensorize(self, var: IterVar, tensor_intrin: TensorIntrin) -> None:
        """Replace a loop and everything inside it by a tensor intrinsic, made by ``te.decl_tensor_intrin``.

        Lowering checks that it computes the same, by what it is declared to compute.  ::

            for i_inner in range(16):                     T.call_extern("int32", "vadd16", A, B, C)
                C[…] = A[…] + B[…]        →

        Raises ArgumentError if ``tensor_intrin`` is not an intrinsic. Raises ScheduleError if ``var`` is not a loop of
        this stage.
        """
        self.require_leaf("tensorize", var)
        if not isinstance(tensor_intrin, TensorIntrin):
            raise ArgumentError(
                f"tensorize: tensor_intrin must be made by te.decl_tensor_intrin, got {show(tensor_intrin)} "
                f"({self.describe(var)})"
            )
        if isinstance(self.op, ComputeOp):
            self._set_attr(var, replace(self._attr(var), iter_type=IterVar.Tensorized, tensor_intrin=tensor_intrin))

    # where a stage is computed

    @primitive
    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Attach this stage at a loop of a stage that reads it, directly or not, and compute only what is needed there.

        ::

            for i in range(64):                           for i_outer in range(8):
                B[i] = A[i] + 1.0                             for i in range(8):
            for i_outer in range(8):      →                       B[i + i_outer * 8] = A[i + i_outer * 8] + 1.0
                for i_inner in range(8):                      for i_inner in range(8):
                    C[…] = B[…] * 2.0                             C[…] = B[…] * 2.0

        Raises ArgumentError if ``parent`` is not a stage, or ``scope`` no axis. Raises ScheduleError if this stage is a
        placeholder, ``parent`` does not read it or belongs to another schedule, or ``scope`` is none of its loops.  If
        this stage is an output, when the schedule is lowered.
        """
        if not isinstance(parent, Stage):
            raise ArgumentError(f"compute_at: parent must be a stage, such as s[C], got {show(parent)} ({self})")
        if not isinstance(scope, IterVar):
            raise ArgumentError(f"compute_at: scope must be an axis of stage {parent.op.name!r}, got {show(scope)}")
        self._must_be_computed("compute_at")
        if parent.schedule is not self.schedule:
            raise ScheduleError(f"compute_at: stage {parent.op.name!r} belongs to another schedule ({self})")
        parent.require_leaf("compute_at", scope)
        require_same_group(self, parent)
        if not self.is_output and not depends_on(parent.op, self.op):  # outputs are refused when this is lowered
            raise ScheduleError(
                f"compute_at: stage {self.op.name!r} must be computed inside a stage that reads it, "
                f"and {parent.op.name!r} does not"
            )
        self._place(AttachType.SCOPE, parent, scope)

    @primitive
    def compute_inline(self) -> None:
        """Inline this stage into its readers, and store nothing.

        ::

            for i in range(8):                            for i in range(8):
                B[i] = A[i] + 1.0                             C[i] = (A[i] + 1.0) * 2.0
            for i in range(8):            →
                C[i] = B[i] * 2.0

        Raises ScheduleError if this stage is an output, a placeholder or a reduction.
        """
        self._must_be_computed("compute_inline")
        if self.is_output:
            raise ScheduleError(f"compute_inline: stage {self.op.name!r} is an output, which must be stored")
        if isinstance(self.op, ComputeOp) and isinstance(self.op.body[0], Reduce):
            raise ScheduleError(f"compute_inline: stage {self.op.name!r} is a reduction, which must be stored")
        self._place(AttachType.INLINE)

    @primitive
    def compute_root(self) -> None:
        """Compute this stage as a whole before its readers, undoing ``compute_at`` and ``compute_inline``.

        ::

            for i in range(8):                            for i in range(8):
                B[i] = A[i] + 1.0                             B[i] = A[i] + 1.0
                C[i] = B[i] * 2.0         →               for i in range(8):
                                                              C[i] = B[i] * 2.0
        """
        self._place(AttachType.ROOT)
