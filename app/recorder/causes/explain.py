"""Ranks the causes of a function's time, and finds what would remove each of them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from app.artifacts import Options
from app.causes import MAX_CAUSES, Cause, LoopCode, Why
from app.proposals import Place, Proposal, Subject
from app.recorder.causes.costs import Model
from app.recorder.causes.rules import RULES, Found, Rule
from app.recorder.measuring.measured_program import only_function
from app.recorder.proposals.proposer import trials
from app.recorder.proposals.scopes import Scopes
from app.recorder.proposals.trying import Trials
from app.recorder.recorder import Recorder
from app.recorder.scripts.environment import CACHES
from app.recorder.scripts.failures import brief, clean
from app.recorder.units.schedule_tree import loops_of, shown_stages
from app.recorder.units.schedules import TensorSchedule
from app.recorder.units.subjects import FunctionSubject
from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import Call, IntImm
from compiler.ir.functor import Visitor
from compiler.ir.instrument import uninstrumented
from compiler.ir.module import IRModule
from compiler.target.cpu.caches import TYPICAL
from compiler.target.cpu.throughput import MAX_INSTRUCTIONS
from compiler.target.loop_facts import loop_facts
from compiler.target.target import Target
from compiler.te.definition.operation import ComputeOp
from compiler.te.scheduling.schedule import Schedule
from compiler.te.scheduling.stage import AttachType
from compiler.tir.printing.printer import script
from compiler.tir.statements.function import PrimFunc

SECONDS = 1.5
"""Processor time that primitives are tried for, and again pairs of them if no single one helps."""
FACTORS = (None, 16, 64, 8, 32)
"""Of the splits that come first in a pair; None for the local block that a sum is made in."""
PAIRED = frozenset({"vectorize", "reorder", "cache_write"})
"""What pairs are called after."""
LEAST = 0.02
"""The share of the time below which a cause is not mentioned."""
LEAST_GAIN = 1.9
"""How many times as fast a remedy makes the function at least, by the model, which is itself off by such a factor:
`python -m tests.benchmarks.causes --time` has the record."""
MAX_LINES = 8


@dataclass(frozen=True, slots=True)
class _Trial:
    """A primitive that was applied, with the cycles of the function afterwards."""

    proposal: Proposal
    cycles: float


def explain(unit: int, source: str, recorder: Recorder, scopes: Scopes, options: Options) -> Why:
    """Say why a function of a script takes its time.

    Parameters
    ----------
    unit : int
        Position among the script's functions; -1 is the last one.
    source : str
        The script, which has run.
    """
    functions = list(recorder.functions)
    if not -len(functions) <= unit < len(functions):
        return Why(problem="the script has no such function")
    function = functions[unit]
    if function.lowered is None:
        return Why(name=function.name, problem="the function was not lowered")
    target = function.target or Target(options.target)
    if target.max_num_threads > 1:
        return Why(name=function.name, problem="the model is one of processors, not of GPUs")
    try:
        with uninstrumented():
            return _Explanation(function, target, options).run(source, recorder, scopes, options)
    except TVMError as error:
        return Why(name=function.name, problem=clean(brief(error)))


class _Explanation:
    """The causes of one function."""

    def __init__(self, function: FunctionSubject, target: Target, options: Options) -> None:
        assert function.lowered is not None
        self._function, self._target, self._threads = function, target, options.threads
        self._func = only_function(function.lowered)
        self._record = function.schedule
        self._model = self._of(self._func)
        self._cycles = self._model.cycles()
        self._trying: Trials[Any] | None = None
        self._untried: list[str] = []
        record = next((code for code in reversed(function.codes) if code.form == "assembly"), None)
        self._facts = loop_facts(record.text, record.target or target) if record is not None else None

    def run(self, source: str, recorder: Recorder, scopes: Scopes, options: Options) -> Why:
        tried = self._tried(source, recorder, scopes, options)
        causes = [*self._of_loops(tried), *self._of_assembly()]
        causes.sort(key=lambda cause: -cause.share)
        unknown = self._untried
        if not self._model.knows_memory:
            unknown.append("bytes moved: an index or an extent is not one that the model of the memory traffic knows")
        if guarded := [each.name for each in self._model.statements if self._model.branches(each)]:
            unknown.append(
                f"conditions in the innermost loop of {', '.join(dict.fromkeys(guarded))}: LLVM removes some"
            )
        return Why(
            name=self._function.name,
            cycles=self._cycles,
            causes=causes[:MAX_CAUSES],
            unknown=unknown,
            loop=self._loop_code(),
        )

    def _loop_code(self) -> LoopCode | None:
        """Return the hot loop for the model of the processor's ports."""
        facts, target = self._facts, self._target
        if facts is None or not facts.working or len(facts.lines) > MAX_INSTRUCTIONS:
            return None
        computing, memory = self._model.parts()
        return LoopCode(
            lines=list(facts.lines),
            spare=list(facts.spare),
            triple=target.triple,
            cpu=target.cpu,
            features=target.llvm_features,
            computing=sum(computing.values()),
            memory=memory,
        )

    def _of(self, func: PrimFunc) -> Model:
        schedule = self._record.schedule if isinstance(self._record, TensorSchedule) else None
        model = Model(func, self._target, self._threads, CACHES or TYPICAL)
        if schedule is not None:
            model.executed, model.repeated = _executed(schedule, model), _repeated(schedule, model)
        return model

    def _of_loops(self, tried: list[_Trial]) -> Iterator[Cause]:
        for rule in RULES:
            if rule.kind == "scalar" and self._facts is not None and self._facts.width:
                continue  # LLVM made vectors of the loop, whatever stands in it
            found: dict[str, list[Found]] = {}
            for each in rule.find(self._model):
                found.setdefault(each.without, []).append(each)
            for without, several in found.items():
                after = self._model.cycles(without)
                share = 1 - after / self._cycles if self._cycles else 0.0
                if share >= LEAST:
                    yield self._cause(rule, several, min(share, 1.0), self._cycles / max(after, 1e-9), tried)

    def _cause(self, rule: Rule, found: list[Found], share: float, without: float, tried: list[_Trial]) -> Cause:
        best = self._best(rule, tried)
        if best is None and rule.primitives & PAIRED:
            best = self._best(rule, self._pairs)
        heaviest = max(found, key=lambda each: sum(statement.trips for statement in each.statements))
        more = f" (and {len(found) - 1} more like it)" if len(found) > 1 else ""
        return Cause(
            kind=rule.kind,
            words=heaviest.words + more,
            share=share,
            lines=self._lines([s.store for each in found for s in each.statements]),
            remedy=best.proposal if best is not None else None,
            gain=self._gain(best) if best is not None else without,
        )

    def _gain(self, trial: _Trial) -> float:
        return self._cycles / max(trial.cycles, 1e-9)

    def _best(self, rule: Rule, tried: list[_Trial]) -> _Trial | None:
        """Return the trial of a rule's primitives that makes the function fastest, if it is enough faster."""
        suitable = [trial for trial in tried if trial.proposal.primitive in rule.primitives]
        best = min(suitable, key=lambda trial: trial.cycles, default=None)
        return best if best is not None and self._gain(best) >= LEAST_GAIN else None

    def _lines(self, nodes: list[Any]) -> list[str]:
        wanted = {id(node) for node in nodes}
        lines = script(IRModule({"main": self._func})).lines
        found = [line.text.strip() for line in lines if any(id(r.node) in wanted for r in line.regions)]
        return list(dict.fromkeys(found))[:MAX_LINES]

    def _of_assembly(self) -> Iterator[Cause]:
        """Yield what only the machine code shows."""
        facts = self._facts
        if facts is not None and facts.spills and facts.lines:
            share = facts.spills / len(facts.lines)
            yield Cause(
                kind="spills",
                words=f"{facts.spills} of the {len(facts.lines)} instructions of the hot loop move vectors to and from "
                "the stack: its values need more registers than there are",
                share=share,
                source="assembly",
                gain=1 / (1 - min(share, 0.99)),
            )

    # remedies

    def _tried(self, source: str, recorder: Recorder, scopes: Scopes, options: Options) -> list[_Trial]:
        """Apply what could come next, and return the cycles after each."""
        record, function = self._record, self._function
        if record is None:
            self._untried.append("remedies: the script did not schedule this function")
            return []
        if function.primitives != record.count:
            self._untried.append("remedies: the script changes this schedule after lowering what is shown")
            return []
        trying: Trials[Any] = trials(record, function, source, recorder, scopes, options)
        self._trying = trying
        wanted = frozenset().union(*(rule.primitives for rule in RULES))
        every = (c for place in _places(record) for c in trying.candidates(Subject(place=place)))
        return self._trials(trying, (c for c in every if trying.primitive(c) in wanted), "primitives")

    @cached_property
    def _pairs(self) -> list[_Trial]:
        """The cycles after each local block of a sum, and after each split of a loop with a primitive that follows it,
        tried once they are needed.
        """
        trying = self._trying
        if trying is None:
            return []
        subjects = [Subject(place=place, factor=factor) for factor in FACTORS for place in _places(self._record)]
        return self._trials(trying, (pair for each in subjects for pair in trying.pairs(each)), "pairs of primitives")

    def _trials(self, trying: Trials[Any], candidates: Iterable[Any], what: str) -> list[_Trial]:
        began = time.process_time()
        out: list[_Trial] = []
        for candidate in candidates:
            if time.process_time() - began > SECONDS:
                self._untried.append(f"remedies: after {SECONDS:g} s not all {what} had been tried")
                break
            if (trial := self._trial(trying, candidate)) is not None:
                out.append(trial)
        return out

    def _trial(self, trying: Trials[Any], candidate: Any) -> _Trial | None:
        try:
            cycles = self._of(only_function(trying.lowered(candidate))).cycles()
            proposal = Proposal(
                primitive=trying.primitive(candidate), label=trying.label(candidate), edit=trying.edit(candidate)
            )
        except TVMError:  # it cannot be applied, or not be expressed in the script: no remedy
            return None
        return _Trial(proposal, cycles)


def _places(record: Any) -> Iterator[Place]:
    """Yield the stages of a schedule and their loops."""
    if isinstance(record, TensorSchedule):
        counts = [len(loops_of(stage)) for stage in shown_stages(record.schedule)]
    else:
        from app.recorder.units.block_tree import block_places

        counts = [len(block.loops) for block in block_places(record.schedule.mod)]
    for stage, count in enumerate(counts):
        yield Place(stage=stage)
        for loop in range(count):
            yield Place(stage=stage, loop=loop)


def _points(op: ComputeOp) -> float:
    """Return how often the body of an operation is evaluated if each element is computed once."""
    axes = [*op.axis, *op.reduce_axis]
    extents = [axis.dom.extent for axis in axes if axis.dom is not None]
    return float(math.prod(e.value for e in extents if isinstance(e, IntImm)))


def _executed(schedule: Schedule, model: Model) -> dict[str, float]:
    """Return how many times as often as necessary each stage is computed."""
    points = {stage.op.name: _points(stage.op) for stage in schedule.stages if isinstance(stage.op, ComputeOp)}
    done: dict[str, float] = {}
    for each in model.statements:
        done[each.name] = max(done.get(each.name, 0.0), float(each.trips * each.lanes))
    for name in points:
        same = [float(e.trips * e.lanes) for e in model.statements if e.name == name and e.accumulates]
        if same:
            done[name] = sum(same)
    return {name: done[name] / needed for name, needed in points.items() if name in done and needed}


class _Calls(Visitor):
    """Counts the calls of an expression."""

    def __init__(self) -> None:
        self.count = 0

    def visit_Call(self, n: Call) -> None:
        self.count += 1
        self.visit_Node(n)


def _repeated(schedule: Schedule, model: Model) -> dict[str, tuple[int, float]]:
    """Return the calls that were inlined into each array, and how often they run for each element of theirs."""
    out: dict[str, tuple[int, float]] = {}
    for stage in schedule.stages:
        op = stage.origin_op
        if stage.attach_type is not AttachType.INLINE or not isinstance(op, ComputeOp):
            continue
        calls = _Calls()
        for value in op.body:
            calls.visit(value)
        for each in model.statements:
            reads = {
                tensor.op.name
                for s in schedule.stages
                if s.op.name == each.name
                for tensor in s.origin_op.input_tensors
            }
            if calls.count and op.name in reads and (points := _points(op)):
                out[each.name] = (calls.count, each.trips * each.lanes / points)
    return out
