"""Security of requests and responses: origin check, rate limit, headers."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from urllib.parse import urlsplit

from flask import Flask, Response, g, request
from limits import RateLimitItemPerMinute
from werkzeug.exceptions import SecurityError

from app.errors import Forbidden
from app.web.hosts import host_check
from app.web.rates import Rate
from app.web.requests import current_client

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

POLICY = {
    "default-src": "'none'",
    "script-src": "'self' 'nonce-{nonce}'",
    "style-src": "'self' 'nonce-{nonce}'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "worker-src": "'self'",
    "manifest-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "{ancestors}",
}
"""The Content-Security-Policy, directive by directive."""

ANYWHERE = "* file: vscode-webview:"
"""Where embedded views may stand: `*` means sites; slides are opened from files, and notebooks stand in editors."""

COSTS = {"api.start_ladder": 10, "api.measure": 20, "webgpu.prepare": 10, "classes.create": 100, "exports.export": 5}
"""Requests that one counts as, by its endpoint: what starts processes, or stays in memory."""

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


def csp_nonce() -> str:
    """Return the current response's nonce, for the few scripts and styles that a page must contain."""
    if "csp_nonce" not in g:
        g.csp_nonce = secrets.token_urlsafe(16)
    nonce: str = g.csp_nonce
    return nonce


def allow_embedding() -> None:
    """Let pages of other sites, slides and notebooks show the current response in a frame."""
    g.frame_ancestors = ANYWHERE


def _refuse_other_sites() -> None:
    """Reject requests with side effects that a page of another site sends.

    Browsers declare the origin of a request; programs do not, and hold no cookies that could be misused.
    """
    if request.method in SAFE:
        return
    site = request.headers.get("Sec-Fetch-Site")
    origin = request.headers.get("Origin")
    foreign = site not in (None, "same-origin", "none")
    if site is None and origin is not None:
        foreign = urlsplit(origin).netloc != request.host
    if foreign:
        raise Forbidden("this request was sent by a page of another site", expected="a page of this site")


def _guard(response: Response) -> Response:
    ancestors = g.get("frame_ancestors", "'self'")
    policy = "; ".join(f"{directive} {sources}" for directive, sources in POLICY.items())
    policy = policy.format(nonce=csp_nonce(), ancestors=ancestors)
    response.headers.setdefault("Content-Security-Policy", policy)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def install(app: Flask, per_minute: int, trusted_hosts: Collection[str] | None) -> None:
    """Guard an application.

    Parameters
    ----------
    app : Flask
    per_minute : int
        Requests with side effects that a client may send a minute; 0 means any number.
    trusted_hosts : collection of str or None
        Host names that are answered to; None means any.
    """
    trusts = host_check(trusted_hosts)

    def refuse_other_hosts() -> None:
        if not trusts(request.host):
            raise SecurityError

    app.before_request(refuse_other_hosts)
    app.before_request(_refuse_other_sites)
    if per_minute:
        rate = Rate(RateLimitItemPerMinute(per_minute), "requests")

        def limit() -> None:
            if request.method not in SAFE:
                rate.charge(current_client().address, COSTS.get(request.endpoint or "", 1))

        app.before_request(limit)
    app.after_request(_guard)
    app.add_template_global(csp_nonce)
