"""Fingerprints of an answer: equal for equal texts, and telling which pane shows another."""

from __future__ import annotations

import msgspec

from app.artifacts import Answer
from app.panes.fingerprints import LENGTH, fingerprints
from tests.app.fixtures import ASM_TEXT, full_answer, listing


def test_each_pane_with_a_text_has_a_fingerprint() -> None:
    hashes = fingerprints(full_answer())
    assert set(hashes) == {"Loop IR", "LLVM IR", "Assembly"}
    assert {len(hashed) for hashed in hashes.values()} == {LENGTH}
    assert fingerprints(Answer()) == {}


def with_assembly(text: str, links: dict[int, list[int]]) -> Answer:
    """Return the answer with another assembly."""
    answer = full_answer()
    step = answer.units[0].steps[-1]
    assembly = listing("asm", "gas", text, links)
    unit = msgspec.structs.replace(
        answer.units[0], steps=[*answer.units[0].steps[:-1], msgspec.structs.replace(step, listing=assembly.key)]
    )
    return msgspec.structs.replace(answer, units=[unit], listings={**answer.listings, assembly.key: assembly})


def test_only_what_can_be_read_counts() -> None:
    before = fingerprints(full_answer())
    assert fingerprints(with_assembly(ASM_TEXT, {2: [1]})) == before
    changed = fingerprints(with_assembly(ASM_TEXT.replace("zmm", "ymm"), {}))
    assert {pane for pane in before if before[pane] != changed[pane]} == {"Assembly"}
