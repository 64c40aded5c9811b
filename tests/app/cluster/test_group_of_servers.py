"""Two servers share links, files, compiled answers and ladders: a student may come to either."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import msgspec
import pytest
from flask import Flask

from app.artifacts import Workspace
from app.services import services_of
from tests.app.cluster.conftest import NAMES, Machines
from tests.app.cluster.test_machines import SCRIPT, compiled
from tests.app.runners import wait_until
from tests.app.store.servers import database as database
from tests.app.store.servers import postgresql as postgresql

WORKSPACE = Workspace(script=SCRIPT.format(number=7))


@pytest.fixture
def servers(machines: Machines, database: str) -> Iterator[list[Flask]]:
    if not machines.workers:
        machines.join(*NAMES)  # other tests let them go away
    apps = [machines.server(name, DATABASE=database) for name in ("here", "there")]
    yield apps
    for app in apps:
        services_of(app).runner.close()


def test_what_one_has_the_other_has(servers: list[Flask]) -> None:
    first, second = servers
    here, there = first.test_client(), second.test_client()
    answer = compiled(first, WORKSPACE.script)
    wait_until(lambda: services_of(second).compiler.cached(WORKSPACE) is not None)
    assert compiled(second, WORKSPACE.script) == answer, "compiled once more, it would have taken another time"
    saved = here.post("/api/links", json={"workspace": msgspec.to_builtins(WORKSPACE)}).json
    assert there.get(f"/api/links/{saved['id']}").json["state"]["workspace"]["script"] == WORKSPACE.script
    stored = here.post("/api/uploads", data={"file": (io.BytesIO(b"weights"), "model.onnx")}).json["id"]
    reading = {"script": "print(open('model.onnx').read())", "uploads": {"model.onnx": stored}}
    assert "weights" in there.post("/api/compile", json=reading).text


def test_texts_are_found_by_their_content(servers: list[Flask]) -> None:
    first, second = servers
    answer = compiled(first, SCRIPT.format(number=8))
    key = next(iter(answer["listings"]))
    wait_until(lambda: second.test_client().get(f"/listings/{key}/0").status_code == 200)
    text = second.test_client().get(f"/listings/{key}/0").text
    assert text == first.test_client().get(f"/listings/{key}/0").text


@pytest.mark.long
def test_a_ladder_is_followed_by_way_of_the_other(servers: list[Flask]) -> None:
    first, second = servers
    started = first.test_client().post("/api/ladders", json={"script": SCRIPT.format(number=9)}).json
    wait_until(lambda: second.test_client().get(started["events"]).status_code == 200)
    [here, there] = [server.test_client().get(started["events"]).text for server in (first, second)]
    events = [line for line in there.splitlines() if line.startswith("data: ")]
    assert json.loads(events[-1][6:]) == {"type": "ended", "status": "ok", "message": ""}
    assert events == [line for line in here.splitlines() if line.startswith("data: ")]


def test_a_ladder_is_stopped_by_way_of_the_other(servers: list[Flask]) -> None:
    first, second = servers
    long = SCRIPT.format(number=10) + "import time\ntime.sleep(60)\n"
    started = first.test_client().post("/api/ladders", json={"script": long}).json
    wait_until(lambda: second.test_client().delete(f"/api/ladders/{started['id']}").status_code == 204)
    ladder = services_of(first).ladders.get(started["id"])
    wait_until(lambda: ladder.ended)
    assert ladder.stopped
