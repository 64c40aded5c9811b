"""Assembles an answer from the messages of a sandboxed child, after validating and measuring each.

The messages are untrusted: this runs in a process of :mod:`app.workers`, with limited memory and time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import msgspec

from app.artifacts import (
    SCRIPT_NAME,
    Answer,
    Console,
    Drawing,
    Listing,
    Problem,
    Severity,
    Source,
    drawing_key,
    listing_key,
)
from app.jobs.answers import Status, attributed
from app.logs import quoted
from app.protocol import Message, Snapshot
from app.sandbox import Machine, Outcome
from app.sandbox.crash_report import crashed_line, split_report
from app.sandbox.handler import EXIT_DAMAGED, EXIT_RAISED
from app.sandbox.interface import TOGETHER

log = logging.getLogger(__name__)

MAX_VALUES = 2_000_000
"""The maximum number of commas in the messages of a run, a bound on the number of decoded values.

ResNet-18's have 100,000, MobileNetV2's 120,000."""
MAX_LISTINGS, MAX_DRAWINGS = 4_000, 1_000
MAX_LINES = 200_000
"""The maximum number of lines of a listing; the longest of ResNet-18 has 1,200."""
MAX_LINE_CHARACTERS = 256 << 10
"""The maximum length of a line; lines with constants are long."""
MAX_NODES, MAX_EDGES = 4_000, 20_000
"""The maximum size of a drawing; those of ResNet-18 have 300 nodes and 300 edges."""

_decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)
MAX_TRACE = 4_000
"""The maximum length of the recorder's traceback in the log."""
MAX_LAST_LINE = 500
"""The maximum length of a traceback's last line."""
_DAMAGED = "the script changed Python itself or closed its process's output, so the explorer could not continue"
_LEFT = "the script ended its own process early"
_REST_SHOWN = "; what was done until then is shown"
_LEFT_NOTE = "the script left its process early"
Describe = Callable[[Outcome, int | None, str], Problem]


def _timeout(outcome: Outcome, line: int | None, who: str) -> Problem:
    where = f" while line {line} ran native code" if line else ""
    starved = not outcome.interrupted and outcome.cpu_seconds < outcome.wall_seconds / 2
    why = ", as other requests wait" if outcome.interrupted else ""
    if starved:
        had = f"in which it had a processor for {outcome.cpu_seconds:.1f} s"
        why = f", {had}: unless it waits for something, the server is busy; try again"
    message = f"{who} was stopped after {outcome.wall_seconds:.1f} s{where}{why}"
    return Problem(kind="Timeout", message=message, line=line, cut_short=True, starved=starved)


def _memory(outcome: Outcome, line: int | None, who: str) -> Problem:
    where = f" at line {line}" if line else ""
    message = f"{who} needed more memory than a run may have, and was stopped{where}"
    if outcome.detail == TOGETHER:
        message = f"{who} was stopped{where}: {TOGETHER}"
    return Problem(kind="MemoryLimit", message=message, line=line)


def _output(outcome: Outcome, line: int | None, who: str) -> Problem:
    message = f"what {who} returned is too large to show: {outcome.detail}"
    return Problem(kind="OutputLimit", message=message, line=line)


def _crash(outcome: Outcome, line: int | None, who: str) -> Problem:
    if outcome.exit_code == EXIT_DAMAGED:
        return Problem(kind="Crash", message=_DAMAGED, line=line, cut_short=True)
    if outcome.exit_code == EXIT_RAISED:
        written = quoted(outcome.console, MAX_TRACE)  # a script may have written it
        log.error("the recorder failed: %s", written, extra={"request": outcome.request})
        last = outcome.console.strip().rpartition("\n")[2][:MAX_LAST_LINE]
        where = f" (logged as {outcome.request})" if outcome.request else ""
        return Problem(kind="InternalError", message=f"the explorer itself failed on {who}: {last}{where}", line=line)
    where = f" in the native code that line {line} ran" if line else ""
    crashed = crashed_line(split_report(outcome.console)[1], SCRIPT_NAME)
    if crashed is not None:
        line, where = crashed, f" at line {crashed}"
    return Problem(kind="Crash", message=f"the process of {who} ended{where}: {outcome.detail}", line=line)


WHO: dict[Source, str] = {"script": "the script", "server": "this run"}
PASS_TRACE = "the trace of LLVM's passes"
"""What was stopped, if the script had already ended."""
ENDS: dict[str, tuple[Status, Describe]] = {
    "timeout": ("timeout", _timeout),
    "memory": ("limit", _memory),
    "output": ("limit", _output),
    "crash": ("crash", _crash),
}
"""The answer's status and a description of the problem, by the outcome of a failed job."""


class _Assembly:
    """The state of a run's messages: listings and drawings accumulate, the latest of everything else applies."""

    def __init__(self) -> None:
        self.last = Answer()
        self.listings: dict[str, Listing] = {}
        self.drawings: dict[str, Drawing] = {}
        self.line: int | None = None
        self.traces_passes = False
        self.invalid: str | None = None
        self.excess: dict[str, Severity] = {}
        """Descriptions of what was omitted because it exceeds a limit."""
        self._values = 0

    def take(self, raw: bytes) -> None:
        """Decode a message, and take its valid parts."""
        self._values += raw.count(b",")
        if self._values > MAX_VALUES:
            self.excess[f"more than {MAX_VALUES:,} values"] = "error"
            return
        try:
            message = _decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self.invalid = str(error)
            return
        if isinstance(message, Snapshot):
            self._take(message)

    def _take(self, snapshot: Snapshot) -> None:
        for key, listing in snapshot.answer.listings.items():
            if excess := listing_excess(listing, len(self.listings)):
                self.excess[excess] = "error"
            elif key != listing.key or key != listing_key(listing):
                self.invalid = f"a listing is not what its key {key[:80]!r} says"
            else:
                self.listings[key] = listing
        for key, drawing in snapshot.answer.drawings.items():
            if excess := drawing_excess(drawing, len(self.drawings)):
                self.excess[excess] = "warning"
            elif key != drawing.key or key != drawing_key(drawing) or not drawing.is_sound:
                self.invalid = f"a drawing is not what its key {key[:80]!r} says"
            else:
                self.drawings[key] = drawing
        self.line, self.traces_passes = snapshot.running_line, snapshot.traces_passes
        self.last = msgspec.structs.replace(snapshot.answer, listings={}, drawings={})


def listing_excess(listing: Listing, others: int = 0) -> str:
    """Describe how a listing exceeds a limit; empty if it does not.

    Parameters
    ----------
    others : int
        The number of listings that the answer already has.
    """
    if others >= MAX_LISTINGS:
        return f"more than {MAX_LISTINGS:,} texts"
    if len(listing.lines) > MAX_LINES:
        return f"a text of {len(listing.lines):,} lines; at most {MAX_LINES:,} can be shown"
    longest = max((len(line.text) for line in listing.lines), default=0)
    if longest > MAX_LINE_CHARACTERS:
        return f"a line of {longest:,} characters; at most {MAX_LINE_CHARACTERS:,} can be shown"
    return ""


def drawing_excess(drawing: Drawing, others: int = 0) -> str:
    """Describe how a drawing exceeds a limit; empty if it does not.

    Parameters
    ----------
    others : int
        The number of drawings that the answer already has.
    """
    if others >= MAX_DRAWINGS:
        return f"more than {MAX_DRAWINGS:,} drawings"
    if len(drawing.nodes) > MAX_NODES:
        return f"a graph of {len(drawing.nodes):,} nodes; at most {MAX_NODES:,} can be drawn"
    if len(drawing.edges) > MAX_EDGES:
        return f"a graph of {len(drawing.edges):,} edges; at most {MAX_EDGES:,} can be drawn"
    return ""


def assemble(messages: Sequence[bytes], outcome: Outcome, source: Source = "script") -> Answer:
    """Assemble the complete answer of a job.

    Parameters
    ----------
    messages : sequence of bytes
        The messages of the child.
    outcome : Outcome
        The outcome of the job.
    source : str
        Who made the measurements; every one is marked with it, whatever the child says.
    """
    return _with_rest_told(_assembled(messages, outcome, source))


def _assembled(messages: Sequence[bytes], outcome: Outcome, source: Source) -> Answer:
    assembly = _Assembly()
    for raw in messages:
        assembly.take(raw)
    answer = msgspec.structs.replace(
        marked(assembly.last, source, outcome.machine), listings=assembly.listings, drawings=assembly.drawings
    )
    written, _ = split_report(outcome.console)
    if written and outcome.exit_code != EXIT_RAISED:
        answer = msgspec.structs.replace(answer, console=[*answer.console, Console("stdout", written)])
    for excess, severity in assembly.excess.items():
        status: Status = "limit" if severity == "error" else answer.status
        problem = Problem(kind="OutputLimit", message=f"the script made {excess}", severity=severity)
        answer = _with_problem(answer, status, problem)
    if assembly.invalid is not None:
        message = f"what the script's process sent is not an answer: {assembly.invalid}"
        return _with_problem(answer, "crash", Problem(kind="Crash", message=message))
    if outcome.status == "ok" and not messages:
        problem = Problem(kind="Crash", message="the script ended its own process: nothing of it can be shown")
        return msgspec.structs.replace(answer, status="crash", problems=[problem])
    if outcome.status == "ok" and assembly.line is not None:
        answer = _noted(answer, _LEFT_NOTE)
        return _with_problem(answer, "crash", Problem(kind="Crash", message=_LEFT, line=assembly.line, cut_short=True))
    if outcome.status in ENDS and answer.status != "timeout":
        ended, describe = ENDS[outcome.status]
        who = PASS_TRACE if assembly.traces_passes else WHO[source]
        problem = describe(outcome, assembly.line, who)
        if ended == "timeout" and answer.mode == "compile":
            problem = msgspec.structs.replace(problem, severity="info")
        answer = _with_problem(answer, ended, problem)
    return answer


def marked(answer: Answer, source: Source, machine: Machine | None = None) -> Answer:
    """Label the measurements of an answer with their source and place, overriding their claims."""
    measurements = [attributed(measurement, source, machine) for measurement in answer.measurements]
    here = {"host": machine.host, "cpu": machine.cpu} if machine is not None else {}
    environment = {name: text for name, text in answer.environment.items() if name != "host"} | here
    return msgspec.structs.replace(answer, measurements=measurements, environment=environment)


def _noted(answer: Answer, note: str) -> Answer:
    """Add a note to the measurements of an answer."""
    measurements = [
        msgspec.structs.replace(m, note=f"{m.note} · {note}" if m.note else note) for m in answer.measurements
    ]
    return msgspec.structs.replace(answer, measurements=measurements)


def _with_rest_told(answer: Answer) -> Answer:
    """Add to the problems of an answer that results from before them are shown, if there are any."""
    printed = any(entry.stream != "note" for entry in answer.console)
    if not (answer.units or answer.measurements or printed):
        return answer
    problems = [
        msgspec.structs.replace(problem, message=problem.message + _REST_SHOWN) if problem.cut_short else problem
        for problem in answer.problems
    ]
    return msgspec.structs.replace(answer, problems=problems)


def _with_problem(answer: Answer, status: Status, problem: Problem) -> Answer:
    return msgspec.structs.replace(answer, status=status, problems=[*answer.problems, problem])
