"""Proposes the primitives that may come next: each is tried on a copy of the script's own schedule."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

from app.artifacts import Options
from app.proposals import Edit, Place, Proposal, Proposed, Subject
from app.recorder.completion import function_arguments
from app.recorder.failures import brief, clean
from app.recorder.proposals.candidates import (
    ANNOTATIONS,
    FACTORS,
    Annotate,
    Bind,
    Candidate,
    ComputeAt,
    Reorder,
    Split,
    loop_candidates,
    stage_candidates,
)
from app.recorder.proposals.gains import Gains
from app.recorder.proposals.insertion import ScriptText
from app.recorder.proposals.scopes import Scopes
from app.recorder.proposals.wording import Wording
from app.recorder.recorder import Recorder
from app.recorder.schedule_tree import loops_of, shown_stages
from app.recorder.schedules import TensorSchedule
from app.recorder.subjects import FunctionSubject
from compiler.driver.lower import lower
from compiler.ir.error import TVMError
from compiler.ir.instrument import uninstrumented
from compiler.ir.module import IRModule
from compiler.ir.primexpr import IntImm, IterVar, Var
from compiler.te.bounds import infer_bound
from compiler.te.primitives import Primitive
from compiler.te.schedule import Schedule
from compiler.te.tensor import Tensor
from compiler.tir.function import PrimFunc

SECONDS = 1.5
"""Processor time that primitives are tried for; those that are left then are not proposed."""
MAX_EXTENTS = {"unroll": 256, "vectorize": 1024}
"""Iterations of loops that annotations are tried on."""
ANNOTATING = frozenset({"vectorize", "parallel", "unroll", "bind", "pragma"})
"""Primitives that do not care for the order of the loops."""


def propose(subject: Subject, source: str, recorder: Recorder, scopes: Scopes, options: Options) -> Proposed:
    """Propose what may come next.

    Parameters
    ----------
    subject : Subject
        For what.
    source : str
        The script, which has run.
    recorder : Recorder
        What it did.
    scopes : Scopes
        What it calls its values.
    options : Options

    Returns
    -------
    Proposed
    """
    functions = list(recorder.functions)
    if not -len(functions) <= subject.unit < len(functions):
        return Proposed(problem="the script has no such function")
    function = functions[subject.unit]
    record = function.schedule
    if not isinstance(record, TensorSchedule):
        return Proposed(problem="primitives are proposed for schedules of tensor expressions")
    if function.primitives != record.count:
        return Proposed(problem="the script goes on with this schedule after it has lowered what is shown")
    try:
        with uninstrumented():
            return Proposed(proposals=_Proposer(record, function, source, recorder, scopes, options).run(subject))
    except TVMError as error:
        return Proposed(problem=clean(brief(error)))


class _Proposer:
    """Tries candidates on one schedule and writes those that it takes."""

    def __init__(
        self,
        record: TensorSchedule,
        function: FunctionSubject,
        source: str,
        recorder: Recorder,
        scopes: Scopes,
        options: Options,
    ) -> None:
        self._schedule = record.schedule
        self._args, self._target = function_arguments(recorder, record, options)
        self._text = ScriptText(source, function.line)
        self._wording = Wording(scopes.of(record.schedule), self._text, record.schedule)
        self._extents = _extents(record.schedule)
        self._shown = [record.schedule.stages.index(stage) for stage in shown_stages(record.schedule)]
        self._gains = Gains(record.schedule, _only(self._lowered(None)), self._extents, self._target)

    def run(self, subject: Subject) -> list[Proposal]:
        """Return the proposals for a loop or a stage, as many as there is time for."""
        proposals: list[Proposal] = []
        began = time.process_time()
        for candidate in self._candidates(subject):
            proposals.append(self._proposal(candidate))
            if time.process_time() - began > SECONDS:
                break
        return proposals

    def _candidates(self, subject: Subject) -> Iterator[Candidate]:
        place = subject.place
        if place.stage >= len(self._shown):
            raise TVMError("the schedule has no such stage any more")
        number = self._shown[place.stage]
        if place.loop is None:
            return stage_candidates(self._schedule, number)
        loops = loops_of(self._schedule.stages[number])
        if place.loop >= len(loops):
            raise TVMError("the stage has no such loop any more")
        if subject.factor is not None:
            return iter([Split(number, place.loop, subject.factor)])
        extent = self._extents.get(loops[place.loop])
        factors = [factor for factor in FACTORS if extent is None or factor < extent]
        return loop_candidates(self._schedule, number, place.loop, factors)

    def _proposal(self, candidate: Candidate) -> Proposal:
        edit: Edit | None = None
        gain = refused = ""
        try:
            if isinstance(candidate, Bind) and self._target.max_num_threads == 1:
                raise TVMError(f"{self._target.kind.name} has no threads to bind loops to: build for a GPU")
            self._require_short(candidate)
            after = self._lowered(candidate)
            edit = self._edit(candidate)
            gain = self._gains.gain(candidate, after) or self._tile_gain(candidate)
        except TVMError as error:
            refused = clean(brief(error).partition("\n")[0])
        return Proposal(
            primitive=candidate.primitive,
            label=candidate.label(self._schedule),
            onto=self._pane_place(candidate.onto),
            edit=edit,
            refused=refused,
            gain=gain,
        )

    def _require_short(self, candidate: Candidate) -> None:
        """Refuse to write out or to widen many iterations, which takes long to try and never pays."""
        if not isinstance(candidate, Annotate) or candidate.primitive not in MAX_EXTENTS:
            return
        axis, attrs = candidate.axis(self._schedule), self._schedule.stages[candidate.stage].iter_var_attrs
        same = [a for a, attr in attrs.items() if attr.iter_type == ANNOTATIONS[candidate.primitive] and a is not axis]
        extent = self._extents.get(axis, 1)
        if extent * math.prod(self._extents.get(a, 1) for a in same) > MAX_EXTENTS[candidate.primitive]:
            raise TVMError(
                f"it has {extent:,} iterations, {'with the others' if same else 'which is'} too many to "
                f"{candidate.primitive}: split it, and {candidate.primitive} the inner loop"
            )

    def _pane_place(self, place: Place | None) -> Place | None:
        """Return a place of the schedule as one of the pane, which leaves out stages without loops."""
        return Place(stage=self._shown.index(place.stage), loop=place.loop) if place is not None else None

    def _lowered(self, *candidates: Candidate | None) -> IRModule:
        """Lower a copy of the schedule, to which candidates are applied."""
        copy, mapped = self._schedule.replay(len(self._schedule.primitives))
        for candidate in candidates:
            if candidate is not None:
                candidate.apply(copy)
        args: Sequence[Tensor | Var] = [mapped(a) if isinstance(a, Tensor) else a for a in self._args]
        return lower(copy, args)

    def _tile_gain(self, candidate: Candidate) -> str:
        """Return what a split saves once its inner loop is moved inside of all others."""
        if not isinstance(candidate, Split):
            return ""
        innermost = len(self._schedule.stages[candidate.stage].leaf_iter_vars)
        if candidate.loop + 1 == innermost:
            return ""
        inside = Reorder(candidate.stage, candidate.loop + 1, innermost)
        return self._gains.fewer_bytes_by_tile(self._lowered(candidate, inside))

    # where it is written

    def _edit(self, candidate: Candidate) -> Edit:
        self._wording.begin()
        statement = candidate.statement(self._schedule, self._wording)
        statements = [*self._wording.definitions, statement]
        applied = self._applied(candidate.stage)
        if isinstance(candidate, Reorder):
            structural = [primitive for primitive in applied if primitive.name not in ANNOTATING]
            if structural and structural[-1].name == "reorder" and structural[-1].line is not None:
                instead = self._text.replacement(statement, structural[-1].line)
                if instead is not None and self._names_all(candidate):
                    return instead
        if isinstance(candidate, ComputeAt):
            applied = [*applied, *self._applied(candidate.consumer)]
        lines = [primitive.line for primitive in applied if primitive.line is not None]
        return self._text.insertion(statements, lines, self._wording.variables)

    def _applied(self, stage: int) -> list[Primitive]:
        """Return the primitives of a stage."""
        name = self._schedule.stages[stage].op.name
        return [primitive for primitive in self._schedule.primitives if primitive.stage == name]

    def _names_all(self, candidate: Reorder) -> bool:
        """Return whether a reordering names all loops, so that it can stand for an earlier one."""
        return all(self._wording.is_named(axis) for axis in candidate.order(self._schedule))


def _extents(schedule: Schedule) -> dict[IterVar, int]:
    domains = infer_bound(schedule.normalize()).domains
    return {axis: r.extent.value for axis, r in domains.items() if isinstance(r.extent, IntImm)}


def _only(module: IRModule) -> PrimFunc:
    [func] = (f for f in module.functions.values() if isinstance(f, PrimFunc))
    return func
