"""Candidate primitives for the loops and stages of a TE schedule.

Stages and loops are told by their positions, so that a candidate can be applied to a replayed copy of the schedule.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from app.proposals import Place, ProposedPrimitive
from app.recorder.proposals.wording import Wording
from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import IntImm, IterVar
from compiler.te import thread_axis
from compiler.te.definition.dataflow import depends_on
from compiler.te.definition.operation import ComputeOp
from compiler.te.scheduling.schedule import Schedule
from compiler.te.scheduling.stage import AttachType, Stage
from compiler.te.scheduling.stage_state import IterVarAttr

FACTORS = (4, 8, 16, 32, 64)
"""Of the splits that are proposed."""
THREAD_TAGS = ("blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y")
ANNOTATIONS: dict[ProposedPrimitive, int] = {
    "vectorize": IterVar.Vectorized,
    "parallel": IterVar.Parallelized,
    "unroll": IterVar.Unrolled,
}


@dataclass(frozen=True, slots=True)
class Candidate(ABC):
    """A primitive for a stage of a schedule.

    Attributes
    ----------
    stage : int
        Position of the stage in the schedule.
    """

    primitive: ProposedPrimitive = field(kw_only=True)
    stage: int

    @abstractmethod
    def label(self, schedule: Schedule) -> str:
        """Return what it does, in a few words."""

    @abstractmethod
    def apply(self, schedule: Schedule) -> None:
        """Apply it to a schedule."""

    @abstractmethod
    def statement(self, schedule: Schedule, wording: Wording) -> str:
        """Return it as a statement of the script."""

    @property
    def onto(self) -> Place | None:
        """Where it is dropped."""
        return None


@dataclass(frozen=True, slots=True)
class LoopCandidate(Candidate):
    """A primitive for a loop, told by its position in the nest."""

    loop: int

    def axis(self, schedule: Schedule, loop: int | None = None) -> IterVar:
        """Return the loop at a position of the stage, by default its own."""
        return schedule.stages[self.stage].leaf_iter_vars[self.loop if loop is None else loop]

    def call(self, schedule: Schedule, wording: Wording, arguments: str) -> str:
        """Return a call of the primitive on the stage."""
        return f"{wording.stage(schedule.stages[self.stage])}.{self.primitive}({arguments})"


@dataclass(frozen=True, slots=True)
class Split(LoopCandidate):
    """A loop in two."""

    primitive: ProposedPrimitive = field(default="split", kw_only=True)
    factor: int

    def label(self, schedule: Schedule) -> str:
        return f"split by {self.factor}"

    def apply(self, schedule: Schedule) -> None:
        schedule.stages[self.stage].split(self.axis(schedule), factor=self.factor)

    def statement(self, schedule: Schedule, wording: Wording) -> str:
        axis = self.axis(schedule)
        outer, inner = wording.halves(axis)
        name = wording.axis(schedule.stages[self.stage], axis)
        return f"{outer}, {inner} = {self.call(schedule, wording, f'{name}, factor={self.factor}')}"


@dataclass(frozen=True, slots=True)
class Reorder(LoopCandidate):
    """A loop at the place of another."""

    primitive: ProposedPrimitive = field(default="reorder", kw_only=True)
    to: int

    def label(self, schedule: Schedule) -> str:
        other = self.axis(schedule, self.to).var.name
        return f"move outside of {other}" if self.to < self.loop else f"move inside of {other}"

    @property
    def onto(self) -> Place:
        return Place(stage=self.stage, loop=self.to)

    def order(self, schedule: Schedule) -> list[IterVar]:
        """Return the loops of the stage in the new order."""
        axes = list(schedule.stages[self.stage].leaf_iter_vars)
        axes.insert(self.to, axes.pop(self.loop))
        return axes

    def apply(self, schedule: Schedule) -> None:
        schedule.stages[self.stage].reorder(*self.order(schedule))

    def statement(self, schedule: Schedule, wording: Wording) -> str:
        """Return it with all loops where each has a name, else with those that change their places."""
        stage, axes = schedule.stages[self.stage], self.order(schedule)
        names = [wording.axis(stage, axis) for axis in axes]
        if not all(name.isidentifier() for name in names):
            names = names[min(self.loop, self.to) : max(self.loop, self.to) + 1]
        return self.call(schedule, wording, ", ".join(names))


@dataclass(frozen=True, slots=True)
class Fuse(LoopCandidate):
    """A loop and the one inside of it as one; ``dropped`` says which of the two is dropped onto the other."""

    primitive: ProposedPrimitive = field(default="fuse", kw_only=True)
    dropped: Literal["outer", "inner"]

    def label(self, schedule: Schedule) -> str:
        return f"fuse with {self.axis(schedule, self.loop + (self.dropped == 'outer')).var.name}"

    @property
    def onto(self) -> Place:
        return Place(stage=self.stage, loop=self.loop + (self.dropped == "outer"))

    def apply(self, schedule: Schedule) -> None:
        schedule.stages[self.stage].fuse(self.axis(schedule), self.axis(schedule, self.loop + 1))

    def statement(self, schedule: Schedule, wording: Wording) -> str:
        stage, axes = schedule.stages[self.stage], (self.axis(schedule), self.axis(schedule, self.loop + 1))
        call = self.call(schedule, wording, ", ".join(wording.axis(stage, axis) for axis in axes))
        return f"{wording.fused(*axes)} = {call}"


@dataclass(frozen=True, slots=True)
class Annotate(LoopCandidate):
    """How a loop is carried out."""

    def label(self, schedule: Schedule) -> str:
        return self.primitive

    def apply(self, schedule: Schedule) -> None:
        getattr(schedule.stages[self.stage], self.primitive)(self.axis(schedule))

    def statement(self, schedule: Schedule, wording: Wording) -> str:
        return self.call(schedule, wording, wording.axis(schedule.stages[self.stage], self.axis(schedule)))


@dataclass(frozen=True, slots=True)
class Bind(LoopCandidate):
    """A loop as the threads or blocks of a GPU."""

    primitive: ProposedPrimitive = field(default="bind", kw_only=True)
    tag: str

    def label(self, schedule: Schedule) -> str:
        return f"bind to {self.tag}"

    def apply(self, schedule: Schedule) -> None:
        schedule.stages[self.stage].bind(self.axis(schedule), thread_axis(self.tag))

    def statement(self, schedule: Schedule, wording: Wording) -> str:
        name = wording.axis(schedule.stages[self.stage], self.axis(schedule))
        return self.call(schedule, wording, f"{name}, {wording.thread_axis(self.tag)}")


@dataclass(frozen=True, slots=True)
class Tile(LoopCandidate):
    """A loop in two, and then a primitive for one of them, told by its position after the split."""

    factor: int
    then: Annotate | Reorder

    def label(self, schedule: Schedule) -> str:
        then = "vectorize the inner loop"
        if isinstance(self.then, Reorder):
            then = "move the outer loop out" if self.then.to < self.then.loop else "move the inner loop inside"
        return f"split {self.axis(schedule).var.name} by {self.factor}, {then}"

    def apply(self, schedule: Schedule) -> None:
        Split(self.stage, self.loop, self.factor).apply(schedule)
        self.then.apply(schedule)

    def statement(self, schedule: Schedule, wording: Wording) -> str:
        """Return it in two lines; raises TVMError if a loop that it reorders has only a position for a name."""
        stage, then = schedule.stages[self.stage], self.then
        halves, order = wording.halves(self.axis(schedule)), [then.loop]
        if isinstance(then, Reorder):
            others = [at for at in range(min(then.loop, then.to), max(then.loop, then.to) + 1) if at != then.loop]
            order = [*order, *others] if then.to < then.loop else [*others, *order]

        def name(at: int) -> str:
            if at - self.loop in (0, 1):
                return halves[at - self.loop]
            return wording.axis(stage, self.axis(schedule, at - (at > self.loop)))

        names = ", ".join(map(name, order))
        if "leaf_iter_vars" in names:
            raise TVMError("split: it changes the positions of the loops that are reordered then")
        split = Split(self.stage, self.loop, self.factor).statement(schedule, wording)
        return f"{split}\n{self.call(schedule, wording, names)}"


@dataclass(frozen=True, slots=True)
class Accumulate(LoopCandidate):
    """A sum in a local block, which a loop of its stage copies; both stages have the loops in the order of before."""

    primitive: ProposedPrimitive = field(default="cache_write", kw_only=True)

    def label(self, schedule: Schedule) -> str:
        return f"add up in a local block for each {self.axis(schedule).var.name}"

    def apply(self, schedule: Schedule) -> None:
        stage = schedule.stages[self.stage]
        order, annotated = self._loops(stage), self._annotated(stage)
        cached = schedule[schedule.cache_write(stage.op.output(0), "local")]
        elements = [name for name in order if name[0] == "axis"]
        own = [stage.op.axis[at] for _, at in elements]
        stage.reorder(*own)
        for place, primitive in annotated.items():
            owner, axis = (stage, own[place]) if place <= self.loop else (cached, cached.op.axis[place])
            getattr(owner, primitive)(axis)
        cached.compute_at(stage, own[self.loop])
        reduced, dimensions = cached.op.reduce_axis, iter(cached.op.axis)
        cached.reorder(*(next(dimensions) if kind == "axis" else reduced[at] for kind, at in order))

    def statement(self, schedule: Schedule, wording: Wording) -> str:
        stage = schedule.stages[self.stage]
        order, annotated = self._loops(stage), self._annotated(stage)
        copy, cached, call = wording.cache(stage)
        own = [f"{copy}.op.axis[{at}]" for kind, at in order if kind == "axis"]
        dimensions, loops = 0, list[str]()
        for kind, at in order:
            loops.append(f"{cached}.op.{kind}[{dimensions if kind == 'axis' else at}]")
            dimensions += kind == "axis"
        carried = [
            f"{copy}.{primitive}({own[place]})"
            if place <= self.loop
            else f"{cached}.{primitive}({cached}.op.axis[{place}])"
            for place, primitive in annotated.items()
        ]
        lines = [call, f"{copy}.reorder({', '.join(own)})", *carried, f"{cached}.compute_at({copy}, {own[self.loop]})"]
        return "\n".join([*lines, f"{cached}.reorder({', '.join(loops)})"])

    @staticmethod
    def _loops(stage: Stage) -> list[tuple[Literal["axis", "reduce_axis"], int]]:
        """Return the axes of the operation that the loops are."""
        return [
            ("axis", stage.op.axis.index(axis))
            if axis in stage.op.axis
            else ("reduce_axis", stage.op.reduce_axis.index(axis))
            for axis in stage.leaf_iter_vars
        ]

    @staticmethod
    def _annotated(stage: Stage) -> dict[int, ProposedPrimitive]:
        """Return how loops over elements are carried out, by their places among those."""
        kinds = {kind: name for name, kind in ANNOTATIONS.items()}
        elements = [axis for axis in stage.leaf_iter_vars if axis.iter_type != IterVar.CommReduce]
        attrs = [stage.iter_var_attrs.get(axis) for axis in elements]
        return {
            at: kinds[attr.iter_type] for at, attr in enumerate(attrs) if attr is not None and attr.iter_type in kinds
        }


@dataclass(frozen=True, slots=True)
class ComputeAt(Candidate):
    """A stage inside of a loop of another."""

    primitive: ProposedPrimitive = field(default="compute_at", kw_only=True)
    consumer: int
    loop: int

    def label(self, schedule: Schedule) -> str:
        consumer = schedule.stages[self.consumer]
        return f"compute at {consumer.op.name}, {consumer.leaf_iter_vars[self.loop].var.name}"

    @property
    def onto(self) -> Place:
        return Place(stage=self.consumer, loop=self.loop)

    def apply(self, schedule: Schedule) -> None:
        consumer = schedule.stages[self.consumer]
        schedule.stages[self.stage].compute_at(consumer, consumer.leaf_iter_vars[self.loop])

    def statement(self, schedule: Schedule, wording: Wording) -> str:
        consumer = schedule.stages[self.consumer]
        axis = wording.axis(consumer, consumer.leaf_iter_vars[self.loop])
        return f"{wording.stage(schedule.stages[self.stage])}.compute_at({wording.stage(consumer)}, {axis})"


@dataclass(frozen=True, slots=True)
class PlaceAlone(Candidate):
    """A stage inlined into those that read it, or back in a nest of its own."""

    def label(self, schedule: Schedule) -> str:
        return "inline" if self.primitive == "compute_inline" else "compute at the root"

    def apply(self, schedule: Schedule) -> None:
        getattr(schedule.stages[self.stage], self.primitive)()

    def statement(self, schedule: Schedule, wording: Wording) -> str:
        return f"{wording.stage(schedule.stages[self.stage])}.{self.primitive}()"


def loop_candidates(schedule: Schedule, stage: int, loop: int, factors: Sequence[int] = FACTORS) -> Iterator[Candidate]:
    """Yield what may come next for a loop, the cheap annotations first."""
    owner = schedule.stages[stage]
    axis, count = owner.leaf_iter_vars[loop], len(owner.leaf_iter_vars)
    attr = owner.iter_var_attrs.get(axis)
    bound = attr.bind_thread if attr is not None else None
    for name, kind in ANNOTATIONS.items():
        if bound is None and (attr is None or attr.iter_type != kind):  # a bound loop runs as threads, annotated or not
            yield Annotate(stage, loop, primitive=name)
    extent = axis.dom.extent if axis.dom is not None else None
    for factor in factors:
        if not isinstance(extent, IntImm) or factor < extent.value:
            yield Split(stage, loop, factor)
    for to in range(count):
        if to != loop:
            yield Reorder(stage, loop, to)
    if loop + 1 < count:
        yield Fuse(stage, loop, "outer")
    if loop:
        yield Fuse(stage, loop - 1, "inner")
    for tag in THREAD_TAGS:
        if bound is None or bound.thread_tag != tag:
            yield Bind(stage, loop, tag)


def tiles(schedule: Schedule, stage: int, loop: int, factor: int) -> Iterator[Tile]:
    """Yield what may come next for a loop together with its split; nothing if that would drop its annotation."""
    owner = schedule.stages[stage]
    attr, innermost = owner.iter_var_attrs.get(owner.leaf_iter_vars[loop]), len(owner.leaf_iter_vars)
    if attr is not None and attr.iter_type in ANNOTATIONS.values():
        return
    then: list[Annotate | Reorder] = [Annotate(stage, loop + 1, primitive="vectorize")]
    then += [Reorder(stage, loop, to) for to in range(loop)]
    then += [Reorder(stage, loop + 1, innermost)] if loop + 1 < innermost else []
    for each in then:
        yield Tile(stage, loop, factor, each, primitive=each.primitive)


def accumulations(schedule: Schedule, stage: int, loop: int) -> Iterator[Accumulate]:
    """Yield a sum in a local block for each iteration of a loop, if there is a loop over elements inside of the sum.

    Only while the loops are the axes of the operation: what a split has made would be dimensions of the block.
    """
    owner = schedule.stages[stage]
    leaves = owner.leaf_iter_vars
    if not isinstance(owner.op, ComputeOp) or owner.relations:
        return
    sums = [axis.iter_type == IterVar.CommReduce for axis in leaves]
    first = sums.index(True) if True in sums else len(sums)
    is_plain = all(_is_plain(owner.iter_var_attrs.get(axis), is_sum) for axis, is_sum in zip(leaves, sums, strict=True))
    if loop < first and not all(sums[first:]) and is_plain:
        yield Accumulate(stage, loop)


def _is_plain(attr: IterVarAttr | None, is_sum: bool) -> bool:
    """Return whether nothing is said of a loop but how its elements are carried out."""
    if attr is None:
        return True
    others = (attr.bind_thread, attr.pragmas, attr.dim_align, attr.tensor_intrin, attr.prefetches)
    return not any(others) and (attr.iter_type is None or (attr.iter_type in ANNOTATIONS.values() and not is_sum))


def stage_candidates(schedule: Schedule, stage: int) -> Iterator[Candidate]:
    """Yield what may come next for a stage."""
    owner = schedule.stages[stage]
    for number, consumer in enumerate(schedule.stages):
        if consumer is not owner and depends_on(consumer.op, owner.op):
            for loop in range(len(consumer.leaf_iter_vars)):
                if owner.attach_ivar is not consumer.leaf_iter_vars[loop]:
                    yield ComputeAt(stage, number, loop)
    if not owner.is_output and owner.attach_type is not AttachType.INLINE:
        yield PlaceAlone(stage, primitive="compute_inline")
    if owner.attach_type is not AttachType.ROOT:
        yield PlaceAlone(stage, primitive="compute_root")
