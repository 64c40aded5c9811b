"""Pastes a block of code and presses what the page offers, as a reader would."""

from __future__ import annotations

from app.artifacts import Answer, Fix
from app.protocol import Request, Snapshot
from tests.app.recorder.serving import served

MOST_FIXES = 20


def applied(source: str, fix: Fix) -> str:
    """Return a script with the edits of a fix."""
    lines = source.split("\n")
    for edit in reversed(fix.edits):
        lines[edit.line - 1 : edit.line - 1 + edit.removed] = edit.text.split("\n")
    return "\n".join(lines)


def shown(script: str) -> Answer:
    """Return what the page shows of a script."""
    snapshots = [message for message in served(Request(mode="compile", script=script)) if isinstance(message, Snapshot)]
    return snapshots[-1].answer


def mended(script: str) -> tuple[str, Answer]:
    """Return a script to which the first fixes of its errors are applied until there is none, and what is shown."""
    answer = shown(script)
    for _ in range(MOST_FIXES):
        fixes = [fix for problem in answer.problems for fix in problem.fixes if fix.edits]
        if not fixes:
            break
        script = applied(script, fixes[0])
        answer = shown(script)
    return script, answer
