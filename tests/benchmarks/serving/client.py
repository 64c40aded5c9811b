"""A client of the server with an address of its own: every address of 127.0.0.0/8 is another client."""

from __future__ import annotations

import http.client
import socket
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

HOST = "127.0.0.1"
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Reply:
    """A response that was read to its end."""

    status: int
    body: bytes
    headers: Mapping[str, str]
    seconds: float
    """From the attempt to connect to the last byte."""


def connect(port: int, address: str = HOST, timeout: float = 30.0) -> socket.socket:
    """Open a connection to the server from an address of this machine.

    Parameters
    ----------
    port : int
        The server's port on the loopback interface.
    address : str
        The client's address, such as ``127.0.0.17``.
    timeout : float
        Seconds that connecting and each later call may take.
    """
    return socket.create_connection((HOST, port), timeout, (address, 0))


def exchange(
    port: int,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    address: str = HOST,
    timeout: float = 30.0,
) -> Reply:
    """Send a request on a fresh connection and read the response.

    Parameters
    ----------
    port : int
    method, path : str
    body : bytes, optional
    headers : mapping, optional
    address : str
        The client's address.
    timeout : float
        Seconds that each read or write may take.

    Raises
    ------
    OSError
        The connection was refused, was cut, or took too long.
    http.client.HTTPException
        What came back is not a response.
    """
    started = time.monotonic()
    connection = http.client.HTTPConnection(HOST, port, timeout=timeout, source_address=(address, 0))
    try:
        connection.request(method, path, body, dict(headers or {}))
        response = connection.getresponse()
        content = response.read()
        return Reply(response.status, content, dict(response.getheaders()), time.monotonic() - started)
    finally:
        connection.close()


def json_body(value: object) -> bytes:
    """Return a value as the body of a JSON request."""
    return msgspec.json.encode(value)


def form(fields: Mapping[str, str], files: Mapping[str, bytes] | None = None) -> tuple[bytes, dict[str, str]]:
    """Return a form as a browser sends it: its body and headers.

    Parameters
    ----------
    fields : mapping
        Values by name.
    files : mapping, optional
        Content by field name, which is the file's name too.
    """
    boundary = uuid.uuid4().hex
    parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in fields.items()]
    body = "".join(parts).encode()
    for name, content in (files or {}).items():
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n\r\n'
        body += head.encode() + content + b"\r\n"
    return body + f"--{boundary}--\r\n".encode(), {"Content-Type": f"multipart/form-data; boundary={boundary}"}
