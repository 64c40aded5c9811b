"""Word-level differences within highlighted lines."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from markupsafe import Markup

MAX_CHARACTERS = 600
"""Maximum length of lines for comparing words, which takes quadratic time."""
MIN_RATIO = 0.4
"""Fraction of common words below which two lines are unrelated."""

Span = tuple[int, int]
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_PIECE = re.compile(r"<[^>]*>|&[^;\s]*;|[^<&]+|.", re.DOTALL)


def changed_spans(old: str, new: str, names: re.Pattern[str] | None = None) -> tuple[list[Span], list[Span]] | None:
    """Return the column ranges ``[start, end)`` in which two lines differ.

    Parameters
    ----------
    names : re.Pattern, optional
        Words whose change is ignored if others changed too, such as renumbered values.

    Returns
    -------
    tuple of list, or None
        None if the lines are too long or too different.
    """
    if max(len(old), len(new)) > MAX_CHARACTERS:
        return None
    words, others = _words(old, names), _words(new, names)
    for keys in (lambda word: "%" if names and names.fullmatch(word) else word), str:
        matcher = SequenceMatcher(None, [*map(keys, words)], [*map(keys, others)], autojunk=False)
        if matcher.ratio() < MIN_RATIO:
            return None
        changes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
        if changes:
            break
    return _columns(words, [(i1, i2) for _, i1, i2, _, _ in changes]), _columns(
        others, [(j1, j2) for _, _, _, j1, j2 in changes]
    )


def _words(text: str, names: re.Pattern[str] | None) -> list[str]:
    """Split a line into words; each generated name is one word."""
    if names is None:
        return _WORD.findall(text)
    words, at = [], 0
    for match in names.finditer(text):
        words += [*_WORD.findall(text[at : match.start()]), match[0]]
        at = match.end()
    return words + _WORD.findall(text[at:])


def _columns(words: list[str], runs: list[Span]) -> list[Span]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return [(starts[first], starts[last]) for first, last in runs if first < last]


def mark(html: Markup, spans: list[Span]) -> Markup:
    """Mark column ranges of a highlighted line.

    Parameters
    ----------
    html : Markup
        Escaped text with non-nested elements.
    spans : list of (int, int)
        Column ranges of the text, in order.
    """
    out: list[str] = []
    column = 0
    for piece in _PIECE.findall(str(html)):
        if piece.startswith("<"):
            out.append(piece)
            continue
        characters = [piece] if piece.startswith("&") else list(piece)
        for character in characters:
            inside = any(start <= column < end for start, end in spans)
            out.append(f"<mark>{character}</mark>" if inside else character)
            column += 1
    return Markup("".join(out).replace("</mark><mark>", ""))
