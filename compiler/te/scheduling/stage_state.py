"""The state of a stage: its loops after the primitives applied so far, its attach point and its storage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Self

from compiler.ir.error import ArgumentError, ScheduleError, show, unknown_name
from compiler.ir.expr.primexpr import IterVar, PrimExpr, StringImm, Var
from compiler.ir.origin import NO_SPAN, Span, current_span
from compiler.te.definition.operation import PlaceholderOp
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.relations.relation import Relation
from compiler.te.scheduling.primitives import PrimitiveRegistry, RecordedStage, Recorder
from compiler.tir.layout.index_map import IndexMap

if TYPE_CHECKING:
    from compiler.te.definition.tensor_intrin import TensorIntrin
    from compiler.te.scheduling.group import Group

stage_primitives = PrimitiveRegistry()
"""The primitives that stand beside their relation; ``Stage`` has them as methods."""
stage_primitive = stage_primitives.register


class AttachType(IntEnum):
    """Where a stage is computed."""

    ROOT = 1
    INLINE = 2
    SCOPE = 4
    SCAN_UPDATE = 5


@dataclass(frozen=True, slots=True)
class IterVarAttr:
    """The annotations of an axis: how its loop is carried out."""

    iter_type: int | None = None
    bind_thread: IterVar | None = None
    """The thread axis that carries the loop."""
    pragmas: tuple[tuple[str, PrimExpr], ...] = ()
    dim_align: tuple[int, int] | None = None
    """Factor and offset in elements, from ``storage_align``."""
    tensor_intrin: TensorIntrin | None = None
    """What computes the loop and all inside of it."""
    prefetches: tuple[tuple[Tensor, PrimExpr, bool], ...] = ()
    """What is fetched early, how many iterations, and whether loops around share that."""
    span: Span = NO_SPAN

    @property
    def pragma_keys(self) -> tuple[StringImm, ...]:
        """The keys of the pragmas, in the order in which they were given."""
        return tuple(StringImm(key) for key, _ in self.pragmas)

    @property
    def pragma_values(self) -> tuple[PrimExpr, ...]:
        """The values of the pragmas, in the same order."""
        return tuple(value for _, value in self.pragmas)


def position(axes: Sequence[IterVar], axis: object) -> int:
    """Return the index of ``axis`` in ``axes`` by identity, -1 if it is not one of them.

    ``axes.index`` compares by ``==``, which builds an expression.
    """
    return next((i for i, a in enumerate(axes) if a is axis), -1)


class StageState(RecordedStage):
    """The state of the schedule of one operation.

    Attributes
    ----------
    op, origin_op : Operation
        The operation that is computed now, since caches and inlining rewrite it, and that the stage was created for.
    all_iter_vars, leaf_iter_vars : list of IterVar
        Every axis that ever was, and the loops from the outermost to the innermost.
    relations : list of Relation
        How its axes are made from one another, in the order in which the primitives made them.
    place_span : Span
        The line of the schedule that put it there.
    scope : str
        Storage scope, e.g. ``global`` or ``local``; empty for the scope that fits the place.
    rolling : bool
        Whether rows that are read again are kept.
    store_predicate : PrimExpr, optional
        Where elements are stored, if not everywhere.
    layout_transforms : tuple of IndexMap
        From the indices of the tensor to those of its buffer, one map after another.
    axis_separators : tuple of int
        Before which dimensions of the buffer separators stand.
    """

    def __init__(self, schedule: Recorder, op: Operation) -> None:
        self.schedule = schedule
        self.origin_op = op
        self.op = op
        self.scope = ""
        self.is_output = False
        self.double_buffered = False
        self.rolling = False
        self.store_predicate: PrimExpr | None = None
        self.layout_transforms: tuple[IndexMap, ...] = ()
        self.axis_separators: tuple[int, ...] = ()
        self.group: Group | None = None
        self.attach_type = AttachType.ROOT
        self.attach_stage: Self | None = None
        self.attach_ivar: IterVar | None = None
        self.place_span: Span = NO_SPAN
        self.all_iter_vars: list[IterVar] = []
        self.leaf_iter_vars: list[IterVar] = []
        self.relations: list[Relation] = []
        self.iter_var_attrs: dict[IterVar, IterVarAttr] = {}
        self.set_op(op)

    def set_op(self, op: Operation) -> None:
        """Make the stage compute ``op`` with its default loops."""
        self.op = op
        self.all_iter_vars = list(op.root_iter_vars)
        self.leaf_iter_vars = [a for a in op.root_iter_vars if a.iter_type != IterVar.DimInfo]
        self.relations = []

    def place_in_step(self, scan: Self, axis: IterVar) -> None:
        """Compute the stage in each step of a scan, where it has no other place."""
        self.attach_type, self.attach_stage, self.attach_ivar = AttachType.SCAN_UPDATE, scan, axis

    def copy(self, schedule: Recorder) -> Self:
        """Return a copy for another schedule; the stage that it is attached to is still the old one."""
        new = type(self)(schedule, self.origin_op)
        new.take(self)
        return new

    def take(self, other: Self) -> None:
        """Take over the state of another stage, except its schedule."""
        self.op, self.origin_op = other.op, other.origin_op
        self.scope, self.is_output, self.double_buffered = other.scope, other.is_output, other.double_buffered
        self.attach_type, self.attach_stage, self.attach_ivar = other.attach_type, other.attach_stage, other.attach_ivar
        self.rolling, self.group = other.rolling, other.group
        self.place_span, self.store_predicate = other.place_span, other.store_predicate
        self.layout_transforms, self.axis_separators = other.layout_transforms, other.axis_separators
        self.all_iter_vars, self.leaf_iter_vars = other.all_iter_vars[:], other.leaf_iter_vars[:]
        self.relations, self.iter_var_attrs = other.relations[:], dict(other.iter_var_attrs)

    def checkpoint(self) -> Callable[[], None]:
        saved = self.copy(self.schedule)
        return lambda: self.take(saved)

    def derived_axis(self, parent: IterVar, name: str) -> IterVar:
        """Return a new axis of the same kind and type as one that it is made from."""
        return IterVar(None, Var(name, parent.var.dtype), parent.iter_type)

    def relate(self, relation: Relation, at: int) -> None:
        """Replace the parents of a relation, which are adjacent loops from the position ``at`` on, by its children.

        An only child takes over the annotations of an only parent: it is the same loop.
        """
        parents, children = relation.parents, relation.children
        self.relations.append(relation)
        self.all_iter_vars += children
        self.leaf_iter_vars[at : at + len(parents)] = children
        if len(parents) == len(children) == 1 and parents[0] in self.iter_var_attrs:
            self.iter_var_attrs[children[0]] = self.iter_var_attrs[parents[0]]

    def __repr__(self) -> str:
        return f"stage({self.op.name})"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise unknown_name("stage", name, (n for n in dir(type(self)) if not n.startswith("_")))

    def _place(self, how: AttachType, stage: Self | None = None, axis: IterVar | None = None) -> None:
        self.attach_type, self.attach_stage, self.attach_ivar = how, stage, axis
        self.place_span = current_span()

    # checks

    def require_leaf(self, primitive_name: str, axis: object) -> int:
        """Return the position of a loop in the nest, or raise an error that says why the axis is not one."""
        if not isinstance(axis, IterVar):
            raise ArgumentError(f"{primitive_name}: expected an axis of stage {self.op.name!r}, got {show(axis)}")
        at = position(self.leaf_iter_vars, axis)
        if at >= 0:
            return at
        loops = self.describe_loops()
        for relation in self.relations:
            if position(relation.parents, axis) >= 0:
                past = relation.participle
                raise ScheduleError(f"{primitive_name}: {self.describe(axis)} has already been {past} ({loops})")
        others = (stage for stage in self.schedule.stages if isinstance(stage, StageState))
        owner = next((stage for stage in others if position(stage.all_iter_vars, axis) >= 0), None)
        given = owner.describe(axis) if owner else repr(axis.var.name)
        raise ScheduleError(f"{primitive_name}: {given} is not an axis of {self.op.name!r} ({loops})")

    def _must_be_parallel(self, primitive_name: str, axis: IterVar) -> None:
        self.require_leaf(primitive_name, axis)
        if axis.iter_type == IterVar.CommReduce:
            raise ScheduleError(
                f"{primitive_name}: {self.describe(axis)} is a reduction axis, whose iterations all write the same "
                "element; split it and use rfactor first"
            )
        self._must_be_unordered(primitive_name, axis)

    def _must_be_unordered(self, primitive_name: str, axis: IterVar) -> None:
        if axis.iter_type == IterVar.Ordered:
            raise ScheduleError(
                f"{primitive_name}: {self.describe(axis)} runs over the steps of a scan, which must be carried out in "
                "order"
            )

    def _must_be_computed(self, primitive_name: str) -> None:
        if isinstance(self.op, PlaceholderOp):
            raise ScheduleError(f"{primitive_name}: {self.op.name!r} is a placeholder, which is not computed")

    def _attr(self, axis: IterVar) -> IterVarAttr:
        return self.iter_var_attrs.get(axis, IterVarAttr())

    def thread_of(self, axis: IterVar) -> IterVar | None:
        """Return the thread axis that a loop is bound to, None if it is bound to none."""
        return self._attr(axis).bind_thread

    def _set_attr(self, axis: IterVar, attr: IterVarAttr) -> None:
        self.iter_var_attrs[axis] = replace(attr, span=attr.span | current_span())

    def describe(self, axis: IterVar) -> str:
        """Return an axis as error messages name it: ``axis 'i' of stage 'C'``."""
        return f"axis {axis.var.name!r} of stage {self.op.name!r}"

    def describe_loops(self) -> str:
        """Return the loops as error messages list them: ``the loops of 'C' are i, j, k``."""
        loops = ", ".join(a.var.name for a in self.leaf_iter_vars)
        return f"the loops of {self.op.name!r} are {loops}" if loops else f"{self.op.name!r} has no loops"
