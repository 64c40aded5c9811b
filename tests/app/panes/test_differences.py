"""Differences of two listings: both sides whole, each line linked to its own side, long ones folded."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.artifacts import Listing
from app.panes.alignment import MAX_ALIGNED
from app.panes.differences import CONTEXT, MAX_SHOWN, Diff, diff
from app.panes.listing_pane import PaneListing
from app.panes.table import PANES
from tests.app.fixtures import listing


def text(lines: list[str]) -> Listing:
    return listing("loop", "python", "\n".join(lines), {})


def sides(merged: Diff) -> tuple[list[str], list[str]]:
    lines = [(line.mark, re.sub(r"<[^>]*>", "", line.html)) for line in merged.lines]
    return [text for mark, text in lines if mark != "+"], [text for mark, text in lines if mark != "-"]


LINES = st.lists(st.sampled_from(["for", "if", "x", "y", ""]), min_size=1, max_size=12)


@given(before=LINES, after=LINES)
def test_both_sides_are_whole(before: list[str], after: list[str]) -> None:
    merged = diff(text(before), text(after))
    assert sides(merged) == (before, after)
    assert (merged.added == merged.removed == 0) == (before == after)


def test_each_line_is_linked_to_its_own_side() -> None:
    before = listing("loop", "python", "a\nb", {1: [7], 2: [8]})
    after = listing("loop", "python", "a\nc", {1: [9], 2: [10]})
    merged = diff(before, after)
    origins = [merged.links["sets"][number] for number in merged.links["lines"]]
    assert [(line.mark, origin) for line, origin in zip(merged.lines, origins, strict=True)] == [
        ("", [9]),
        ("-", [8]),
        ("+", [10]),
    ]


def test_what_is_far_from_a_change_is_folded() -> None:
    before = [f"x = {n}" for n in range(500)]
    after = [*before[:250], "changed", *before[251:]]
    merged = diff(text(before), text(after))
    assert [line.html for line in merged.lines if line.mark == "…"] == [
        f"… {250 - CONTEXT} unchanged lines",
        f"… {249 - CONTEXT} unchanged lines",
    ]
    assert (merged.added, merged.removed) == (1, 1)
    assert len(merged.lines) == 2 * CONTEXT + 4 == len(merged.links["lines"])


def test_huge_differences_are_cut() -> None:
    size = MAX_ALIGNED + 10
    merged = diff(text([f"a{n}" for n in range(size)]), text([f"b{n}" for n in range(size)]))
    assert (merged.added, merged.removed) == (size, size)
    assert len(merged.lines) <= MAX_SHOWN + 2
    assert "more lines" in merged.lines[-1].html


@pytest.mark.parametrize(
    ("now", "label", "facts"),
    [
        ("b", "up to split", ["+1 −1", "whole schedule → up to split"]),
        ("a", "up to split", ["no difference", "whole schedule → up to split"]),
        ("b", "whole schedule", ["+1 −1", "whole schedule, earlier → whole schedule"]),
    ],
)
def test_a_title_says_what_is_compared(now: str, label: str, facts: list[str]) -> None:
    merged = diff(text(["a"]), text([now]))
    assert PaneListing(PANES[0], text([now]), label, "whole schedule", merged).facts == facts
