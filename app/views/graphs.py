"""Drawings of graphs, by content hash."""

from __future__ import annotations

from typing import cast, get_args

from flask import Blueprint, Response, current_app, make_response, render_template, request
from flask.blueprints import BlueprintSetupState

from app.artifacts import Answer
from app.errors import NotFound
from app.graphs.drawings import Drawings
from app.graphs.folding import Folding

bp = Blueprint("graphs", __name__)
DRAWINGS = "strata.drawings"


@bp.record_once
def _prepare(state: BlueprintSetupState) -> None:
    state.app.extensions[DRAWINGS] = Drawings()


def remember(answer: Answer) -> None:
    """Remember the drawings of an answer, which the page asks for by key."""
    _drawings().add(answer)


def _drawings() -> Drawings:
    return cast(Drawings, current_app.extensions[DRAWINGS])


@bp.get("/graph/<key>")
def graph(key: str) -> Response:
    """A graph after one pass, as an SVG drawing; what earlier passes drew keeps its place."""
    folding = request.args.get("fold", "")
    if folding not in get_args(Folding):
        raise NotFound(f"there is no way {folding!r} to fold a graph")
    drawing = _drawings().get(key, cast(Folding, folding))
    if drawing is None:
        raise NotFound("this drawing has expired; compile again to see it")
    response = make_response(render_template("panes/_graph.html", graph=drawing))
    response.headers["Cache-Control"] = "private, max-age=3600, immutable"
    return response
