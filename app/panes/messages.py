"""Compiler messages, with links to the lines that they name."""

from __future__ import annotations

import re
from typing import NamedTuple

_NAMED = re.compile(r"(?<=\()line (\d{1,7})(?=\))|(?<=, as )line (\d{1,7})(?= asks)")
"""How errors name the user's line of what they are about, beside that of the call that raised them."""


class Words(NamedTuple):
    """A piece of a message."""

    text: str
    line: int | None = None
    """The line that it names."""


def message_words(message: str) -> list[Words]:
    """Return a message in pieces: those that name a line of the script, and what stands between.

    Parameters
    ----------
    message : str
        Of an error, which anybody may have written.
    """
    words, end = [], 0
    for match in _NAMED.finditer(message):
        words += [Words(message[end : match.start()]), Words(match[0], int(match[1] or match[2]))]
        end = match.end()
    return [*words, Words(message[end:])]
