"""Proposed schedule primitives for a loop or stage."""

from __future__ import annotations

from typing import Annotated

from flask import Blueprint, Response
from msgspec import Meta

from app.artifacts import Workspace
from app.causes import Why
from app.proposals import Proposed, Subject
from app.services import current_services
from app.views.api import answer_json
from app.web.openapi import json_of, operation
from app.web.requests import current_client, read_body
from app.workers.tasks import FindPortCause, PortCause

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


class WhyRequest(Workspace, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workspace, and the function whose time is explained."""

    unit: Annotated[int, Meta(ge=-1, le=1_000)] = -1
    """Position among the functions of the script; -1 is the last one."""

    @property
    def workspace(self) -> Workspace:
        """The workspace without the other fields."""
        return Workspace(script=self.script, files=self.files, uploads=self.uploads, options=self.options)


@bp.post("/api/why")
@operation(body=WhyRequest, answers={200: json_of(Why)}, stateless=True)
def why() -> Response:
    """Say why a function takes its time: ranked causes with their shares, lines and remedies, by models of its loops.

    A remedy is a primitive that was tried on the schedule; `gain` is predicted, not measured.
    """
    asked = read_body(WhyRequest)
    services, client = current_services(), current_client()
    said = services.proposer.explain(asked.workspace, client, asked.unit)
    if said.loop is not None:
        found = services.renderer.perform(FindPortCause(said.loop), PortCause, client=client.address)
        said = said.with_cause(found.cause, found.unknown)
    return answer_json(said)
