"""What a script says of itself: its docstring, which is read without parsing, as scripts need not be Python."""

from __future__ import annotations

import re
from typing import NamedTuple

_DOCSTRING = re.compile(r"""\s*[rR]?(\"\"\"|''')(?P<text>.*?)(?:\1|\Z)""", re.DOTALL)
MAX_SOUGHT = 4000
"""Characters of a script that may describe it."""
MAX_TITLE = 120
MAX_WORDS = 400


class Described(NamedTuple):
    """A script, apart."""

    title: str
    """The first line of the docstring; empty if there is none."""
    words: str
    """What follows, in one line; a long one is cut off between words."""
    code: str
    """What is not docstring."""


def described(script: str) -> Described:
    """Take a script apart."""
    docstring = _DOCSTRING.match(script)
    if docstring is None:
        return Described("", "", script)
    title, _, words = docstring["text"].strip()[:MAX_SOUGHT].partition("\n")
    return Described(title.strip()[:MAX_TITLE], shortened(words, MAX_WORDS), script[docstring.end() :])


def shortened(text: str, limit: int) -> str:
    """Return a text in one line, cut off between words if it is longer than the limit."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rpartition(' ')[0] or line[: limit - 2]} …"
