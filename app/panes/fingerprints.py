"""Fingerprints of what an answer shows, so that a link can tell whether a later compilation shows the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from app.artifacts import Answer, Group

PANES: Mapping[Group, str] = {
    "graph": "Graph IR",
    "lowering": "Loop IR",
    "llvm": "LLVM IR",
    "assembly": "Assembly",
}
"""Group of steps -> the pane whose text the last of them is."""
LETTERS = 12
"""Of a fingerprint: enough to tell two outputs of one script apart."""


def fingerprints(answer: Answer) -> dict[str, str]:
    """Return a hash of the final texts of all units by the pane that shows them; panes without a text are left out.

    Only what can be read counts: texts whose lines merely link elsewhere have equal fingerprints.
    """
    out = {}
    for group, pane in PANES.items():
        final = [
            [step.listing for step in unit.steps if step.group == group and step.listing in answer.listings][-1:]
            for unit in answer.units
        ]
        texts = [line.text for keys in final for key in keys if key for line in answer.listings[key].lines]
        if texts:
            out[pane] = hashlib.sha256("\n".join(texts).encode("utf-8", "replace")).hexdigest()[:LETTERS]
    return out
