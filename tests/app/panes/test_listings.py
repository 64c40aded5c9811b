"""Listings in chunks, and link maps."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.artifacts import Line
from app.panes.listings import BLOCK_LINES, CHUNK_LINES, FIRST_CHUNKS, blocks, chunks, draw_chunk, line_links
from tests.app.fixtures import listing

STYLES = Path(__file__).resolve().parents[3] / "static" / "css" / "code.css"


def text_of(count: int) -> str:
    return "\n".join(f"x = {number}" for number in range(count))


@pytest.mark.parametrize("count", [1, CHUNK_LINES, CHUNK_LINES + 1, 5 * CHUNK_LINES + 7])
def test_chunks_cover_every_line_once(count: int) -> None:
    long = listing("loop", "python", text_of(count), {})
    parts = chunks(long)
    assert sum(part.size for part in parts) == count
    assert [bool(part.lines) for part in parts] == [index < FIRST_CHUNKS for index in range(len(parts))]
    numbers = [line.number for part in parts for line in draw_chunk(long, part.index).lines]
    assert numbers == list(range(1, count + 1))


@pytest.mark.parametrize("count", [1, BLOCK_LINES, BLOCK_LINES + 1, CHUNK_LINES])
def test_blocks_cover_every_line_once(count: int) -> None:
    lines = draw_chunk(listing("loop", "python", text_of(count), {}), 0).lines
    parts = blocks(lines, 1000)
    assert [line for part in parts for line in part.lines] == list(lines)
    assert [part.start for part in parts] == [1000 + at * BLOCK_LINES for at in range(len(parts))]
    assert [part.whole for part in parts[:-1]] == [True] * (len(parts) - 1)
    assert parts[-1].whole == (count % BLOCK_LINES == 0)


def test_the_style_sheet_knows_the_height_of_a_block() -> None:
    rule = next(rule for rule in STYLES.read_text().splitlines() if rule.startswith(".rows {"))
    assert f"calc(var(--row) * {BLOCK_LINES})" in rule
    assert CHUNK_LINES % BLOCK_LINES == 0, "whole chunks have no odd lines"


def test_link_map_names_each_set_once() -> None:
    links = line_links([Line("a", [1]), Line("b"), Line("c", [2, 3]), Line("d", [1])])
    assert links == {"sets": [[], [1], [2, 3]], "lines": [1, 0, 2, 1]}
