"""Candidate primitives for the loops and blocks of a TensorIR schedule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from app.proposals import ProposedPrimitive
from app.recorder.proposals.block_wording import BlockWording, carry_out, variable
from app.recorder.proposals.candidates import FACTORS, THREAD_TAGS
from app.recorder.units.block_tree import BlockPlace, reduces
from compiler.ir.expr.primexpr import IntImm
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.statements.block import Block
from compiler.tir.statements.stmt import For, ForKind

ANNOTATIONS: dict[ProposedPrimitive, ForKind] = {
    "vectorize": ForKind.VECTORIZED,
    "parallel": ForKind.PARALLEL,
    "unroll": ForKind.UNROLLED,
}


@dataclass(frozen=True, slots=True)
class BlockCandidate(ABC):
    """A primitive for a block, or for a loop around it.

    Attributes
    ----------
    place : BlockPlace
        The block, with the loops that the pane shows of it.
    """

    place: BlockPlace

    @property
    @abstractmethod
    def primitive(self) -> ProposedPrimitive:
        """Its name."""

    @property
    @abstractmethod
    def label(self) -> str:
        """What it does, in a few words."""

    @abstractmethod
    def apply(self, schedule: Schedule) -> None:
        """Apply it to a schedule of the program that it was made for."""

    @abstractmethod
    def statement(self, wording: BlockWording) -> str:
        """Return it as a statement of the script."""

    @property
    def onto(self) -> tuple[BlockPlace, int] | None:
        """The place and the loop that it is dropped onto."""
        return None

    @property
    def block(self) -> Block:
        """The block."""
        return self.place.realize.block


@dataclass(frozen=True, slots=True)
class LoopOfBlock(BlockCandidate):
    """A primitive for a loop, told by its position among those of the place."""

    at: int

    @property
    def loop(self) -> For:
        """The loop."""
        return self.place.loops[self.at]

    def name(self, wording: BlockWording, at: int | None = None) -> str:
        """Return the script's expression for a loop of the place, by default its own."""
        return wording.loop(self.block, self.place.loops[self.at if at is None else at])


@dataclass(frozen=True, slots=True)
class SplitLoop(LoopOfBlock):
    """A loop in two."""

    factor: int
    primitive: ProposedPrimitive = field(default="split", init=False)

    @property
    def label(self) -> str:
        return f"split by {self.factor}"

    def apply(self, schedule: Schedule) -> None:
        carry_out(schedule, "split", variable(schedule, self.loop), factors=[None, self.factor])

    def statement(self, wording: BlockWording) -> str:
        call = f"{wording.schedule()}.split({self.name(wording)}, factors=[None, {self.factor}])"
        return f"{', '.join(wording.halves(self.loop))} = {call}"


@dataclass(frozen=True, slots=True)
class ReorderLoop(LoopOfBlock):
    """A loop at the place of another."""

    to: int
    primitive: ProposedPrimitive = field(default="reorder", init=False)

    @property
    def label(self) -> str:
        return f"move {'outside' if self.to < self.at else 'inside'} of {self.place.loops[self.to].loop_var.name}"

    @property
    def onto(self) -> tuple[BlockPlace, int]:
        return self.place, self.to

    @property
    def order(self) -> list[int]:
        """The positions of the loops in their new order."""
        positions = list(range(len(self.place.loops)))
        positions.insert(self.to, positions.pop(self.at))
        return positions

    @property
    def moved(self) -> list[int]:
        """The part of the order that changes."""
        return self.order[min(self.at, self.to) : max(self.at, self.to) + 1]

    def apply(self, schedule: Schedule) -> None:
        carry_out(schedule, "reorder", *(variable(schedule, self.place.loops[at]) for at in self.moved))

    def statement(self, wording: BlockWording) -> str:
        names = [self.name(wording, at) for at in self.moved]
        return f"{wording.schedule()}.reorder({', '.join(names)})"


@dataclass(frozen=True, slots=True)
class FuseLoops(LoopOfBlock):
    """A loop and the one inside of it as one; ``dropped`` says which of the two is dropped onto the other."""

    dropped: Literal["outer", "inner"]
    primitive: ProposedPrimitive = field(default="fuse", init=False)

    @property
    def label(self) -> str:
        return f"fuse with {self.place.loops[self.at + (self.dropped == 'outer')].loop_var.name}"

    @property
    def onto(self) -> tuple[BlockPlace, int]:
        return self.place, self.at + (self.dropped == "outer")

    def apply(self, schedule: Schedule) -> None:
        carry_out(schedule, "fuse", *(variable(schedule, loop) for loop in self.place.loops[self.at : self.at + 2]))

    def statement(self, wording: BlockWording) -> str:
        names = [self.name(wording, at) for at in (self.at, self.at + 1)]
        fused = wording.fused(*self.place.loops[self.at : self.at + 2])
        return f"{fused} = {wording.schedule()}.fuse({', '.join(names)})"


@dataclass(frozen=True, slots=True)
class AnnotateLoop(LoopOfBlock):
    """How a loop is carried out."""

    primitive: ProposedPrimitive

    @property
    def label(self) -> str:
        return self.primitive

    def apply(self, schedule: Schedule) -> None:
        carry_out(schedule, self.primitive, variable(schedule, self.loop))

    def statement(self, wording: BlockWording) -> str:
        return f"{wording.schedule()}.{self.primitive}({self.name(wording)})"


@dataclass(frozen=True, slots=True)
class BindLoop(LoopOfBlock):
    """A loop as the threads or blocks of a GPU."""

    tag: str
    primitive: ProposedPrimitive = field(default="bind", init=False)

    @property
    def label(self) -> str:
        return f"bind to {self.tag}"

    def apply(self, schedule: Schedule) -> None:
        carry_out(schedule, "bind", variable(schedule, self.loop), self.tag)

    def statement(self, wording: BlockWording) -> str:
        return f'{wording.schedule()}.bind({self.name(wording)}, "{self.tag}")'


@dataclass(frozen=True, slots=True)
class Decompose(LoopOfBlock):
    """The beginning of a reduction as a block of its own, before a loop."""

    primitive: ProposedPrimitive = field(default="decompose_reduction", init=False)

    @property
    def label(self) -> str:
        return f"begin the sum before {self.loop.loop_var.name}"

    def apply(self, schedule: Schedule) -> None:
        loop = variable(schedule, self.loop)
        carry_out(schedule, "decompose_reduction", variable(schedule, self.block), loop)

    def statement(self, wording: BlockWording) -> str:
        return f"{wording.schedule()}.decompose_reduction({wording.block(self.block)}, {self.name(wording)})"


@dataclass(frozen=True, slots=True)
class Accumulate(LoopOfBlock):
    """A sum in a local block, which is copied for each iteration of a loop."""

    primitive: ProposedPrimitive = field(default="cache_write", init=False)

    @property
    def label(self) -> str:
        return f"add up in a local block for each {self.loop.loop_var.name}"

    def apply(self, schedule: Schedule) -> None:
        block, loop = variable(schedule, self.block), variable(schedule, self.loop)
        carry_out(schedule, "reverse_compute_at", carry_out(schedule, "cache_write", block, 0, "local"), loop)

    def statement(self, wording: BlockWording) -> str:
        schedule, block, copy = wording.schedule(), wording.block(self.block), wording.cache(self.block)
        call = f'{copy} = {schedule}.cache_write({block}, 0, "local")'
        return f"{call}\n{schedule}.reverse_compute_at({copy}, {self.name(wording)})"


@dataclass(frozen=True, slots=True)
class Attach(BlockCandidate):
    """A block inside of a loop of another that reads it, or that it reads."""

    other: BlockPlace
    at: int
    primitive: ProposedPrimitive

    @property
    def label(self) -> str:
        return f"compute at {self.other.realize.block.name_hint}, {self.other.loops[self.at].loop_var.name}"

    @property
    def onto(self) -> tuple[BlockPlace, int]:
        return self.other, self.at

    def apply(self, schedule: Schedule) -> None:
        loop = variable(schedule, self.other.loops[self.at])
        carry_out(schedule, self.primitive, variable(schedule, self.block), loop)

    def statement(self, wording: BlockWording) -> str:
        loop = wording.loop(self.other.realize.block, self.other.loops[self.at])
        return f"{wording.schedule()}.{self.primitive}({wording.block(self.block)}, {loop})"


@dataclass(frozen=True, slots=True)
class Inline(BlockCandidate):
    """A block written into those that read it, or into the one that it reads."""

    primitive: ProposedPrimitive

    @property
    def label(self) -> str:
        return "inline" if self.primitive == "compute_inline" else "inline into what it reads"

    def apply(self, schedule: Schedule) -> None:
        carry_out(schedule, self.primitive, variable(schedule, self.block))

    def statement(self, wording: BlockWording) -> str:
        return f"{wording.schedule()}.{self.primitive}({wording.block(self.block)})"


def loop_candidates(place: BlockPlace, at: int, factors: Sequence[int] = FACTORS) -> Iterator[BlockCandidate]:
    """Yield what may come next for a loop, the cheap annotations first."""
    loop = place.loops[at]
    bound = loop.thread_binding
    for name, kind in ANNOTATIONS.items():
        if bound is None and loop.kind != kind:
            yield AnnotateLoop(place, at, name)
    for factor in factors:
        if not isinstance(loop.extent, IntImm) or factor < loop.extent.value:
            yield SplitLoop(place, at, factor)
    yield from (ReorderLoop(place, at, to) for to in range(len(place.loops)) if to != at)
    if at + 1 < len(place.loops):
        yield FuseLoops(place, at, "outer")
    if at:
        yield FuseLoops(place, at - 1, "inner")
    if place.realize.block.init is not None:
        yield Decompose(place, at)
    yield from (BindLoop(place, at, tag) for tag in THREAD_TAGS if bound is None or bound.thread_tag != tag)


def accumulations(place: BlockPlace, at: int) -> Iterator[BlockCandidate]:
    """Yield a sum in a local block for each iteration of a loop, if there is a loop over elements inside of the sum."""
    sums = [reduces(loop) for loop in place.loops]
    first = sums.index(True) if True in sums else len(sums)
    if place.realize.block.init is not None and not all(sums[first:]):
        yield Accumulate(place, at)


def block_candidates(places: Sequence[BlockPlace], place: BlockPlace) -> Iterator[BlockCandidate]:
    """Yield what may come next for a block: the loops of those that read it and that it reads, and inlining."""
    block = place.realize.block
    written, read = ({region.buffer for region in regions} for regions in (block.writes, block.reads))
    for other in places:
        reads_it = any(region.buffer in written for region in other.realize.block.reads)
        it_reads = any(region.buffer in read for region in other.realize.block.writes)
        if other is place or not (reads_it or it_reads):
            continue
        how: ProposedPrimitive = "compute_at" if reads_it else "reverse_compute_at"
        yield from (Attach(place, other, at, how) for at in range(len(other.loops)))
    yield Inline(place, "compute_inline")
    yield Inline(place, "reverse_compute_inline")
