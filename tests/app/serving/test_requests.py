"""Requests over real connections: bodies, what HTTP asks for, and what it forbids."""

from __future__ import annotations

import json
import logging
import time

import pytest
from flask import Flask, request

from app.logs import request_id
from app.sandbox import Outcome
from app.sandbox.handler import EXIT_RAISED
from app.serving.bounds import Bounds
from tests.app.runners import Script, ScriptedRunner
from tests.app.serving.served import ANY, Client, served

JSON = "Content-Type: application/json"
HOST = "Host: localhost"
COMPILE = "POST /api/compile HTTP/1.1"


def chunked(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (*parts, b""))


def test_a_body_in_chunks_is_a_body(app: Flask) -> None:
    @app.post("/length")
    def length() -> str:
        return f"{request.content_length} {len(request.get_data())}"

    with served(app) as server, Client(server) as client:
        client.send("POST /length HTTP/1.1", HOST, "Transfer-Encoding: chunked", body=chunked(b"abc", b"d" * 40_000))
        assert client.read().body == b"40003 40003"
        client.send(COMPILE, HOST, JSON, "Transfer-Encoding: chunked", body=chunked(b'{"script": ', b'""}'))
        assert client.read().json["status"] == "ok"


@pytest.mark.parametrize("chunks", [True, False])
def test_a_body_larger_than_its_route_accepts_is_refused_before_it_is_read(app: Flask, chunks: bool) -> None:
    framing = "Transfer-Encoding: chunked" if chunks else "Content-Length: 200000"
    body = b"%x\r\n" % 200_000 + b"x" * 110_000 if chunks else b""
    with served(app) as server, Client(server) as client:
        client.send(COMPILE, HOST, JSON, framing, body=body)
        refused = client.read()
        assert refused.status == 413
        assert refused.json["error"] == {
            "code": "too_large",
            "message": "the request is larger than this server accepts",
            "field": None,
            "expected": "at most 100,000 bytes",
            "request": refused.headers["x-request-id"],
        }
        assert refused.headers["connection"] == "close"


def test_a_request_that_needs_no_body_has_a_small_one(app: Flask) -> None:
    with served(app) as server, Client(server) as client:
        client.send("GET /healthz HTTP/1.1", HOST, "Content-Length: 70000")
        assert client.read().status == 413


@pytest.mark.parametrize("proxies", [0, 1])
def test_a_request_has_one_id_in_the_response_the_message_and_the_log(
    app: Flask, runner: ScriptedRunner, caplog: pytest.LogCaptureFixture, proxies: int
) -> None:
    @app.get("/fails")
    def fails() -> str:
        raise RuntimeError("no")

    named: list[str] = []
    caplog.handler.addFilter(lambda record: named.append(f"{record.name} {request_id.get()}") is None)
    caplog.set_level(logging.INFO)
    runner.scripts["raises"] = Script([], Outcome(status="crash", exit_code=EXIT_RAISED, console="RuntimeError: no"))
    with served(app, proxies=proxies) as server, Client(server) as client:
        for sent, kept in (("from-proxy.1", proxies), ('x"\x7f', False), ("y" * 65, False)):
            client.send("GET /fails HTTP/1.1", HOST, f"X-Request-ID: {sent}", "Accept: text/html")
            page = client.read()
            known = page.headers["x-request-id"]
            assert (known == sent) == kept
            assert f"logged as {known}," in page.body.decode()
            assert f"app.web.error_responses {known}" in named
        missing = client.get("/api/nothing")
        assert missing.json["error"]["request"] == missing.headers["x-request-id"] != known
        crashed = client.post("/api/compile", {"script": "raises"})
        known = crashed.headers["x-request-id"]
        assert f"app.jobs.answer_reader {known}" in named
        assert crashed.json["problems"][-1]["message"].endswith(f"RuntimeError: no (logged as {known})")
    assert request_id.get() == ""


def test_many_tiny_chunks_are_refused(app: Flask) -> None:
    with served(app, Bounds(chunks=100)) as server, Client(server) as client:
        client.send(COMPILE, HOST, JSON, "Transfer-Encoding: chunked", body=b"1\r\n \r\n" * 200)
        refused = client.read()
        assert refused.status == 400
        assert "small pieces" in refused.json["error"]["message"]


def test_bodies_on_their_way_are_bounded_in_all(app: Flask) -> None:
    with served(app, Bounds(spooled_bytes=60_000)) as server, Client(server) as first, Client(server) as second:
        first.send(COMPILE, HOST, JSON, "Content-Length: 30001", body=b" " * 29_000)
        second.send(COMPILE, HOST, JSON, "Content-Length: 30001", body=b" " * 29_000)
        refused = second.read() if _readable(second) else first.read()
        assert refused.status == 429
        assert refused.headers["retry-after"] == "5"
        assert "30,000 bytes" in refused.json["error"]["expected"]


def _readable(client: Client) -> bool:
    import select

    return bool(select.select([client.socket], [], [], 5)[0])


def test_continue_is_said_to_a_body_that_fits_only(app: Flask) -> None:
    with served(app) as server, Client(server) as client:
        body = json.dumps({"script": ""}).encode()
        client.send(COMPILE, HOST, JSON, "Expect: 100-continue", f"Content-Length: {len(body)}")
        assert client.socket.recv(1000).startswith(b"HTTP/1.1 100 ")
        client.socket.sendall(body)
        assert client.read().status == 200
        client.send(COMPILE, HOST, JSON, "Expect: 100-continue", "Content-Length: 200000")
        assert client.read().status == 413


def test_requests_that_come_at_once_are_answered_in_order(app: Flask) -> None:
    with served(app) as server, Client(server) as client:
        for path in ("/healthz", "/nothing", "/healthz"):
            client.send(f"GET {path} HTTP/1.1", HOST)
        data = b""
        while data.count(b"HTTP/1.1 ") < 3 or not data.endswith(b"}"):
            data += client.socket.recv(65536)
        assert [part[:3] for part in data.split(b"HTTP/1.1 ")[1:]] == [b"200", b"404", b"200"]


def test_a_head_is_that_of_the_page(app: Flask) -> None:
    with served(app) as server, Client(server) as client:
        head, page = client.get("/static/any/js/compile.js", "HEAD"), client.get("/static/any/js/compile.js")
        assert head.body == b""
        assert head.headers["content-length"] == str(len(page.body))


def test_a_client_of_http_1_0_is_answered_and_left(app: Flask) -> None:
    with served(app) as server, Client(server) as client:
        assert client.send("GET /healthz HTTP/1.0", HOST).read().status == 200
        assert client.closed()


SMUGGLED = [
    [COMPILE, HOST, "Content-Length: 4", "Transfer-Encoding: chunked"],
    [COMPILE, HOST, "Content-Length: 4", "Content-Length: 5"],
    [COMPILE, HOST, "Content-Length: -1"],
    [COMPILE, HOST, "Content-Length: 9" + "9" * 30],
    [COMPILE, HOST, "Transfer-Encoding: gzip, chunked"],
    [COMPILE, HOST, "Transfer-Encoding : chunked"],
    [COMPILE, "Content-Length: 0"],
    ["GET example.org:80 HTTP/1.1", HOST],
    ["GET / HTTP/9.9", HOST],
    ["GET  / HTTP/1.1", HOST],
    ["NONSENSE"],
    ["GET http://elsewhere/healthz HTTP/1.1", HOST],
    ["GET http://localhost@elsewhere/healthz HTTP/1.1", HOST],
    ["GET http://localhost:81/healthz HTTP/1.1", HOST],
    ["GET /healthz HTTP/1.1", HOST, "X-Folded: one", " two"],
    ["GET /healthz HTTP/1.1", HOST, "X-Folded: one", "\ttwo"],
    ["GET /healthz HTTP/1.1\nX: y", HOST],
    ["GET /healthz HTTP/1.1", HOST + "\nX: y"],
    ["GET /healthz HTTP/1.1", HOST + "\n"],
    ["GET / HTTP/1.1", HOST, "X: " + "x" * 100_000],
]


@pytest.mark.parametrize("lines", SMUGGLED, ids=lambda lines: lines[-1][:40])
def test_what_is_not_clearly_http_is_refused_and_the_connection_closed(app: Flask, lines: list[str]) -> None:
    with served(app) as server, Client(server) as client:
        client.send(*lines)
        refused = client.read()
        assert refused.status in (400, 413, 431, 501, 505)
        assert refused.json["error"]["message"]
        assert refused.headers["connection"] == "close"
        assert client.closed()


def test_a_refused_head_is_refused_wherever_it_is_cut(app: Flask) -> None:
    head = b"GET /healthz HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n"
    for cut in (22, 39, 40, len(head) - 2):
        with served(app) as server, Client(server) as client:
            client.socket.sendall(head[:cut])
            time.sleep(0.01)
            client.socket.sendall(head[cut:])
            assert client.read().status == 400


def test_a_head_is_read_after_a_body_with_any_bytes(app: Flask) -> None:
    with served(app) as server, Client(server) as client:
        body = b'{"script":\n "",\r\n "options": {}}'
        client.send(COMPILE, HOST, JSON, f"Content-Length: {len(body)}", body=body)
        assert client.read().status == 200
        assert client.get(ANY).status == 200


def test_an_absolute_target_is_its_path(app: Flask) -> None:
    with served(app) as server, Client(server) as client:
        assert client.get("http://localhost/healthz?x").json["status"] == "ok"


def test_a_path_is_decoded_once(app: Flask) -> None:
    app.add_url_rule("/path/<path:name>", view_func=lambda name: name)
    with served(app) as server, Client(server) as client:
        assert client.get("/path/%C3%A4%2520b").body.decode() == "ä%20b"
