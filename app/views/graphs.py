"""Drawings of graphs, by content hash."""

from __future__ import annotations

from typing import cast, get_args

from flask import Blueprint, Response, make_response, request
from markupsafe import Markup

from app.errors import NotFound, Overrun, RequestError
from app.graphs.folding import Folding
from app.panes.cycles import MeasuredCall
from app.services import current_services
from app.views.api import answer_json
from app.views.explorer import FRAGMENT_HEADER, for_ever, having, render
from app.web.requests import current_client
from app.workers.tasks import FindLoopFigures, LoopFigures, RenderFlow, RenderGraph, RenderNode, RenderThroughput

bp = Blueprint("graphs", __name__)
MAX_KEY = 64
"""Maximum length of a drawing's key."""
MAX_FUNCTION_NAME = 400
"""Maximum length of a function name."""


@bp.get("/graph/<key>")
def graph(key: str) -> Response:
    """A graph after one pass as SVG, with node positions shared with ``last``, the graph's last drawing.

    ``with`` names another graph's drawing: both are drawn as one, with what is added, removed and changed.
    """
    last = request.args.get("last", key)
    try:
        return for_ever(render(RenderGraph(key, _folding(), last, _other()), [having(last)]))
    except Overrun as error:
        return sentence(error)


def _other() -> str:
    """Return the key of the drawing that one is compared with."""
    return request.args.get("with", "")[:MAX_KEY]


def _folding() -> Folding:
    folding = request.args.get("fold", "")
    if folding not in get_args(Folding):
        raise NotFound(f"there is no folding {folding!r}")
    return cast(Folding, folding)


@bp.get("/graph/<key>/<int:slot>")
def node(key: str, slot: int) -> Response:
    """The details of a node of a graph after one pass: attributes, weights, neighbours, origin, cost."""
    last = request.args.get("last", key)
    response = make_response(render(RenderNode(key, _folding(), last, slot, _other()), [having(last)]))
    response.headers["Cache-Control"] = "no-store"  # a run measures its kernels
    return response


@bp.get("/flow/<key>")
def flow(key: str) -> Response:
    """The control-flow graph of a function of a listing as SVG; by default of the one with the deepest loop."""
    function = request.args.get("function", "")[:MAX_FUNCTION_NAME]
    answer = having(key)
    try:
        return for_ever(render(RenderFlow(key, function), [answer]))
    except (NotFound, Overrun) as error:
        return sentence(error)


@bp.get("/throughput/<key>")
def throughput(key: str) -> Response:
    """The throughput of the hot loop of an assembly listing, by LLVM's scheduling model of its target."""
    function, assembly = (request.args.get(name, "")[:MAX_FUNCTION_NAME] for name in ("function", "assembly"))
    asked = RenderThroughput(key, function, assembly, MeasuredCall.read(request.args))
    response = make_response(render(asked, [having(key)]))
    response.headers["Cache-Control"] = "no-store"  # the tool may be installed later
    return response


@bp.get("/hot-loop/<key>")
def hot_loop(key: str) -> Response:
    """The figures of the hot loop of an assembly listing: instructions, vector width, spills, cycles by a model."""
    answer, services = having(key), current_services()
    asked = FindLoopFigures(key, request.args.get("assembly", "")[:MAX_FUNCTION_NAME])
    return answer_json(services.renderer.perform(asked, LoopFigures, [answer], current_client().address))


def sentence(error: RequestError) -> Response:
    """Return the message that the pane shows instead of the drawing."""
    words = Markup('<p class="empty">This graph cannot be drawn: {}</p>').format(error.message)
    response = make_response(words, error.status)
    response.headers[FRAGMENT_HEADER] = "refused"
    return response
