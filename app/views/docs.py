"""The pages of documentation, and the search over them."""

from __future__ import annotations

from flask import Blueprint, current_app, render_template, request, url_for

from app import __version__
from app.docs import Library, search
from app.errors import NotFound
from app.web.api_reference import routes_of
from app.web.openapi import describe
from app.web.other_sites import allowed_in

MAX_QUERY = 200

bp = Blueprint("docs", __name__)
_library = Library(lambda path: url_for("static", filename=path))


@bp.get("/docs")
def index() -> str:
    """All pages, or with ``?q=`` the sections that have the words."""
    query = request.args.get("q", "")[:MAX_QUERY].strip()
    pages = _library.pages
    hits = search(pages.values(), query) if query else []
    return render_template("docs.html", pages=pages.values(), page=None, query=query, hits=hits)


@bp.get("/docs/api")
def api() -> str:
    """The routes of the API, with examples that run from the page."""
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    return render_template(
        "docs_api.html",
        pages=_library.pages.values(),
        page=None,
        query="",
        routes=routes_of(describe(app, __version__)),
        other_sites=sorted(allowed_in(app)),
        host=request.host_url.rstrip("/"),
    )


@bp.get("/docs/<name>")
def show(name: str) -> str:
    """One page."""
    page = _library.pages.get(name)
    if page is None:
        raise NotFound(f"there is no page {name!r} in the documentation", field="name")
    return render_template("docs.html", pages=_library.pages.values(), page=page, query="", hits=[])
