"""The health check."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

import msgspec
from flask import Blueprint, Response

from app import __version__
from app.sandbox import Machine, RemoteRunner
from app.services import Services, current_services
from app.views.api import answer_json

bp = Blueprint("health", __name__)
SILENT = "the database of the links does not answer"
FULL_SHARE = 0.9
"""Fraction of the space for uploads beyond which the health is degraded."""


class Sandboxing(msgspec.Struct, frozen=True, kw_only=True):
    """The isolation of scripts."""

    tier: str
    mechanisms: list[str]
    missing: dict[str, str]
    """The reason for each missing mechanism."""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Load of a queue: running jobs and waiting requests."""

    running: int
    waiting: int


class StoredBackup(msgspec.Struct, frozen=True, kw_only=True):
    """The newest backup of the link database."""

    made: datetime
    links: int


class Storage(msgspec.Struct, frozen=True, kw_only=True):
    """Space for links and files."""

    free_bytes: int
    """Free disk space."""
    uploads_bytes: int
    """Disk usage of uploads."""
    uploads_limit: int
    """Limit on the disk usage of uploads."""
    backup: StoredBackup | None
    """The newest backup; None if there is none yet, or backups are made elsewhere."""


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """State of the server."""

    status: Literal["ok", "degraded", "failing"]
    """Status; a degraded server works, but needs attention."""
    problems: list[str]
    """Descriptions of the problems."""
    version: str
    sandbox: Sandboxing
    machines: list[Machine]
    """The machines that run scripts, if not the server's own."""
    links: Literal["ok", "damaged", "failing"]
    storage: Storage | None
    """None if the data directory cannot be read."""
    compiling: Load
    measuring: Load


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """Whether requests can be sent here."""

    ready: bool
    problems: list[str]
    """Why not."""


@bp.get("/readyz")
def readyz() -> Response:
    """Report whether this server can answer: its database does, and there is something that runs scripts."""
    services = current_services()
    problems = [SILENT] if _links(services) == "failing" else []
    problems += _problems_of_machines(services)
    return answer_json(Readiness(ready=not problems, problems=problems), 503 if problems else 200)


@bp.get("/healthz")
def healthz() -> Response:
    """Report the health of the server: isolation of scripts, storage, and load."""
    services = current_services()
    tier = services.runner.tier
    links = _links(services)
    storage = storage_of(services)
    problems = [
        *_problems_of_links(services, links),
        *_problems_of_storage(services, storage),
        *_problems_of_machines(services),
    ]
    status: Literal["ok", "degraded", "failing"] = "degraded" if problems else "ok"
    health = Health(
        status="failing" if links == "failing" else status,
        problems=problems,
        version=__version__,
        sandbox=Sandboxing(tier=tier.name, mechanisms=tier.active, missing=dict(sorted(tier.reasons.items()))),
        machines=services.runner.machines if isinstance(services.runner, RemoteRunner) else [],
        links=links,
        storage=storage,
        compiling=Load(running=services.compiling.held, waiting=services.compiling.waiting),
        measuring=Load(running=services.measuring.held, waiting=services.measuring.waiting),
    )
    return answer_json(health, 503 if links == "failing" else 200)


def _links(services: Services) -> Literal["ok", "damaged", "failing"]:
    if not services.liveness.answers():
        return "failing"
    return "ok" if services.links.damage is None else "damaged"


def storage_of(services: Services) -> Storage | None:
    """Return the space for links and files; None if the data directory cannot be read."""
    space, backups = services.uploads.space, services.links.backups
    try:
        free, newest = space.free, backups.newest if backups is not None else None
    except OSError:
        return None
    return Storage(
        free_bytes=free,
        uploads_bytes=space.used,
        uploads_limit=space.capacity,
        backup=StoredBackup(made=newest.made, links=newest.links) if newest is not None else None,
    )


def _problems_of_links(services: Services, links: str) -> Iterator[str]:
    if links == "failing":
        yield SILENT
    if services.links.damage is not None:
        yield f"{services.links.damage}; the log names the newest backup"


def _problems_of_storage(services: Services, storage: Storage | None) -> Iterator[str]:
    if storage is None:
        yield "the data directory cannot be read"
        return
    reserve = services.uploads.space.reserve
    if storage.free_bytes < reserve:
        yield f"the disk is full: {storage.free_bytes:,} bytes are free, fewer than {reserve:,}; files are refused"
    if storage.uploads_bytes > FULL_SHARE * storage.uploads_limit:
        yield f"stored files take {storage.uploads_bytes:,} of {storage.uploads_limit:,} bytes"


def _problems_of_machines(services: Services) -> Iterator[str]:
    if isinstance(services.runner, RemoteRunner) and not services.runner.machines:
        yield "the cluster has no machine: no script can run"
