"""The pages of documentation, and the search over them."""

from __future__ import annotations

from flask import Blueprint, render_template, request, url_for

from app.docs import Library, search
from app.errors import NotFound

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


@bp.get("/docs/<name>")
def show(name: str) -> str:
    """One page."""
    page = _library.pages.get(name)
    if page is None:
        raise NotFound(f"there is no page {name!r} in the documentation", field="name")
    return render_template("docs.html", pages=_library.pages.values(), page=page, query="", hits=[])
