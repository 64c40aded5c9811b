"""Searches of schedules: their start, what is seen of them, and their candidates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import msgspec
from flask import Blueprint, Response, render_template, url_for
from msgspec import Meta

from app.artifacts import Measurement
from app.errors import InvalidBody
from app.jobs.recorded_programs import CandidateAnswer
from app.panes.charts import ROOM
from app.panes.limits import MAX_MEASUREMENTS
from app.panes.searches import Trial, best_of, cloud, decisions, failures, progress_chart, reasons, references
from app.panes.sketches import inside, sketches
from app.searches import Decision, Found, ModelSearch, Refusal, Refusals, SearchSettings, SoughtKernel
from app.services import current_services
from app.views.api import LadderStarted, answer_json
from app.web.openapi import json_of, operation
from app.web.requests import WorkspaceRequest, current_client, json_field, read_body

bp = Blueprint("searches", __name__)
MAX_TRIALS = 2_000


class SearchRequest(WorkspaceRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workspace, and how to search; it goes on from the file ``search.jsonl``, if the workspace has it."""

    search: SearchSettings = SearchSettings()


class CandidateRequest(WorkspaceRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workspace, and a candidate of a search of its last function."""

    choices: Annotated[list[Decision], Meta(max_length=1_000)] = []
    kernel: SoughtKernel | None = None
    """The kernel of its last model that it is a candidate of, instead."""


@bp.post("/api/searches")
@operation(body=SearchRequest, answers={202: json_of(LadderStarted)}, stateless=True)
def start() -> Response:
    """Search for a faster schedule of the script's last function.

    The script runs in one process, which records the function; another, which never runs the script, searches.  What
    the script makes of the function is the default that candidates are compared with.
    """
    asked = read_body(SearchRequest)
    ladder = current_services().ladders.start(asked.workspace, current_client(), "search", asked.search)
    return answer_json(LadderStarted(id=ladder.id, events=url_for("api.ladder_events", ladder=ladder.id)), 202)


@bp.post("/api/candidates")
@operation(body=CandidateRequest, answers={200: json_of(CandidateAnswer)}, stateless=True)
def candidate() -> Response:
    """Return a candidate of a search as a script with explicit primitives, its loops and its assembly."""
    asked = read_body(CandidateRequest)
    return answer_json(
        current_services().programs.candidate(asked.workspace, current_client(), asked.choices, asked.kernel)
    )


class SearchView(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The state of a search as the page has it."""

    trials: list[Trial]
    table: list[Decision] = []
    """The decisions that trials have the numbers of."""
    measurements: list[Measurement] = []
    refused: Refusals = []
    default_seconds: float | None = None
    """Of a call of what the script makes, if the search goes on or was stopped."""
    failures: list[str] = []
    found: Found | None = None
    model: ModelSearch | None = None
    of_model: bool = False
    """Whether the script has a model."""
    kernel: Annotated[str, Meta(max_length=1_000)] = ""
    """The workload that the trials are of."""
    label: str = ""
    running: bool = False
    kept: Annotated[str, Meta(max_length=400)] = ""
    """Where the records come from, if this page has not made them."""
    by_seconds: bool = False
    other: Annotated[str, Meta(max_length=1_000)] = ""
    """Why no search of the page goes on from the trials: they are of another program, processor or tuner."""
    foreign: bool = False
    """Whether another tuner wrote the trials, which alone can derive them."""
    chosen: Annotated[int, Meta(ge=0)] | None = None
    used: Annotated[int, Meta(ge=-1)] = -1
    """The trial that the model is built with."""
    only: Annotated[list[Decision], Meta(max_length=200)] = []
    """What the candidates of the branch that is looked at have decided."""
    pinned: list[Decision] = []
    banned: list[Decision] = []
    room: Annotated[int, Meta(ge=0, le=10_000)] = ROOM


def _reasons(refused: Sequence[Refusal]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for refusal in refused:
        counts[refusal.reason] += refusal.count
    return counts


@bp.post("/search")
def draw_search() -> str:
    """Draw what a search has found so far."""
    try:
        asked = msgspec.json.decode(json_field("asked"), type=SearchView)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InvalidBody(str(error)) from error
    if len(asked.trials) > MAX_TRIALS or len(asked.measurements) > MAX_MEASUREMENTS:
        raise InvalidBody(f"at most {MAX_TRIALS:,} candidates can be drawn, got {len(asked.trials):,}")
    best = best_of(asked.trials)
    chosen = asked.chosen if asked.chosen is not None and asked.chosen < len(asked.trials) else None
    kernel = (
        next((each for each in asked.model.kernels if each.workload == asked.kernel), None) if asked.model else None
    )
    beside = kernel.beside if kernel else asked.default_seconds
    default = [Trial(kind="ok", seconds=beside)] if beside else []
    refused = kernel.refused if kernel else asked.refused
    shown = [*asked.trials, *default]
    usual = [seconds for kind, _, seconds in references(shown, asked.measurements) if kind == "kernel"]
    compared = chosen is not None and best is not None and chosen != best
    return render_template(
        "panes/_search_view.html",
        search=asked,
        kernel=kernel,
        refused=_reasons(refused),
        sketches=sketches(asked.trials, asked.table, refused, asked.only),
        inside=inside(asked.trials, asked.table, asked.only) if asked.only else None,
        best=best,
        default=usual[0] if usual else None,
        chosen=chosen,
        chart=progress_chart(shown, asked.measurements, asked.room, asked.by_seconds, chosen, asked.table),
        cloud=cloud(asked.trials, asked.room, chosen),
        tree=decisions(asked.trials, asked.table, asked.pinned, asked.banned),
        failed=failures(asked.trials),
        reasons=reasons(asked.trials[chosen or 0].features, asked.trials[best or 0].features) if compared else [],
    )
