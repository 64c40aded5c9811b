"""Exports: self-contained pages, and the text of panes."""

from __future__ import annotations

import re
import time
from functools import cache
from pathlib import Path

import msgspec
from flask import Blueprint, Response, current_app, render_template
from werkzeug.utils import secure_filename

from app.artifacts import Measurement
from app.built_files import FileSubject, kind_of
from app.panes.limits import MAX_MEASUREMENTS
from app.panes.selection import View
from app.services import current_services
from app.spool import Spool
from app.store.links import SharedState
from app.views.explorer import having, title_of
from app.web.openapi import Content, operation
from app.web.requests import WorkspaceRequest, current_client, read_body
from app.web.single_file import SingleFile
from app.workers.tasks import Html, RenderExport, TextFile, WriteListing

bp = Blueprint("exports", __name__)
_PIN = re.compile(r"(?P<pane>[a-z]{1,20}(-[0-9])?):(?P<index>\d{1,7})")


class ExportRequest(SharedState, frozen=True, kw_only=True, omit_defaults=True):
    """The content of a link, and measurements of it."""

    measurements: list[Measurement] = []
    """Measurements as sent by the client; if empty, those of the script are used."""


@bp.post("/api/export")
@operation(body=ExportRequest, answers={200: Content("text/html")}, stateless=True)
def export() -> Response:
    """Export a workspace as a self-contained page, which needs no server or network."""
    asked, services, client = read_body(ExportRequest), current_services(), current_client()
    workspace = asked.workspace
    answer = services.compiler.compile(workspace, client)
    task = RenderExport(
        script=workspace.script,
        options=workspace.options,
        view=View.read(msgspec.json.encode(asked.view).decode()),
        measurements=asked.measurements[:MAX_MEASUREMENTS],
    )
    title = title_of(workspace.script)
    html = render_template(
        "export.html",
        body=services.renderer.perform(task, Html, [answer], client.address).html,
        file=_single_file(current_app.root_path),
        title=title,
        workspace=workspace,
        here=services.links.made_with,
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        docking=asked.view.get("docking", ""),
        pinned=_pinned(asked.view.get("pin")),
    )
    return _attached(html, "text/html", f"{secure_filename(title)[:80] or 'strata'}.html")


@bp.get("/listings/<key>/file")
def file(key: str) -> Response:
    """Download the text of a pane: loop IR, LLVM IR, assembly, a graph."""
    services = current_services()
    written = services.renderer.perform(WriteListing(key), TextFile, [having(key)], current_client().address)
    return _attached(written.text, "text/plain", written.name)


class FileRequest(WorkspaceRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workspace, and the subject to build a file from."""

    file: FileSubject


@bp.post("/api/files")
@operation(body=FileRequest, answers={200: Content("application/octet-stream")}, stateless=True)
def build_file() -> Response:
    """Build a file from a function or model: a library, object code, C, LLVM IR, TVMScript."""
    asked, services = read_body(FileRequest), current_services()
    made = services.file_maker.make(asked.workspace, current_client(), asked.file)
    kind = kind_of(asked.file.form)
    return _attached(made.content, kind.media, (secure_filename(made.name)[:80] or "main") + kind.suffix)


def _pinned(pin: object) -> dict[str, str | int]:
    """Return the pane and line pinned in a view."""
    match = _PIN.fullmatch(pin) if isinstance(pin, str) else None
    return {"pane": match["pane"], "index": int(match["index"])} if match else {}


def _attached(content: str | Spool, media: str, name: str) -> Response:
    """Return a response as a download; a spool is closed after sending."""
    response = Response(content, mimetype=media, direct_passthrough=isinstance(content, Spool))
    if isinstance(content, Spool):
        response.content_length = content.size
    response.headers.set("Content-Disposition", "attachment", filename=name)
    response.headers["Cache-Control"] = "no-store"
    return response


@cache
def _single_file(root: str) -> SingleFile:
    return SingleFile.of(Path(root) / "static")
