"""Location of events in the script, by its stack frames."""

from __future__ import annotations

import ast
import re
import sys
import threading
import traceback
from itertools import groupby
from types import FrameType, TracebackType

from app.artifacts import SCRIPT_NAME
from app.recorder.scripts.attached_modules import is_attached
from compiler.ir.error import counted

TRACE_ENDS = 10
"""Frames at the beginning and at the end of a long trace that are shown."""


def script_lines(source: str) -> list[str]:
    """Split a script as Python and editors count lines; a form feed or a separator of Unicode ends none."""
    lines = re.split(r"\r\n?|\n", source)
    return lines if lines[-1] else lines[:-1]


def deepest_line(tb: TracebackType | None, file: str = SCRIPT_NAME) -> int | None:
    """Return the innermost line of the script or another file in a traceback."""
    line = None
    while tb is not None:
        if tb.tb_frame.f_code.co_filename == file:
            line = tb.tb_lineno
        tb = tb.tb_next
    return line


def first_line(tb: TracebackType | None) -> int | None:
    """Return the outermost line of the script in a traceback: that of its own statement, not of a function's."""
    while tb is not None and tb.tb_frame.f_code.co_filename != SCRIPT_NAME:
        tb = tb.tb_next
    return None if tb is None else tb.tb_lineno


def raised_by_script(tb: TracebackType | None) -> bool:
    """Return whether the frame that raised an exception is the script's own."""
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    return tb is not None and tb.tb_frame.f_code.co_filename == SCRIPT_NAME


def columns(tb: TracebackType | None, line: int | None) -> tuple[int | None, int | None]:
    """Return the columns of the failed expression, if it is on one line."""
    of_line: tuple[int | None, int | None] = (None, None)
    for frame in traceback.extract_tb(tb):
        if frame.filename == SCRIPT_NAME and frame.lineno == line and frame.end_lineno == line:
            of_line = (frame.colno, frame.end_colno)
    return of_line


def user_trace(tb: TracebackType | None) -> list[str]:
    """Return the frames of the script and of attached modules, innermost last; the server's would leak its paths.

    Of equal frames in a row, as a recursion has them, the first is given and the others are counted; of very many, the
    first and the last are given.
    """
    frames = [
        f"{_of_file(frame.filename)}line {frame.lineno}, in {frame.name}: {frame.line}"
        for frame in traceback.extract_tb(tb)
        if frame.filename == SCRIPT_NAME or is_attached(frame.filename)
    ]
    entries: list[str] = []
    for entry, equal in groupby(frames):
        times = len(list(equal))
        entries += [entry] if times == 1 else [entry, f"… and {counted(times - 1, 'more call')} from this line"]
    left_out = len(entries) - 2 * TRACE_ENDS
    if left_out > 1:
        entries[TRACE_ENDS:-TRACE_ENDS] = [f"… {left_out:,} calls in between …"]
    return entries


def _of_file(name: str) -> str:
    return "" if name == SCRIPT_NAME else f"{name}, "


def current_line() -> int | None:
    """Return the current line of the script, from within a call that it made."""
    return line_of(sys._getframe(1))


def main_thread_line() -> int | None:
    """Return the current line of the script, from another thread."""
    return line_of(sys._current_frames().get(threading.main_thread().ident or 0))


def main_thread_statement() -> int | None:
    """Return the line of the script's own statement that the main thread is in, whatever functions that calls."""
    frame, line = sys._current_frames().get(threading.main_thread().ident or 0), None
    while frame is not None:
        if frame.f_code.co_filename == SCRIPT_NAME:
            line = frame.f_lineno
        frame = frame.f_back
    return line


def lines_after(source: str, line: int) -> tuple[int, int] | None:
    """Return the first and the last line of the statements that come after that of a line; None if there are none."""
    rest = [statement for statement in ast.parse(source).body if statement.lineno > line]
    return (rest[0].lineno, rest[-1].end_lineno or rest[-1].lineno) if rest else None


def line_of(frame: FrameType | None) -> int | None:
    """Return the innermost line of the script in a stack."""
    frame = _innermost(frame)
    return None if frame is None else frame.f_lineno


def script_frame() -> FrameType | None:
    """Return the innermost frame of the script, from within a call that it made."""
    return _innermost(sys._getframe(1))


def _innermost(frame: FrameType | None) -> FrameType | None:
    while frame is not None and frame.f_code.co_filename != SCRIPT_NAME:
        frame = frame.f_back
    return frame
