"""Trusted proxies, whose headers determine the client and the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from werkzeug.middleware.proxy_fix import ProxyFix

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


def behind(proxies: int, application: WSGIApplication) -> WSGIApplication:
    """Return an application that believes so many proxies, counted from the server, and nobody beyond them."""
    return ProxyFix(application, x_for=proxies, x_proto=proxies, x_host=proxies) if proxies else application
