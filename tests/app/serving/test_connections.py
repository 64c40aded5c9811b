"""Connections: silent, slow and greedy ones end, and others are served meanwhile."""

from __future__ import annotations

import select
import socket
from pathlib import Path

import msgspec
import pytest
from flask import Flask, Response, request

from app import create_app
from app.config import Config
from app.serving.bounds import Bounds
from app.serving.gateway import Gateway, RequestCaller
from app.serving.replies import Reply
from app.serving.server import Server
from tests.app.runners import ScriptedRunner
from tests.app.serving.served import ANY, Client, served

SILENT = 200


def test_silent_connections_leave_the_page_to_others(app: Flask) -> None:
    with served(app, Bounds(idle_seconds=600)) as server:
        silent = [Client(server) for _ in range(SILENT)]
        with Client(server) as client:
            assert client.get("/healthz").json["status"] == "ok"
            page = client.get("/")
        assert page.status == 200
        assert page.body.rstrip().endswith(b"</html>")
        for one in silent:
            one.socket.close()


@pytest.mark.parametrize("said", [b"", b"GET / HT", b"POST /api/compile HTTP/1.1\r\nHost: localhost\r\nContent-Le"])
def test_a_connection_that_does_not_say_what_it_wants_is_closed(app: Flask, said: bytes) -> None:
    with served(app, Bounds(idle_seconds=0.05, head_seconds=0.05)) as server, Client(server) as client:
        client.socket.sendall(said)
        if said:
            assert client.read().status == 408
        assert client.closed()


def test_a_connection_is_kept_for_the_next_request_and_closed_when_none_comes(app: Flask) -> None:
    with served(app, Bounds(idle_seconds=0.3)) as server, Client(server) as client:
        for _ in range(3):
            assert client.get(ANY).status == 200
        assert client.closed()


def test_a_slow_body_is_refused(app: Flask) -> None:
    with served(app, Bounds(grace_seconds=0.05)) as server, Client(server) as client:
        client.send("POST /api/compile HTTP/1.1", "Host: localhost", "Content-Length: 1000", body=b"{")
        refused = client.read()
        assert refused.status == 408
        assert "bytes a second" in refused.json["error"]["expected"]
        assert client.closed()


def test_a_reader_that_does_not_read_is_closed(app: Flask) -> None:
    @app.get("/large")
    def large() -> Response:
        return Response(b"x" * (64 << 20), mimetype="text/plain")

    with served(app, Bounds(grace_seconds=0.05, bytes_per_second=1 << 30)) as server, Client(server) as client:
        client.send("GET /large HTTP/1.1", "Host: localhost")
        ended = select.poll()
        ended.register(client.socket, select.POLLERR | select.POLLHUP)
        assert ended.poll(30_000), "the connection was reset while most of the response waited"


def test_a_new_connection_takes_the_place_of_the_oldest_that_is_idle(app: Flask) -> None:
    with served(app, Bounds(connections=3, idle_seconds=600)) as server:
        clients = [Client(server) for _ in range(3)]
        for client in clients:
            assert client.get(ANY).status == 200
        with Client(server) as another:
            assert another.get(ANY).status == 200
            assert clients[0].closed()
            assert clients[2].get(ANY).status == 200


def test_one_address_has_so_many_connections_and_no_more(app: Flask) -> None:
    with served(app, Bounds(connections_per_client=2, idle_seconds=600)) as server:
        first, second, third = Client(server), Client(server), Client(server)
        assert third.get(ANY).status == 200
        assert first.closed()
        assert second.get(ANY).status == 200


def test_behind_a_proxy_all_connections_come_from_it() -> None:
    assert Bounds.of(Config()).connections_per_client == 512
    assert Bounds.of(Config(proxies=1)).connections_per_client is None
    assert Bounds.of(Config(connections=100)).connections_per_client == 100


FORGED = "X-Forwarded-For: 6.6.6.6, 10.0.0.1, 10.0.0.2"


@pytest.mark.parametrize(
    ("proxies", "headers", "address"),
    [
        (0, [FORGED], "127.0.0.1"),
        (1, [FORGED], "10.0.0.2"),
        (1, ["X-Forwarded-For: 6.6.6.6", "X-Forwarded-For: 10.0.0.9"], "10.0.0.9"),
        (1, ["X_Forwarded_For: 6.6.6.6"], "127.0.0.1"),
        (1, [], "127.0.0.1"),
        (2, [FORGED], "10.0.0.1"),
        (2, ["X-Forwarded-For: 6.6.6.6"], "127.0.0.1"),
    ],
)
def test_so_many_proxies_are_believed_as_are_configured(
    tmp_path: Path, runner: ScriptedRunner, proxies: int, headers: list[str], address: str
) -> None:
    app = create_app({"DATA_DIR": tmp_path, "PROXIES": proxies}, runner)
    app.add_url_rule("/who", view_func=lambda: str(request.remote_addr))
    seen: list[str] = []
    handle = Gateway.handle

    async def note(self: Gateway, environ: dict[str, object], client: str, caller: RequestCaller) -> Reply:
        seen.append(client)
        return await handle(self, environ, client, caller)

    with pytest.MonkeyPatch.context() as patch, served(app) as server, Client(server) as client:
        patch.setattr(Gateway, "handle", note)
        answered = client.send("GET /who HTTP/1.1", "Host: localhost", *headers).read()
    assert answered.body.decode() == address
    assert seen == [address], "what is counted is what the application sees"


def test_it_listens_on_ipv6(app: Flask) -> None:
    with served(app, host="::1") as server, Client(server) as client:
        host, port = server.where
        assert server.address == f"http://[::1]:{port}/"
        client.send("GET /healthz HTTP/1.1", f"Host: [{host}]:{port}")
        assert client.read().status == 200
        client.send("GET /healthz HTTP/1.1", "Host: [::2]")
        assert client.read().status == 400


def test_a_port_that_is_taken_cannot_be_listened_on(app: Flask) -> None:
    with served(app) as server:
        taken = server.where[1]
        config = msgspec.structs.replace(app.extensions["strata"].config, port=taken)
        with pytest.raises(OSError, match="in use"):
            Server(app, config, app.extensions["strata"].memory)


def test_an_address_opens_so_many_connections_a_second(app: Flask) -> None:
    """What is refused is closed at once; another second, or another address, has its own."""
    with served(app, Bounds(opened_per_second=5)) as server:
        statuses = []
        for _ in range(12):
            with socket.create_connection(server.where, timeout=30) as connection:
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                statuses.append(_first_bytes(connection))
        assert b"HTTP/1.1 200" in statuses
        assert b"" in statuses
        with socket.create_connection(server.where, 30, ("127.0.0.9", 0)) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert _first_bytes(connection) == b"HTTP/1.1 200"


def _first_bytes(connection: socket.socket) -> bytes:
    try:
        return connection.recv(12)
    except ConnectionError:
        return b""
