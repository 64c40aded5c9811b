"""Searches the schedules of a recorded program, or shows a candidate, without running a script."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from app.artifacts import Problem
from app.protocol import Failed, Message, Request
from app.recorder.measuring.ladder import Ladder
from app.recorder.measuring.measured_program import MeasuredProgram, only_function
from app.recorder.measuring.program_measurement import read_recorded
from app.searches import (
    LOG,
    MAX_REFUSALS,
    CandidateTexts,
    Decision,
    Found,
    KernelWishes,
    Paired,
    Refusal,
    Searching,
    SearchSettings,
    Tried,
)
from compiler.driver.build import build
from compiler.driver.lower import lower
from compiler.ir.base import load_json
from compiler.ir.error import TVMError
from compiler.ir.instrument import uninstrumented
from compiler.search import (
    Database,
    Machine,
    Measurer,
    Patience,
    Progress,
    Record,
    ScheduleSpace,
    Wishes,
    filled,
    is_of_template,
    tune,
)
from compiler.search.choices import Choices, from_json
from compiler.search.tuning import processor_target, random_arrays, workload_of
from compiler.target.target import Target
from compiler.tir.schedule.writing import write_script

PER_ROUND = 6
"""Candidates of a round: the page is told after each."""


class ToldLog(Database):
    """A log whose new records are sent."""

    def __init__(self, text: str, send: Callable[[Message], None]) -> None:
        super().__init__(text=text)
        self._send = send

    def add(self, records: Sequence[Record]) -> None:
        """Keep records, and send them."""
        super().add(records)
        for record in records:
            self._send(Tried(record=record.line()))


def given_log() -> str:
    """Return the records to go on from."""
    if LOG not in os.listdir():  # asking for the file itself may be forbidden
        return ""
    with open(LOG, encoding="utf-8", errors="replace") as file:
        return file.read()


def most_frequent(refused: Mapping[tuple[Choices, str], int]) -> list[Refusal]:
    """Return the most frequent of the reasons why derivations ended."""
    return [
        Refusal(sketch=[_decision(*each) for each in sketch[:100]], reason=text[:500], count=count)
        for (sketch, text), count in Counter(refused).most_common(MAX_REFUSALS)
    ]


def search_program(request: Request, send: Callable[[Message], None]) -> None:
    """Measure a program, its unscheduled definition, NumPy and the peak, and search for a faster schedule.

    Candidates are measured in this process, since none may be started here: its limits are theirs.

    Parameters
    ----------
    request : Request
        With the program's text, which anybody may have written; the log to go on from is a file beside this process.
    send : callable
        Takes each message.
    """
    settings = request.search or SearchSettings()
    Target.default_opt_level = request.options.opt_level
    try:
        program, named, name = read_recorded(request.program)
        target, text = processor_target(named), given_log()
        if request.prefixes:
            Ladder(program, target, request.options, send, request.seed).run_with_default(name)
        _search(program, target, ToldLog(text, send), request, settings, send)
    except TVMError as error:
        send(Failed(label="search", problem=Problem(kind=type(error).__name__, message=str(error))))


def _search(
    program: MeasuredProgram,
    target: Target,
    log: Database,
    request: Request,
    settings: SearchSettings,
    send: Callable[[Message], None],
) -> None:
    def told(progress: Progress) -> None:
        send(
            Searching(
                trials=progress.trials, seconds=progress.seconds, refused=most_frequent(progress.refused),
                default_seconds=finite(progress.default),
            )
        )  # fmt: skip

    with uninstrumented():
        found = tune(
            program.definition(), target, seconds=settings.seconds, seed=request.seed,
            threads=request.options.threads, log=log, default=lambda: build(program.lowered(), target=target),
            told=told, per_round=PER_ROUND, wishes=wishes_of(settings), is_apart=False,
            template=program.template(),
        )  # fmt: skip
    choices = None if found.choices is None else [_decision(name, value) for name, value in found.choices]
    send(Found(choices=choices, seconds=finite(found.seconds), default_seconds=finite(found.default_seconds)))


def measure_pair(request: Request, send: Callable[[Message], None]) -> None:
    """Build a candidate and its reference, compare their results and their times, and send what came of it."""
    settings = request.pair
    assert settings is not None
    candidate, reference = (load_json(text) for text in (request.program, request.original))
    patience = Patience(settings.turn, settings.most, settings.seconds, settings.matters)
    arrays = random_arrays(only_function(reference), 0)
    measurer = Measurer(arrays, request.options.threads, patience=patience, is_apart=False)
    found = measurer.expect(partial(build, reference, target=settings.target))
    if found.kind == "ok":
        (found,) = measurer.measure([partial(build, candidate, target=settings.target)])
    message = Paired(kind=found.kind, message=found.message[:10_000], building=found.seconds, compared=found.compared)
    if (pairing := found.pairing) is not None:
        message = msgspec.structs.replace(
            message, ratio=pairing.ratio, error=pairing.error, seconds=pairing.seconds, reference=pairing.reference,
            times=list(pairing.times),
        )  # fmt: skip
    send(message)


def show_candidate(request: Request, send: Callable[[Message], None]) -> None:
    """Derive a candidate of a program, and send its script, loops and assembly.

    Parameters
    ----------
    request : Request
        With the text of the program and the choices, which anybody may have written.
    send : callable
        Takes the message.
    """
    Target.default_opt_level = request.options.opt_level
    try:
        program, named, name = read_recorded(request.program)
        definition, target = program.definition(), Target(named)
        title, choices = f"A schedule of {name} that a search derived", from_json(request.choices)
        with uninstrumented():
            if is_of_template(choices):
                own = filled(program.template(), choices)
                mod, script = own.loops(), own.script(named, title)
            else:
                schedule = ScheduleSpace(definition, Machine.of(target, request.options.threads)).schedule(choices)
                mod, script = schedule.mod, write_script(definition, schedule, named, title)
            loops = lower(mod, name="main").script()
            assembly = build(mod, target=target).get_source("asm")
        workload = workload_of(definition, target, request.options.threads)
        send(CandidateTexts(script=script, loops=loops, assembly=assembly, workload=workload))
    except TVMError as error:
        send(Failed(label="candidate", problem=Problem(kind=type(error).__name__, message=str(error))))


def wishes_of(settings: KernelWishes) -> Wishes:
    """Return what is wanted of candidates; raises TVMError if a choice is none."""
    return Wishes(dict(from_json(settings.pinned)), from_json(settings.banned))


def _decision(name: str, value: bool | int | str | tuple[int, ...]) -> Decision:
    return (name, list(value) if isinstance(value, tuple) else value)


def finite(seconds: float) -> float | None:
    """Return seconds; None if infinite, which is not known."""
    return seconds if math.isfinite(seconds) else None
