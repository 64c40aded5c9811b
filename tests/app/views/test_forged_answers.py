"""Whatever a child sends, each view of it is a response that was thought of: HTML or JSON, never a failure of ours.

A fixed sample; ``STRATA_FORGED=2000 pytest tests/app/views/test_forged_answers.py`` tries that many.
"""

from __future__ import annotations

import itertools
import json
import os
from html.parser import HTMLParser
from typing import Any, get_args

import msgspec
import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from werkzeug.test import TestResponse

from app import create_app
from app.graphs.folding import Folding
from app.panes import table
from app.protocol import Measured, Message, Snapshot
from tests.app import forging
from tests.app.runners import Script, ScriptedRunner

SAMPLE = int(os.environ.get("STRATA_FORGED", "6"))
FORGED = settings(
    max_examples=SAMPLE,
    deadline=None,
    derandomize="STRATA_FORGED" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
VOID = frozenset("br hr img input link meta path circle line rect use polyline polygon".split())  # noqa: SIM905
"""Elements that need no end."""


class Balanced(HTMLParser):
    """Checks that every element that begins ends, in order, and that no script of a child's is among them."""

    def __init__(self) -> None:
        super().__init__()
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        ours = given.get("type") == "application/json" or (given.get("src") or "").startswith("/static/")
        assert tag != "script" or ours
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open, f"</{tag}> ends nothing"
            assert self._open.pop() == tag

    def check(self, html: str) -> None:
        self.feed(html)
        self.close()
        assert not self._open


class Explorer:
    """An application whose next child sends what a test says."""

    def __init__(self, client: FlaskClient, runner: ScriptedRunner) -> None:
        self.client = client
        self._runner = runner
        self._numbers = itertools.count()

    def child_sends(self, *messages: Message | bytes) -> str:
        """Return the text of a script that sends these."""
        script = f"script {next(self._numbers)}"
        self._runner.scripts[script] = Script(list(messages))
        return script

    def html(self, response: TestResponse) -> None:
        """Check a fragment of the page."""
        assert response.status_code < 500, response.text
        Balanced().check(response.text)

    def json(self, response: TestResponse) -> Any:
        """Check an answer of the API."""
        assert response.status_code < 500, response.text
        return json.loads(response.data)


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Explorer:
    runner = ScriptedRunner()
    settings = {"DATA_DIR": tmp_path_factory.mktemp("data"), "RATE_LIMIT": 0, "WAITING": 10_000}
    app = create_app({**settings, "WAITING_PER_CLIENT": 10_000}, runner)
    return Explorer(app.test_client(), runner)


@FORGED
@given(forged=forging.snapshots())
def test_every_pane_and_text_of_a_forged_answer(explorer: Explorer, forged: Snapshot) -> None:
    script = explorer.child_sends(forged)
    for unit in range(max(1, len(forged.answer.units))):
        view = json.dumps({"unit": unit})
        explorer.html(explorer.client.post("/panes", data={"script": script, "view": view}))
    for key in forged.answer.listings:
        explorer.html(explorer.client.get(f"/listings/{key}/0"))
        for pane in table.PANES:
            if pane.listing:
                explorer.html(explorer.client.get(f"/text/{pane.name}?listing={key}&before={key}"))
    for key in forged.answer.drawings:
        for fold in get_args(Folding):
            explorer.html(explorer.client.get(f"/graph/{key}?fold={fold}"))


@FORGED
@given(forged=forging.snapshots())
def test_a_forged_answer_of_the_api(explorer: Explorer, forged: Snapshot) -> None:
    script = explorer.child_sends(forged)
    answer = explorer.json(explorer.client.post("/api/compile", json={"script": script}))
    assert answer["status"] in ("ok", "error", "timeout", "limit", "crash")
    explorer.json(explorer.client.post("/api/run", json={"script": script}))


@FORGED
@given(forged=forging.snapshots())
def test_a_forged_run_and_its_chart(explorer: Explorer, forged: Snapshot) -> None:
    script = explorer.child_sends(forged, forged)
    response = explorer.client.post("/run", data={"script": script})
    assert response.status_code < 500, response.text
    for line in response.text.splitlines():
        Balanced().check(json.loads(line)["html"])
    asked = msgspec.json.encode({"measurements": forged.answer.measurements, "running": True, "total": 40})
    explorer.html(explorer.client.post("/chart", data={"asked": asked.decode()}))


@FORGED
@given(events=st.lists(forging.events(), max_size=3))
def test_forged_events_of_a_ladder(explorer: Explorer, events: list[Message]) -> None:
    script = explorer.child_sends(*events)
    started = explorer.json(explorer.client.post("/api/ladders", json={"script": script}))
    response = explorer.client.get(started["events"])
    assert response.status_code == 200
    for line in response.text.splitlines():
        if line.startswith("data:"):
            json.loads(line.removeprefix("data:"))
    measured = [event.measurement for event in events if isinstance(event, Measured)]
    asked = msgspec.json.encode({"measurements": measured, "failures": ["x"]}).decode()
    explorer.html(explorer.client.post("/chart", data={"asked": asked}))


@FORGED
@given(message=forging.mutated() | st.binary(max_size=60))
def test_bytes_that_are_no_answer(explorer: Explorer, message: bytes) -> None:
    script = explorer.child_sends(message)
    explorer.json(explorer.client.post("/api/compile", json={"script": script}))
    explorer.html(explorer.client.post("/panes", data={"script": script}))
