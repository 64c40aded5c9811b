"""Who may send what, how often, and what browsers are told."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from flask import Flask, render_template_string
from flask.testing import FlaskClient

from app import create_app, start_runner
from app.config import Config, ConfigurationError
from app.jobs.clients import network_of
from app.sandbox import Tier, UnsafeLocal
from app.store.links import ROW_BYTES
from app.web.security import COSTS
from tests.app.runners import ScriptedRunner


def test_answers_are_guarded(client: FlaskClient) -> None:
    for path in ("/healthz", "/api/nothing", "/static/nothing.js"):
        headers = client.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'self'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"


def test_a_nonce_serves_one_answer(app: Flask, client: FlaskClient) -> None:
    app.add_url_rule("/page", "page", lambda: render_template_string("{{ csp_nonce() }} {{ csp_nonce() }}"))
    seen = set()
    for _ in range(2):
        response = client.get("/page")
        first, second = response.text.split()
        match = re.search(r"script-src 'self' 'nonce-([\w-]{20,})'", response.headers["Content-Security-Policy"])
        assert match is not None
        assert first == second == match[1]
        seen.add(first)
    assert len(seen) == 2


def test_the_embedded_view_of_a_permalink_can_be_framed_and_nothing_else(client: FlaskClient) -> None:
    saved = client.post("/api/links", json={"workspace": {"script": ""}}).get_json()
    assert "frame-ancestors *" in client.get(f"/z/{saved['id']}?view=embed").headers["Content-Security-Policy"]
    assert "frame-ancestors 'self'" in client.get(f"/z/{saved['id']}").headers["Content-Security-Policy"]
    assert "frame-ancestors 'self'" in client.get(f"/z/{saved['id']}?view=read").headers["Content-Security-Policy"]
    assert "frame-ancestors 'self'" in client.get("/").headers["Content-Security-Policy"]


FOREIGN = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost:9999"},
]
OWN: list[dict[str, str]] = [
    {},
    {"Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "none"},
    {"Origin": "http://localhost"},
]


def test_a_page_says_that_there_is_no_sandbox(client: FlaskClient, runner: ScriptedRunner) -> None:
    assert "Without a sandbox" not in client.get("/").text
    runner.tier = Tier()
    assert "Without a sandbox" in client.get("/").text


@pytest.mark.parametrize("headers", FOREIGN)
def test_pages_of_other_sites_change_nothing(
    client: FlaskClient, runner: ScriptedRunner, headers: dict[str, str]
) -> None:
    response = client.post("/api/compile", json={"script": ""}, headers=headers)
    assert (response.status_code, response.get_json()["error"]["code"]) == (403, "forbidden")
    assert runner.jobs == []
    assert client.get("/healthz", headers=headers).status_code == 200


@pytest.mark.parametrize("headers", OWN)
def test_own_pages_and_programs_may(client: FlaskClient, headers: dict[str, str]) -> None:
    assert client.post("/api/compile", json={"script": ""}, headers=headers).status_code == 200


def test_foreign_names_of_this_host_are_not_answered(client: FlaskClient) -> None:
    for path in ("/healthz", "/", "/nothing"):
        response = client.get(path, headers={"Host": "rebound.example"})
        assert (response.status_code, response.get_json()["error"]["code"]) == (400, "unknown_host")


@pytest.mark.usefixtures("one_moment")
def test_each_client_has_its_own_rate(tmp_path: Path, runner: ScriptedRunner) -> None:
    client = create_app({"DATA_DIR": tmp_path, "RATE_LIMIT": 3}, runner).test_client()

    def post(address: str) -> int:
        response = client.post("/api/compile", json={"script": ""}, environ_base={"REMOTE_ADDR": address})
        if response.status_code == 429:
            assert 1 <= int(response.headers["Retry-After"]) <= 60
            assert response.get_json()["error"]["code"] == "busy"
        return response.status_code

    assert [post("192.0.2.1") for _ in range(4)] == [200, 200, 200, 429]
    assert post("192.0.2.2") == 200
    assert client.get("/healthz").status_code == 200


@pytest.mark.usefixtures("one_moment")
def test_a_measurement_counts_as_several_requests(tmp_path: Path, runner: ScriptedRunner) -> None:
    app = create_app({"DATA_DIR": tmp_path, "RATE_LIMIT": 2 * COSTS["api.measure"]}, runner)
    assert app.view_functions.keys() >= COSTS.keys()
    client = app.test_client()
    statuses = [client.post("/api/measure", json={"script": ""}).status_code for _ in range(3)]
    assert statuses == [202, 202, 429]
    assert client.post("/api/compile", json={"script": ""}).status_code == 429


def test_what_a_client_may_store_is_limited(tmp_path: Path, runner: ScriptedRunner) -> None:
    client = create_app({"DATA_DIR": tmp_path, "STORED_BYTES": 2 * (ROW_BYTES + 100)}, runner).test_client()

    def share(script: str, address: str) -> int:
        body = {"workspace": {"script": script}}
        return client.post("/api/links", json=body, environ_base={"REMOTE_ADDR": address}).status_code

    assert [share("x" * 400, "192.0.2.1"), share("y" * 400, "192.0.2.1"), share("z" * 400, "192.0.2.1")] == [
        201,
        201,
        429,
    ]
    assert share("z" * 400, "192.0.2.2") == 201


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::"),
        ("", ""),
    ],
)
def test_a_subscriber_is_one_client(address: str, network: str) -> None:
    assert network_of(address) == network


def test_strangers_are_let_in_only_where_walls_hold(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"refusing to listen on 0\.0\.0\.0"):
        start_runner(Config(host="0.0.0.0", unsafe_local=True, data_dir=tmp_path))
    start_runner(Config(host="0.0.0.0", unsafe_local=True, unsafe_public=True, data_dir=tmp_path)).close()
    runner = start_runner(Config(unsafe_local=True, data_dir=tmp_path))
    assert isinstance(runner, UnsafeLocal)
    runner.close()


def test_finders_of_holes_are_told_whom_to_tell(tmp_path: Path) -> None:
    client = create_app(
        {"DATA_DIR": tmp_path, "CONTACT": "mailto:security@strata.example"}, ScriptedRunner()
    ).test_client()
    told = dict(line.split(": ", 1) for line in client.get("/.well-known/security.txt").text.splitlines())
    assert told["Contact"] == "mailto:security@strata.example"
    left = datetime.fromisoformat(told["Expires"]) - datetime.now(UTC)
    assert timedelta(days=90) < left < timedelta(days=366), "RFC 9116: less than a year"
    assert client.get(told["Policy"].removeprefix("http://localhost")).status_code == 200
    for contact in ("security@strata.example", "https://x\nContact: mailto:me@evil.example", "javascript:alert(1)"):
        with pytest.raises(ConfigurationError):
            Config.read({"contact": contact}, {})


def test_links_are_not_for_search_engines_but_their_previews_are(client: FlaskClient) -> None:
    link = client.post("/api/links", json={"workspace": {"script": ""}}).get_json()["id"]
    assert client.get(f"/z/{link}").headers["X-Robots-Tag"] == "noindex"
    assert "Disallow: /z" not in client.get("/robots.txt").text
    assert client.get("/favicon.ico").data[:4] == b"\0\0\1\0"
