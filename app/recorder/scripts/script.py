"""Runs a user's script: captures output, limits time, and reports errors at its lines."""

from __future__ import annotations

import builtins
import contextlib
import io
import linecache
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from types import FrameType

import msgspec

from app.artifacts import SCRIPT_NAME, Console, ConsoleStream, Problem, Severity
from app.recorder.scripts.allowance import Allowance
from app.recorder.scripts.attached_modules import attached_modules
from app.recorder.scripts.cells import CellRunner, cells_of
from app.recorder.scripts.failures import class_name, exit_problem, printable, problem, problems_of
from app.recorder.scripts.frames import deepest_line, first_line, lines_after, main_thread_statement, script_lines
from app.recorder.scripts.terminal import as_shown
from app.sandbox.handler import INTERRUPT
from compiler.ir.error import DeviceError

CONSOLE_LIMIT = 200_000
"""Characters of output that are kept; what comes after is counted and dropped."""
_NO_DEVICE = "scripts here run on cpu(0) alone; kernels of other devices are shown, and Your GPU runs them in a browser"


class BudgetExceeded(BaseException):
    """The script's time is up.  Not an Exception, so that ``except Exception`` in a script does not swallow it."""


class Transcript:
    """What the script wrote and what the explorer has to say, in order."""

    def __init__(self) -> None:
        # only ever appended to: a signal may break a write off
        self._pieces: list[tuple[int | None, ConsoleStream, str]] = []
        self.cell: int | None = None
        """Position of the cell that is running."""
        self._size = 0
        self.dropped = 0

    def write(self, stream: ConsoleStream, text: str) -> None:
        """Add output."""
        text = printable(text)
        room = max(0, CONSOLE_LIMIT - self._size)
        self.dropped += max(0, len(text) - room)
        text = text[:room]
        self._size += len(text)
        if text:
            self._pieces.append((self.cell, stream, text))

    def note(self, text: str) -> None:
        """Add a remark of the explorer, once."""
        if not any(stream == "note" and text == said for _, stream, said in self._pieces):
            self._pieces.append((self.cell, "note", text))

    def finished(self) -> list[Console]:
        """Return everything, neighbours of one stream joined, with a remark when something was dropped."""
        entries: list[Console] = []
        for (cell, stream), pieces in groupby(self._pieces, key=itemgetter(0, 1)):
            texts = [text for _, _, text in pieces]
            joined = texts if stream == "note" else [as_shown("".join(texts))]
            entries += [Console(stream, text, cell) for text in joined]
        if self.dropped:
            entries.append(Console("note", f"output stops here: {self.dropped:,} more characters were dropped"))
        return entries


class _Stream(io.TextIOBase):
    """A text stream that writes into a transcript."""

    def __init__(self, transcript: Transcript, name: ConsoleStream) -> None:
        self._transcript = transcript
        self._name = name

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._transcript.write(self._name, text)
        return len(text)


@contextlib.contextmanager
def time_budget(allowance: Allowance, shielded: Callable[[], bool], interrupted: Callable[[], None]) -> Iterator[None]:
    """Raise :class:`BudgetExceeded` in the running code once its time is over, and again until it gives in.

    While ``shielded`` says so, it is not raised, but somewhat later.  The signal :data:`INTERRUPT` ends the time at
    once, after ``interrupted`` was called.  Systems without interval timers have to do with the watchdog that ends the
    process.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return

    interruption = False

    def ring(signum: int, frame: FrameType | None) -> None:
        if not shielded() and (interruption or allowance.left <= 0):
            raise BudgetExceeded

    def interrupt(signum: int, frame: FrameType | None) -> None:
        nonlocal interruption
        interruption = True
        interrupted()
        signal.setitimer(signal.ITIMER_REAL, 1e-4, 0.25)

    previous = signal.signal(signal.SIGALRM, ring), signal.signal(INTERRUPT, interrupt)
    signal.setitimer(signal.ITIMER_REAL, max(allowance.left, 1e-4), 0.25)
    try:
        yield
    finally:
        signal.signal(INTERRUPT, previous[1])
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous[0])


@dataclass(frozen=True)
class _Ending:
    """How a script ended before its last line, and what is said about it."""

    problems: tuple[Problem, ...]
    timed_out: bool = False


class Script:
    """A user's script, ready to run once.

    Parameters
    ----------
    source : str
        Python code that says ``import tvm``.
    hurried : bool
        Whether a run in full would give it more time.
    """

    def __init__(self, source: str, hurried: bool = True) -> None:
        self.source = source
        self._hurried = hurried
        self.transcript = Transcript()
        self._module = types.ModuleType("__main__")
        self._module.__dict__.update(__file__=SCRIPT_NAME, __builtins__=builtins)
        self.cells = cells_of(source)
        """Its cells, with the states in which they are."""
        self._further: list[Problem] = []
        self._ending: _Ending | None = None
        self._given_up: _Ending | None = None
        self._interrupted_after: float | None = None
        self.shielded = False
        """Set while the explorer does work of its own inside the script's time, which must not be broken off."""

    @property
    def names(self) -> dict[str, object]:
        """The script's global names."""
        return self._module.__dict__

    @property
    def problems(self) -> list[Problem]:
        """What went wrong: in threads of the script and in what it leaves unbuilt, then what ended it."""
        ending = self._ending or self._given_up
        return [*self._further, *(ending.problems if ending else ())]

    @property
    def timed_out(self) -> bool:
        """Whether the script was stopped since its time was up."""
        ending = self._ending or self._given_up
        return ending is not None and ending.timed_out

    @contextlib.contextmanager
    def as_main(self) -> Iterator[None]:
        """Let this process be the script's while the block runs: its ``__main__``, arguments and failing threads."""
        lines = [f"{line}\n" for line in script_lines(self.source)]
        linecache.cache[SCRIPT_NAME] = (len(self.source), None, lines, SCRIPT_NAME)
        main, arguments, hook = sys.modules["__main__"], sys.argv, threading.excepthook
        sys.modules["__main__"], sys.argv, threading.excepthook = self._module, [SCRIPT_NAME], self._thread_failed
        try:
            with attached_modules():
                yield
        finally:
            sys.modules["__main__"], sys.argv, threading.excepthook = main, arguments, hook

    def run(
        self,
        allowance: Allowance,
        afterwards: Callable[[], None] | None = None,
        after_failure: Callable[[], None] | None = None,
        incomplete: Callable[[], bool] = lambda: False,
    ) -> None:
        """Run the script, then ``afterwards``, in the time that it may take; what goes wrong becomes a problem.

        Parameters
        ----------
        afterwards : callable, optional
            Called when the script has come to its end.
        after_failure : callable, optional
            Called when it has raised an exception.
        incomplete : callable
            Whether something that the script ran was broken off: what it asserts of the results is not a mistake then.
        """
        out, err = _Stream(self.transcript, "stdout"), _Stream(self.transcript, "stderr")
        try:
            with self._budget(allowance), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                try:
                    self._execute(incomplete)
                except SystemExit as exc:
                    left = exit_problem(exc)
                    if left is not None:
                        self._end(_Ending((self._in_cell(left),)))
                except DeviceError as exc:  # no fault of the script, and what it has built for the device is shown
                    self._end(_Ending((self._in_cell(self._lacking(exc)),)))
                except Exception:
                    if after_failure is not None:
                        after_failure()
                    raise
                if afterwards is not None:
                    afterwards()
        except BudgetExceeded as exc:
            message = self._stopped(deepest_line(exc.__traceback__), allowance)
            stopped = problem("Timeout", message + self._rest(first_line(exc.__traceback__)), exc)
            stopped = msgspec.structs.replace(
                stopped, cut_short=True, starved=allowance.may_succeed, severity=self._severity
            )
            self._end(_Ending((self._in_cell(stopped),), timed_out=True))
        except BaseException as exc:
            self._end(_Ending(tuple(self._problems_of(exc, incomplete))))

    def _execute(self, incomplete: Callable[[], bool]) -> None:
        """Run the script, or its cells one by one; those that need what one did not come to make do not run."""
        if not self.cells:
            exec(compile(self.source, SCRIPT_NAME, "exec", dont_inherit=True), self.names)
            return
        runner = CellRunner(self.source, self.names, self._show)
        for at, cell in enumerate(self.cells):
            self.transcript.cell = at
            if lacking := runner.lacking(cell):
                self.transcript.note(f"it needs {', '.join(lacking)}, which a cell above did not come to make")
                continue
            self.cells[at] = msgspec.structs.replace(cell, state="failed")
            try:
                runner.run(cell)
            except Exception as exc:
                self._further.extend(self._problems_of(exc, incomplete))
            else:
                self.cells[at] = msgspec.structs.replace(cell, state="ran")
        self.transcript.cell = None

    def _problems_of(self, exc: BaseException, incomplete: Callable[[], bool]) -> list[Problem]:
        """Return what is wrong, and in which cell; what is asserted of results that were not computed is not."""
        if issubclass(type(exc), AssertionError) and incomplete():  # an exception may refuse to tell its class
            where = f"line {deepest_line(exc.__traceback__)}"
            self.transcript.note(f"live preview: {where} checks what was not computed to its end; press Run")
            return []
        return [self._in_cell(problem) for problem in problems_of(exc, self.names, self.source)]

    def _in_cell(self, problem: Problem) -> Problem:
        """Return a problem whose message names the cell that is running."""
        at = self.transcript.cell
        if at is None:
            return problem
        where = f"cell {at + 1} {self.cells[at].title}".strip()
        return msgspec.structs.replace(problem, message=f"{problem.message} (in {where})")

    def _lacking(self, exc: DeviceError) -> Problem:
        """Return the problem of a script that has come to a statement for which there is no device."""
        rest = self._rest(first_line(exc.__traceback__))
        lacking = problem(class_name(exc), _NO_DEVICE + rest, exc)
        return msgspec.structs.replace(lacking, cut_short=True, severity="warning")

    def _show(self, value: object) -> None:
        """Show the value of a cell's last statement; what has no representation of its own is shown as text."""
        text = str(value) if type(value).__repr__ is object.__repr__ else repr(value)
        self.transcript.write("value", f"{text}\n")

    def _thread_failed(self, failure: threading.ExceptHookArgs) -> None:
        """Report an error in a thread of the script as one of the script itself."""
        exc = failure.exc_value
        if exc is not None and not isinstance(exc, SystemExit):
            self.report(exc)

    def report(self, exc: BaseException) -> None:
        """Report an error that did not end the script."""
        self._further.extend(problems_of(exc, {}, self.source))

    def _budget(self, allowance: Allowance) -> contextlib.AbstractContextManager[None]:
        def interrupted() -> None:
            self._interrupted_after = allowance.elapsed

        return time_budget(allowance, lambda: self.shielded, interrupted)

    def give_up_kernel(self, line: int | None, seconds: float) -> None:
        """Note that the script does not come back from a kernel that it called at ``line``."""
        where = f"line {line}" if line else "the script"
        self._give_up(f"{where} runs a kernel for more than {seconds:g} s, and Run runs it in full", line)

    def give_up(self, line: int | None, allowance: Allowance) -> None:
        """Note that the script did not stop at the end of its time."""
        self._give_up(self._stopped(line, allowance), line, allowance.may_succeed)

    def left(self, line: int | None, code: int) -> None:
        """Note that the script ended its process by itself."""
        message = f"the script left by os._exit({code})"
        self._end(_Ending((Problem(kind="Exit", message=message, line=line, cut_short=True),)))

    def _stopped(self, line: int | None, allowance: Allowance) -> str:
        where = f" at line {line}" if line else ""
        if self._interrupted_after is not None:
            after = f"after {self._interrupted_after:.1f} s, as other requests wait"
            return f"the script was stopped{where} {after}"
        if allowance.starved:
            return (
                f"the script was stopped{where} after {allowance.elapsed:.0f} s, in which it had a processor for "
                f"{allowance.processor:.1f} s: unless it waits for something, the server is busy; try again"
            )
        more = "; Run allows more time" if self._hurried else ""
        return f"the script was stopped{where} after {allowance.seconds:g} s{more}"

    def _give_up(self, message: str, line: int | None, starved: bool = False) -> None:
        """Note the verdict of a watchdog, which counts only while the script's own end has not been noted.

        On a busy machine the script may still come to its end while the watchdog, in its thread, shows what was seen.
        """
        message += self._rest(main_thread_statement())
        stopped = Problem(
            kind="Timeout", message=message, line=line, cut_short=True, starved=starved, severity=self._severity
        )
        self._given_up = _Ending((self._in_cell(stopped),), timed_out=True)

    @property
    def _severity(self) -> Severity:
        """Of a stop: none of the script's faults where a run in full gives it more time."""
        return "info" if self._hurried else "error"

    def _rest(self, line: int | None) -> str:
        """Say which statements did not run, as the script was stopped in the one at that line."""
        rest = lines_after(self.source, line) if line else None
        if rest is None:
            return ""
        first, last = rest
        return f"; line {first} did not run" if first == last else f"; lines {first} to {last} did not run"

    def _end(self, ending: _Ending) -> None:
        """Note the script's own end; the first one counts."""
        if self._ending is None:
            self._ending = ending
