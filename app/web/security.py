"""Security of requests and responses: origin check, rate limit, headers."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection
from urllib.parse import urlsplit

from flask import Flask, Response, g, request
from limits import RateLimitItemPerMinute
from werkzeug.exceptions import SecurityError

from app.errors import Forbidden
from app.web import other_sites
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
"""Allowed ancestors of embedded views: web sites, slides opened as files, and notebooks in editors."""

COSTS = {
    "api.start_ladder": 10,
    "api.measure": 20,
    "searches.start": 20,
    "functions.prepare": 10,
    "classes.create": 100,
    "exports.export": 5,
}
"""Rate limit cost by endpoint, for requests that start processes or occupy memory; 1 by default."""

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


def csp_nonce() -> str:
    """Return the nonce of the current response, for its inline scripts and styles."""
    if "csp_nonce" not in g:
        g.csp_nonce = secrets.token_urlsafe(16)
    nonce: str = g.csp_nonce
    return nonce


def allow_embedding() -> None:
    """Allow framing of the current response by other sites, slides and notebooks."""
    g.frame_ancestors = ANYWHERE


def _refuse_other_sites() -> None:
    """Reject cross-site requests with side effects.

    Browsers send the origin of a request; programs do not, and have no cookies that could be abused.
    """
    if request.method in SAFE:
        return
    site = request.headers.get("Sec-Fetch-Site")
    origin = request.headers.get("Origin")
    foreign = site not in (None, "same-origin", "none")
    if site is None and origin is not None:
        foreign = urlsplit(origin).netloc != request.host
    if foreign and "other_sites" not in g:
        raise Forbidden("this request was sent by a page of another site", expected="a page of this site")


def _guard(response: Response) -> Response:
    ancestors = g.get("frame_ancestors", "'self'")
    policy = "; ".join(f"{directive} {sources}" for directive, sources in POLICY.items())
    policy = policy.format(nonce=csp_nonce(), ancestors=ancestors)
    response.headers.setdefault("Content-Security-Policy", policy)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def install(
    app: Flask, per_minute: int, trusted_hosts: Collection[str] | None, origins: Collection[str] = frozenset()
) -> None:
    """Install the security checks and headers of an application.

    Parameters
    ----------
    per_minute : int
        Maximum number of requests with side effects per minute and client; 0 for no limit.
    trusted_hosts : collection of str or None
        Allowed host names; None for any.
    origins : collection of str
        Other sites whose pages may use the stateless routes; ``*`` for any.
    """
    trusts = host_check(trusted_hosts)

    def refuse_other_hosts() -> None:
        if not trusts(request.host):
            raise SecurityError

    app.before_request(refuse_other_hosts)
    other_sites.install(app, origins)
    app.before_request(_refuse_other_sites)
    if per_minute:
        rate = Rate(RateLimitItemPerMinute(per_minute), "requests")

        def limit() -> None:
            if request.method not in SAFE:
                g.charged = current_client().address
                rate.charge(g.charged, COSTS.get(request.endpoint or "", 1))

        def tell(response: Response) -> Response:
            if "charged" in g:
                response.headers["RateLimit-Policy"] = rate.policy
                response.headers["RateLimit"] = rate.standing(g.charged)
            return response

        app.before_request(limit)
        app.after_request(tell)
    app.after_request(_guard)
    app.add_template_global(csp_nonce)


def host_check(trusted: Collection[str] | None) -> Callable[[str], bool]:
    """Return whether the host of a request, optionally with a port, is trusted.

    Parameters
    ----------
    trusted : collection of str or None
        Names and addresses, IPv6 ones with or without brackets; a name with a leading dot matches all subdomains.
        None for any.
    """
    if trusted is None:
        return lambda host: True
    names = frozenset(_name_of(one) for one in trusted)
    suffixes = tuple(name for name in names if name.startswith("."))

    def check(host: str) -> bool:
        name = _name_of(host)
        return name in names or ("." + name).endswith(suffixes)

    return check


def _name_of(host: str) -> str:
    """Return a host without port and brackets, in lower case and ASCII."""
    if host.startswith("["):
        name = host[1:].partition("]")[0]
    else:
        name = host if host.count(":") > 1 else host.partition(":")[0]
    try:
        return name.lower().encode("idna").decode("ascii")
    except UnicodeError:
        return name.lower()
