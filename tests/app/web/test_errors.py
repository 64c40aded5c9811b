"""Failures are told in the form that was asked for: JSON to programs, a page to people, a traceback to nobody."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app import create_app
from tests.app.runners import ScriptedRunner


def is_page(response: TestResponse) -> bool:
    return response.mimetype == "text/html" and response.text.startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/nothing", 404, "not_found"),
        ("GET", "/api/links/none", 404, "not_found"),
        ("GET", "/api/links/%3Cscript%3E", 404, "not_found"),
        ("PUT", "/api/compile", 405, "method_not_allowed"),
        ("DELETE", "/healthz", 405, "method_not_allowed"),
        ("POST", "/api/compile", 415, "unsupported_media_type"),
    ],
)
def test_programs_get_json(client: FlaskClient, method: str, path: str, status: int, code: str) -> None:
    response = client.open(path, method=method)
    assert (response.status_code, response.mimetype) == (status, "application/json")
    error = response.get_json()["error"]
    assert error["code"] == code
    assert error["message"]
    assert set(error) == {"code", "message", "field", "expected", "request"}
    assert response.headers["Cache-Control"] == "no-store"


def test_a_route_that_does_not_exist_is_named_with_where_all_are(client: FlaskClient) -> None:
    error = client.get("/api/nothing").get_json()["error"]
    assert error["message"] == "there is no route /api/nothing"
    assert error["expected"] == "one of GET /api/openapi.json"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/z/none", 404),
        ("GET", "/z/none/code", 404),
        ("GET", "/z/%3Cscript%3Ealert(1)%3C%2Fscript%3E", 404),
        ("GET", "/static/nothing.js", 404),
        ("GET", "/static/../app/config.py", 404),
        ("POST", "/", 405),
    ],
)
def test_people_get_a_page(client: FlaskClient, method: str, path: str, status: int) -> None:
    response = client.open(path, method=method)
    assert response.status_code == status
    assert is_page(response)
    assert "<script>alert" not in response.text


def test_a_failure_of_the_server_tells_nothing_of_its_inside(app: Flask, caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> str:
        raise RuntimeError("/srv/secret.py, line 3")

    app.add_url_rule("/fails", "fails", fail)
    app.add_url_rule("/api/fails", "api_fails", fail)
    client = app.test_client()
    for path in ("/fails", "/api/fails"):
        response = client.get(path)
        assert response.status_code == 500
        assert "secret" not in response.text
        assert "Traceback" not in response.text
        assert is_page(response) is (path == "/fails")
    assert caplog.text.count("/srv/secret.py, line 3") >= 2, "the log has it"


def test_the_longest_script_fits_and_a_longer_one_is_told(tmp_path: Path, runner: ScriptedRunner) -> None:
    client = create_app({"DATA_DIR": tmp_path, "RATE_LIMIT": 0}, runner).test_client()
    longest = "ж" * 1_000_000
    assert panes(client, longest) == 200
    assert client.post("/api/compile", json={"script": longest}).status_code == 200
    response = client.post("/api/compile", json={"script": longest + "ж"})
    assert response.status_code == 422
    assert response.get_json()["error"]["field"] == "$.script"
    assert panes(client, longest + "ж") == 422


def panes(client: FlaskClient, script: str) -> int:
    """Send a script as the page does."""
    return client.post("/panes", data={"script": script}, content_type="multipart/form-data").status_code
