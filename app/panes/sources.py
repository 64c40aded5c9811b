"""The sources of measurements, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.artifacts import Measurement, Source


@dataclass(frozen=True)
class Wording:
    """What the page says of a source.

    Attributes
    ----------
    label : str
        A few words beside each number.
    explanation : str
        A sentence, as a tooltip and below the numbers.
    """

    label: str
    explanation: str


WORDINGS: dict[Source, Wording] = {
    "script": Wording(
        "as the script reports", "The process that ran the script measured this. A script can report whatever it likes."
    ),
    "server": Wording(
        "measured by this server",
        "This server measured the recorded schedule, in a process that the script never entered.",
    ),
    "package": Wording(
        "measured elsewhere",
        "It came with this example, measured on the machine and the date that it names. Ladder measures it here.",
    ),
    "link": Wording(
        "from the link",
        "Whoever shared the link measured this, on the machine and the date that it names. Ladder measures it here.",
    ),
}


def wording(source: Source) -> Wording:
    """Return what the page says of a source."""
    return WORDINGS[source]


def sources(measurements: Sequence[Measurement]) -> list[Wording]:
    """Return what the page says of all sources of some measurements, that of the script first."""
    return [wording for source, wording in WORDINGS.items() if any(m.source == source for m in measurements)]
