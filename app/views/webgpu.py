"""Programs for the visitor's GPU."""

from __future__ import annotations

from typing import Annotated

from flask import Blueprint, Response
from msgspec import Meta

from app.artifacts import Workspace
from app.jobs.recorded_programs import GPUAnswer
from app.services import current_services
from app.views.api import answer_json
from app.web.openapi import json_of, operation
from app.web.requests import current_client, read_body

bp = Blueprint("webgpu", __name__)


class GPURequest(Workspace, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workspace, and the function to run on the visitor's GPU."""

    unit: Annotated[int, Meta(ge=-1, le=1_000)] = -1
    """Position among the functions of the script; -1 is the last one."""
    prefixes: bool = False
    """Whether to run every prefix of its schedule, instead of only the complete one."""

    @property
    def workspace(self) -> Workspace:
        """The workspace without the other fields."""
        return Workspace(script=self.script, files=self.files, uploads=self.uploads, options=self.options)


@bp.post("/api/webgpu")
@operation(body=GPURequest, answers={200: json_of(GPUAnswer)}, stateless=True)
def prepare() -> Response:
    """Return the WGSL kernels of a function, with their launches and expected results on random inputs."""
    asked = read_body(GPURequest)
    programs = current_services().programs
    return answer_json(programs.prepare(asked.workspace, current_client(), asked.unit, asked.prefixes))
