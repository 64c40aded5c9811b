"""Lessons are read from Markdown: steps, fences, errors with their lines; hostile text is escaped; a folder is live."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from app.lessons import Lesson, LessonError, Library, markdown
from app.lessons.lesson import read_lesson

FRONT = '+++\ntitle = "T"\nsummary = "S"\nminutes = 5\n+++\n'
FENCE = "```"
START = f"{FENCE}python start\nx = 1\n{FENCE}\n"
CHECKS = f'{FENCE}checks\n[[check]]\nkind = "printed"\ntext = "yes"\n{FENCE}\n'
ANSWER = f"{FENCE}python answer\nprint('yes')\n{FENCE}\n"


def lesson(folder: Path, text: str, name: str = "01_a_b.md") -> Lesson:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_lesson(path)


def test_a_lesson_has_steps_with_scripts_hints_and_checks(tmp_path: Path) -> None:
    hint = f"{FENCE}hint\nTry *this*.\n{FENCE}\n"
    text = f"{FRONT}Before.\n\n## One\n\nText.\n\n{START}{hint}{CHECKS}{ANSWER}\n## Two\n\n```python\ny = 2\n```\n"
    made = lesson(tmp_path, text)
    one, two = made.steps
    assert (made.name, made.title, one.title, two.title) == ("a-b", "T", "One", "Two")
    assert made.introduction == "<p>Before.</p>\n"
    assert one.html == "<p>Text.</p>\n"
    assert (one.start, one.answer) == ("x = 1\n", "print('yes')\n")
    assert one.hints == ("<p>Try <em>this</em>.</p>\n",)
    assert [check.sentence for check in one.checks] == ["The script prints “yes”"]
    assert "y = <i" in two.html
    assert made.entered_with(0) == "x = 1\n"
    assert made.entered_with(1) == "print('yes')\n", "a step goes on with the answer of the one before"


def test_markdown_brings_no_html_of_its_own(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script> <img src=x onerror=y> [a](javascript:alert(1)) **<b>**"
    [step] = lesson(tmp_path, f"{FRONT}## One {evil}\n\n{evil}\n\n{START}").steps
    assert "<script" not in step.html
    assert "<img" not in step.html
    assert "href" not in step.html
    assert "&lt;script&gt;" in step.html


def test_a_picture_at_another_host_is_a_link_as_pages_load_nothing_from_there(tmp_path: Path) -> None:
    pictures = "![far](https://example.org/a.png) ![near](data:image/png;base64,AAAA) ![](//example.org/b.png)"
    [step] = lesson(tmp_path, f"{FRONT}## One\n\n{pictures}\n\n{START}").steps
    assert step.html.count("<img") == 1
    assert '<a href="https://example.org/a.png">far</a>' in step.html
    assert '<img src="data:image/png;base64,AAAA" alt="near"' in step.html
    assert '<a href="//example.org/b.png">//example.org/b.png</a>' in step.html


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# no settings", "01_a_b.md: line 1: a lesson must begin with its settings"),
        (f"+++\ntitle = 3\n+++\n## One\n{START}", "line 1: title: Expected `str`, got `int`"),
        (f"+++\ntitle = \n+++\n## One\n{START}", "line 1: Invalid value"),
        (FRONT.replace("minutes = 5", 'minutes = 5\npanes = ["assembly"]') + "## One\n", "there is no pane 'assembly'"),
        (FRONT + "text", "it has no step"),
        (FRONT + "## One\n", "its first step needs a ```python start block"),
        (FRONT + "## One\n" + START + CHECKS, "line 6: the step “One” has checks, but no answer"),
        (
            FRONT + "## One\n" + START + CHECKS.replace("printed", "wished") + ANSWER,
            "'wished'; kinds are loops, loop count",
        ),
        (
            FRONT + "## One\n" + START + CHECKS.replace("yes", "(") + ANSWER,
            r"line 11: check\[0\]: Expected a regular expression, got '\(': missing",
        ),
        (FRONT + "## One\n" + START + "x" * (1 << 18), "larger than 262,144 bytes"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(LessonError, match=words):
        lesson(tmp_path, text)


def test_a_file_of_another_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LessonError, match="named like"):
        lesson(tmp_path, FRONT, "Übung 1.md")


def test_what_cannot_be_read_is_told_without_the_server_s_paths(tmp_path: Path, client: FlaskClient) -> None:
    (tmp_path / "01_a.md").mkdir()
    (tmp_path / "02_b.md").write_bytes(b"+++\n\xff")
    library = client.application.extensions["strata"].lessons
    library.folder = tmp_path
    assert library.errors == [
        "01_a.md: it cannot be read: Is a directory",
        "02_b.md: line 2: this is not text in UTF-8",
    ]
    answer = client.get("/learn/b")
    assert answer.status_code == 404
    assert "There is no lesson &#39;b&#39; yet: 02_b.md: line 2" in answer.text


def test_the_list_says_how_much_a_lesson_is(tmp_path: Path, client: FlaskClient) -> None:
    (tmp_path / "a.md").write_text(f"{FRONT.replace('5', '1')}## One\n{START}", encoding="utf-8")
    client.application.extensions["strata"].lessons.folder = tmp_path
    assert "1 step · 1 minute<" in client.get("/learn").text


def test_a_folder_is_read_again_when_it_changes(tmp_path: Path) -> None:
    library = Library(tmp_path)
    ours = len(library.lessons)
    path = tmp_path / "01_mine.md"

    def save(text: str, second: int) -> None:
        path.write_text(text, encoding="utf-8")
        os.utime(path, (second, second))

    save(f"{FRONT}## One\n{START}", 1)
    before = library.find("mine")
    assert before is not None
    assert before.own
    assert library.lessons[0] is before
    save(f"{FRONT}## Other\n{START}", 2)
    after = library.find("mine")
    assert after is not None
    assert (after.steps[0].title, after.revision == before.revision) == ("Other", False)
    save("broken", 3)
    assert library.find("mine") is after, "students keep what they have while the teacher writes"
    assert library.errors == [
        "01_mine.md: line 1: a lesson must begin with its settings in TOML between two lines of +++"
    ]
    path.unlink()
    assert (library.find("mine"), library.errors, len(library.lessons)) == (None, [], ours)


def test_an_own_lesson_takes_the_place_of_ours(tmp_path: Path) -> None:
    ours = Library().lessons[0]
    (tmp_path / f"{ours.name.replace('-', '_')}.md").write_text(f"{FRONT}## One\n{START}", encoding="utf-8")
    library = Library(tmp_path)
    assert [one.title for one in library.lessons if one.name == ours.name] == ["T"]


def test_what_the_reader_of_markdown_adds_up_are_plain_strings() -> None:
    tokens = markdown.parse("![far](https://example.org/a.png)")[1].children or []
    linked = markdown._READER.renderer.rules["image"](tokens, 0, markdown._READER.options, {})
    assert type(linked) is type(markdown._colour("x = 1", "python", "")) is str, "Markup escapes what it is added to"
