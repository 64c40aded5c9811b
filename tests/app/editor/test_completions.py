"""The names that the editor completes are those that scripts can use."""

from __future__ import annotations

import compiler
from app.editor.completions import completions
from compiler import te


def labels(owner: str) -> set[str]:
    return {completion["label"] for completion in completions()[owner]}


def test_every_completed_name_exists() -> None:
    for owner, value in {"tvm": compiler, "te": te, "Stage": te.Stage, "Schedule": te.Schedule}.items():
        missing = [name for name in labels(owner) if not hasattr(value, name)]
        # Attributes of instances stand in the slots of their class.
        assert missing == [], owner


def test_the_lessons_names_are_there() -> None:
    assert labels("te") >= {"placeholder", "compute", "reduce_axis", "sum", "create_schedule", "if_then_else"}
    assert labels("Stage") >= {"split", "tile", "reorder", "vectorize", "parallel", "unroll", "compute_at"}
    assert labels("tvm") >= {"build", "lower", "nd", "cpu", "te", "tir"}


def test_a_primitive_shows_its_signature_and_what_it_does() -> None:
    [split] = [completion for completion in completions()["Stage"] if completion["label"] == "split"]
    assert "factor" in split["detail"]
    assert split["info"]
    assert "self" not in split["detail"]
