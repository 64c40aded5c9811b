"""What is asked about one function of a script: a trace, a program for the visitor's GPU, proposals, why it is slow."""

from __future__ import annotations

from typing import Annotated

from flask import Blueprint, Response
from msgspec import Meta

from app.causes import Why
from app.jobs.recorded_programs import GPUAnswer, TraceAnswer
from app.proposals import Proposed, Subject
from app.services import current_services
from app.views.api import answer_json
from app.web.openapi import json_of, operation
from app.web.requests import WorkspaceRequest, current_client, read_body
from app.workers.tasks import FindPortCause, PortCause

bp = Blueprint("functions", __name__)


class FunctionRequest(WorkspaceRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workspace, and one of its functions."""

    unit: Annotated[int, Meta(ge=-1, le=1_000)] = -1
    """Position among the functions of the script; -1 is the last one."""


@bp.post("/api/traces")
@operation(body=FunctionRequest, answers={200: json_of(TraceAnswer)}, stateless=True)
def trace() -> Response:
    """Trace the memory accesses of a function at a small size, with simulated caches."""
    asked = read_body(FunctionRequest)
    return answer_json(current_services().programs.trace(asked.workspace, current_client(), asked.unit))


class GPURequest(FunctionRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workspace, and the function to run on the visitor's GPU."""

    prefixes: bool = False
    """Whether to run every prefix of its schedule, instead of only the complete one."""


@bp.post("/api/webgpu")
@operation(body=GPURequest, answers={200: json_of(GPUAnswer)}, stateless=True)
def prepare() -> Response:
    """Return the WGSL kernels of a function, with their launches and expected results on random inputs."""
    asked = read_body(GPURequest)
    programs = current_services().programs
    return answer_json(programs.prepare(asked.workspace, current_client(), asked.unit, asked.prefixes))


class ProposalRequest(WorkspaceRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workspace, and the loop or stage to propose primitives for."""

    subject: Subject


@bp.post("/api/proposals")
@operation(body=ProposalRequest, answers={200: json_of(Proposed)}, stateless=True)
def propose() -> Response:
    """Propose primitives for a loop or stage, tried on its schedule: each with its edit, or why it fails."""
    asked = read_body(ProposalRequest)
    return answer_json(current_services().proposer.propose(asked.workspace, current_client(), asked.subject))


@bp.post("/api/why")
@operation(body=FunctionRequest, answers={200: json_of(Why)}, stateless=True)
def why() -> Response:
    """Say why a function takes its time: ranked causes with their shares, lines and remedies, by models of its loops.

    A remedy is a primitive that was tried on the schedule; `gain` is predicted, not measured.
    """
    asked = read_body(FunctionRequest)
    services, client = current_services(), current_client()
    said = services.proposer.explain(asked.workspace, client, asked.unit)
    if said.loop is not None:
        found = services.renderer.perform(FindPortCause(said.loop), PortCause, client=client.address)
        said = said.with_cause(found.cause, found.unknown)
    return answer_json(said)
