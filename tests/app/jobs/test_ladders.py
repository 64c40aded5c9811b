"""Ladders: their events in order, their place in the queue, their end, and what stops them."""

from __future__ import annotations

import base64
import json
import threading

import msgspec
import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.artifacts import Measurement, Problem
from app.errors import Busy
from app.jobs import ladders
from app.jobs.ladders import Ladder
from app.jobs.measurer import MAX_PROGRAMS
from app.protocol import Failed, Measured, Progress, RecordedFunction
from app.sandbox import Outcome
from app.services import EXTENSION, Services
from tests.app.runners import Script, ScriptedRunner, snapshot, wait_until

ROW = Measurement(name="split", kind="prefix", seconds=0.5, step=1)
Event = tuple[int, str, dict[str, object]]


def start(client: FlaskClient, script: str = "s") -> str:
    response = client.post("/api/ladders", json={"script": script})
    assert response.status_code == 202
    return str(response.get_json()["id"])


def follow(client: FlaskClient, ladder: str, after: int | None = None) -> list[Event]:
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    response = client.get(f"/api/ladders/{ladder}/events", headers=headers)
    assert response.mimetype == "text/event-stream"
    events = []
    for block in response.get_data(as_text=True).split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            events.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
    return events


def test_rows_come_as_they_are_measured(client: FlaskClient, runner: ScriptedRunner) -> None:
    failed = Failed(label="vectorize", problem=Problem(kind="TVMError", message="no"), step=2)
    told = [snapshot(), Progress(done=0, total=2, label="split"), Measured(measurement=ROW), failed]
    runner.scripts["s"] = Script([*told, snapshot()])
    events = follow(client, start(client))
    assert [number for number, _, _ in events] == [1, 2, 3, 4]
    assert [kind for _, kind, _ in events] == ["progress", "measured", "failed", "ended"]
    assert events[1][2]["measurement"]["seconds"] == 0.5  # type: ignore[index]
    assert events[3][2] == {"type": "ended", "status": "ok", "message": ""}
    assert runner.requests[0].mode == "ladder"


def test_following_goes_on_where_it_was_broken_off(client: FlaskClient, runner: ScriptedRunner) -> None:
    runner.scripts["s"] = Script([Progress(done=n, total=3, label="x") for n in range(3)])
    ladder = start(client)
    assert [number for number, _, _ in follow(client, ladder)] == [1, 2, 3, 4]
    assert [number for number, _, _ in follow(client, ladder, after=3)] == [4]
    assert client.get(f"/api/ladders/{ladder}/events?after=3").text.count("id: ") == 1, "by a client that begins anew"


def test_who_waits_is_told_the_place(client: FlaskClient, runner: ScriptedRunner) -> None:
    end = threading.Event()
    runner.scripts["long"] = Script(until=end)
    first, second = start(client, "long"), start(client, "long")
    wait_until(lambda: client.get("/healthz").get_json()["measuring"] == {"running": 1, "waiting": 1})
    end.set()
    assert [kind for _, kind, _ in follow(client, first)] == ["ended"]
    events = follow(client, second)
    assert events[0][1:] == ("queued", {"type": "queued", "place": 1})
    assert events[-1][1] == "ended"


def test_workspaces_that_wait_are_bounded_by_their_bytes(
    app: Flask, client: FlaskClient, runner: ScriptedRunner
) -> None:
    services: Services = app.extensions[EXTENSION]
    bodies = services.memory.bodies
    end = threading.Event()
    runner.scripts["long"] = Script(until=end)
    bodies.per_client = 3000
    files = {"model": base64.b64encode(bytes(1000)).decode()}
    body = {"script": "long", "files": files}
    answers = [client.post("/api/ladders", json=body) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [202, 202, 429]
    assert "of this address are in progress" in answers[2].get_json()["error"]["message"]
    end.set()
    for answer in answers[:2]:
        assert follow(client, answer.get_json()["id"])[-1][1] == "ended"
    wait_until(lambda: bodies.held == 0)


@pytest.mark.parametrize("waits", [True, False])
def test_a_ladder_can_be_stopped(client: FlaskClient, runner: ScriptedRunner, waits: bool) -> None:
    runner.scripts["endless"] = Script(until=threading.Event())
    first = start(client, "endless")
    wait_until(lambda: bool(runner.jobs))
    if waits:
        second = start(client, "endless")
        assert client.delete(f"/api/ladders/{second}").status_code == 204
        assert follow(client, second)[-1][2]["status"] == "stopped"
    assert client.delete(f"/api/ladders/{first}").status_code == 204
    assert follow(client, first)[-1][2]["status"] == "stopped"
    assert client.delete(f"/api/ladders/{first}").status_code == 204, "stopping again is harmless"
    wait_until(lambda: client.get("/healthz").get_json()["measuring"] == {"running": 0, "waiting": 0})


def test_a_ladder_that_nobody_listens_to_ends(
    client: FlaskClient, runner: ScriptedRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ladders, "PATIENCE_SECONDS", 0.0)
    runner.scripts["long"] = Script([Progress(done=n, total=100, label="x") for n in range(100)])
    ladder = start(client, "long")
    wait_until(lambda: runner.jobs != [] and runner.jobs[0].cancelled.is_set())
    assert follow(client, ladder)[-1][2]["status"] == "stopped"


def test_a_ladder_has_few_listeners() -> None:
    ladder = Ladder()
    for listener in range(ladders.MAX_LISTENERS):
        ladder.admit()
        ladder.listen(listener, lambda: None)
    with pytest.raises(Busy):
        ladder.admit()
    ladder.leave(0)
    ladder.admit()


def test_events_of_a_ladder_are_bounded_by_their_bytes(
    client: FlaskClient, runner: ScriptedRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ladders, "MAX_EVENT_BYTES", 2000)
    runner.scripts["s"] = Script([Progress(done=0, total=1, label="x" * 200)] * 20, until=threading.Event())
    events = follow(client, start(client))
    assert [kind for _, kind, _ in events] == ["progress"] * 8 + ["ended"]
    assert events[-1][2]["status"] == "error"
    assert "more than 2,000 bytes of events" in str(events[-1][2]["message"])
    assert runner.jobs[0].cancelled.is_set()


def test_ladders_that_ended_are_forgotten_when_all_are_too_large(runner: ScriptedRunner, app: Flask) -> None:
    kept = app.extensions["strata"].ladders
    runner.scripts["s"] = Script([Progress(done=0, total=1, label="x" * 1000)])
    kept._events_bytes = 2500
    client = app.test_client()
    names = []
    for _ in range(4):
        names.append(start(client))
        assert follow(client, names[-1])[-1][1] == "ended"
    answers = [404, 404, 200, 200]
    wait_until(lambda: [client.get(f"/api/ladders/{name}/events").status_code for name in names] == answers)


ENDS = [
    (Script([snapshot(status="error", problems=[Problem(kind="SyntaxError", message="bad", line=2)])]), "bad"),
    (Script([snapshot(4)], Outcome(status="crash", detail="SIGSEGV")), "SIGSEGV"),
    (Script([snapshot(4)], Outcome(status="timeout", wall_seconds=600)), "600"),
    (Script([], Outcome(status="setup", detail="EPERM")), "EPERM"),
]


@pytest.mark.parametrize(("script", "words"), ENDS)
def test_a_ladder_that_fails_says_why(client: FlaskClient, runner: ScriptedRunner, script: Script, words: str) -> None:
    runner.scripts["s"] = script
    ended = follow(client, start(client))[-1][2]
    assert ended["status"] == "error"
    assert words in str(ended["message"])


def test_unknown_ladders(client: FlaskClient) -> None:
    for response in (client.get("/api/ladders/nothing/events"), client.delete("/api/ladders/nothing")):
        assert response.status_code == 404
        assert response.get_json()["error"]["code"] == "not_found"


RECORDED = RecordedFunction(name="matmul", program='{"version":1}')


def test_what_a_script_records_is_measured_without_the_script(client: FlaskClient, runner: ScriptedRunner) -> None:
    forged = Measured(measurement=msgspec.structs.replace(ROW, seconds=1e-9, source="server"))
    runner.scripts["s"] = Script([snapshot(), forged, RECORDED, forged, forged])
    runner.scripts[""] = Script([Progress(done=0, total=1, label="split"), Measured(measurement=ROW)])
    events = [event for _, _, event in follow(client, start(client))]
    assert [event["type"] for event in events] == ["measured", "source", "progress", "measured", "ended"]
    measurements = [event["measurement"] for event in events if "measurement" in event]
    assert [(m["seconds"], m["source"]) for m in measurements] == [(1e-9, "script"), (0.5, "server")]  # type: ignore[index]
    script, measuring = runner.requests
    assert (script.mode, script.program, script.script) == ("ladder", "", "s")
    assert (measuring.mode, measuring.program, measuring.script) == ("measure", RECORDED.program, "")
    assert measuring.prefixes


def test_every_function_is_measured_by_itself(client: FlaskClient, runner: ScriptedRunner) -> None:
    told = [
        RecordedFunction(name="a", program="1"),
        RecordedFunction(name="model", reason="no"),
        RecordedFunction(name="b", program="2"),
    ]
    runner.scripts["s"] = Script([snapshot(), *told])
    runner.scripts[""] = Script([Measured(measurement=ROW)])
    ladder = str(client.post("/api/measure", json={"script": "s"}).get_json()["id"])
    events = [event for _, _, event in follow(client, ladder)]
    assert [event["type"] for event in events] == ["source", "source", "measured", "measured", "ended"]
    assert (events[0]["source"], events[0]["reason"]) == ("script", "model: no")
    assert [(r.mode, r.program, r.prefixes) for r in runner.requests] == [
        ("record", "", False),
        ("measure", "1", False),
        ("measure", "2", False),
    ]
    assert len({r.seed for r in runner.requests[1:]}) == 2


def test_a_kernel_is_measured_with_the_one_that_it_was_made_from(client: FlaskClient, runner: ScriptedRunner) -> None:
    runner.scripts["edited"] = Script(
        [snapshot(), RecordedFunction(name="a", program="1"), RecordedFunction(name="new", program="2")]
    )
    runner.scripts["first"] = Script([snapshot(), RecordedFunction(name="a", program="0")])
    runner.scripts[""] = Script([Measured(measurement=ROW)])
    body = {"script": "edited", "files": {"original.py": base64.b64encode(b"first").decode()}}
    follow(client, str(client.post("/api/measure", json=body).get_json()["id"]))
    assert [(r.mode, r.script, r.program, r.original) for r in runner.requests] == [
        ("record", "edited", "", ""),
        ("record", "first", "", ""),
        ("measure", "", "1", "0"),
        ("measure", "", "2", ""),
    ]


def test_an_only_kernel_is_measured_with_an_only_original_whatever_they_are_called(
    client: FlaskClient, runner: ScriptedRunner
) -> None:
    runner.scripts["edited"] = Script([snapshot(), RecordedFunction(name="main", program="1")])
    runner.scripts["first"] = Script([snapshot(), RecordedFunction(name="matmul", program="0")])
    body = {"script": "edited", "files": {"original.py": base64.b64encode(b"first").decode()}}
    follow(client, str(client.post("/api/measure", json=body).get_json()["id"]))
    assert (runner.requests[-1].program, runner.requests[-1].original) == ("1", "0")


def test_no_script_has_more_measured_than_a_number_of_functions(client: FlaskClient, runner: ScriptedRunner) -> None:
    runner.scripts["s"] = Script([snapshot(), *[RecordedFunction(name="a", program=str(n)) for n in range(99)]])
    follow(client, str(client.post("/api/measure", json={"script": "s"}).get_json()["id"]))
    assert len(runner.requests) == 1 + MAX_PROGRAMS


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Outcome(status="crash", detail="SIGFPE"), "the process of this run ended: SIGFPE"),
        (Outcome(status="timeout", wall_seconds=9, cpu_seconds=9), "this run was stopped after 9.0 s"),
    ],
)
def test_a_measurement_that_fails_says_that_it_did(
    client: FlaskClient, runner: ScriptedRunner, outcome: Outcome, words: str
) -> None:
    runner.scripts["s"] = Script([snapshot(), RECORDED])
    runner.scripts[""] = Script([Progress(done=0, total=1, label="split")], outcome)
    *_, failed, ended = [event for _, _, event in follow(client, start(client))]
    assert failed["label"] == "matmul"
    assert words in str(failed["problem"])
    assert (ended["status"], ended["message"]) == ("error", failed["problem"]["message"])  # type: ignore[index]


def test_a_run_s_measurements_are_as_the_script_reports(client: FlaskClient, runner: ScriptedRunner) -> None:
    forged = msgspec.structs.replace(ROW, source="server")
    runner.scripts["s"] = Script([snapshot(None, measurements=[forged])])
    [measurement] = client.post("/api/run", json={"script": "s"}).get_json()["measurements"]
    assert measurement["source"] == "script"
