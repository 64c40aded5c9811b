"""What is common to the operands of all instruction sets."""

from __future__ import annotations

__all__ = ["number", "split_operands", "total"]

_OPEN, _CLOSE = "([{", ")]}"


def split_operands(text: str) -> list[str]:
    """Split at the commas that no bracket encloses."""
    parts, depth, begun = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in _OPEN) - (letter in _CLOSE)
        if letter == "," and depth == 0:
            parts.append(text[begun:at].strip())
            begun = at + 1
    last = text[begun:].strip()
    return [*parts, last] if last else parts


def number(text: str) -> str:
    """Write a whole number in decimal, and a large one in hexadecimal too."""
    try:
        value = int(text, 0)
        return f"{value} (0x{value:x})" if abs(value) > 0xFFFF else str(value)
    except ValueError:  # it is no number, or Python writes none of so many digits
        return text


def total(terms: list[str]) -> str:
    """Write a sum, without terms that are empty."""
    return " + ".join(term for term in terms if term).replace("+ -", "− ") or "0"
