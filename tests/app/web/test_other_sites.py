"""What pages of other sites may do: use stateless routes, where the server is public and has a sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from app import create_app
from app.sandbox import Tier
from tests.app.runners import ScriptedRunner

PAGE = {"Origin": "https://blog.example", "Sec-Fetch-Site": "cross-site"}
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
ALLOW = "Access-Control-Allow-Origin"


def client_of(path: Path, runner: ScriptedRunner | None = None, **settings: object) -> FlaskClient:
    public = {"DATA_DIR": path, "HOST": "0.0.0.0", "RATE_LIMIT": 3, "UNSAFE_PUBLIC": True}
    return create_app(public | settings, runner or ScriptedRunner()).test_client()


@pytest.mark.usefixtures("one_moment")
def test_a_public_server_answers_pages_of_other_sites_without_credentials(tmp_path: Path) -> None:
    client = client_of(tmp_path)
    asked = client.options("/api/compile", headers=PAGE | PREFLIGHT)
    assert (asked.status_code, asked.headers[ALLOW]) == (200, "*")
    assert "Content-Type" in asked.headers["Access-Control-Allow-Headers"]
    assert "POST" in asked.headers["Access-Control-Allow-Methods"]
    answer = client.post("/api/compile", json={"script": "x"}, headers={**PAGE, "Cookie": "a=b"})
    assert (answer.status_code, answer.headers[ALLOW]) == (200, "*")
    assert "Access-Control-Allow-Credentials" not in {**asked.headers, **answer.headers}
    assert answer.headers["RateLimit-Policy"] == '"requests";q=3;w=60'
    assert answer.headers["RateLimit"].startswith('"requests";r=2;t=')
    for _ in range(2):
        client.post("/api/compile", json={"script": 3}, headers=PAGE)
    refused = client.post("/api/compile", json={"script": "x"}, headers=PAGE)
    assert (refused.status_code, refused.headers[ALLOW]) == (429, "*"), "the quota is that of everyone"
    assert refused.headers["RateLimit"].startswith('"requests";r=0;t=')
    assert "RateLimit" in refused.headers["Access-Control-Expose-Headers"]


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/api/links"), ("DELETE", "/api/links/none"), ("POST", "/api/uploads"), ("POST", "/api/classes"),
     ("POST", "/panes"), ("GET", "/api/queue"), ("GET", "/"), ("GET", "/nothing"),
     ("POST", "/api/lessons/first-compute/steps/1/check")],
)  # fmt: skip
def test_what_has_state_is_closed_to_pages_of_other_sites(tmp_path: Path, method: str, path: str) -> None:
    client = client_of(tmp_path)
    response = client.open(path, method=method, headers=PAGE)
    assert ALLOW not in response.headers
    assert method == "GET" or response.status_code == 403
    preflight = client.options(path, headers=PAGE | PREFLIGHT | {"Access-Control-Request-Method": method})
    assert ALLOW not in preflight.headers


@pytest.mark.parametrize(
    ("settings", "tier", "allowed"),
    [
        ({"HOST": "127.0.0.1"}, None, None),
        ({"HOST": "127.0.0.1", "ORIGINS": "https://blog.example/"}, None, "https://blog.example"),
        ({"ORIGINS": "https://course.example"}, None, None),
        ({}, Tier(), None),
        ({"ORIGINS": "*"}, Tier(), None),
    ],
    ids=["loopback", "loopback, named", "another named", "no sandbox", "no sandbox, any"],
)
def test_who_is_allowed(tmp_path: Path, settings: dict[str, object], tier: Tier | None, allowed: str | None) -> None:
    runner = ScriptedRunner()
    runner.tier = tier or runner.tier
    client = client_of(tmp_path, runner, **settings)
    response = client.post("/api/compile", json={"script": "x"}, headers=PAGE)
    assert response.headers.get(ALLOW) == allowed
    assert (response.status_code, len(runner.jobs)) == ((200, 1) if allowed else (403, 0))
    assert ("Origin" in response.vary) == bool(settings.get("ORIGINS") and tier is None)
