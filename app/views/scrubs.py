"""Measurements in turns: of a script at several values of one of its numbers, and of two models of a script."""

from __future__ import annotations

import re
from typing import Annotated

from flask import Blueprint, Response, url_for
from msgspec import Meta

from app.errors import InvalidBody
from app.jobs.measurer import Variant
from app.services import current_services
from app.views.api import LadderStarted, answer_json
from app.web.openapi import json_of, operation
from app.web.requests import WorkspaceRequest, current_client, read_body

bp = Blueprint("scrubs", __name__)
MAX_STOPS = 24
_NUMBER = re.compile(r"(?<![\w.])(?:\d|\.\d)[\w.]*(?:(?<=[eE])[+-]\d+)?")
Value = Annotated[str, Meta(pattern=r"^(?:[0-9]|\.[0-9])[0-9A-Za-z_.]*(?:[eE][+-][0-9]+)?\Z", max_length=40)]
Place = Annotated[int, Meta(ge=-16, le=-1)]


class ScrubRequest(WorkspaceRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workspace, one of the numbers in its script, and the values to measure in its place."""

    line: Annotated[int, Meta(ge=1, le=1_000_000, examples=[7])]
    column: Annotated[int, Meta(ge=0, le=1_000_000, examples=[47])]
    """Where the number begins, in characters from the beginning of the line."""
    values: Annotated[list[Value], Meta(min_length=1, max_length=MAX_STOPS, examples=[["8", "32"]])]
    """Numbers as Python writes them."""


@bp.post("/api/scrubs")
@operation(body=ScrubRequest, answers={202: json_of(LadderStarted)}, stateless=True)
def start() -> Response:
    """Measure the script's last function with several values in the place of a number, in turns.

    Each script runs in a process of its own, which records the function; one further process, which never runs a
    script, measures all records in rounds.  A value that the script refuses is an event `failed` with the reason.
    """
    asked = read_body(ScrubRequest)
    variants = variants_of(asked.script, asked.line, asked.column, asked.values)
    ladders, workspace = current_services().ladders, asked.workspace
    ladder = ladders.begin("scrub", workspace, current_client(), lambda measurer: measurer.scrub(workspace, variants))
    return answer_json(LadderStarted(id=ladder.id, events=url_for("api.ladder_events", ladder=ladder.id)), 202)


class ModelTimesRequest(WorkspaceRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workspace, and two of the models that its script builds."""

    models: Annotated[list[Place], Meta(min_length=2, max_length=2, examples=[[-2, -1]])]
    """Their places among all that it builds, counted from the last, which is -1."""


@bp.post("/api/model-times")
@operation(body=ModelTimesRequest, answers={202: json_of(LadderStarted)}, stateless=True)
def start_models() -> Response:
    """Measure the kernels of two models of a script in turns.

    The script runs in one process, which records the models; another one, which never runs it, builds and runs both.
    """
    asked = read_body(ModelTimesRequest)
    ladders, workspace = current_services().ladders, asked.workspace
    ladder = ladders.begin("scrub", workspace, current_client(), lambda m: m.models(workspace, asked.models))
    return answer_json(LadderStarted(id=ladder.id, events=url_for("api.ladder_events", ladder=ladder.id)), 202)


def variants_of(script: str, line: int, column: int, values: list[str]) -> list[Variant]:
    """Return a script with each of some values in the place of a number.

    Raises
    ------
    InvalidBody
        If no number begins there.
    """
    lines = script.split("\n")
    number = _NUMBER.match(lines[line - 1], column) if line <= len(lines) else None
    if number is None:
        raise InvalidBody(f"no number begins at line {line}, column {column}", field="$.column")
    before, after = "\n".join([*lines[: line - 1], number.string[: number.start()]]), number.string[number.end() :]
    rest = "\n".join([after, *lines[line:]])
    return [Variant(value, f"{before}{value}{rest}") for value in dict.fromkeys(values)]
