"""Parsing of Python's fault handler output: where each thread was when a signal killed the process."""

from __future__ import annotations

import faulthandler
import re

_STDERR = 2
_BEGINNING = "Fatal Python error: "
_FRAME = r'^  File "{file}", line (\d{{1,7}}) in '


def report_crashes() -> None:
    """Enable the fault handler: write a report to standard error when a fatal signal arrives."""
    faulthandler.enable(file=_STDERR)


def split_report(console: str) -> tuple[str, str]:
    """Split console output into what the process wrote and its crash report.

    Parameters
    ----------
    console : str
        Console output of the process.

    Returns
    -------
    tuple of (str, str)
        Output and report; the report is empty if there is none.
    """
    before, beginning, after = console.partition(_BEGINNING)
    return (before, beginning + after) if beginning else (console, "")


def crashed_line(report: str, file: str) -> int | None:
    """Return the innermost line of a file in the crash report's stack; None if the file is not on it.

    Parameters
    ----------
    file : str
        File name that its code was compiled with.
    """
    frame = re.search(_FRAME.format(file=re.escape(file)), report, re.MULTILINE)
    return int(frame[1]) if frame else None
