"""Compiler messages, with links to the lines they mention."""

from __future__ import annotations

import re
from typing import NamedTuple

_NAMED = re.compile(r"(?<=\()line (\d{1,7})(?=\))|(?<=, as )line (\d{1,7})(?= asks)")
"""Pattern of lines of the script mentioned in error messages."""


class TextPiece(NamedTuple):
    """A piece of a message."""

    text: str
    line: int | None = None
    """The line it mentions."""


def message_words(message: str) -> list[TextPiece]:
    """Split a message into mentions of lines of the script and the text between.

    Parameters
    ----------
    message : str
        An error message; untrusted.
    """
    words, end = [], 0
    for match in _NAMED.finditer(message):
        words += [TextPiece(message[end : match.start()]), TextPiece(match[0], int(match[1] or match[2]))]
        end = match.end()
    return [*words, TextPiece(message[end:])]
