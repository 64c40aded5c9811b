"""Whatever a request says, the answer is one that was thought of: never a failure of the server's own."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app import create_app
from tests.app.runners import ScriptedRunner

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
OPTIONS = st.fixed_dictionaries(
    {}, optional={"target": JSON, "assembly": JSON, "opt_level": JSON, "threads": JSON, "prefix": JSON}
)
WORKSPACES = st.fixed_dictionaries(
    {"script": st.text() | JSON},
    optional={
        "files": st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=3) | JSON,
        "options": OPTIONS | JSON,
        "tab": JSON,
        "seq": JSON,
    },
)
STATES = st.fixed_dictionaries({"workspace": WORKSPACES}, optional={"view": JSON})
BODIES = st.binary(max_size=40) | (JSON | WORKSPACES | STATES).map(lambda value: json.dumps(value).encode())
ADDRESSES = ("/api/compile", "/api/run", "/api/ladders", "/api/links", "/chart")
EXPECTED = {200, 201, 202, 400, 409, 415, 422}


@pytest.fixture(scope="module")
def any_client(tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    settings = {"DATA_DIR": tmp_path_factory.mktemp("data"), "RATE_LIMIT": 0, "WAITING": 10_000}
    app = create_app({**settings, "WAITING_PER_CLIENT": 10_000}, ScriptedRunner())
    return app.test_client()


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(ADDRESSES), BODIES)
def test_any_body(any_client: FlaskClient, address: str, body: bytes) -> None:
    response = any_client.post(address, data=body, content_type="application/json")
    assert response.status_code in EXPECTED, response.text
    if response.status_code >= 400 and response.mimetype == "application/json":
        error: dict[str, Any] = response.get_json()["error"]
        assert error["message"]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(("script", "options", "view", "tab", "seq", "mode")), st.text(max_size=30)))
def test_any_form(any_client: FlaskClient, fields: dict[str, str]) -> None:
    for address in ("/panes", "/run"):
        response = any_client.post(address, data=fields)
        assert response.status_code in EXPECTED, response.text


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(("/z/{}", "/api/links/{}", "/api/ladders/{}/events", "/{}", "/?example={}", "/api/queue?tab={}")),
    st.text(max_size=20),
)
def test_any_address(any_client: FlaskClient, form: str, text: str) -> None:
    response = any_client.get(form.format(quote(text, safe="")))
    assert response.status_code in {200, 308, 400, 404, 405}, response.text
