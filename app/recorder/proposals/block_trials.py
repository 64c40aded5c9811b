"""Tries candidate primitives on copies of a TensorIR schedule."""

from __future__ import annotations

import math
from collections.abc import Iterator

from app.proposals import Edit, Place, ProposedPrimitive, Subject
from app.recorder.measuring.measured_program import only_function
from app.recorder.proposals.block_candidates import (
    AnnotateLoop,
    BindLoop,
    BlockCandidate,
    FuseLoops,
    LoopOfBlock,
    ReorderLoop,
    SplitLoop,
    accumulations,
    block_candidates,
    loop_candidates,
)
from app.recorder.proposals.block_wording import BlockWording, carry_out, variable
from app.recorder.proposals.candidates import FACTORS
from app.recorder.proposals.insertion import ScriptText
from app.recorder.proposals.payoffs import Payoffs
from app.recorder.proposals.scopes import Scope
from app.recorder.proposals.trying import Trials, require_cores, require_flat_parallel, require_short, require_threads
from app.recorder.units.block_tree import BlockPlace, block_places, reduces
from app.recorder.units.schedules import BlockSchedule
from compiler.driver.lower import lower
from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import IntImm
from compiler.ir.module import IRModule
from compiler.target.target import Target
from compiler.tir.statements.stmt import For, ForKind

WRITTEN_OUT = (ForKind.VECTORIZED, ForKind.UNROLLED)
"""Loops whose iterations code generation writes out or computes side by side."""


class BlockTrials(Trials[BlockCandidate]):
    """Tries candidates on one TensorIR schedule.

    Parameters
    ----------
    scope : Scope
        What the script calls its values where it lowers the program.
    """

    def __init__(self, record: BlockSchedule, text: ScriptText, scope: Scope, target: Target) -> None:
        self._record = record
        self._schedule = record.schedule
        self._text = text
        self._target = target
        self._wording = BlockWording(scope, text, record.schedule)
        self._places = block_places(record.schedule.mod)
        self._payoffs = Payoffs(only_function(lower(record.schedule.mod)), target)

    def candidates(self, subject: Subject) -> Iterator[BlockCandidate]:
        place = subject.place
        if place.stage >= len(self._places):
            raise TVMError(f"the schedule has no block {place.stage}: it has {len(self._places)}, counted from 0")
        block = self._places[place.stage]
        if place.loop is None:
            return block_candidates(self._places, block)
        if place.loop >= len(block.loops):
            raise TVMError(f"the block has no loop {place.loop}: it has {len(block.loops)}, counted from 0")
        if subject.factor is not None:
            return iter([SplitLoop(block, place.loop, subject.factor)])
        return loop_candidates(block, place.loop, FACTORS)

    def pairs(self, subject: Subject) -> Iterator[BlockCandidate]:
        loop = subject.place.loop
        if loop is None or subject.factor is not None:
            return iter(())
        return accumulations(self._places[subject.place.stage], loop)

    def primitive(self, candidate: BlockCandidate) -> ProposedPrimitive:
        return candidate.primitive

    def label(self, candidate: BlockCandidate) -> str:
        return candidate.label

    def onto(self, candidate: BlockCandidate) -> Place | None:
        if candidate.onto is None:
            return None
        place, loop = candidate.onto
        return Place(stage=next(at for at, other in enumerate(self._places) if other is place), loop=loop)

    def lowered(self, candidate: BlockCandidate) -> IRModule:
        if isinstance(candidate, BindLoop):
            require_threads(self._target.max_num_threads, self._target.kind.name)
        if candidate.primitive == "parallel":
            require_cores(self._target.max_num_threads, self._target.kind.name)
        if isinstance(candidate, AnnotateLoop):
            others = [loop for loop in candidate.place.loops if loop.kind in WRITTEN_OUT and loop is not candidate.loop]
            inside = any(loop.kind not in WRITTEN_OUT for loop in candidate.place.loops[candidate.at + 1 :])
            written_out = math.prod(_extent(x) or 1 for x in others)
            require_short(candidate.primitive, _extent(candidate.loop) or 1, written_out, loops_inside=inside)
        copy = self._schedule.copy()
        candidate.apply(copy)
        return require_flat_parallel(lower(copy.mod))

    # where it is written

    def edit(self, candidate: BlockCandidate) -> Edit:
        """Return the line after all primitives of the schedule: each works on what those before it have made."""
        self._wording.begin()
        statement = candidate.statement(self._wording)
        if isinstance(candidate, ReorderLoop):
            instead = self._instead(candidate)
            if instead is not None:
                return instead
        lines = [primitive.line for primitive in self._record.primitives if primitive.line is not None]
        return self._text.insertion(
            [*self._wording.definitions, *statement.splitlines()], lines, self._wording.variables
        )

    def _instead(self, candidate: ReorderLoop) -> Edit | None:
        """Return a reordering that takes the place of the one before it, where that was the last and of this nest."""
        last = self._record.primitives[-1] if self._record.primitives else None
        loops = [candidate.place.loops[at] for at in candidate.order]
        if last is None or last.name != "reorder" or last.line is None or not all(map(self._wording.is_named, loops)):
            return None
        before = block_places(self._record.programs[-2])
        pairs = list(zip(before, self._places, strict=False))
        changed = [now for then, now in pairs if _names(then) != _names(now)]
        if len(before) != len(self._places) or changed != [candidate.place]:
            return None
        names = ", ".join(self._wording.loop(candidate.block, loop) for loop in loops)
        return self._text.replacement(f"{self._wording.schedule()}.reorder({names})", last.line)

    # why it might help

    def gain(self, candidate: BlockCandidate, after: IRModule) -> str:
        match candidate:
            case AnnotateLoop():
                return self._annotation_gain(candidate)
            case SplitLoop(loop=loop):
                return self._payoffs.split(loop.loop_var, _extent(loop), candidate.factor) or self._tile_gain(candidate)
            case ReorderLoop():
                return self._reorder_gain(candidate) or self._payoffs.fewer_bytes(after)
            case FuseLoops(loop=loop):
                return self._payoffs.fuse(_extent(loop)) if self._is_outermost(candidate) else ""
        return self._payoffs.fewer_bytes(after)

    def _annotation_gain(self, candidate: AnnotateLoop) -> str:
        loop, loops = candidate.loop, candidate.place.loops
        if candidate.primitive == "vectorize":
            innermost = candidate.at == len(loops) - 1 and loop.kind == ForKind.SERIAL
            return self._payoffs.vectorize(loop.loop_var, _extent(loop)) if innermost else ""
        if candidate.primitive == "unroll":
            inner = candidate.at >= len(loops) - 2 and loop.kind == ForKind.SERIAL
            return self._payoffs.unroll(_extent(loop)) if inner else ""
        kinds = {other.kind for other in loops}
        shared = not kinds.isdisjoint({ForKind.PARALLEL, ForKind.THREAD_BINDING})
        free = self._is_outermost(candidate) and not shared and not reduces(loop)
        return self._payoffs.parallel(candidate.block.name_hint, _extent(loop)) if free else ""

    def _reorder_gain(self, candidate: ReorderLoop) -> str:
        last, new = candidate.place.loops[-1], candidate.place.loops[candidate.order[-1]]
        return self._payoffs.move_inside(new.loop_var, last.loop_var) if reduces(last) and not reduces(new) else ""

    def _tile_gain(self, candidate: SplitLoop) -> str:
        """Return what a split saves once its inner loop is moved inside of all others of the place."""
        copy = self._schedule.copy()
        inside = [variable(copy, loop) for loop in candidate.place.loops[candidate.at + 1 :]]
        if not inside:
            return ""
        halves = carry_out(copy, "split", variable(copy, candidate.loop), factors=[None, candidate.factor])
        try:
            carry_out(copy, "reorder", *inside, halves[-1])
        except TVMError:
            return ""
        return self._payoffs.fewer_bytes_by_tile(lower(copy.mod))

    def _is_outermost(self, candidate: LoopOfBlock) -> bool:
        return candidate.at == 0 and candidate.place.depth == 0


def _names(place: BlockPlace) -> list[str]:
    return [place.realize.block.name_hint, *(loop.loop_var.name for loop in place.loops)]


def _extent(loop: For) -> int | None:
    return loop.extent.value if isinstance(loop.extent, IntImm) else None
