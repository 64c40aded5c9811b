"""What each command does."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from app.artifacts import Answer, Measurement, Workspace
from app.causes import Why
from app.jobs.ladders import Ended, LadderEvent, Queued
from app.panes.texts import asking_for
from app.proposals import Place, Proposed, Subject
from app.protocol import Failed, Measured, MeasuredBy
from app.shell import shown
from app.shell.explorer import Explorer, ask, decoded
from app.shell.failures import WRONG_COMMAND, WRONG_PROGRAM, Failure
from app.shell.programs import read_program
from app.store.links import SavedLink, SharedState
from app.views.api import LadderStarted


def compile_(given: argparse.Namespace, explorer: Explorer) -> int:
    """Print a text of what a script compiles to, or everything as JSON."""
    workspace = _program(given, given.script)
    if given.device:
        workspace = _with(workspace, device=given.device)
    workspace = asking_for(workspace, given.emit)
    raw = explorer.send("/api/compile", workspace)
    answer = decoded(explorer, "/api/compile", raw, Answer)
    if given.json:
        sys.stdout.write(raw.decode() + "\n")
        return _status(answer)
    failed = shown.print_problems(answer, given.script)
    if not answer.units:
        shown.print_console(answer)
        if failed:
            return WRONG_PROGRAM
    sys.stdout.write(shown.text(answer, workspace, given.script, given.emit, given.function, given.step))
    if given.emit == "llvm":
        _note_other_target(given, answer, given.script, given.function)
    return WRONG_PROGRAM if failed else 0


def _note_other_target(given: argparse.Namespace, answer: Answer, name: str, function: str = "") -> None:
    """Say so if the LLVM IR or times that were asked for are of another target, as the script names its own."""
    units = [unit for unit in answer.units if unit.kind == "function" and function in ("", unit.name)]
    if given.target and units and units[-1].target not in ("", given.target):
        own = f"{name}: note: the script itself builds for {units[-1].target}"
        print(f"{own}; --target {given.target} is for its assembly only", file=sys.stderr)


def run(given: argparse.Namespace, explorer: Explorer) -> int:
    """Run a script in full and print what it writes, then the times of its kernels."""
    raw = explorer.send("/api/run", _program(given, given.script))
    answer = decoded(explorer, "/api/run", raw, Answer)
    if given.json:
        sys.stdout.write(raw.decode() + "\n")
        return _status(answer)
    shown.print_console(answer)
    _note_other_target(given, answer, given.script)
    for measured in answer.measurements:
        print(shown.measurement_line(measured))
    return WRONG_PROGRAM if shown.print_problems(answer, given.script) else 0


def ladder(given: argparse.Namespace, explorer: Explorer) -> int:
    """Measure a schedule primitive by primitive, beside NumPy and the machine's peak."""
    workspace, measured, failures = _program(given, given.script), [], []
    if given.target:
        _note_other_target(given, ask(explorer, "/api/compile", workspace, Answer), given.script)
    for event in measured_events(explorer, "/api/ladders", workspace):
        if isinstance(event, Measured):
            measured.append(event.measurement)
            if not given.json:
                print(shown.measurement_line(event.measurement), flush=True)
        elif isinstance(event, Failed):
            failures.append(event)
            print(shown.failure_line(event, given.script), file=sys.stderr)
        elif isinstance(event, MeasuredBy) and event.reason:
            print(f"the script's own process measures: {event.reason}", file=sys.stderr)
        elif isinstance(event, Queued) and sys.stderr.isatty():
            print(f"waiting, place {event.place}", file=sys.stderr)
        elif isinstance(event, Ended) and event.status != "ok" and not failures:
            raise Failure(event.message or f"the measurement {event.status}")
    if given.json:
        print(msgspec.json.encode({"measurements": measured, "failures": failures}).decode())
    wrong = any(m.checked == "wrong" for m in measured)
    return WRONG_PROGRAM if failures or wrong or not measured else 0


def diff(given: argparse.Namespace, explorer: Explorer) -> int:
    """Compare two programs: a text of each, and with ``--time`` their kernels' times."""
    if given.before == given.after == "-":
        raise Failure("diff: standard input is one program; expected a file or link beside it", WRONG_COMMAND)
    workspaces = [asking_for(_program(given, name), given.emit) for name in (given.before, given.after)]
    answers = [ask(explorer, "/api/compile", workspace, Answer) for workspace in workspaces]
    failed = [shown.print_problems(a, n) for a, n in zip(answers, (given.before, given.after), strict=True)]
    if any(failed):
        return WRONG_PROGRAM
    if given.time or given.emit == "llvm":
        for answer, name in zip(answers, (given.before, given.after), strict=True):
            _note_other_target(given, answer, name)
    texts = [
        shown.text(answer, workspace, name, given.emit, given.function)
        for answer, workspace, name in zip(answers, workspaces, (given.before, given.after), strict=True)
    ]
    lines = shown.difference(texts[0], texts[1], (given.before, given.after), sys.stdout.isatty())
    times = [fastest(explorer, workspace) for workspace in workspaces] if given.time else []
    if given.json:
        print(msgspec.json.encode({"diff": lines, "measurements": times}).decode())
    else:
        print("\n".join(lines) if lines else "the texts are equal")
        for measured in times:
            print(shown.measurement_line(measured))
        if len(times) == 2:
            print(f"the second takes {times[1].seconds / times[0].seconds:.2f} of the first one's time")
    return 0


def propose(given: argparse.Namespace, explorer: Explorer) -> int:
    """Print which primitives may be applied next to a loop or stage, what they gain, and why others cannot be."""
    workspace = _program(given, given.script)
    place = Place(stage=given.stage, loop=given.loop)
    body = msgspec.to_builtins(workspace) | {"subject": msgspec.to_builtins(Subject(place=place))}
    raw = explorer.send("/api/proposals", body)
    proposed = decoded(explorer, "/api/proposals", raw, Proposed)
    if given.json:
        sys.stdout.write(raw.decode() + "\n")
        return WRONG_PROGRAM if proposed.problem else 0
    if proposed.problem:
        return _unknown(explorer, workspace, given.script, proposed.problem)
    for proposal in proposed.proposals:
        if proposal.edit is not None:
            print(f"{proposal.label:<40}  {proposal.edit.text.strip()}")
            if proposal.gain:
                print(f"{'':<40}  {proposal.gain}")
        elif given.all:
            print(f"{proposal.label:<40}  refused: {proposal.refused}")
    return 0


def why(given: argparse.Namespace, explorer: Explorer) -> int:
    """Print why a program takes its time: the largest part first, each with what would remove it."""
    workspace = _program(given, given.script)
    raw = explorer.send("/api/why", workspace)
    said = decoded(explorer, "/api/why", raw, Why)
    if given.json:
        sys.stdout.write(raw.decode() + "\n")
        return WRONG_PROGRAM if said.problem else 0
    if said.problem:
        return _unknown(explorer, workspace, given.script, said.problem)
    for cause in said.causes:
        print(f"{cause.share:>4.0%}  {cause.kind}: {cause.words}")
        for line in cause.lines:
            print(f"        {line}")
        if cause.remedy is not None and cause.remedy.edit is not None:
            print(f"      → {cause.remedy.edit.text.strip()}  (predicted: {cause.gain:.2f} times as fast)")
    if not said.causes:
        print("the model of the loops knows no cause that takes time")
    for words in said.unknown:
        print(f"not known: {words}")
    return 0


def link(given: argparse.Namespace, explorer: Explorer) -> int:
    """Store a script on a server and print its address."""
    if not explorer.address:
        raise Failure("link: --server says where the script is kept, e.g. --server https://strata.example", status=2)
    state = SharedState(workspace=_program(given, given.script))
    saved = ask(explorer, "/api/links", state, SavedLink)
    print(json.dumps({"url": f"{explorer.address}/z/{saved.id}", "delete_token": saved.delete_token}) if given.json
          else f"{explorer.address}/z/{saved.id}")  # fmt: skip
    return 0


def export(given: argparse.Namespace, explorer: Explorer) -> int:
    """Write a page that needs no server: the script and everything it compiles to, its errors too."""
    workspace = _program(given, given.script)
    failed = shown.print_problems(ask(explorer, "/api/compile", workspace, Answer), given.script)
    html = explorer.send("/api/export", SharedState(workspace=workspace))
    is_file = given.script != "-" and not given.script.startswith(("http://", "https://"))
    name = given.output or f"{Path(given.script).stem if is_file else 'strata'}.html"
    try:
        Path(name).write_bytes(html)
    except OSError as error:
        raise Failure(f"{name} cannot be written: {error.strerror}", WRONG_COMMAND) from None
    print(json.dumps({"file": name}) if given.json else name)
    return WRONG_PROGRAM if failed else 0


def _unknown(explorer: Explorer, workspace: Workspace, name: str, problem: str) -> int:
    """Print the errors of a script of which nothing can be said, or else the reason; return the exit code."""
    if not shown.print_problems(ask(explorer, "/api/compile", workspace, Answer), name):
        raise Failure(f"{name}: {problem}")
    return WRONG_PROGRAM


def _program(given: argparse.Namespace, name: str) -> Workspace:
    return read_program(name, given.file, given.target, given.threads)


def _with(workspace: Workspace, **options: object) -> Workspace:
    changed = msgspec.structs.replace(workspace.options, **options)
    return msgspec.structs.replace(workspace, options=changed)


def _status(answer: Answer) -> int:
    return WRONG_PROGRAM if any(problem.severity == "error" for problem in answer.problems) else 0


def fastest(explorer: Explorer, workspace: Workspace) -> Measurement:
    """Return the time of the function that a program builds last, measured by a process that never runs the script."""
    times = []
    for event in measured_events(explorer, "/api/measure", workspace):
        if isinstance(event, Measured) and event.measurement.kind == "kernel":
            times.append(event.measurement)
        elif isinstance(event, Failed):
            raise Failure(f"{event.label}: {event.problem.message}")
    if not times:
        raise Failure("the script builds no function that could be measured")
    return times[-1]


def measured_events(explorer: Explorer, path: str, workspace: Workspace) -> Iterator[LadderEvent]:
    """Yield the events of a measurement as they come; it is stopped when the reader is."""
    return events_of(explorer, ask(explorer, path, workspace, LadderStarted))


def events_of(explorer: Explorer, started: LadderStarted) -> Iterator[LadderEvent]:
    """Yield the events of a measurement that has been started."""
    decoder = msgspec.json.Decoder(LadderEvent)
    for line in explorer.lines(started.events):
        if line.startswith(b"data: "):
            yield decoder.decode(line[len(b"data: ") :])
