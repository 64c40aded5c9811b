"""Differences that are numbers of names alone are none; of changed lines the changed words are marked."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup, escape

from app.panes.differences import Diff, changed_spans, diff, mark
from app.panes.renaming import renamed, skeleton
from tests.app.fixtures import listing

LLVM = """define void @f(ptr %0, ptr %1) {
  %3 = load float, ptr %0
  %4 = fmul float %3, %3
  store float %4, ptr %1
  ret void
}"""


def difference(before: str, after: str, language: str) -> Diff:
    return diff(listing("llvm", language, before, {}), listing("llvm", language, after, {}))


def changes(merged: Diff) -> list[tuple[str, str]]:
    return [(line.mark, re.sub(r"<[^>]*>", "", line.html).strip()) for line in merged.lines if line.mark in ("+", "-")]


@given(st.permutations(["%a", "%b", "%17", "%x.i", "%5"]))
def test_values_that_are_numbered_anew_are_no_difference(names: list[str]) -> None:
    other = LLVM
    for old, new in zip(("%0", "%1", "%3", "%4"), names, strict=False):
        other = re.sub(rf"{old}\b", new.replace("%", "@@"), other)
    merged = difference(LLVM, other.replace("@@", "%"), "llvm")
    assert changes(merged) == []
    assert (merged.added, merged.removed) == (0, 0)


def test_another_value_is_a_difference() -> None:
    merged = difference(LLVM, LLVM.replace("store float %4, ptr %1", "store float %3, ptr %1"), "llvm")
    assert changes(merged) == [("-", "store float %4, ptr %1"), ("+", "store float %3, ptr %1")]


def test_an_instruction_that_moves_all_numbers_is_the_only_difference() -> None:
    after = LLVM.replace("%4", "%5").replace("  %5 = fmul", "  %4 = fneg float %3\n  %5 = fmul")
    assert changes(difference(LLVM, after, "llvm")) == [("+", "%4 = fneg float %3")]


@pytest.mark.parametrize(
    ("language", "before", "after"),
    [
        (
            "llvm",
            "call void @f(i64 %2) #1\nattributes #1 = { cold }",
            "call void @f(i64 %9) #0\nattributes #0 = { cold }",
        ),
        ("gas", ".LBB1_8:\n  incq %rsi\n  jne .LBB1_8", ".LBB0_3:\n  incq %rsi\n  jne .LBB0_3"),
        ("relay", "%0 = add(%x, %y);\nrelu(%0)", "%7 = add(%x, %y);\nrelu(%7)"),
        ("python", "cse_var_1: T.int32 = i * 4\nA[cse_var_1] = 0", "cse_var_9: T.int32 = i * 4\nA[cse_var_9] = 0"),
    ],
)
def test_each_language_has_generated_names(language: str, before: str, after: str) -> None:
    assert changes(difference(before, after, language)) == []
    assert skeleton(before, language) == skeleton(after, language) != before


def test_registers_are_no_generated_names() -> None:
    assert changes(difference("  incq %rsi", "  incq %rdi", "gas")) == [("-", "incq %rsi"), ("+", "incq %rdi")]


def test_lines_of_unknown_languages_are_compared_as_they_are() -> None:
    assert renamed([("a %1", "a %1"), ("b %1", "b %2")], "text") == [True, True]
    assert skeleton("a %1", "text") == "a %1"


def test_changed_words_are_found_on_both_sides() -> None:
    old, new = "for i in range(32):", "for i in T.parallel(64):"
    spans = changed_spans(old, new)
    assert spans is not None
    assert [old[a:b] for a, b in spans[0]] == ["range", "32"]
    assert [new[a:b] for a, b in spans[1]] == ["T.parallel", "64"]
    assert changed_spans("abc def", "1 + 2 * 3 - 4 / 5") is None
    assert changed_spans("x" * 700, "x" * 701) is None


@given(st.text('ab<&>" ', max_size=20), st.data())
def test_marks_stand_inside_of_colours_and_change_no_letter(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, len(text)))
    html = Markup('<i class="k">{}</i>{}').format(text, text)
    marked = str(mark(html, [(start, stop)] if start < stop else []))
    assert marked.replace("<mark>", "").replace("</mark>", "") == str(html)
    inside = "".join(re.findall(r"<mark>(.*?)</mark>", marked))
    assert inside == str(escape(text[start:stop]))
