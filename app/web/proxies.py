"""Trusted proxies, whose headers determine the client and the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from werkzeug.middleware.proxy_fix import ProxyFix

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


def behind(proxies: int, application: WSGIApplication) -> WSGIApplication:
    """Wrap an application to trust the headers of the given number of proxies, counted from the server."""
    return ProxyFix(application, x_for=proxies, x_proto=proxies, x_host=proxies) if proxies else application
