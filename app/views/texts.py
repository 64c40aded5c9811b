"""The JSON API of what a script becomes, as texts and facts: for shells and assistants, which have no page."""

from __future__ import annotations

from typing import Annotated

import msgspec
from flask import Blueprint, Response
from msgspec import Meta

from app.artifacts import Workspace
from app.panes.texts import asking_for
from app.services import current_services
from app.views.api import answer_json
from app.web.openapi import json_of, operation
from app.web.requests import WorkspaceRequest, current_client, read_body
from app.workers.tasks import (
    Compared,
    CompareTexts,
    Expected,
    Explain,
    Explanation,
    FindText,
    FoundText,
    Task,
    TextChoice,
)

bp = Blueprint("texts", __name__, url_prefix="/api")


class TextRequest(WorkspaceRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workspace, and which text of it."""

    text: TextChoice = TextChoice()


class CompareRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two workspaces, and which text of both."""

    workspace: Workspace
    """The one before."""
    after: Workspace
    text: TextChoice = TextChoice()


class ExplainRequest(WorkspaceRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workspace, and the function to explain."""

    function: Annotated[str, Meta(max_length=400)] = ""
    """Name of a function or graph; the one that was built last if empty."""


@bp.post("/text")
@operation(body=TextRequest, answers={200: json_of(FoundText)}, stateless=True)
def text() -> Response:
    """Compile a script and return one text of it: the loop IR, LLVM IR, assembly, …, after any pass."""
    asked = read_body(TextRequest)
    return _told([asking_for(asked.workspace, asked.text.pane)], FindText(asked.text, asked.options), FoundText)


@bp.post("/compare")
@operation(body=CompareRequest, answers={200: json_of(Compared)}, stateless=True)
def compare() -> Response:
    """Compile two scripts and return the differences of one of their texts."""
    asked = read_body(CompareRequest)
    before, after = (asking_for(each, asked.text.pane) for each in (asked.workspace, asked.after))
    options = [before.options, after.options]
    return _told([before, after], CompareTexts(asked.text, options), Compared)


@bp.post("/explain")
@operation(body=ExplainRequest, answers={200: json_of(Explanation)}, stateless=True)
def explain() -> Response:
    """Compile a script and return what is known of a function.

    That is every pass and primitive with what it changed, the loops, the memory plan, the occupancy of a kernel, what
    LLVM's model of the processor says of the hot loop, and what its instructions do.
    """
    asked = read_body(ExplainRequest)
    return _told([asked.workspace], Explain(asked.function, asked.options), Explanation)


def _told(workspaces: list[Workspace], task: Task, kind: type[Expected]) -> Response:
    services, client = current_services(), current_client()
    answers = [services.compiler.compile(workspace, client) for workspace in workspaces]
    return answer_json(services.renderer.perform(task, kind, answers, client.address))
