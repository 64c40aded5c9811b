"""Approximations of mathematical functions that some languages lack."""

from __future__ import annotations

ERF_COEFFICIENTS = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
"""Coefficients of the powers of ``1 / (1 + 0.3275911 |x|)``; the error is at most 1.5e-7.

Source: M. Abramowitz and I. Stegun, Handbook of Mathematical Functions, 7.1.26.
"""


def erf_lines(declare: str, absolute: str, sign: str) -> tuple[str, ...]:
    """Return the body of the error function."""
    series = "0.0f"
    for coefficient in reversed(ERF_COEFFICIENTS):
        series = f"({series} + ({coefficient}f)) * t" if series != "0.0f" else f"({coefficient}f) * t"
    return (
        f"{declare} t = 1.0f / (1.0f + 0.3275911f * {absolute}(x));",
        f"return {sign}(x) * (1.0f - {series} * exp(-x * x));",
    )
