"""Of a replaced block those lines belong together that are most alike, whatever stands between them."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.panes.alignment import MAX_COMPARED, paired
from app.panes.differences import changed_spans, diff
from tests.app.fixtures import listing

LINES = st.lists(st.sampled_from(["a = load x", "b = load y", "c = add a, b", "store c", "12", ""]), max_size=6)


@given(old=LINES, new=LINES)
def test_pairs_ascend_on_both_sides(old: list[str], new: list[str]) -> None:
    pairs = paired(old, new)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(pairs))
    assert all(old[i] and new[j] for i, j in pairs)


def test_a_line_finds_its_successor_behind_new_lines() -> None:
    old = ["%0 = nn.conv2d(%x, %w, padding=[1, 1])", "%1 = nn.relu(%0) /* ty=Tensor[(1, 16), float32] */"]
    new = [
        '%0 = layout_transform(%x, dst_layout="NCHW8c")',
        '%1 = nn.contrib_conv2d_NCHWc(%0, %w, padding=[1, 1], out_layout="NCHW8c")',
        "%2 = nn.relu(%1) /* ty=Tensor[(1, 2, 8), float32] */",
    ]
    assert paired(old, new) == [(0, 1), (1, 2)]
    merged = diff(*(listing("graph", "relay", "\n".join(text), {}) for text in (old, new)))
    lines = [(line.mark, re.sub(r"</?i[^>]*>", "", line.html)) for line in merged.lines]
    assert [mark for mark, _ in lines] == ["+", "-", "-", "+", "+"]
    assert lines[-1][1] == "%2 = nn.relu(%1) /* ty=Tensor[(1, <mark>2, 8</mark>), float32] */"


def test_large_blocks_are_paired_from_their_beginning() -> None:
    lines = [f"line {n}" for n in range(MAX_COMPARED + 1)]
    assert paired(lines, lines[1:3]) == [(0, 0), (1, 1)]


def test_names_that_were_numbered_anew_are_no_changed_words() -> None:
    names = re.compile(r"%\d+")
    assert changed_spans("%1 = relu(%0)", "%7 = tanh(%6)", names) == ([(5, 9)], [(5, 9)])
    assert changed_spans("relu(%0)", "relu(%6)", names) == ([(5, 7)], [(5, 7)])
