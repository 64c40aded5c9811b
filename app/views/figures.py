"""Links in other people's pages: previews with a picture, oEmbed, and their content as text."""

from __future__ import annotations

import re

import msgspec
from flask import Blueprint, Response, make_response, render_template, request, url_for

from app.artifacts import Workspace
from app.errors import InvalidBody, NotFound, RequestError, Unbuildable
from app.jobs.answers import StoredAnswer
from app.panes.card import HEIGHT as CARD_HEIGHT
from app.panes.card import WIDTH as CARD_WIDTH
from app.panes.texts import TEXT_PANES
from app.services import current_services
from app.store.links import OpenedLink
from app.views.api import answer_json
from app.views.explorer import title_of, words_of
from app.views.opening import opened
from app.web.requests import current_client
from app.web.spooling import spooled
from app.workers.tasks import DrawCard, FindText, FoundText, Picture, TextChoice

bp = Blueprint("figures", __name__)
CARD_SECONDS = 3600
"""How long a picture of a link may be kept by others."""
WIDTH, HEIGHT = 960, 640
"""Pixels of an embedded link, where the page that embeds it names no maximum."""
SMALLEST = 200
_LINK = re.compile(r"/z/(?P<link>[a-z0-9]{1,40})/?(?:[?#].*)?\Z", re.ASCII)


class Embedding(msgspec.Struct, frozen=True, kw_only=True):
    """What oEmbed says of a link: https://oembed.com."""

    version: str = "1.0"
    type: str = "rich"
    provider_name: str = "Strata"
    provider_url: str
    title: str
    html: str
    width: int
    height: int
    thumbnail_url: str
    thumbnail_width: int = CARD_WIDTH
    thumbnail_height: int = CARD_HEIGHT


@bp.get("/oembed")
def oembed() -> Response:
    """How a page shows a link, as it asks if it is given nothing but the link's address."""
    if request.args.get("format", "json") != "json":
        raise NotInThisFormat("oEmbed is answered in JSON here", expected="format=json")
    base, asked = request.host_url, request.args.get("url", "")
    found = _LINK.match(asked, len(base) - 1) if asked.startswith(base) else None
    if found is None:
        raise NotFound("this is no link of this server", field="url", expected=f"{request.host_url}z/…")
    with opened(found["link"]) as content:
        title = title_of(content.state.workspace.script) or "A tensor program"
    width, height = _size("maxwidth", WIDTH), _size("maxheight", HEIGHT)
    source = url_for("explorer.open_link", link=found["link"], view="embed", _external=True)
    html = render_template("_embedded.html", source=source, title=title, width=width, height=height)
    return answer_json(
        Embedding(
            provider_url=request.host_url,
            title=title,
            html=html.strip(),
            width=width,
            height=height,
            thumbnail_url=url_for("figures.card", link=found["link"], _external=True),
        )
    )


class NotInThisFormat(RequestError):
    """An answer in another format is asked for."""

    status, code = 501, "not_implemented"


def _size(name: str, most: int) -> int:
    text = request.args.get(name, str(most))
    if not text.isdecimal() or len(text) > 6:
        raise InvalidBody(f"{name} is {text[:40]!r}", field=name, expected="a number of pixels")
    return max(SMALLEST, min(most, int(text)))


@bp.get("/z/<link>/card.png")
def card(link: str) -> Response:
    """The picture of a link in previews: its title, its loops or operators, and how fast it was."""
    services, client = current_services(), current_client()
    kept = f"public, max-age={CARD_SECONDS}"
    with opened(link) as content:
        picture = services.cards.get(link)
        if picture is None:
            script, answer = content.state.workspace.script, _answer_of(content.state.workspace)
            task = DrawCard(script, title_of(script), words_of(script), content.state.view)
            answers = [answer] if answer is not None else []
            picture = services.renderer.perform(task, Picture, answers, client.address).content
            if answer is not None:
                services.cards.keep(link, picture)
            else:
                kept = "no-store"  # the next one who asks may find the time to compile it
    response = make_response(picture)
    response.content_type = "image/png"
    response.headers["Cache-Control"] = kept
    return response


def _answer_of(workspace: Workspace) -> StoredAnswer | None:
    """Return what a workspace compiles to, from the cache where it is there; None where there is no time for it."""
    compiler = current_services().compiler
    try:
        return compiler.cached(workspace) or compiler.compile(workspace, current_client())
    except RequestError:
        return None


@bp.get("/z/<link>/code")
@bp.get("/z/<link>/raw")
def raw(link: str) -> Response:
    """The script of a link."""
    with opened(link) as content:
        return _text([content.state.workspace.script])


@bp.get("/z/<link>/json")
def as_json(link: str) -> Response:
    """The content of a link as JSON, as ``GET /api/links/<id>`` returns it."""
    with opened(link) as content:
        return spooled([msgspec.json.encode(content)], "application/json")


@bp.get("/z/<link>/plain")
def plain(link: str) -> Response:
    """The script of a link, and every text that it compiles to now."""
    with opened(link) as content:
        workspace = content.state.workspace
        parts = [_head(content), workspace.script.rstrip("\n") + "\n"]
        answer = current_services().compiler.compile(workspace, current_client())
        for pane in TEXT_PANES:
            task = FindText(TextChoice(pane=pane), workspace.options)
            try:
                told = current_services().renderer.perform(task, FoundText, [answer], current_client().address)
            except Unbuildable:  # a schedule has no graph, for example
                continue
            parts.append(_titled(pane, told.text))
            if not told.text:
                problems = "".join(f"{each.kind}, line {each.line}: {each.message}\n" for each in told.problems)
                return _text([*parts[:-1], _titled("errors", problems)])
        return _text(parts)


def _head(content: OpenedLink) -> str:
    address = url_for("explorer.open_link", link=content.id, _external=True)
    return f"# {address}\n# made with Strata {content.compiler} on {content.cpu}\n\n"


def _titled(pane: str, text: str) -> str:
    title = TEXT_PANES[pane].title if pane in TEXT_PANES else pane.capitalize()
    return f"\n# ---- {title} ----\n\n{text}"


def _text(parts: list[str]) -> Response:
    response = make_response(spooled((part.encode() for part in parts), "text/plain"))
    response.headers["X-Robots-Tag"] = "noindex"
    return response
