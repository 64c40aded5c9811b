"""Size limits of request bodies, by route."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from flask import Flask
from werkzeug.exceptions import HTTPException

from app.config import MIB, Config

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

FORM_BYTES = 5 * MIB
"""Size limit of a form without files: the longest script in four-byte characters, and a margin."""
MESSAGES = "mcp.call"
"""The endpoint that receives scripts without files."""
UPLOADS = "api.upload"
"""The endpoint that receives large files."""


class BodyRule(NamedTuple):
    """The rule for request bodies of a route."""

    limit: int
    """Size limit in bytes."""
    held: bool
    """Whether the body is held in memory during the request, instead of being streamed."""


def body_rules(app: Flask, config: Config, bare_bytes: int) -> Callable[[WSGIEnvironment], BodyRule]:
    """Return a function that maps a WSGI environment to the rule of its route.

    Parameters
    ----------
    app : Flask
        The application, for its routes.
    bare_bytes : int
        Size limit of request bodies on routes that expect none.
    """
    in_base64 = config.files_bytes * 4 // 3
    workspace = BodyRule(min(config.body_bytes, in_base64 + FORM_BYTES), held=True)
    bare = BodyRule(min(config.body_bytes, bare_bytes), held=True)
    message = BodyRule(min(config.body_bytes, FORM_BYTES), held=True)
    upload = BodyRule(config.body_bytes, held=False)

    def rule(environ: WSGIEnvironment) -> BodyRule:
        method = environ["REQUEST_METHOD"]
        if method not in ("POST", "PUT", "PATCH"):
            return bare
        try:
            endpoint, _ = app.url_map.bind("localhost").match(environ["PATH_INFO"], method)
        except HTTPException:
            return bare
        return {UPLOADS: upload, MESSAGES: message}.get(endpoint, workspace)

    return rule
