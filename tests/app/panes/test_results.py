"""Cells in the console."""

from __future__ import annotations

import pytest

from app.artifacts import Cell, Problem, Severity
from app.panes.results import Results


@pytest.mark.parametrize(
    ("severities", "state"),
    [(["info"], "stopped"), (["error"], "failed"), (["info", "error"], "failed"), ([], "failed")],
)
def test_a_cell_that_was_only_stopped_did_not_fail(severities: list[Severity], state: str) -> None:
    problems = [(at, Problem(kind="Timeout", message="", severity=each)) for at, each in enumerate(severities)]
    cell = Cell(line=1, end_line=2, state="failed")
    assert Results(cell, 1, [], problems, []).state == state
