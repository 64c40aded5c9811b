"""Stages: how one operation of a schedule is computed, and the primitives that change it."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, Protocol

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, ScheduleError, show, unknown_name
from compiler.ir.origin import NO_SPAN, Span, current_span
from compiler.ir.primexpr import IntImm, IterVar, PrimExpr, Reduce, StringImm, Var, convert
from compiler.te.operation import ComputeOp, Operation, PlaceholderOp
from compiler.te.primitives import Recorder, primitive
from compiler.te.relations import Fuse, IterVarAttr, IterVarRelation, Singleton, Split, parents, position
from compiler.te.tensor import Tensor


class Owner(Recorder, Protocol):
    """What a stage needs to know of its schedule."""

    def reads(self, consumer: Stage, producer: Stage) -> bool:
        """Return whether one stage reads another, directly or through others."""


class AttachType(IntEnum):
    """Where a stage is computed."""

    ROOT = 1
    INLINE = 2
    SCOPE = 4


class Stage:
    """The schedule of one operation.

    Attributes
    ----------
    op : Operation
        What is computed now; caches and inlining rewrite it.
    origin_op : Operation
        The operation that the stage was created for.
    all_iter_vars, leaf_iter_vars : list of IterVar
        Every axis that ever was, and the loops from the outermost to the innermost.
    relations : list of IterVarRelation
    attach_type, attach_stage, attach_ivar
        Where the stage is computed.
    place_span : Span
        The line of the schedule that put it there.
    scope : str
        Storage scope, e.g. ``global`` or ``local``; empty for the scope that fits the place.
    """

    def __init__(self, schedule: Owner, op: Operation) -> None:
        self.schedule = schedule
        self.origin_op = op
        self.op = op
        self.scope = ""
        self.is_output = False
        self.double_buffered = False
        self.attach_type = AttachType.ROOT
        self.attach_stage: Stage | None = None
        self.attach_ivar: IterVar | None = None
        self.place_span: Span = NO_SPAN
        self.all_iter_vars: list[IterVar] = []
        self.leaf_iter_vars: list[IterVar] = []
        self.relations: list[IterVarRelation] = []
        self.iter_var_attrs: dict[IterVar, IterVarAttr] = {}
        self.set_op(op)

    def set_op(self, op: Operation) -> None:
        """Make the stage compute ``op`` by its plain loops."""
        self.op = op
        self.all_iter_vars = list(op.root_iter_vars)
        self.leaf_iter_vars = list(op.root_iter_vars)
        self.relations = []

    def copy(self, schedule: Owner) -> Stage:
        """Return a copy for another schedule; the stage that it is attached to is still the old one."""
        new = Stage(schedule, self.origin_op)
        new.take(self)
        return new

    def take(self, other: Stage) -> None:
        """Become what ``other`` is, in this schedule."""
        self.op, self.origin_op = other.op, other.origin_op
        self.scope, self.is_output, self.double_buffered = other.scope, other.is_output, other.double_buffered
        self.attach_type, self.attach_stage, self.attach_ivar = other.attach_type, other.attach_stage, other.attach_ivar
        self.place_span = other.place_span
        self.all_iter_vars, self.leaf_iter_vars = other.all_iter_vars[:], other.leaf_iter_vars[:]
        self.relations, self.iter_var_attrs = other.relations[:], dict(other.iter_var_attrs)

    def __repr__(self) -> str:
        return f"stage({self.op.name})"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise unknown_name("stage", name, (n for n in dir(type(self)) if not n.startswith("_")))

    # loops

    @primitive
    def split(
        self, parent: IterVar, factor: Any = None, nparts: Any = None, disable_predication: bool = False
    ) -> tuple[IterVar, IterVar]:
        """Split a loop in two.

        ``for i in 0..n`` becomes ``for i.outer in 0..ceil(n / factor): for i.inner in 0..factor``; where ``factor``
        does not divide ``n``, the last iterations are guarded.

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
        """Split two loops and move the inner ones inside: ``x.outer, y.outer, x.inner, y.inner``.

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
        """Make one loop of adjacent ones.

        ``for i in 0..n: for j in 0..m`` becomes ``for i.j.fused in 0..n * m``.  Without arguments a loop of one
        iteration is put outside of all others.

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
        """Put loops into the given order, outermost first; the others stay where they are."""
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
        """Turn a loop of constant extent into vector operations."""
        self._must_be_parallel("vectorize", var)
        self._set_attr(var, iter_type=IterVar.Vectorized)

    @primitive
    def parallel(self, var: IterVar) -> None:
        """Carry out the iterations of a loop on several cores."""
        self._must_be_parallel("parallel", var)
        self._set_attr(var, iter_type=IterVar.Parallelized)

    @primitive
    def unroll(self, var: IterVar) -> None:
        """Write the body of a loop once for each iteration."""
        self.require_leaf("unroll", var)
        self._set_attr(var, iter_type=IterVar.Unrolled)

    @primitive
    def bind(self, ivar: IterVar, thread_ivar: IterVar) -> None:
        """Let each iteration of a loop be one thread of ``thread_ivar``, made by ``te.thread_axis``."""
        self.require_leaf("bind", ivar)
        if not isinstance(thread_ivar, IterVar) or thread_ivar.iter_type != IterVar.ThreadIndex:
            raise ArgumentError(
                f"bind: thread_ivar must be made by te.thread_axis, got {show(thread_ivar)} ({self._of(ivar)})"
            )
        self._set_attr(ivar, bind_thread=thread_ivar)

    @primitive
    def pragma(self, var: IterVar, pragma_type: str, pragma_value: Any = None) -> None:
        """Annotate a loop, e.g. ``pragma(i, "auto_unroll_max_step", 16)``."""
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
        """Put the expression of this stage wherever it is read, and store nothing."""
        self._must_be_computed("compute_inline")
        if self.is_output:
            raise ScheduleError(f"compute_inline: stage {self.op.name!r} is an output, which must be stored")
        if isinstance(self.op, ComputeOp) and isinstance(self.op.body[0], Reduce):
            raise ScheduleError(f"compute_inline: stage {self.op.name!r} is a reduction, which must be stored")
        self._place(AttachType.INLINE)

    @primitive
    def compute_root(self) -> None:
        """Compute this stage as a whole before the stages that read it."""
        self._place(AttachType.ROOT)

    def _place(self, how: AttachType, stage: Stage | None = None, axis: IterVar | None = None) -> None:
        self.attach_type, self.attach_stage, self.attach_ivar = how, stage, axis
        self.place_span = current_span()

    @primitive
    def set_scope(self, scope: str) -> None:
        """Store this stage in memory of a scope, e.g. ``local`` or ``shared``."""
        if not isinstance(scope, str):
            raise ArgumentError(f"set_scope: scope must be a string, got {show(scope)} ({self})")
        self._must_be_computed("set_scope")
        self.scope = scope

    @primitive
    def storage_align(self, axis: IterVar, factor: int, offset: int) -> None:
        """Let the stride of a dimension be ``k * factor + offset`` elements, against conflicts in memory banks."""
        if position(list(self.op.axis), axis) < 0:
            raise ScheduleError(f"storage_align: axis must be one of s[{self.op.name}].op.axis, got {show(axis)}")
        for name, value, kind in (("factor", factor, "positive"), ("offset", offset, "non-negative")):
            if not isinstance(value, int) or value < (kind == "positive"):
                raise ArgumentError(f"storage_align: {name} must be a {kind} int, got {show(value)} ({self._of(axis)})")
        self._set_attr(axis, dim_align=(factor, offset))

    @primitive
    def double_buffer(self) -> None:
        """Keep two buffers of this stage, so that one is filled while the other one is read."""
        self._must_be_computed("double_buffer")
        if self.is_output:
            raise ScheduleError(f"double_buffer: stage {self.op.name!r} is an output, which has one buffer")
        self.double_buffered = True

    # checks

    def require_leaf(self, primitive_name: str, axis: Any) -> int:
        """Return the place of a loop in the nest, or say why it is none."""
        if isinstance(axis, (Var, Tensor)) or not isinstance(axis, IterVar):
            raise ArgumentError(f"{primitive_name}: expected an axis of stage {self.op.name!r}, got {show(axis)}")
        at = position(self.leaf_iter_vars, axis)
        if at >= 0:
            return at
        for relation in self.relations:
            if position(list(parents(relation)), axis) >= 0:
                past = {"Split": "split", "Fuse": "fused"}.get(type(relation).__name__, "replaced")
                raise ScheduleError(f"{primitive_name}: {self._of(axis)} has already been {past} ({self._loops()})")
        raise ScheduleError(f"{primitive_name}: {axis.var.name!r} is no axis of {self.op.name!r} ({self._loops()})")

    def _must_be_parallel(self, primitive_name: str, axis: IterVar) -> None:
        self.require_leaf(primitive_name, axis)
        if axis.iter_type == IterVar.CommReduce:
            raise ScheduleError(
                f"{primitive_name}: {self._of(axis)} is a reduction axis, whose iterations write one element; "
                "split it and use rfactor first"
            )

    def _must_be_computed(self, primitive_name: str) -> None:
        if isinstance(self.op, PlaceholderOp):
            raise ScheduleError(f"{primitive_name}: {self.op.name!r} is a placeholder, which is not computed")

    def _factor(self, name: str, value: Any, axis: IterVar) -> PrimExpr:
        if not isinstance(value, (bool, float, str)):
            e = convert(value)
            largest = dt.int_range(axis.var.dtype)[1]
            if 0 < e.value <= largest if isinstance(e, IntImm) else dt.is_integral(e.dtype):
                return e.astype(axis.var.dtype)
        raise ArgumentError(f"split: {name} must be a positive int, got {show(value)} ({self._of(axis)})")

    def _derived(self, parent: IterVar, name: str) -> IterVar:
        return IterVar(None, Var(name, parent.var.dtype), parent.iter_type)

    def _set_attr(self, axis: IterVar, **changes: Any) -> None:
        old = self.iter_var_attrs.get(axis, IterVarAttr())
        values = {f: getattr(old, f) for f in IterVarAttr.__slots__}
        self.iter_var_attrs[axis] = IterVarAttr(**{**values, **changes, "span": old.span | current_span()})

    def _of(self, axis: IterVar) -> str:
        return f"axis {axis.var.name!r} of stage {self.op.name!r}"

    def _loops(self) -> str:
        loops = ", ".join(a.var.name for a in self.leaf_iter_vars)
        return f"the loops of {self.op.name!r} are {loops}" if loops else f"{self.op.name!r} has no loops"
