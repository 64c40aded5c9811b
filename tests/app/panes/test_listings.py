"""Listings in chunks, link maps, and what is kept of them."""

from __future__ import annotations

import pytest

from app.artifacts import Answer, Line
from app.panes.listings import CHUNK_LINES, FIRST_CHUNKS, Listings, chunks, draw_chunk, line_links
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


def answer_with(*texts: str) -> Answer:
    made = [listing("loop", "python", text, {}) for text in texts]
    return Answer(listings={one.key: one for one in made})


def test_the_oldest_listings_are_forgotten_first() -> None:
    kept = Listings(capacity=5)
    first, second = answer_with("a\nb\nc"), answer_with("d\ne\nf")
    kept.add(first)
    kept.add(second)
    assert kept.get(next(iter(first.listings))) is None
    assert kept.get(next(iter(second.listings))) is not None


def test_the_newest_listing_stays_however_long() -> None:
    kept = Listings(capacity=2)
    answer = answer_with("a\nb\nc\nd")
    kept.add(answer)
    assert kept.get(next(iter(answer.listings))) is not None
