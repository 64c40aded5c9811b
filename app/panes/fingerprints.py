"""Fingerprints of displayed content, by which links detect that it has changed."""

from __future__ import annotations

import hashlib

from app.artifacts import Answer
from app.panes import table

LENGTH = 12
"""Length of a fingerprint, enough to distinguish outputs of one script."""


def fingerprints(answer: Answer) -> dict[str, str]:
    """Return a hash of the final listings of all units, by the title of the pane that shows them.

    Panes without a listing are omitted.  Only the visible text counts, not the links of lines.
    """
    out = {}
    for pane in table.PANES:
        if not pane.listing or pane.copy_of:
            continue
        final = [
            [step.listing for step in unit.steps if step.group == pane.group and step.listing in answer.listings][-1:]
            for unit in answer.units
        ]
        texts = [line.text for keys in final for key in keys if key for line in answer.listings[key].lines]
        if texts:
            out[pane.title] = hashlib.sha256("\n".join(texts).encode("utf-8", "replace")).hexdigest()[:LENGTH]
    return out
