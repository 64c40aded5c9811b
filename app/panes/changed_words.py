"""Which words of a changed line changed, marked inside of its colours."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from markupsafe import Markup

MAX_CHARACTERS = 600
"""Of lines whose words are compared, which takes quadratic time."""
MIN_RATIO = 0.4
"""Share of words in common below which two lines have nothing to do with each other."""

Span = tuple[int, int]
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_PIECE = re.compile(r"<[^>]*>|&[^;\s]*;|[^<&]+|.", re.DOTALL)


def changed_spans(old: str, new: str) -> tuple[list[Span], list[Span]] | None:
    """Return the columns ``[start, end)`` of each line that the other does not have.

    Returns
    -------
    tuple of list, or None
        None where the lines are too long, or too different for single words to matter.
    """
    if max(len(old), len(new)) > MAX_CHARACTERS:
        return None
    words, others = _WORD.findall(old), _WORD.findall(new)
    matcher = SequenceMatcher(None, words, others, autojunk=False)
    if matcher.ratio() < MIN_RATIO:
        return None
    changes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    return _columns(words, [(i1, i2) for _, i1, i2, _, _ in changes]), _columns(
        others, [(j1, j2) for _, _, _, j1, j2 in changes]
    )


def _columns(words: list[str], runs: list[Span]) -> list[Span]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return [(starts[first], starts[last]) for first, last in runs if first < last]


def mark(html: Markup, spans: list[Span]) -> Markup:
    """Mark some columns of a line that is coloured already.

    Parameters
    ----------
    html : Markup
        Text, escaped, in elements that may not be nested.
    spans : list of (int, int)
        Columns of the text, in order.
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
