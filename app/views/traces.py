"""Memory traces for the player."""

from __future__ import annotations

from typing import Annotated

from flask import Blueprint, Response
from msgspec import Meta

from app.artifacts import Workspace
from app.jobs.recorded_programs import TraceAnswer
from app.services import current_services
from app.views.api import answer_json
from app.web.openapi import json_of, operation
from app.web.requests import current_client, read_body

bp = Blueprint("traces", __name__)


class TraceRequest(Workspace, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workspace, and the function to trace."""

    unit: Annotated[int, Meta(ge=-1, le=1_000)] = -1
    """Position among the functions of the script; -1 is the last one."""

    @property
    def workspace(self) -> Workspace:
        """The workspace without the other fields."""
        return Workspace(script=self.script, files=self.files, uploads=self.uploads, options=self.options)


@bp.post("/api/traces")
@operation(body=TraceRequest, answers={200: json_of(TraceAnswer)}, stateless=True)
def trace() -> Response:
    """Trace the memory accesses of a function at a small size, with simulated caches."""
    asked = read_body(TraceRequest)
    return answer_json(current_services().programs.trace(asked.workspace, current_client(), asked.unit))
