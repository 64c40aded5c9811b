"""Parsing of Python's fault handler output: where each thread was when a signal killed the process."""

from __future__ import annotations

import faulthandler
import re

_STDERR = 2
_BEGINNING = "Fatal Python error: "
_FRAME = r'^  File "{file}", line (\d{{1,7}}) in '


def report_crashes() -> None:
    """Let this process write a report, to its standard error, when a signal ends it."""
    faulthandler.enable(file=_STDERR)


def split_report(console: str) -> tuple[str, str]:
    """Return what a process wrote by itself, and the report of its crash.

    Parameters
    ----------
    console : str
        All that the process wrote.

    Returns
    -------
    tuple of (str, str)
        The report is empty if there is none.
    """
    before, beginning, after = console.partition(_BEGINNING)
    return (before, beginning + after) if beginning else (console, "")


def crashed_line(report: str, file: str) -> int | None:
    """Return the line of a file that was running, the innermost one; None if none of it was.

    Parameters
    ----------
    report : str
    file : str
        The name that its code was compiled with.
    """
    frame = re.search(_FRAME.format(file=re.escape(file)), report, re.MULTILINE)
    return int(frame[1]) if frame else None
