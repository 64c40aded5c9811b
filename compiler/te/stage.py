"""Stages: the schedules of single operations, and the primitives that shape them."""

from __future__ import annotations

from typing import Any

from compiler.ir.error import ArgumentError, ScheduleError, show
from compiler.ir.primexpr import IterVar, Reduce, StringImm, Var, convert
from compiler.te.operation import ComputeOp
from compiler.te.primitives import primitive
from compiler.te.relations import Fuse, IterVarAttr, Singleton, Split, position
from compiler.te.stage_state import AttachType, StageState

__all__ = ["AttachType", "Stage"]


class Stage(StageState):
    """The schedule of one operation, shaped by primitives; a schedule makes one for each of its operations."""

    # loops

    @primitive
    def split(
        self, parent: IterVar, factor: Any = None, nparts: Any = None, disable_predication: bool = False
    ) -> tuple[IterVar, IterVar]:
        """Split a loop in two; where the sizes do not divide its extent, the last iterations are guarded.

        ::

            for i in range(100):                          for i_outer in range(4):
                B[i] = A[i]               →                   for i_inner in range(30):
                                                                  if i_inner + i_outer * 30 < 100:
                                                                      B[i_inner + i_outer * 30] = …

        Parameters
        ----------
        parent : IterVar
        factor : int or PrimExpr
            Extent of the inner loop.
        nparts : int or PrimExpr
            Extent of the outer loop; exactly one of the two must be given.

        Returns
        -------
        outer, inner : IterVar
        """
        at = self.require_leaf("split", parent)
        if (factor is None) == (nparts is None):
            got = "neither" if factor is None else "both"
            raise ArgumentError(f"split: one of factor and nparts must be given, got {got} ({self._of(parent)})")
        if disable_predication:
            raise ArgumentError(f"split: disable_predication must be False ({self._of(parent)}): guards are exact")
        if parent.iter_type == IterVar.ThreadIndex:
            raise ScheduleError(f"split: {self._of(parent)} is a thread axis; split the loop before it is bound")
        by = None if factor is None else self._factor("factor", factor, parent)
        parts = None if nparts is None else self._factor("nparts", nparts, parent)
        outer, inner = (self._derived(parent, f"{parent.var.name}.{end}") for end in ("outer", "inner"))
        self.relations.append(Split(parent, outer, inner, by, parts))
        self.all_iter_vars += [outer, inner]
        self.leaf_iter_vars[at : at + 1] = [outer, inner]
        return outer, inner

    @primitive
    def tile(
        self,
        x_parent: IterVar,
        y_parent: IterVar,
        x_factor: Any = None,
        y_factor: Any = None,
        x_nparts: Any = None,
        y_nparts: Any = None,
    ) -> tuple[IterVar, IterVar, IterVar, IterVar]:
        """Split two loops and move the inner ones inside.

        ::

            for x in range(64):                           for x_outer, y_outer in T.grid(8, 4):
                for y in range(64):       →                   for x_inner, y_inner in T.grid(8, 16):
                    …                                             …

        Parameters
        ----------
        x_factor, y_factor : int or PrimExpr
            Size of a tile; alternatively ``x_nparts`` and ``y_nparts``, the number of tiles.

        Returns
        -------
        x_outer, y_outer, x_inner, y_inner : IterVar
        """
        x_outer, x_inner = self.split(x_parent, factor=x_factor, nparts=x_nparts)
        y_outer, y_inner = self.split(y_parent, factor=y_factor, nparts=y_nparts)
        self.reorder(x_outer, y_outer, x_inner, y_inner)
        return x_outer, y_outer, x_inner, y_inner

    @primitive
    def fuse(self, *args: IterVar) -> IterVar:
        """Make one loop of adjacent ones; without arguments, put a loop of one iteration outside of all others.

        ::

            for i in range(4):                            for i_j_fused in range(32):
                for j in range(8):        →                   B[i_j_fused // 8, i_j_fused % 8] = …
                    B[i, j] = …

        Returns
        -------
        fused : IterVar
        """
        axes = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
        if not axes:
            single = IterVar(None, Var("singleton"), IterVar.DataPar)
            self.relations.append(Singleton(single))
            self.all_iter_vars.append(single)
            self.leaf_iter_vars.insert(0, single)
            return single
        self.require_leaf("fuse", axes[0])
        fused = axes[0]
        for axis in axes[1:]:
            fused = self._fuse_two(fused, axis)
        return fused

    def _fuse_two(self, outer: IterVar, inner: IterVar) -> IterVar:
        first, second = self.require_leaf("fuse", outer), self.require_leaf("fuse", inner)
        if abs(first - second) != 1:
            names = " and ".join(repr(a.var.name) for a in (outer, inner))
            raise ScheduleError(f"fuse: axes must be adjacent, got {names} ({self._loops()})")
        if second < first:
            outer, inner, first = inner, outer, second
        if (outer.iter_type == IterVar.CommReduce) != (inner.iter_type == IterVar.CommReduce):
            raise ScheduleError(
                f"fuse: {outer.var.name!r} and {inner.var.name!r} of stage {self.op.name!r} must both be reduction "
                "axes or both not: an element and its parts cannot share one loop"
            )
        fused = self._derived(outer, f"{outer.var.name}.{inner.var.name}.fused")
        self.relations.append(Fuse(outer, inner, fused))
        self.all_iter_vars.append(fused)
        self.leaf_iter_vars[first : first + 2] = [fused]
        return fused

    @primitive
    def reorder(self, *args: IterVar) -> None:
        """Put loops into the given order, outermost first; the others stay where they are.

        ::

            for i, j, k in T.grid(4, 8, 16):      →       for k, j, i in T.grid(16, 8, 4):
                …                                             …
        """
        places = [self.require_leaf("reorder", a) for a in args]
        for i, axis in enumerate(args):
            if position(list(args[:i]), axis) >= 0:
                raise ScheduleError(f"reorder: each axis must be given once, got {axis.var.name!r} twice")
        for place, axis in zip(sorted(places), args, strict=True):
            self.leaf_iter_vars[place] = axis
            self._set_attr(axis)

    # how a loop is carried out

    @primitive
    def vectorize(self, var: IterVar) -> None:
        """Turn a loop of constant extent into vector operations.

        ::

            for i in range(8):                            B[0:8] = A[0:8] + T.Broadcast(1.0, 8)
                B[i] = A[i] + 1.0         →
        """
        self._must_be_parallel("vectorize", var)
        self._set_attr(var, iter_type=IterVar.Vectorized)

    @primitive
    def parallel(self, var: IterVar) -> None:
        """Carry out the iterations of a loop on several cores.

        ::

            for i in range(8):            →               for i in T.parallel(8):
                …                                             …
        """
        self._must_be_parallel("parallel", var)
        self._set_attr(var, iter_type=IterVar.Parallelized)

    @primitive
    def unroll(self, var: IterVar) -> None:
        """Write the body of a loop once for each iteration.

        ::

            for i in range(2):                            B[0] = A[0]
                B[i] = A[i]               →               B[1] = A[1]
        """
        self.require_leaf("unroll", var)
        self._set_attr(var, iter_type=IterVar.Unrolled)

    @primitive
    def bind(self, ivar: IterVar, thread_ivar: IterVar) -> None:
        """Let each iteration of a loop be one thread of ``thread_ivar``, made by ``te.thread_axis``.

        ::

            for i in range(8):                            threadIdx_x = T.launch_thread("threadIdx.x", 8)
                B[i] = A[i]               →               B[threadIdx_x] = A[threadIdx_x]
        """
        self.require_leaf("bind", ivar)
        if not isinstance(thread_ivar, IterVar) or thread_ivar.iter_type != IterVar.ThreadIndex:
            raise ArgumentError(
                f"bind: thread_ivar must be made by te.thread_axis, got {show(thread_ivar)} ({self._of(ivar)})"
            )
        self._set_attr(ivar, bind_thread=thread_ivar)

    @primitive
    def pragma(self, var: IterVar, pragma_type: str, pragma_value: Any = None) -> None:
        """Annotate a loop for the passes, e.g. ``pragma(i, "auto_unroll_max_step", 16)``.

        ::

            for i in range(8):            →               T.attr(i, "pragma_auto_unroll_max_step", 16)
                …                                         for i in range(8):
                                                              …
        """
        self.require_leaf("pragma", var)
        if not isinstance(pragma_type, str):
            raise ArgumentError(f"pragma: pragma_type must be a string, got {show(pragma_type)} ({self._of(var)})")
        value = StringImm("") if pragma_value is None else convert(pragma_value)
        before = self.iter_var_attrs.get(var, IterVarAttr()).pragmas
        self._set_attr(var, pragmas=(*before, (pragma_type, value)))

    # where a stage is computed and stored

    @primitive
    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Compute what is needed of this stage inside a loop of a stage that reads it.

        ::

            for i in range(64):                           for i_outer in range(8):
                B[i] = A[i] + 1.0                             for i in range(8):
            for i_outer in range(8):      →                       B[i + i_outer * 8] = A[i + i_outer * 8] + 1.0
                for i_inner in range(8):                      for i_inner in range(8):
                    C[…] = B[…] * 2.0                             C[…] = B[…] * 2.0

        Parameters
        ----------
        parent : Stage
            A consumer.
        scope : IterVar
            One of the consumer's loops.
        """
        if not isinstance(parent, Stage):
            raise ArgumentError(f"compute_at: parent must be a stage, such as s[C], got {show(parent)} ({self})")
        if not isinstance(scope, IterVar):
            raise ArgumentError(f"compute_at: scope must be an axis of stage {parent.op.name!r}, got {show(scope)}")
        self._must_be_computed("compute_at")
        if parent.schedule is not self.schedule:
            raise ScheduleError(f"compute_at: stage {parent.op.name!r} belongs to another schedule ({self})")
        if self.is_output:
            raise ScheduleError(f"compute_at: stage {self.op.name!r} is an output, which must be computed as a whole")
        parent.require_leaf("compute_at", scope)
        if not self.schedule.reads(parent, self):
            raise ScheduleError(
                f"compute_at: stage {self.op.name!r} must be computed inside a stage that reads it, "
                f"and {parent.op.name!r} does not"
            )
        self._place(AttachType.SCOPE, parent, scope)

    @primitive
    def compute_inline(self) -> None:
        """Put the expression of this stage wherever it is read, and store nothing.

        ::

            for i in range(8):                            for i in range(8):
                B[i] = A[i] + 1.0                             C[i] = (A[i] + 1.0) * 2.0
            for i in range(8):            →
                C[i] = B[i] * 2.0
        """
        self._must_be_computed("compute_inline")
        if self.is_output:
            raise ScheduleError(f"compute_inline: stage {self.op.name!r} is an output, which must be stored")
        if isinstance(self.op, ComputeOp) and isinstance(self.op.body[0], Reduce):
            raise ScheduleError(f"compute_inline: stage {self.op.name!r} is a reduction, which must be stored")
        self._place(AttachType.INLINE)

    @primitive
    def compute_root(self) -> None:
        """Compute this stage as a whole before the stages that read it: undo ``compute_at`` and ``compute_inline``.

        ::

            for i in range(8):                            for i in range(8):
                B[i] = A[i] + 1.0                             B[i] = A[i] + 1.0
                C[i] = B[i] * 2.0         →               for i in range(8):
                                                              C[i] = B[i] * 2.0
        """
        self._place(AttachType.ROOT)

    @primitive
    def set_scope(self, scope: str) -> None:
        """Store this stage in memory of a scope, e.g. ``local`` or ``shared``.

        ::

            B = T.Buffer((8,))            →               B = T.Buffer((8,), scope="local")
        """
        if not isinstance(scope, str):
            raise ArgumentError(f"set_scope: scope must be a string, got {show(scope)} ({self})")
        self._must_be_computed("set_scope")
        self.scope = scope

    @primitive
    def storage_align(self, axis: IterVar, factor: int, offset: int) -> None:
        """Let the stride of a dimension be ``k * factor + offset`` elements, against conflicts in memory banks.

        ::

            T.realize(B[0:4, 0:30])       →               T.attr(B, "buffer_dim_align", T.tvm_tuple(0, 32, 1))
                                                          T.realize(B[0:4, 0:30])
        """
        if position(list(self.op.axis), axis) < 0:
            raise ScheduleError(f"storage_align: axis must be one of s[{self.op.name}].op.axis, got {show(axis)}")
        for name, value, kind in (("factor", factor, "positive"), ("offset", offset, "non-negative")):
            if not isinstance(value, int) or value < (kind == "positive"):
                raise ArgumentError(f"storage_align: {name} must be a {kind} int, got {show(value)} ({self._of(axis)})")
        self._set_attr(axis, dim_align=(factor, offset))

    @primitive
    def set_store_predicate(self, predicate: Any) -> None:
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
        """Keep two buffers of this stage, so that one is filled while the other one is read.

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
