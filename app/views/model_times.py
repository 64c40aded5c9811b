"""Times of the kernels of two models of a script, measured in turns."""

from __future__ import annotations

from typing import Annotated

from flask import Blueprint, Response, url_for
from msgspec import Meta

from app.artifacts import Workspace
from app.services import current_services
from app.views.api import LadderStarted, answer_json
from app.web.openapi import json_of, operation
from app.web.requests import current_client, read_body

bp = Blueprint("model_times", __name__)
Place = Annotated[int, Meta(ge=-16, le=-1)]


class ModelTimesRequest(Workspace, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workspace, and two of the models that its script builds."""

    models: Annotated[list[Place], Meta(min_length=2, max_length=2, examples=[[-2, -1]])]
    """Their places among all that it builds, counted from the last, which is -1."""


@bp.post("/api/model-times")
@operation(body=ModelTimesRequest, answers={202: json_of(LadderStarted)}, stateless=True)
def start() -> Response:
    """Measure the kernels of two models of a script in turns.

    The script runs in one process, which records the models; another one, which never runs it, builds and runs both.
    """
    asked = read_body(ModelTimesRequest)
    workspace = Workspace(script=asked.script, files=asked.files, uploads=asked.uploads, options=asked.options)
    ladders = current_services().ladders
    ladder = ladders.begin("scrub", workspace, current_client(), lambda m: m.models(workspace, asked.models))
    return answer_json(LadderStarted(id=ladder.id, events=url_for("api.ladder_events", ladder=ladder.id)), 202)
