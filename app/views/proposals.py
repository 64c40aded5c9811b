"""Proposed schedule primitives for a loop or stage."""

from __future__ import annotations

from flask import Blueprint, Response

from app.artifacts import Workspace
from app.proposals import Proposed, Subject
from app.services import current_services
from app.views.api import answer_json
from app.web.openapi import json_of, operation
from app.web.requests import current_client, read_body

bp = Blueprint("proposals", __name__)


class ProposalRequest(Workspace, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workspace, and the loop or stage to propose primitives for."""

    subject: Subject

    @property
    def workspace(self) -> Workspace:
        """The workspace without the other fields."""
        return Workspace(script=self.script, files=self.files, uploads=self.uploads, options=self.options)


@bp.post("/api/proposals")
@operation(body=ProposalRequest, answers={200: json_of(Proposed)}, stateless=True)
def propose() -> Response:
    """Propose primitives for a loop or stage, tried on its schedule: each with its edit, or why it fails."""
    asked = read_body(ProposalRequest)
    return answer_json(current_services().proposer.propose(asked.workspace, current_client(), asked.subject))
