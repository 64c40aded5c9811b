"""Annotations of printed text: line numbers, underlines, remarks and omitted lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

Columns = tuple[int, int]
"""The first column, counted from 0, and the one after the last."""


@dataclass(frozen=True, slots=True)
class TextMarks:
    """What is shown beside the lines of a text."""

    underlined: Mapping[int, Sequence[Columns]] = field(default_factory=dict)
    """By the numbers of lines, counted from 0."""
    remarks: Mapping[int, str] = field(default_factory=dict)
    """Comments that stand above lines that begin a block or if they have several lines, else behind their lines."""
    context: int | None = None
    """How many lines around underlined ones are shown; None or a negative number for all lines."""
    numbered: bool = False
    """Whether lines have numbers, counted from 1."""


def marked_lines(lines: Sequence[str], marks: TextMarks) -> list[str]:
    """Return the lines of a text with their marks; a gap of several lines becomes ``(... 3 lines skipped ...)``."""
    width = len(str(len(lines))) + 1 if marks.numbered else 0
    result: list[str] = []
    for is_shown, run in groupby(enumerate(_shown(len(lines), marks)), key=lambda item: item[1]):
        numbers = [number for number, _ in run]
        if not is_shown and len(numbers) > 1:
            result.append(f"(... {len(numbers)} lines skipped ...)")
            continue
        for number in numbers:
            head = f"{number + 1:>{width - 1}} " if marks.numbered else ""
            remark = marks.remarks.get(number)
            behind = remark is not None and "\n" not in remark and not lines[number].endswith(":")
            if remark is not None and not behind:
                result += [" " * width + line for line in _remark(lines[number], remark)]
            result.append(f"{head}{lines[number]}  # {remark}" if behind else head + lines[number])
            result += [" " * width + line for line in _underline(marks.underlined.get(number, ()))]
    return result


def _shown(count: int, marks: TextMarks) -> list[bool]:
    """Return for each line whether it is near an underlined one."""
    context = marks.context
    if context is None or context < 0 or not marks.underlined:
        return [True] * count
    return [any(abs(number - marked) <= context for marked in marks.underlined) for number in range(count)]


def _remark(line: str, remark: str) -> Iterator[str]:
    indent = line[: len(line) - len(line.lstrip())]
    for part in remark.split("\n"):
        yield f"{indent}# {part}"


def _underline(columns: Sequence[Columns]) -> Iterator[str]:
    if columns:
        marked = {column for start, end in columns for column in range(start, end)}
        yield "".join("^" if column in marked else " " for column in range(max(marked) + 1))
