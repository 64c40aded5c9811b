"""Lessons, parsed from Markdown files.

The file begins with its settings in TOML between lines of ``+++``.  Each second-level heading begins a step.  Some
fences in a step are not text but what the step is made of, by their first line: ``python start`` is the script that it
begins with, ``python answer`` one that passes its checks, ``hint`` a hint in Markdown, ``checks`` its checks in TOML.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from markdown_it.token import Token
from markupsafe import Markup
from msgspec import Meta, Struct

from app.lessons.checks import KINDS, Check, Measuring, Prediction, Question, SameDefinition
from app.lessons.markdown import parse, render
from app.panes import table

__all__ = ["Lesson", "LessonError", "Step", "read_lesson"]

Kind = TypeVar("Kind", bound=Struct)
_NAME = re.compile(r"(?:\d+_)?([a-z][a-z0-9_]*)")
_FRONT = re.compile(r"\+\+\+\n(.*?)\n\+\+\+\n", re.DOTALL)
MAX_BYTES = 1 << 18
"""The maximum size of a lesson's file."""


class LessonError(ValueError):
    """An error in a lesson's file; the message names the file and the line."""


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The front matter of a lesson."""

    title: Annotated[str, Meta(min_length=1, max_length=80)]
    summary: Annotated[str, Meta(min_length=1, max_length=300)]
    minutes: Annotated[int, Meta(ge=1, le=240)]
    part: Annotated[str, Meta(max_length=80)] = ""
    """The heading under which it is listed."""
    panes: list[str] = []
    """The initially open panes; empty for all."""


class _Checks(Struct, frozen=True, forbid_unknown_fields=True):
    check: list[Check]


@dataclass(frozen=True)
class Step:
    """A step of a lesson."""

    title: str
    html: Markup
    start: str | None = None
    """The initial script; None if students continue with their own."""
    answer: str | None = None
    """A script that passes the checks."""
    hints: tuple[Markup, ...] = ()
    checks: tuple[Check, ...] = ()

    @property
    def measuring(self) -> Measuring:
        """The measurements that its checks need."""
        needs = {check.needs for check in self.checks}
        return "ladder" if "ladder" in needs else "kernel" if "kernel" in needs else ""

    @property
    def compares_definitions(self) -> bool:
        """Whether it asks for the computation of its answer, so that the times of those who pass can be compared."""
        return any(isinstance(check, SameDefinition) for check in self.checks)

    @property
    def questions(self) -> list[Prediction | Question]:
        """The checks that require a number from the student."""
        return [check for check in self.checks if isinstance(check, Prediction | Question)]

    @property
    def answer_html(self) -> Markup:
        """The answer as highlighted code."""
        return render(f"~~~~~python\n{self.answer}~~~~~\n") if self.answer else Markup()


@dataclass(frozen=True)
class Lesson:
    """A lesson: text, scripts and checks."""

    name: str
    """The name in URLs, ``split-and-reorder``."""
    settings: Settings
    introduction: Markup
    steps: tuple[Step, ...]
    revision: str
    """Hash of the file."""
    text: str
    """The file."""
    own: bool = False
    """Whether it is from a teacher's folder, and may change while the server runs."""

    @property
    def title(self) -> str:
        """The lesson's title."""
        return self.settings.title

    @property
    def begins_with(self) -> str:
        """The script of the first step."""
        return self.steps[0].start or ""

    def entered_with(self, index: int) -> str:
        """Return the script at the start of a step, for a student who took the answers."""
        before = [script for step in self.steps[:index] for script in (step.start, step.answer) if script]
        return self.steps[index].start or before[-1]

    @property
    def page_steps(self) -> list[dict[str, object]]:
        """Data about each step for the page's scripts."""
        return [
            {
                "start": self.entered_with(index),
                "fresh": step.start is not None,
                "answer": step.answer or "",
                "checks": len(step.checks),
                "measuring": step.measuring,
            }
            for index, step in enumerate(self.steps)
        ]

    @property
    def view(self) -> dict[str, str]:
        """The initially open panes, in the format of a link's view."""
        shown = self.settings.panes
        if not shown:
            return {}
        closed = [pane.name for pane in table.PANES if pane.open and pane.name not in shown]
        opened = [pane.name for pane in table.PANES if not pane.open and pane.name in shown]
        return {"closed": " ".join(closed), "opened": " ".join(opened)}


def lesson_name(path: Path) -> str:
    """Return the URL name of the lesson of a file; empty if it is not named like one."""
    name = _NAME.fullmatch(path.stem)
    return name[1].replace("_", "-") if name else ""


def read_lesson(path: Path, own: bool = False) -> Lesson:
    """Read a lesson's file.

    Parameters
    ----------
    path : Path
        Its name, without the leading number, is the name of the lesson.
    own : bool
        Whether it may change while the server runs.

    Raises
    ------
    LessonError
        If the file is malformed.
    """
    name = lesson_name(path)
    if not name:
        raise LessonError(f"{path.name}: a lesson's file must be named like 03_split_loops.md")
    try:
        content = path.read_bytes()
        text = content.decode()
    except OSError as error:
        raise LessonError(f"{path.name}: it cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = 1 + content[: error.start].count(b"\n")
        raise LessonError(f"{path.name}: line {line}: this is not text in UTF-8") from error
    if len(content) > MAX_BYTES:
        raise LessonError(f"{path.name}: it is larger than {MAX_BYTES:,} bytes")
    try:
        settings, rest, above = _front(text.replace("\r\n", "\n"))
        introduction, steps = _parts(rest, above)
    except LessonError as error:
        raise LessonError(f"{path.name}: {error}") from error
    revision = hashlib.sha256(content).hexdigest()[:16]
    return Lesson(name, settings, introduction, steps, revision, text, own)


def _front(text: str) -> tuple[Settings, str, int]:
    """Split a file into its settings, its Markdown and the line offset of the Markdown."""
    match = _FRONT.match(text)
    if match is None:
        raise LessonError("line 1: a lesson must begin with its settings in TOML between two lines of +++")
    settings = _toml(match[1], Settings, 1)
    unknown = [name for name in settings.panes if table.find(name) is None]
    if unknown:
        raise LessonError(
            f"line 1: there is no pane {unknown[0]!r}; panes are {', '.join(p.name for p in table.PANES)}"
        )
    return settings, text[match.end() :], match[0].count("\n")


def _toml(text: str, kind: type[Kind], line: int) -> Kind:
    """Decode TOML into a type."""
    try:
        return msgspec.convert(tomllib.loads(text), kind)
    except tomllib.TOMLDecodeError as error:
        raise LessonError(f"line {line}: {error}") from error
    except msgspec.ValidationError as error:
        raise LessonError(f"line {line}: {_told(str(error))}") from error


def _told(problem: str) -> str:
    """Translate an error of msgspec: the setting first, and the available kinds of checks."""
    words, _, place = problem.partition(" - at ")
    setting = place.strip("`").removeprefix("$").removeprefix(".")
    kinds = f"; kinds are {', '.join(KINDS)}" if setting.endswith(".kind") else ""
    return f"{setting}: {words}{kinds}" if setting else words


def _parts(text: str, above: int) -> tuple[Markup, tuple[Step, ...]]:
    """Split a lesson's Markdown into the introduction and the steps."""
    sections: list[list[Token]] = [[]]
    for token in parse(text):
        if token.type == "heading_open" and token.tag == "h2":
            sections.append([])
        sections[-1].append(token)
    steps = tuple(_step(section, above) for section in sections[1:])
    if not steps:
        raise LessonError("it has no step: each step begins with a second-level heading, ## like this")
    if steps[0].start is None:
        raise LessonError("its first step needs a ```python start block with its initial script")
    return render(sections[0]), steps


def _step(tokens: Sequence[Token], above: int) -> Step:
    heading, text = tokens[1].content, tokens[3:]
    line = above + (tokens[0].map or [0])[0] + 1
    fences = list(_fences(text))
    scripts = {kind: fence.content for kind, fence in fences if kind in ("start", "answer")}
    checks: list[Check] = []
    for kind, fence in fences:
        if kind == "checks":
            checks += _toml(fence.content, _Checks, above + (fence.map or [0])[0] + 2).check
    if checks and "answer" not in scripts:
        raise LessonError(f"line {line}: the step “{heading}” has checks, but no answer that passes them")
    special = {id(fence) for _, fence in fences}
    return Step(
        title=heading,
        html=render([token for token in text if id(token) not in special]),
        start=scripts.get("start"),
        answer=scripts.get("answer"),
        hints=tuple(render(fence.content) for kind, fence in fences if kind == "hint"),
        checks=tuple(checks),
    )


def _fences(tokens: Sequence[Token]) -> Iterator[tuple[str, Token]]:
    """Yield the fences with a special meaning, and their kinds."""
    kinds = {"python start": "start", "python answer": "answer", "hint": "hint", "checks": "checks"}
    for token in tokens:
        if token.type == "fence" and (kind := kinds.get(" ".join(token.info.split()))):
            yield kind, token
