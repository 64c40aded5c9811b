"""The WSGI environment of a request, and its client."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes, urlsplit

import h11

from app.errors import MalformedBody, RequestError
from app.jobs.clients import network_of
from app.spool import Spool
from app.web.proxies import behind

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

Address = tuple[str, int]


def make_environ(request: h11.Request, client: Address, server: Address) -> WSGIEnvironment:
    """Return the WSGI environment of a request, without its body.

    Headers whose names have underscores are dropped: WSGI cannot tell them from those with hyphens, of which a proxy
    removes the forged ones.

    Raises
    ------
    RequestError
        The target is neither a path nor an address of the host that the request names, or the body's length is given
        in two ways.
    """
    path, query, authority = _split(request.target.decode("latin-1"))
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": request.method.decode("ascii"),
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "SERVER_PROTOCOL": f"HTTP/{request.http_version.decode('ascii')}",
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1]),
        "REMOTE_ADDR": client[0],
        "REMOTE_PORT": str(client[1]),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "wsgi.input_terminated": True,
    }
    for raw_name, raw_value in request.headers:
        name, value = raw_name.decode("ascii"), raw_value.decode("latin-1")
        if "_" in name:
            continue
        key = name.upper().replace("-", "_")
        key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
        if key in environ:
            value = f"{environ[key]}{'; ' if key == 'HTTP_COOKIE' else ','}{value}"
        environ[key] = value
    if authority is not None and authority.lower() != environ.get("HTTP_HOST", "").lower():
        raise RequestError("the target of the request is at another host than its Host header", expected="one host")
    if "HTTP_TRANSFER_ENCODING" in environ and "CONTENT_LENGTH" in environ:
        raise MalformedBody("the body's length is given in two ways", expected="Content-Length or Transfer-Encoding")
    return environ


def _split(target: str) -> tuple[str, str, str | None]:
    """Return path and query of a request's target, and the host with its port if it is a whole address."""
    authority = None
    if not target.startswith("/"):
        if not target.startswith(("http://", "https://")):
            raise RequestError("the target of the request is not a path", expected="a path, as in /api/compile")
        parts = urlsplit(target)
        authority = parts.netloc
        target = (parts.path or "/") + ("?" + parts.query if parts.query else "")
    path, _, query = target.partition("?")
    return path, query, authority


def add_body(environ: WSGIEnvironment, body: Spool) -> None:
    """Add a body that has come completely, whose length is thereby known."""
    environ.pop("HTTP_TRANSFER_ENCODING", None)
    environ["CONTENT_LENGTH"] = str(body.size)
    environ["wsgi.input"] = body.rewind()


def client_reader(proxies: int) -> Callable[[WSGIEnvironment], str]:
    """Return a function from an environment to the client that sent the request, as the application will name it.

    Parameters
    ----------
    proxies : int
        Trusted proxies in front of the server.
    """

    def nothing(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        return ()

    believe = behind(proxies, nothing)

    def client_of(environ: WSGIEnvironment) -> str:
        own = dict(environ)
        believe(own, lambda status, headers, exc_info=None: lambda data: None)
        return network_of(own["REMOTE_ADDR"])

    return client_of
