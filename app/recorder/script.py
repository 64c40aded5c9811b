"""Runs a user's script: its output captured, its time bounded, its errors reported at its own lines."""

from __future__ import annotations

import builtins
import contextlib
import io
import linecache
import signal
import sys
import threading
import time
import traceback
import types
from collections.abc import Callable, Iterator, Mapping
from types import FrameType, TracebackType
from typing import Any

from app.artifacts import Console, Problem
from app.recorder.suggestions import suggestion
from app.sandbox.handler import INTERRUPT
from compiler.relay.inference.errors import Diagnostic, TypeInferenceError

SCRIPT_NAME = "script.py"
MAX_DIAGNOSTICS = 20
"""Type errors that are reported one by one."""
CONSOLE_LIMIT = 200_000
"""Characters of output that are kept; what comes after is counted and dropped."""


MESSAGE_LIMIT = 4_000
"""Characters of a message that are kept."""


class BudgetExceeded(BaseException):
    """The script's time is up.  Not an Exception, so that ``except Exception`` in a script does not swallow it."""


class Transcript:
    """What the script wrote and what the explorer has to say, in order."""

    def __init__(self) -> None:
        self.entries: list[Console] = []
        self._size = 0
        self.dropped = 0

    def write(self, stream: str, text: str) -> None:
        """Add output; neighbours of one stream are joined."""
        text = printable(text)
        room = max(0, CONSOLE_LIMIT - self._size)
        self.dropped += max(0, len(text) - room)
        text = text[:room]
        self._size += len(text)
        if not text:
            return
        if self.entries and self.entries[-1].stream == stream and stream != "note":
            text = self.entries.pop().text + text
        self.entries.append(Console(stream, text))  # type: ignore[arg-type]

    def note(self, text: str) -> None:
        """Add a remark of the explorer, once."""
        if not any(e.stream == "note" and e.text == text for e in self.entries):
            self.entries.append(Console("note", text))

    def finished(self) -> list[Console]:
        """Return everything, with a remark when something was dropped."""
        if not self.dropped:
            return list(self.entries)
        remark = f"output stops here: {self.dropped:,} more characters were dropped"
        return [*self.entries, Console("note", remark)]


class _Stream(io.TextIOBase):
    """A text stream that writes into a transcript."""

    def __init__(self, transcript: Transcript, name: str) -> None:
        self._transcript = transcript
        self._name = name

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._transcript.write(self._name, text)
        return len(text)


@contextlib.contextmanager
def time_budget(seconds: float, shielded: Callable[[], bool], interrupted: Callable[[], None]) -> Iterator[None]:
    """Raise :class:`BudgetExceeded` in the running code once ``seconds`` have passed, and again until it gives in.

    While ``shielded`` says so, it is not raised, but somewhat later.  The signal :data:`INTERRUPT` ends the time at
    once, after ``interrupted`` was called.  Systems without interval timers have to do with the watchdog that ends the
    process.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(signum: int, frame: FrameType | None) -> None:
        if not shielded():
            raise BudgetExceeded

    def interrupt(signum: int, frame: FrameType | None) -> None:
        interrupted()
        signal.setitimer(signal.ITIMER_REAL, 1e-4, 0.25)

    previous = signal.signal(signal.SIGALRM, ring), signal.signal(INTERRUPT, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.25)
    try:
        yield
    finally:
        signal.signal(INTERRUPT, previous[1])
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous[0])


class Script:
    """A user's script, ready to run once.

    Parameters
    ----------
    source : str
        Python code that says ``import tvm``.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.transcript = Transcript()
        self.problems: list[Problem] = []
        self.timed_out = False
        self._interrupted_after: float | None = None
        self.shielded = False
        """Set while the explorer does work of its own inside the script's time, which must not be broken off."""

    def run(self, budget_seconds: float, afterwards: Callable[[], None] | None = None) -> None:
        """Run the script, then ``afterwards``, within the budget; what goes wrong becomes a problem."""
        lines = self.source.splitlines(keepends=True)
        linecache.cache[SCRIPT_NAME] = (len(self.source), None, lines, SCRIPT_NAME)
        module = types.ModuleType("__main__")
        module.__dict__.update(__file__=SCRIPT_NAME, __builtins__=builtins)
        sys.modules["__main__"] = module
        sys.argv = [SCRIPT_NAME]
        threading.excepthook = self._thread_failed
        out, err = _Stream(self.transcript, "stdout"), _Stream(self.transcript, "stderr")
        try:
            with self._budget(budget_seconds), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                exec(compile(self.source, SCRIPT_NAME, "exec"), module.__dict__)
                if afterwards is not None:
                    afterwards()
        except BudgetExceeded as exc:
            line = deepest_line(exc.__traceback__)
            self.timed_out = True
            self._add("Timeout", self._stopped(line, budget_seconds), line, exc)
        except SystemExit as exc:
            if exc.code not in (None, 0):
                self.transcript.note(f"the script exited with {exc.code!r}")
        except SyntaxError as exc:
            self._syntax(exc)
        except TypeInferenceError as exc:
            for diagnostic in exc.diagnostics[:MAX_DIAGNOSTICS]:
                self._report(diagnostic, exc)
        except RecursionError as exc:
            self._add(
                "RecursionError", "the script's calls are nested too deeply", deepest_line(exc.__traceback__), exc
            )
        except MemoryError as exc:
            self._add(
                "MemoryError",
                "the script asked for more memory than a run may have",
                deepest_line(exc.__traceback__),
                exc,
            )
        except BaseException as exc:
            self._add(type(exc).__name__, _words(exc, module.__dict__), deepest_line(exc.__traceback__), exc)

    def _thread_failed(self, failure: threading.ExceptHookArgs) -> None:
        """Report an error in a thread of the script as one of the script itself."""
        exc = failure.exc_value
        if exc is not None and not isinstance(exc, SystemExit):
            self._add(type(exc).__name__, _words(exc, {}), deepest_line(exc.__traceback__), exc)

    def _budget(self, seconds: float) -> contextlib.AbstractContextManager[None]:
        began = time.monotonic()

        def interrupted() -> None:
            self._interrupted_after = time.monotonic() - began

        return time_budget(seconds, lambda: self.shielded, interrupted)

    def give_up_kernel(self, line: int | None, seconds: float) -> None:
        """Note that the script does not come back from a kernel that it called at ``line``."""
        where = f"line {line}" if line else "the script"
        message = (
            f"{where} runs a kernel for more than {seconds:g} s; what the script did until then is shown, and Run runs "
            "it in full"
        )
        self._give_up(message, line)

    def give_up(self, line: int | None, seconds: float) -> None:
        """Note that the script did not stop at the end of its time."""
        self._give_up(self._stopped(line, seconds), line)

    def _stopped(self, line: int | None, seconds: float) -> str:
        where = f" at line {line}" if line else ""
        if self._interrupted_after is not None:
            after = f"after {self._interrupted_after:.1f} s, as others wait"
            return f"the script was stopped{where} {after}; what it did until then is shown"
        shown = "what it did until then is shown, and Run gives it more time"
        return f"the script was stopped{where} after {seconds:g} s; {shown}"

    def _give_up(self, message: str, line: int | None) -> None:
        self.timed_out = True
        self.problems.append(Problem(kind="Timeout", message=message, line=line))

    def _syntax(self, exc: SyntaxError) -> None:
        if exc.filename != SCRIPT_NAME:
            self._add("SyntaxError", str(exc), deepest_line(exc.__traceback__), exc)
            return
        column = max(0, (exc.offset or 1) - 1)
        end = exc.end_offset - 1 if exc.end_offset and exc.end_lineno == exc.lineno else None
        self.problems.append(
            Problem(kind="SyntaxError", message=exc.msg, line=exc.lineno, column=column, end_column=end)
        )

    def _report(self, diagnostic: Diagnostic, exc: TypeInferenceError) -> None:
        """Report a type error at the line that made the expression, not at that of the pass which noticed it."""
        where = diagnostic.location
        if where is None or where.file != SCRIPT_NAME:
            self._add(type(exc).__name__, diagnostic.message, deepest_line(exc.__traceback__), exc)
            return
        one_line = where.end_line == where.line
        self.problems.append(
            Problem(
                kind=type(exc).__name__,
                message=clean(diagnostic.message),
                line=where.line,
                column=where.column if one_line else None,
                end_column=where.end_column if one_line else None,
                trace=user_trace(exc.__traceback__),
            )
        )

    def _add(self, kind: str, message: str, line: int | None, exc: BaseException) -> None:
        start, end = _columns(exc.__traceback__, line)
        self.problems.append(
            Problem(
                kind=clean(kind),
                message=clean(message),
                line=line,
                column=start,
                end_column=end,
                trace=user_trace(exc.__traceback__),
            )
        )


def _words(exc: BaseException, names: Mapping[str, Any]) -> str:
    """Return what an exception says; one of the script's own may fail even at that."""
    try:
        return (str(exc).strip() or type(exc).__name__) + suggestion(exc, names)
    except Exception as failure:
        return f"{type(exc).__name__}, which cannot be shown: {type(failure).__name__}"


def printable(text: str) -> str:
    """Return text that can be encoded: what cannot, lone surrogates, is written out as ``\\ud800``."""
    return text.encode("utf-8", "backslashreplace").decode()


def clean(text: str) -> str:
    """Return a message that can be encoded and is not too long to read."""
    return printable(text if len(text) <= MESSAGE_LIMIT else text[:MESSAGE_LIMIT] + " …")


def deepest_line(tb: TracebackType | None) -> int | None:
    """Return the script's line that was running, the innermost one."""
    line = None
    while tb is not None:
        if tb.tb_frame.f_code.co_filename == SCRIPT_NAME:
            line = tb.tb_lineno
        tb = tb.tb_next
    return line


def _columns(tb: TracebackType | None, line: int | None) -> tuple[int | None, int | None]:
    """Return the columns of the expression that failed, where it is on one line."""
    columns: tuple[int | None, int | None] = (None, None)
    for frame in traceback.extract_tb(tb):
        if frame.filename == SCRIPT_NAME and frame.lineno == line and frame.end_lineno == line:
            columns = (frame.colno, frame.end_colno)
    return columns


def user_trace(tb: TracebackType | None) -> list[str]:
    """Return the script's own frames, innermost last; frames of the server's files would leak its paths."""
    return [
        clean(f"line {frame.lineno}, in {frame.name}: {frame.line}")
        for frame in traceback.extract_tb(tb)
        if frame.filename == SCRIPT_NAME
    ]


def current_line() -> int | None:
    """Return the script's line that is running now, seen from inside a call that it made."""
    return line_of(sys._getframe(1))


def main_thread_line() -> int | None:
    """Return the script's line that is running now, seen from another thread."""
    return line_of(sys._current_frames().get(threading.main_thread().ident or 0))


def line_of(frame: FrameType | None) -> int | None:
    """Return the script's line in a stack of frames, the innermost one."""
    while frame is not None:
        if frame.f_code.co_filename == SCRIPT_NAME:
            return frame.f_lineno
        frame = frame.f_back
    return None
