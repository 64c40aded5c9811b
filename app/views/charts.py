"""The chart of a ladder, of the measurements received so far."""

from __future__ import annotations

from typing import Annotated

import msgspec
from flask import Blueprint, render_template
from msgspec import Meta

from app.artifacts import Measurement
from app.errors import InvalidBody
from app.panes.charts import ROOM, BarComparisons, Scale, by_threads, chart, predictions_met
from app.panes.limits import MAX_MEASUREMENTS
from app.panes.roofline import roofline
from app.web.requests import json_field

bp = Blueprint("charts", __name__)
MAX_PENDING = 40
"""Maximum number of bars for pending measurements."""
REFERENCES = 5
"""Number of measurements of a ladder without bars: NumPy and the peak, before and after all others, and bandwidth."""


class ChartRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The state of a ladder as received by the page."""

    measurements: list[Measurement]
    failures: list[str] = []
    reasons: list[str] = []
    """Why some measurements are the script's own, or missing."""
    done: int = 0
    total: int = 0
    label: str = ""
    running: bool = False
    room: Annotated[int, Meta(ge=0, le=10_000)] = ROOM
    """Width of the pane in pixels."""
    scale: Scale = "auto"
    reference: list[Measurement] = []
    """An earlier ladder to compare with."""
    reference_label: Annotated[str, Meta(max_length=400)] = ""
    """Time and place of the reference measurements."""
    predictions: dict[int, Annotated[float, Meta(gt=0, le=1e6)]] = {}
    """Predicted speedups over the first step, by step."""
    before: list[Measurement] = []
    """What was shown before these were measured."""
    kept: Annotated[str, Meta(max_length=400)] = ""
    """Time and place of the measurements, if they were loaded."""


@bp.post("/chart")
def draw_chart() -> str:
    """Draw the chart and table for the measurements of a ladder."""
    try:
        asked = msgspec.json.decode(json_field("asked"), type=ChartRequest)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InvalidBody(str(error)) from error
    if len(asked.measurements) + len(asked.reference) + len(asked.before) > MAX_MEASUREMENTS:
        raise InvalidBody(f"at most {MAX_MEASUREMENTS} measurements can be drawn, got {len(asked.measurements)}")
    bars = len(by_threads(asked.measurements)[0])
    pending = max(0, asked.total - REFERENCES - bars) if asked.running else 0
    return render_template(
        "panes/_ladder.html",
        chart=chart(
            asked.measurements,
            min(pending, MAX_PENDING),
            asked.room,
            asked.scale,
            BarComparisons(asked.reference, asked.predictions),
        ),
        roofline=roofline(asked.measurements, asked.room),
        predictions_met=predictions_met(asked.measurements, asked.predictions),
        measurements=asked.measurements,
        ladder=asked,
    )
