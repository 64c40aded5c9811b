"""Editor requests while typing: completions and documentation."""

from __future__ import annotations

import re
import threading
from typing import Annotated

import msgspec
from flask import Blueprint, Response, make_response, render_template
from markupsafe import Markup, escape
from msgspec import Meta

from app.editor.completions import completions, ranked
from app.editor.documentation import documentation
from app.editor.formatting import format_script
from app.errors import NotFound
from app.panes.highlighting import highlight
from app.services import current_services
from app.views.api import answer_json
from app.web.openapi import json_of, operation
from app.web.requests import current_client, read_body
from app.workers.tasks import InferType, TypeName

bp = Blueprint("editor", __name__)
_FORMATTERS = threading.BoundedSemaphore(2)
"""Each is a process."""
_CODE = re.compile(r"``(?P<literal>[^`]+)``|:\w+:`~?(?P<role>[^`]+)`|`(?P<plain>[^`]+)`")


@bp.app_template_filter()
def inline_markup(text: str) -> Markup:
    """Return a paragraph of reStructuredText as HTML: literals and references as code, everything escaped."""
    parts, end = [], 0
    for match in _CODE.finditer(text):
        code = match["literal"] or match["role"] or match["plain"]
        parts += [escape(text[end : match.start()]), Markup("<code>{}</code>").format(code)]
        end = match.end()
    return Markup("").join([*parts, escape(text[end:])])


class FormatRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A script to format."""

    script: Annotated[str, Meta(max_length=1_000_000)]


class Formatted(msgspec.Struct, frozen=True):
    """A script in ruff's style."""

    script: str


@bp.post("/api/format")
@operation(body=FormatRequest, answers={200: json_of(Formatted)}, stateless=True)
def format_() -> Response:
    """Format a script as ruff does; nothing of it runs."""
    asked = read_body(FormatRequest)
    with _FORMATTERS:
        return answer_json(Formatted(format_script(asked.script)))


class ExpressionEnd(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A script up to the end of an expression, and the rest of it."""

    text: Annotated[str, Meta(max_length=1_000_000)]
    rest: Annotated[str, Meta(max_length=1_000_000)] = ""


@bp.post("/types")
def type_of() -> Response:
    """Find out by reading what an expression is: the public name of its class, or its own."""
    services, asked = current_services(), read_body(ExpressionEnd)
    task = InferType(asked.text, asked.rest, services.stubs.name)
    found = services.renderer.perform(task, TypeName, client=current_client().address)
    return answer_json(found)


@bp.get("/completions/<name>")
def complete(name: str) -> Response:
    """The names that may follow a module or class and a dot, such as ``tvm.relay.nn``."""
    names = completions(name)
    if names is None:
        raise NotFound(f"there is no {name!r}")
    common = ranked(names, current_services().gallery.uses)
    return _kept(Response(msgspec.json.encode(common), mimetype="application/json"))


@bp.get("/documentation/<name>")
def document(name: str) -> Response:
    """The signature and documentation of a public name, such as ``tvm.te.Stage.split``."""
    described = documentation(name)
    if described is None:
        raise NotFound(f"there is no {name!r}")
    signature = highlight([described.name.rpartition(".")[2] + described.call], "python")[0]
    return _kept(make_response(render_template("_documentation.html", documentation=described, signature=signature)))


def _kept(response: Response) -> Response:
    """Return a response that browsers may keep for a while: names change with the compiler's version only."""
    response.headers["Cache-Control"] = "private, max-age=600"
    return response
