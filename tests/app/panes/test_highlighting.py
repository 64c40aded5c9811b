"""Highlighted lines are the same text, escaped, one for one."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.panes import highlighting
from app.panes.highlighting import LANGUAGES, MAX_LINE, highlight
from app.sandbox.readable import PROJECT
from compiler.ir.printing.relay_tokens import KEYWORDS
from compiler.relay import parser

LINE = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=40)


@pytest.fixture(autouse=True)
def time_left() -> None:
    """Give each test the lexers' time of a task: on a slow machine all of them together take more."""
    highlighting.renew_budget()


def plain(html: str) -> str:
    return unescape(re.sub(r"</?i[^>]*>", "", html))


@pytest.mark.parametrize("language", sorted(LANGUAGES))
@settings(max_examples=30)
@given(lines=st.lists(LINE, max_size=8))
def test_text_survives_line_by_line(language: str, lines: list[str]) -> None:
    assert [plain(html) for html in highlight(lines, language)] == lines


def test_markup_is_escaped() -> None:
    [line] = highlight(["x = '<script>alert(1)</script>' & y"], "python")
    assert "<script>" not in line
    assert "&lt;script&gt;" in line
    assert "&amp;" in line


@pytest.mark.parametrize(
    ("language", "line", "word", "style"),
    [
        ("python", "for i in range(4):", "for", "k"),
        ("python", "x = foo(1)", "foo", "f"),
        ("python", "    ^^^^^^", "    ^^^^^^", "w"),
        ("gas", "    vmovaps %zmm0, (%rsi)", "vmovaps", "k"),
        ("gas", "    vmovaps %zmm0, (%rsi)", "%zmm0", "r"),
        ("llvm", "  %1 = load float, ptr %0", "load", "k"),
        ("relay", "  let %x: Tensor[(1, 8), float32] = nn.relu(%y) /* from */;", "let", "k"),
        ("relay", "  let %x: Tensor[(1, 8), float32] = nn.relu(%y) /* from */;", "float32", "k"),
        ("relay", "  let %x: Tensor[(1, 8), float32] = nn.relu(%y) /* from */;", "nn.relu", "f"),
        ("relay", "  let %x: Tensor[(1, 8), float32] = nn.relu(%y) /* from */;", "%x", "r"),
        ("relay", "  let %x: Tensor[(1, 8), float32] = nn.relu(%y) /* from */;", "/* from */", "c"),
        ("relay", "def @main(%x) { add(%x, 1f) }", "@main", "r"),
        ("relay", "def @main(%x) { add(%x, 1f) }", "1f", "n"),
    ],
)
def test_words_have_their_colour(language: str, line: str, word: str, style: str) -> None:
    [html] = highlight([line], language)
    assert f'<i class="{style}">{word}</i>' in html


def test_every_keyword_of_relay_is_one_that_the_parser_reads() -> None:
    folder = Path(parser.__file__).parent
    read = "".join(path.read_text() for path in folder.glob("*.py"))
    assert [word for word in KEYWORDS if f'"{word}"' not in read] == []


def test_the_colours_of_relay_do_not_load_relay() -> None:
    """Each process that renders would hold it."""
    program = "import app.panes.relay_lexer, sys; sys.exit('compiler.relay' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=PROJECT, check=False).returncode == 0


def test_a_string_over_several_lines_is_closed_on_each() -> None:
    html = highlight(['"""first', "second", '"""'], "python")
    assert all(line.count("<i") == line.count("</i>") for line in html)


def test_endless_lines_stay_plain() -> None:
    [line] = highlight(["x" * (MAX_LINE + 1) + "<"], "python")
    assert line.endswith("x&lt;")
    assert "<i" not in line


def test_other_lines_keep_their_colours() -> None:
    before, line, after = highlight(["x = 1", "x" * (MAX_LINE + 1), "y = 2"], "python")
    assert "<i" in before
    assert "<i" not in line
    assert "<i" in after


def test_a_lexer_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter(range(1_000_000))
    monkeypatch.setattr(highlighting.time, "thread_time", lambda: next(seconds))
    highlighting.renew_budget()
    lines = [f"x{number} = {number} < 1" for number in range(200)]
    assert [str(line) for line in highlight(lines, "python")] == [f"x{n} = {n} &lt; 1" for n in range(200)]
    assert highlighting._budget.left < 0, "and the next text of the same task has no time left"
    monkeypatch.undo()
    assert "<i" not in highlight(["x = 1 # words" * 20], "python")[0]
    highlighting.renew_budget()
    assert "<i" in highlight(["x = 1"], "python")[0]


def test_instructions_of_sass_are_told_from_their_operands_and_columns() -> None:
    [line] = highlight(["    /* 01----  -  - y 12 */ @!P0 STS [R3+0x10], R0"], "sass")
    assert re.findall(r'<i class="(\w)">([^<]*)</i>', line) == [
        ("c", "/* 01----  -  - y 12 */"), ("r", "@!P0"), ("k", "STS"), ("r", "R3"), ("n", "0x10"), ("r", "R0")
    ]  # fmt: skip
