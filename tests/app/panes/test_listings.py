"""Listings in chunks, and link maps."""

from __future__ import annotations

import pytest

from app.artifacts import Line
from app.panes.listings import CHUNK_LINES, FIRST_CHUNKS, chunks, draw_chunk, line_links
from tests.app.fixtures import listing


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


def test_link_map_names_each_set_once() -> None:
    links = line_links([Line("a", [1]), Line("b"), Line("c", [2, 3]), Line("d", [1])])
    assert links == {"sets": [[], [1], [2, 3]], "lines": [1, 0, 2, 1]}
