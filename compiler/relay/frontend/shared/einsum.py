"""Equations of ``einsum``."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.relay.frontend.shared.errors import ConversionError


def explicit_equation(equation: str, ranks: Sequence[int]) -> str:
    """Expand ellipses and an implicit result in an equation, so that every axis has a letter."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ConversionError(f"equation {equation!r} has {len(terms)} terms for {len(ranks)} inputs")
    free = [c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in equation]
    hidden = [rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks, strict=True)]
    most = max((h for h, term in zip(hidden, terms, strict=True) if "..." in term), default=0)
    dots = "".join(free[:most])[::-1]

    def written(term: str, count: int) -> str:
        return term.replace("...", dots[len(dots) - count :])

    terms = [written(term, h) for term, h in zip(terms, hidden, strict=True)]
    if not arrow:
        letters = "".join(terms)
        right = dots + "".join(sorted(c for c in set(letters) - set(dots) if letters.count(c) == 1))
    return f"{','.join(terms)}->{written(right, len(dots))}"
