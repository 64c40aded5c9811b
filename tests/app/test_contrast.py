"""Every colour of text can be read on every ground that it stands on, by the WCAG's measure, in both themes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

STYLES = Path(__file__).resolve().parents[2] / "static" / "css"
CSS = (STYLES / "tokens.css").read_text()
LIT = (STYLES / "code.css").read_text()
LEAST = 4.5
CODE = ("ink", "k", "s", "n", "f", "r", "c", "bad", "gutter")
TINTS = (*(f"tint-{number}" for number in range(1, 9)), "added", "removed", "panel")
PAIRS = {(text, ground) for text in CODE for ground in TINTS} | {
    ("mute", "panel"),
    ("mute", "bg"),
    ("mute", "raised"),
    ("accent-text", "panel"),
    ("accent-text", "accent-soft"),
    ("accent-ink", "accent"),
    ("ok", "panel"),
    ("bad", "panel"),
    ("bad", "bad-soft"),
    ("ink", "bad-soft"),
    ("mute", "bad-soft"),
    ("warn", "warn-soft"),
    ("peak", "panel"),
    ("numpy", "panel"),
}
"""Text colour and what it stands on."""


def colours(theme: str) -> dict[str, str]:
    light, dark = CSS.split('[data-theme="dark"]')
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6})\b", light))
    if theme == "dark":
        found.update(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6})\b", dark))
    return found


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    channels = [int(digits[start : start + 2], 16) / 255 for start in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read(theme: str) -> None:
    table = colours(theme)
    faint = {
        (text, ground): round(contrast(table[text], table[ground]), 2)
        for text, ground in PAIRS
        if contrast(table[text], table[ground]) < LEAST
    }
    assert faint == {}


def mix(one: str, other: str, share: float) -> str:
    """Return what ``color-mix(in srgb, one share, other)`` gives."""
    pairs = zip(*([int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in (one, other)), strict=True)
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_lines_that_are_lit_up_can_be_read(theme: str) -> None:
    table = colours(theme)
    panel = table["panel"] if len(table["panel"]) == 7 else "#ffffff"
    [share] = set(re.findall(r"color-mix\(in srgb, var\(--own, var\(--accent\)\) (\d+)%", LIT))
    faint = {
        (text, number): round(ratio, 2)
        for number in range(1, 9)
        for text in CODE
        if text != "gutter"  # lit line numbers are in ink
        if (ratio := contrast(table[text], mix(table[f"edge-{number}"], panel, int(share) / 100))) < LEAST
    }
    assert faint == {}


def test_the_measure_is_the_wcags() -> None:
    assert contrast("#000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#fff") == pytest.approx(4.48, abs=0.01)
