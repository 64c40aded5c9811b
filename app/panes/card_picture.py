"""Draws a preview card as PNG."""

from __future__ import annotations

import io
import unicodedata
from functools import lru_cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from PIL.ImageFont import FreeTypeFont

from app.panes.card import HEIGHT, WIDTH, Card, CardRow

_MARGIN, _TOP_OF_ROWS, _ROW, _INDENT, _COLUMN = 64, 268, 40, 26, 800
_INK, _MUTE, _ACCENT, _PAPER = "#1c2430", "#5d697d", "#2f5bea", "#ffffff"
_FILLS = ["#f6f7f9", "#eef2ff", "#e6f6ef", "#fff3df", "#fde9ee", "#eef1f4", "#e3f0ff", "#f4e9fd", "#eef5d6"]
_EDGES = ["#cfd6e0", "#8ea4f5", "#5dbb92", "#dfa23a", "#e5819a", "#98a4b5", "#5aa2ec", "#b283e0", "#9db53c"]
"""The tints of the light theme of ``static/css/tokens.css``, and the colours of their edges; first those of none."""
_FONTS = Path(__file__).parents[2] / "static" / "vendor" / "fonts"
UNTITLED = "A tensor program"
_MISSING = "·"
"""Stands for a letter that the font does not have."""
_MAX_TEXT = 300
"""Characters of a text that are looked at."""


def draw_card(card: Card) -> bytes:
    """Return the picture of a card."""
    image = Image.new("RGB", (WIDTH, HEIGHT), _PAPER)
    pen = ImageDraw.Draw(image)
    _mark(pen)
    room = WIDTH - 2 * _MARGIN
    large, small = _sans(700, 50), _sans(400, 26)
    lines = _wrapped(_readable(card.title, large) or UNTITLED, large, room, 2)
    for index, line in enumerate(lines):
        pen.text((_MARGIN, 104 + 58 * index), line, _INK, large)
    if len(lines) == 1:
        pen.text((_MARGIN, 172), _fitted(_readable(card.words, small), small, room), _MUTE, small)
    right = _COLUMN - 24 if card.rate else WIDTH - _MARGIN
    for index, row in enumerate(card.rows):
        _row(pen, row, _TOP_OF_ROWS + _ROW * index, right)
    if card.left_out:
        pen.text((_MARGIN, HEIGHT - 36), f"… {card.left_out} more", _MUTE, _sans(400, 20))
    if card.rate:
        _rate(pen, card)
    written = io.BytesIO()
    image.quantize(128).save(written, "PNG", optimize=True)
    return written.getvalue()


def _mark(pen: ImageDraw.ImageDraw) -> None:
    pen.rectangle((0, 0, 11, HEIGHT), _ACCENT)
    x, y = _MARGIN, 44
    pen.polygon([(x + 20, y), (x + 40, y + 11), (x + 20, y + 22), (x, y + 11)], _ACCENT)
    for lower, colour in ((9, "#6384ef"), (18, "#a1b5f5")):
        pen.line([(x, y + 11 + lower), (x + 20, y + 22 + lower), (x + 40, y + 11 + lower)], colour, 4, "curve")
    pen.text((x + 56, y), "Strata", _MUTE, _sans(600, 30))


def _row(pen: ImageDraw.ImageDraw, row: CardRow, top: int, right: int) -> None:
    """Draw a row: its text in a box of its colour, and what is said of it behind that."""
    mono, small = _mono(22), _sans(400, 20)
    left = _MARGIN + _INDENT * min(row.depth, 12)
    text = _fitted(_clean(row.text, mono), mono, right - left - 24)
    width = mono.getlength(text)
    detail = _fitted(_clean(row.detail, mono), mono, right - left - width - 40)
    boxed = width + 24 + (mono.getlength(detail) + 12 if detail else 0)
    if row.tint or row.detail:
        box = (left, top, left + boxed, top + _ROW - 6)
        pen.rounded_rectangle(box, 6, _FILLS[row.tint], _EDGES[row.tint])
    pen.text((left + 12, top + 3), text, _INK, mono)
    pen.text((left + 24 + width, top + 3), detail, _MUTE, mono)
    note = _fitted(_clean(row.note, small), small, right - left - boxed - 16)
    pen.text((left + boxed + 12, top + 4), note, _MUTE, small)


def _rate(pen: ImageDraw.ImageDraw, card: Card) -> None:
    room = WIDTH - _MARGIN - _COLUMN
    big, unit, small = _sans(700, 96), _sans(600, 30), _sans(400, 24)
    pen.text((_COLUMN, _TOP_OF_ROWS - 16), _fitted(card.rate, big, room), _ACCENT, big)
    pen.text((_COLUMN, _TOP_OF_ROWS + 104), "GFLOP/s", _INK, unit)
    top = _TOP_OF_ROWS + 156
    for note in card.rate_notes:
        for line in _wrapped(_clean(note, small), small, room, 2):
            pen.text((_COLUMN, top), line, _MUTE, small)
            top += 34


# Texts of other people


def _clean(text: str, font: FreeTypeFont) -> str:
    """Return a text in one line with what the font can write: no control characters, no marks above marks."""
    kept = []
    for letter in unicodedata.normalize("NFC", " ".join(text[:_MAX_TEXT].split())):
        if unicodedata.category(letter)[0] not in "CM":
            kept.append(letter if _has(font, letter) else _MISSING)
    return "".join(kept)


def _readable(text: str, font: FreeTypeFont) -> str:
    """Return a text like :func:`_clean`; nothing if the font has too few of its letters."""
    cleaned = _clean(text, font)
    return cleaned if 4 * cleaned.count(_MISSING) <= len(cleaned) else ""


@lru_cache(4096)
def _has(font: FreeTypeFont, letter: str) -> bool:
    return letter.isascii() or bytes(font.getmask(letter)) != bytes(font.getmask("\uffff"))


def _fitted(text: str, font: FreeTypeFont, room: float) -> str:
    """Return a text, or as much of its beginning as there is room for."""
    if font.getlength(text) <= room:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if font.getlength(text[:middle] + "…") <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + "…" if low else ""


def _wrapped(text: str, font: FreeTypeFont, room: float, most: int) -> list[str]:
    """Return a text in at most so many lines, broken between words; what does not fit is cut off."""
    lines: list[str] = []
    words = text.split()
    while words and len(lines) < most - 1:
        count = 1
        while count < len(words) and font.getlength(" ".join(words[: count + 1])) <= room:
            count += 1
        lines.append(_fitted(" ".join(words[:count]), font, room))
        words = words[count:]
    return [*lines, _fitted(" ".join(words), font, room)] if words else lines


@lru_cache(16)
def _font(name: str, size: int) -> FreeTypeFont:
    # Letters are set one by one: no text of others reaches a shaping engine.
    return ImageFont.truetype(str(_FONTS / name), size, layout_engine=ImageFont.Layout.BASIC)


def _sans(weight: int, size: int) -> FreeTypeFont:
    return _font(f"inter-latin-{weight}-normal.woff2", size)


def _mono(size: int) -> FreeTypeFont:
    return _font("jetbrains-mono-latin-400-normal.woff2", size)
