"""Normalisation of generated names, so that differences ignore renumbering."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

GENERATED: Mapping[str, re.Pattern[str]] = {
    "llvm": re.compile(r"%[-$.\w]+|![0-9]+|#[0-9]+|^[-$.\w]+(?=:)"),
    "gas": re.compile(r"\.?L[A-Za-z_$]*\d+_\d+"),
    "relay": re.compile(r"%@?\d+|\bmeta\[relay\.Constant\]\[\d+\]"),
    "python": re.compile(r"\bcse_var_\d+\b"),
}
"""Names that a printer or a pass numbers, by language: values, attribute groups and labels of LLVM IR, labels of
assembly, bindings and constants of graphs, and shared subexpressions of loops."""
_DEFINED = re.compile(r"\s*(\S+?)(?: =|:)")


def skeleton(text: str, language: str) -> str:
    """Return a line with one sign in place of each generated name.

    Parameters
    ----------
    language : str
        One that :data:`GENERATED` knows; lines of others are returned as they are.
    """
    pattern = GENERATED.get(language)
    return pattern.sub("%", text) if pattern else text


@lru_cache(20_000)
def _names(text: str, language: str) -> tuple[str, ...]:
    pattern = GENERATED.get(language)
    return tuple(pattern.findall(text)) if pattern else ()


def renamed(pairs: Sequence[tuple[str, str]], language: str) -> list[bool]:
    """Tell, of pairs of lines with equal skeletons, which differ in names alone.

    Where a name is defined says what it is called on the other side; a line that uses another name is a change.

    Parameters
    ----------
    pairs : sequence of (str, str)
        Lines that were aligned, in the order of the texts.

    Returns
    -------
    list of bool
        One for each pair.
    """
    partner = _definitions(pairs, language)
    taken = {new: old for old, new in partner.items()}
    same = []
    for old, new in pairs:
        names = list(zip(_names(old, language), _names(new, language), strict=False))
        fits = all(partner.get(a, b) == b and taken.get(b, a) == a for a, b in names)
        if fits:
            partner.update(names)
            taken.update((b, a) for a, b in names)
        same.append(fits)
    return same


def _definitions(pairs: Iterable[tuple[str, str]], language: str) -> dict[str, str]:
    """Return for each generated name that a line defines the name that the aligned line defines."""
    partner: dict[str, str] = {}
    taken: set[str] = set()
    for old, new in pairs:
        a, b = _DEFINED.match(old), _DEFINED.match(new)
        if a and b and a[1] in _names(old, language)[:1] and b[1] not in taken and a[1] not in partner:
            partner[a[1]] = b[1]
            taken.add(b[1])
    return partner
