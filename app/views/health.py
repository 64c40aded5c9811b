"""The health check."""

from __future__ import annotations

import logging
from typing import Literal

import msgspec
from flask import Blueprint, Response
from sqlalchemy.exc import SQLAlchemyError

import compiler
from app.services import current_services
from app.views.api import answer_json
from app.web.openapi import json_of, operation

log = logging.getLogger(__name__)
bp = Blueprint("health", __name__)


class Sandboxing(msgspec.Struct, frozen=True, kw_only=True):
    """How scripts are isolated."""

    tier: str
    mechanisms: list[str]
    missing: dict[str, str]
    """Why each missing mechanism is missing."""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Load of a queue: jobs that run, and requests that wait."""

    running: int
    waiting: int


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """State of the server."""

    status: Literal["ok", "failing"]
    version: str
    sandbox: Sandboxing
    links: Literal["ok", "failing"]
    compiling: Load
    measuring: Load


@bp.get("/healthz")
@operation(answers={200: json_of(Health), 503: json_of(Health)})
def healthz() -> Response:
    """Say whether the server works, how strictly it isolates scripts, and how busy it is."""
    services = current_services()
    tier = services.runner.tier
    links: Literal["ok", "failing"] = "ok"
    try:
        services.links.check()
    except SQLAlchemyError:
        log.exception("the database of the links does not answer")
        links = "failing"
    health = Health(
        status=links,
        version=compiler.__version__,
        sandbox=Sandboxing(
            tier=tier.name, mechanisms=sorted(tier.mechanisms), missing=dict(sorted(tier.reasons.items()))
        ),
        links=links,
        compiling=Load(running=services.compiling.held, waiting=services.compiling.waiting),
        measuring=Load(running=services.measuring.held, waiting=services.measuring.waiting),
    )
    return answer_json(health, 200 if links == "ok" else 503)
