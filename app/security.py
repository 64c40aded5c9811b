"""What every request passes through: who may send it, how often, and what browsers may do with the answer."""

from __future__ import annotations

import secrets
import time
from urllib.parse import urlsplit

from flask import Flask, Response, g, request
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from app.clients import present_client
from app.errors import Busy, Forbidden

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

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


def csp_nonce() -> str:
    """Return the present answer's nonce, for the few scripts and styles that a page must contain."""
    if "csp_nonce" not in g:
        g.csp_nonce = secrets.token_urlsafe(16)
    nonce: str = g.csp_nonce
    return nonce


def allow_embedding() -> None:
    """Let pages of other sites show the present answer in a frame."""
    g.frame_ancestors = "*"


def _refuse_other_sites() -> None:
    """Let only this site's own pages, and programs, change anything.

    Browsers say where a request comes from; programs say nothing and hold no cookies that could be misused.
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


class _RateLimit:
    """Counts the requests of each client that make work."""

    def __init__(self, per_minute: int) -> None:
        self._limit = RateLimitItemPerMinute(per_minute)
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    def __call__(self) -> None:
        if request.method in SAFE:
            return
        address = present_client().address
        if not self._limiter.hit(self._limit, address):
            reset = self._limiter.get_window_stats(self._limit, address).reset_time
            raise Busy(
                f"more than {self._limit.amount} requests a minute",
                expected=f"at most {self._limit.amount} a minute",
                retry_after=max(1, round(reset - time.time())),
            )


def _guard(response: Response) -> Response:
    ancestors = g.get("frame_ancestors", "'self'")
    policy = "; ".join(f"{directive} {sources}" for directive, sources in POLICY.items())
    policy = policy.format(nonce=csp_nonce(), ancestors=ancestors)
    response.headers.setdefault("Content-Security-Policy", policy)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def install(app: Flask, per_minute: int) -> None:
    """Guard an application.

    Parameters
    ----------
    app : Flask
    per_minute : int
        Requests that make work a client may send a minute; 0 means any number.
    """
    app.before_request(_refuse_other_sites)
    if per_minute:
        app.before_request(_RateLimit(per_minute))
    app.after_request(_guard)
    app.add_template_global(csp_nonce)
