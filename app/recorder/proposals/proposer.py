"""Proposes the primitives that may come next, by trying each on a copy of the script's schedule."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from app.artifacts import Options
from app.proposals import Edit, Place, Proposed, ProposedPrimitive, Subject
from app.recorder.completion import function_arguments
from app.recorder.measuring.measured_program import only_function
from app.recorder.proposals.block_trials import BlockTrials
from app.recorder.proposals.candidates import (
    ANNOTATIONS,
    FACTORS,
    Annotate,
    Bind,
    Candidate,
    ComputeAt,
    Fuse,
    PlaceAlone,
    Reorder,
    Split,
    accumulations,
    loop_candidates,
    stage_candidates,
    tiles,
)
from app.recorder.proposals.insertion import ScriptText
from app.recorder.proposals.payoffs import Payoffs
from app.recorder.proposals.scopes import Scopes
from app.recorder.proposals.trying import Trials, require_cores, require_flat_parallel, require_short, require_threads
from app.recorder.proposals.wording import Wording
from app.recorder.recorder import Recorder
from app.recorder.scripts.failures import brief, clean
from app.recorder.units.schedule_tree import loops_of, shown_stages
from app.recorder.units.schedules import BlockSchedule, ScheduleRecord, TensorSchedule
from app.recorder.units.subjects import FunctionSubject
from compiler.driver.lower import lower
from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import IntImm, IterVar, Var
from compiler.ir.instrument import uninstrumented
from compiler.ir.module import IRModule
from compiler.target.target import Target
from compiler.te.definition.tensor import Tensor
from compiler.te.lowering.bounds import infer_bound
from compiler.te.scheduling.primitives import Primitive
from compiler.te.scheduling.schedule import Schedule
from compiler.te.scheduling.stage import AttachType, Stage

PLACING = frozenset({"compute_at", "compute_inline", "compute_root"})
"""Primitives of which the last one decides where a stage is computed."""
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
    """
    functions = list(recorder.functions)
    if not -len(functions) <= subject.unit < len(functions):
        return Proposed(problem="the script has no such function")
    function = functions[subject.unit]
    record = function.schedule
    if record is None:
        return Proposed(problem="the script did not schedule this function")
    if function.primitives != record.count:
        return Proposed(problem="the script changes this schedule after lowering what is shown")
    try:
        with uninstrumented():
            proposals = trials(record, function, source, recorder, scopes, options).run(subject)
    except TVMError as error:
        return Proposed(problem=clean(brief(error)))
    if not proposals:
        return Proposed(problem="nothing to choose: an output that no other stage reads has loops of its own")
    return Proposed(proposals=proposals)


def trials(
    record: ScheduleRecord, function: FunctionSubject, source: str, recorder: Recorder, scopes: Scopes, options: Options
) -> Trials[Candidate] | BlockTrials:
    """Return what tries primitives on a schedule, which the script has not changed since the function was lowered."""
    if isinstance(record, BlockSchedule):
        target = function.target or Target(options.target)
        scope = scopes.of(function.source if function.source is not None else record.schedule.mod)
        return BlockTrials(record, ScriptText(source, function.line), scope, target)
    assert isinstance(record, TensorSchedule)
    return _Proposer(record, function, source, recorder, scopes, options)


class _Proposer(Trials[Candidate]):
    """Tries candidates on one schedule of tensor expressions and writes those that it takes."""

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
        self._text = ScriptText(source, function.line if record.line is not None else None)
        self._wording = Wording(scopes.of(record.schedule), self._text, record.schedule)
        self._extents = _extents(record.schedule)
        self._shown = [record.schedule.stages.index(stage) for stage in shown_stages(record.schedule)]
        self._payoffs = Payoffs(only_function(self._lowered(None)), self._target)
        self._gains = _Gains(record.schedule, self._payoffs, self._extents)

    def candidates(self, subject: Subject) -> Iterator[Candidate]:
        place = subject.place
        if place.stage >= len(self._shown):
            raise TVMError(f"the schedule has no stage {place.stage}: it has {len(self._shown)}, counted from 0")
        number = self._shown[place.stage]
        if place.loop is None:
            return stage_candidates(self._schedule, number)
        loops = loops_of(self._schedule.stages[number])
        if place.loop >= len(loops):
            raise TVMError(f"the stage has no loop {place.loop}: it has {len(loops)}, counted from 0")
        if subject.factor is not None:
            return iter([Split(number, place.loop, subject.factor)])
        extent = self._extents.get(loops[place.loop])
        factors = [factor for factor in FACTORS if extent is None or factor < extent]
        return loop_candidates(self._schedule, number, place.loop, factors)

    def pairs(self, subject: Subject) -> Iterator[Candidate]:
        number, loop, factor = self._shown[subject.place.stage], subject.place.loop, subject.factor
        if loop is not None and factor is None:
            return accumulations(self._schedule, number, loop)
        if (
            loop is None
            or factor is None
            or self._extents.get(loops_of(self._schedule.stages[number])[loop], 0) <= factor
        ):
            return iter(())
        return tiles(self._schedule, number, loop, factor)

    def primitive(self, candidate: Candidate) -> ProposedPrimitive:
        return candidate.primitive

    def label(self, candidate: Candidate) -> str:
        return candidate.label(self._schedule)

    def onto(self, candidate: Candidate) -> Place | None:
        """Return a place of the schedule as one of the pane, which leaves out stages without loops."""
        place = candidate.onto
        return Place(stage=self._shown.index(place.stage), loop=place.loop) if place is not None else None

    def lowered(self, candidate: Candidate) -> IRModule:
        if isinstance(candidate, Bind):
            require_threads(self._target.max_num_threads, self._target.kind.name)
        if candidate.primitive == "parallel":
            require_cores(self._target.max_num_threads, self._target.kind.name)
        if isinstance(candidate, Annotate):
            stage = self._schedule.stages[candidate.stage]
            axis, attrs = candidate.axis(self._schedule), stage.iter_var_attrs
            kind = ANNOTATIONS[candidate.primitive]
            same = [a for a, attr in attrs.items() if attr.iter_type == kind and a is not axis]
            others = math.prod(self._extents.get(a, 1) for a in same)
            written_out = {a for a, attr in attrs.items() if attr.iter_type in (IterVar.Unrolled, IterVar.Vectorized)}
            inside = any(a not in written_out for a in stage.leaf_iter_vars[candidate.loop + 1 :])
            candidate.apply(self._schedule.replay(len(self._schedule.primitives))[0])  # what is refused at any length
            require_short(candidate.primitive, self._extents.get(axis, 1), others, loops_inside=inside)
        return require_flat_parallel(self._lowered(candidate))

    def gain(self, candidate: Candidate, after: IRModule) -> str:
        return self._gains.gain(candidate, after) or self._tile_gain(candidate)

    def _lowered(self, *candidates: Candidate | None) -> IRModule:
        """Lower a copy of the schedule, to which candidates are applied."""
        copy, mapped = self._schedule.replay(len(self._schedule.primitives))
        for candidate in candidates:
            if candidate is not None:
                candidate.apply(copy)
                copy.primitives[-1] = replace(copy.primitives[-1], line=None)  # no line of the script asks for it yet
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
        return self._payoffs.fewer_bytes_by_tile(self._lowered(candidate, inside))

    # where it is written

    def edit(self, candidate: Candidate) -> Edit:
        self._wording.begin()
        statement = candidate.statement(self._schedule, self._wording)
        statements = [*self._wording.definitions, *statement.splitlines()]
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
        edit = self._text.insertion(statements, lines, self._wording.variables)
        if isinstance(candidate, ComputeAt | PlaceAlone):
            placed = [p for p in self._applied(candidate.stage) if p.name in PLACING and p.line is not None]
            if placed and self._is_alone(placed[-1]):
                return self._text.instead(edit, placed[-1].line or 0)
        return edit

    def _is_alone(self, primitive: Primitive) -> bool:
        """Return whether the line of a primitive made no other one, as one of a loop or of a function may."""
        return sum(other.line == primitive.line for other in self._schedule.primitives) == 1

    def _applied(self, stage: int) -> list[Primitive]:
        """Return the primitives of a stage, and those of the schedule that gave it the operation that it has."""
        owner = self._schedule.stages[stage]
        names = {owner.op.name, owner.origin_op.name}
        return [p for p in self._schedule.primitives if p.stage in names or names & _rewritten_by(p)]

    def _names_all(self, candidate: Reorder) -> bool:
        """Return whether a reordering names all loops, so that it can stand for an earlier one."""
        return all(self._wording.is_named(axis) for axis in candidate.order(self._schedule))


def _rewritten_by(primitive: Primitive) -> set[str]:
    """Return the names of the tensors whose operations a primitive of the whole schedule replaces, as rfactor does."""
    first = primitive.args[0] if primitive.index is None and primitive.args else ()
    tensors = first if isinstance(first, (list, tuple)) else (first,)
    return {tensor.op.name for tensor in tensors if isinstance(tensor, Tensor)}


def _extents(schedule: Schedule) -> dict[IterVar, int]:
    domains = infer_bound(schedule.normalize()).domains
    return {axis: r.extent.value for axis, r in domains.items() if isinstance(r.extent, IntImm)}


_Extents = Mapping[IterVar, int]
"""Iterations of each loop, as far as they are constants."""


class _Gains:
    """Says why primitives might help for one schedule.

    Parameters
    ----------
    payoffs : Payoffs
        Of the function that it is lowered to.
    """

    def __init__(self, schedule: Schedule, payoffs: Payoffs, extents: _Extents) -> None:
        self._schedule = schedule
        self._payoffs = payoffs
        self._extents = extents

    def gain(self, candidate: Candidate, after: IRModule) -> str:
        """Return why a candidate might help, in a sentence; empty if there is no reason.

        Parameters
        ----------
        after : IRModule
            What the schedule is lowered to with it.
        """
        match candidate:
            case Annotate(primitive="vectorize"):
                axis, extent = self._axis(candidate)
                innermost = self._stage(candidate).leaf_iter_vars[-1] is axis
                return self._payoffs.vectorize(axis.var, extent) if innermost else ""
            case Annotate(primitive="parallel"):
                return self._parallel(candidate)
            case Annotate(primitive="unroll"):
                return self._unroll(candidate)
            case Split():
                axis, extent = self._axis(candidate)
                return self._payoffs.split(axis.var, extent, candidate.factor)
            case Reorder():
                return self._reorder(candidate) or self._payoffs.fewer_bytes(after)
            case Fuse():
                at_root = self._stage(candidate).attach_type is AttachType.ROOT
                return self._payoffs.fuse(self._axis(candidate)[1]) if at_root and not candidate.loop else ""
        return self._payoffs.fewer_bytes(after)

    def _parallel(self, candidate: Annotate) -> str:
        stage = self._stage(candidate)
        attrs = stage.iter_var_attrs.values()
        parallel = any(attr.iter_type == IterVar.Parallelized or attr.bind_thread for attr in attrs)
        outermost = candidate.loop == 0 and stage.attach_type is AttachType.ROOT
        return self._payoffs.parallel(stage.op.name, self._axis(candidate)[1]) if outermost and not parallel else ""

    def _unroll(self, candidate: Annotate) -> str:
        stage, (axis, extent) = self._stage(candidate), self._axis(candidate)
        attr = stage.iter_var_attrs.get(axis)
        inner = candidate.loop >= len(stage.leaf_iter_vars) - 2
        return self._payoffs.unroll(extent) if inner and not (attr and attr.iter_type is not None) else ""

    def _reorder(self, candidate: Reorder) -> str:
        last, new = self._stage(candidate).leaf_iter_vars[-1], candidate.order(self._schedule)[-1]
        if last.iter_type != IterVar.CommReduce or new.iter_type == IterVar.CommReduce:
            return ""
        return self._payoffs.move_inside(new.var, last.var)

    def _stage(self, candidate: Candidate) -> Stage:
        return self._schedule.stages[candidate.stage]

    def _axis(self, candidate: Annotate | Split | Fuse) -> tuple[IterVar, int | None]:
        axis = candidate.axis(self._schedule)
        return axis, self._extents.get(axis)
