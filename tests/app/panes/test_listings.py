"""Listings in chunks, and link maps."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.artifacts import Line
from app.panes.listings import (
    BLOCK_LINES,
    CHUNK_LINES,
    FIRST_CHUNKS,
    MAX_LEVEL,
    blocks,
    chunks,
    draw_chunk,
    header_lines,
    line_links,
)
from tests.app.fixtures import LOOP_TEXT, listing

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


def test_only_what_precedes_the_first_function_of_a_program_is_its_header() -> None:
    imports = "# from tvm.script import ir as I\n# from tvm.script import tir as T\n\n"
    assert header_lines(listing("loop", "python", imports + LOOP_TEXT, {})) == 6
    assert header_lines(listing("loop", "python", LOOP_TEXT + "\n    @T.prim_func\n    def g():\n", {})) == 3
    for other in ('"""A script."""\nimport tvm', "# from tvm.script import tir as T", "x = 1", ""):
        assert header_lines(listing("loop", "python", other, {})) == 0


def test_lines_are_indented_as_far_as_the_style_sheet_knows() -> None:
    texts = [" " * 4 * level + "x = 1" for level in range(MAX_LEVEL + 2)]
    kinds = [line.kind for line in draw_chunk(listing("loop", "python", "\n".join(texts), {}), 0).lines]
    assert kinds == ["", *(f" i{level}" for level in range(1, MAX_LEVEL + 1)), f" i{MAX_LEVEL}"]
    for level in range(1, MAX_LEVEL + 1):
        assert f".i{level} {{ --indent: {4 * level + 4}ch; }}" in STYLES.read_text()
