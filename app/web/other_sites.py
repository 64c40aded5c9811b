"""Pages of other sites, which browsers let use the routes that CORS headers open to them.

Only stateless routes are, and never with credentials: the server has none, and a page of another site that makes a
browser send some learns nothing more.
"""

from __future__ import annotations

from collections.abc import Collection

from flask import Flask, Response, current_app, g, request
from werkzeug.exceptions import HTTPException

from app.web.openapi import is_stateless

ANY = "*"
EXTENSION = "other sites"
MAX_AGE_SECONDS = 24 * 3600
READABLE = "RateLimit, RateLimit-Policy, Retry-After, X-Request-ID"
"""Headers of responses that a page of another site may read."""


def install(app: Flask, origins: Collection[str]) -> None:
    """Open the stateless routes of an application to pages of other sites.

    Parameters
    ----------
    origins
        Those sites, such as ``https://course.example``; ``*`` for any.
    """
    allowed = app.extensions[EXTENSION] = frozenset(origin.rstrip("/") for origin in origins)

    def admit() -> None:
        origin = request.headers.get("Origin", "")
        method = request.headers.get("Access-Control-Request-Method") or request.method
        if (ANY in allowed or origin in allowed) and _is_open(method):
            g.other_sites = ANY if ANY in allowed else origin

    def tell(response: Response) -> Response:
        if allowed and ANY not in allowed:
            response.vary.add("Origin")
        if "other_sites" not in g:
            return response
        response.headers["Access-Control-Allow-Origin"] = g.other_sites
        response.headers["Access-Control-Expose-Headers"] = READABLE
        if request.method == "OPTIONS":
            response.headers["Access-Control-Allow-Methods"] = ", ".join(sorted(response.allow))
            response.headers["Access-Control-Allow-Headers"] = "Content-Type, Last-Event-ID"
            response.headers["Access-Control-Max-Age"] = str(MAX_AGE_SECONDS)
        return response

    if allowed:
        app.before_request(admit)
        app.after_request(tell)


def allowed_in(app: Flask) -> frozenset[str]:
    """Return the other sites whose pages may use an application."""
    sites: frozenset[str] = app.extensions[EXTENSION]
    return sites


def _is_open(method: str) -> bool:
    """Return whether the route of the current path and a method, which a preflight asks about, is stateless."""
    try:
        endpoint, _ = current_app.url_map.bind("").match(request.path, method)
    except HTTPException:
        return False
    return is_stateless(current_app.view_functions[endpoint])
