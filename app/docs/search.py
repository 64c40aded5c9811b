"""Searching the pages of documentation for words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from app.docs.page import Page, Section

MAX_HITS = 30
MAX_WORDS = 8
_AROUND = 90
"""Characters of an excerpt on either side of the first word found."""


@dataclass(frozen=True)
class Hit:
    """A section that has every word.

    Attributes
    ----------
    excerpt : list of (str, bool)
        Text around the first word, in pieces; True marks a word that was searched for.
    """

    page: Page
    section: Section
    excerpt: list[tuple[str, bool]]


def search(pages: Iterable[Page], query: str) -> list[Hit]:
    """Return the sections in which every word of the query begins a word, those with them in their title first.

    Upper and lower case are the same.
    """
    words = re.findall(r"[\w.]+", query.lower())[:MAX_WORDS]
    if not words:
        return []
    patterns = [re.compile(rf"(?<!\w){re.escape(word)}", re.IGNORECASE) for word in words]
    hits = [
        (sum(bool(p.search(section.title)) for p in patterns), Hit(page, section, _excerpt(section.text, patterns)))
        for page in pages
        for section in page.sections
        if all(p.search(section.title) or p.search(section.text) for p in patterns)
    ]
    return [hit for _, hit in sorted(hits, key=lambda item: -item[0])][:MAX_HITS]


def _excerpt(text: str, patterns: list[re.Pattern[str]]) -> list[tuple[str, bool]]:
    places = [match.start() for p in patterns if (match := p.search(text))]
    middle = min(places, default=0)
    start = text.find(" ", max(0, middle - _AROUND), middle) + 1 if middle > _AROUND else 0
    end = max(text.rfind(" ", middle, middle + _AROUND), middle) if len(text) > middle + _AROUND else len(text)
    part = ("… " if start else "") + text[start:end] + (" …" if end < len(text) else "")
    marked = re.compile("|".join(rf"({p.pattern}\w*)" for p in patterns), re.IGNORECASE)
    pieces: list[tuple[str, bool]] = []
    at = 0
    for match in marked.finditer(part):
        pieces += [(part[at : match.start()], False), (match.group(), True)]
        at = match.end()
    return [piece for piece in (*pieces, (part[at:], False)) if piece[0]]
