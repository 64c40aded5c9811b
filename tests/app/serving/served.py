"""A server in a thread of the test, and clients that speak HTTP byte by byte."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPResponse
from typing import Any

from flask import Flask

from app.services import services_of
from app.serving.bounds import Bounds
from app.serving.server import Server

ANY = "/robots.txt"
"""What is answered without the database, which a busy machine may keep from answering in time, and without scripts."""


@contextmanager
def served(app: Flask, bounds: Bounds | None = None, **settings: object) -> Iterator[Server]:
    """Serve an application while the block runs, on a free port unless the settings name one."""
    import msgspec

    services = services_of(app)
    config = msgspec.structs.replace(services.config, **{"port": 0, **settings})
    server = Server(app, config, services.memory, bounds)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(20)


@dataclass
class Got:
    """A response that was read to its end."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body's JSON."""
        return json.loads(self.body)


class Client:
    """A connection to a server."""

    def __init__(self, server: Server) -> None:
        self.socket = socket.create_connection(server.where, timeout=30)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, *lines: str | bytes, body: bytes = b"") -> Client:
        """Send a request's lines, and its body."""
        encoded = [line.encode() if isinstance(line, str) else line for line in lines]
        self.socket.sendall(b"\r\n".join([*encoded, b"", b""]) + body)
        return self

    def get(self, path: str, method: str = "GET") -> Got:
        """Send a request without a body and return its response."""
        self.send(f"{method} {path} HTTP/1.1", "Host: localhost")
        return self.read(method)

    def post(self, path: str, value: object) -> Got:
        """Send JSON and return the response."""
        return self.post_later(path, value).read()

    def post_later(self, path: str, value: object) -> Client:
        """Send JSON."""
        body = json.dumps(value).encode()
        length = f"Content-Length: {len(body)}"
        return self.send(
            f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", length, body=body
        )

    def read(self, method: str = "GET") -> Got:
        """Read a response to its end."""
        response = HTTPResponse(self.socket, method=method)
        response.begin()
        return Got(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())

    def closed(self) -> bool:
        """Wait until the server has closed the connection, which has nothing more to say."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True
