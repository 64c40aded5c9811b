"""Sizes as the page writes them."""

from __future__ import annotations

import pytest

from app.units import size


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (32, "32 B"),
        (1000, "1000 B"),
        (1023, "1023 B"),
        (1024, "1 KB"),
        (32 << 10, "32 KB"),
        (1000 << 10, "1000 KB"),
        ((1 << 20) - 1, "1 MB"),
        (11_082_000, "10.6 MB"),
        (3 << 40, "3 TB"),
    ],
)
def test_a_size_has_three_digits_and_no_exponent(value: float, text: str) -> None:
    assert size(value) == text
