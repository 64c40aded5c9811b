"""Equations of sums over products of tensors, as NumPy's ``einsum`` reads them."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.relay.frontend.shared.errors import ConversionError

__all__ = ["spelled_out"]


def spelled_out(equation: str, ranks: Sequence[int]) -> str:
    """Return an equation with a letter for every axis: ellipses and a missing result are written out.

    Parameters
    ----------
    equation : str
        E.g. ``...ij,jk``.
    ranks : sequence of int
        Of the inputs.

    Returns
    -------
    str

    Raises
    ------
    ConversionError
        If it has another number of terms than there are inputs.
    """
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
