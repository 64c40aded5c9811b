"""The command for a machine with a GPU: it goes on where it was interrupted, and its steps can be loaded."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

from compiler.ir.error import LoweringError
from tests.outside.device.cases import Wrong, finished, read, run_cases
from tests.outside.device.page import page
from tests.outside.device.steps import STEPS


def _wrong() -> dict[str, object]:
    raise Wrong("3 of 4 elements differ")


def _refused() -> dict[str, object]:
    raise LoweringError("n is known only at run time")


def test_a_step_goes_on_behind_what_ended_it(tmp_path: Path) -> None:
    """Neither a case that is recorded nor the one that ended the process runs again; a last line may be cut off."""
    path = tmp_path / "step.jsonl"
    done = [{"name": "first", "status": "ok"}, {"name": "fatal", "status": "ended the process"}]
    path.write_text("".join(json.dumps(record) + "\n" for record in done) + '{"name": "thi')
    ran: list[str] = []
    named = {"first": dict, "fatal": dict, "third": lambda: {"error": 0.5}, "wrong": _wrong, "no": _refused}
    cases = ((name, lambda name=name, case=case: ran.append(name) or case()) for name, case in named.items())
    run_cases(cases, path)  # type: ignore[arg-type]
    assert ran == ["third", "wrong", "no"]
    told = {record["name"]: record["status"] for record in finished(read(path))}
    assert told == {"first": "ok", "fatal": "ended the process", "third": "ok", "wrong": "wrong", "no": "refused"}


def test_the_page_counts_and_shows_what_failed() -> None:
    cases = [{"name": "good", "status": "ok", "error": 0.0}, {"name": "bad", "status": "wrong", "why": "a | b"}]
    text = page({"programs": {"cases": cases, "seconds": 1.5, "why": ""}})
    assert "| programs | 2 | 1 | 0 | 1 | 1.5 |  |" in text
    assert "1 more cases agree with their reference." in text
    assert "| bad | wrong; a \\| b |" in text


def test_every_step_has_cases() -> None:
    for step in STEPS:
        names = [name for name, _ in islice(step.load()(), 3)]
        assert len(names) >= 1, step.name
        assert len(set(names)) == len(names)
