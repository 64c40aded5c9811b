"""What browsers, search engines and finders of holes look for at fixed addresses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from flask import Blueprint, Response, current_app, request, send_from_directory

from app.errors import NotFound
from app.services import current_services

bp = Blueprint("site", __name__)
ROBOTS = """\
User-agent: *
Disallow: /api/
Disallow: /mcp
Disallow: /metrics
Disallow: /panes
Disallow: /run
"""
"""Links are not forbidden, as previews of them would be; their pages ask not to be listed."""
VALID = timedelta(days=180)


@bp.get("/robots.txt")
def robots() -> Response:
    """What crawlers should leave alone."""
    return Response(ROBOTS, mimetype="text/plain")


@bp.get("/favicon.ico")
def favicon() -> Response:
    """The icon, for what asks for it without reading the page."""
    response = send_from_directory(Path(current_app.root_path) / "static" / "img", "favicon.ico", conditional=True)
    response.headers["Cache-Control"] = "public, max-age=86400"
    return response


@bp.get("/embed.js")
def embedding() -> Response:
    """The script of ``<strata-view src=…>``, which pages of other sites load from an address that stays."""
    response = send_from_directory(Path(current_app.root_path) / "static", "embed.js", conditional=True)
    response.headers["Cache-Control"] = "public, max-age=3600"
    return response


@bp.get("/.well-known/security.txt")
def security() -> Response:
    """Whom to tell of a hole in this server (RFC 9116).

    Raises
    ------
    NotFound
        If the operator has named nobody.
    """
    contact = current_services().config.contact
    if not contact:
        raise NotFound("the operator of this server has named no contact (STRATA_CONTACT)")
    host = request.host_url.rstrip("/")
    expires = (datetime.now(UTC) + VALID).strftime("%Y-%m-%dT00:00:00Z")
    lines = (
        f"Contact: {contact}",
        f"Expires: {expires}",
        "Preferred-Languages: en",
        f"Canonical: {host}/.well-known/security.txt",
        f"Policy: {host}/docs/security",
    )
    return Response("".join(f"{line}\n" for line in lines), mimetype="text/plain")
