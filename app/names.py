"""Names of visitors: those that they choose, which anybody may have written, and those that they are given."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from app.errors import InvalidBody

__all__ = ["MAX_NAME", "chosen_name", "free_names"]

MAX_NAME = 24
ADJECTIVES = (
    *("amber", "azure", "bold", "brave", "bright", "calm", "clever", "coral", "crimson", "eager", "fair"),
    *("gentle", "golden", "green", "happy", "honest", "ivory", "jade", "keen", "kind", "swift"),
)
ANIMALS = (
    *("badger", "crane", "dolphin", "falcon", "fox", "heron"),
    *("ibis", "lynx", "marten", "otter", "raven", "seal"),
)
_MARKS = re.compile("m{3}")
"""More marks above and below one letter than any language writes."""


def chosen_name(text: str) -> str:
    """Return a name as it is shown: composed, with single spaces.

    Raises
    ------
    InvalidBody
        If it is empty, too long, has neither a letter nor a digit, or characters that cannot be seen or hide others.
    """
    name = re.sub(" +", " ", unicodedata.normalize("NFC", text).strip())
    categories = [unicodedata.category(character) for character in name]
    expected = f"1 to {MAX_NAME} letters, digits and signs"
    if not 1 <= len(name) <= MAX_NAME:
        raise InvalidBody("a name has " + expected, field="$.name", expected=expected)
    if any(kind[0] in "CZ" and character != " " for character, kind in zip(name, categories, strict=True)):
        raise InvalidBody("a name has only characters that can be seen", field="$.name", expected=expected)
    if not any(kind[0] in "LN" for kind in categories) or _MARKS.search("".join(k[0].lower() for k in categories)):
        raise InvalidBody(
            "a name needs a letter or a digit, and few accents on each", field="$.name", expected=expected
        )
    return name


def free_names(taken: Collection[str]) -> list[str]:
    """Return the names of adjective and animal that are not taken."""
    names = [f"{adjective} {animal}" for adjective in ADJECTIVES for animal in ANIMALS]
    return [name for name in names if name not in taken]
