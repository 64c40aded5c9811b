"""Searches: the script is recorded, the record is searched without it, and what makes way goes on from its log."""

from __future__ import annotations

import base64
import threading

import pytest
from flask.testing import FlaskClient

from app.protocol import ModelTimes, RecordedFunction
from app.sandbox import Outcome
from app.searches import CandidateTexts, Found, KernelSearch, ModelSearch, Searching, SoughtKernel, Tried
from tests.app.jobs.test_ladders import follow
from tests.app.runners import Script, ScriptedRunner, snapshot, wait_until

RECORDED = [RecordedFunction(name="first", program="0"), RecordedFunction(name="last", program="1")]
WISHES = {"pinned": [["C.way", "tiles"]], "banned": [["C.0.outer", [4, 2]]]}


def start(client: FlaskClient, **fields: object) -> str:
    response = client.post("/api/searches", json={"script": "s", **fields})
    assert response.status_code == 202, response.text
    return str(response.get_json()["id"])


def test_a_search_is_of_the_last_function_and_its_process_has_no_script(
    client: FlaskClient, runner: ScriptedRunner
) -> None:
    forged = Tried(record="forged")
    runner.scripts["s"] = Script([snapshot(), forged, *RECORDED, forged])
    found = Found(choices=[("C.0.outer", [2, 2])], seconds=1.0, default_seconds=2.0)
    runner.scripts[""] = Script([Tried(record="{}"), Searching(trials=1, seconds=0.5), found])
    log = {"search.jsonl": base64.b64encode(b"a line\n").decode()}
    search = start(client, files=log, search={"seconds": 30, **WISHES})
    events = [event for _, _, event in follow(client, search)]
    assert [event["type"] for event in events] == ["source", "tried", "searching", "found", "ended"]
    assert events[1]["record"] == "{}", "what the script's process claims is no candidate"
    script, searching = runner.requests
    assert (script.mode, searching.mode, searching.script, searching.program) == ("record", "search", "", "1")
    assert searching.search is not None
    assert searching.search.pinned == [("C.way", "tiles")]
    limits = runner.limits[1]
    assert limits is not None
    assert limits.own_cpus == 1, "as every measurement"


def test_a_search_that_makes_way_queues_again_and_goes_on_from_its_log(
    client: FlaskClient, runner: ScriptedRunner
) -> None:
    runner.scripts["s"] = Script([snapshot(), *RECORDED])
    runner.scripts[""] = Script([Tried(record="one")], until=threading.Event())
    search = start(client)
    wait_until(lambda: len(runner.jobs) == 2 and client.get("/healthz").get_json()["measuring"]["running"] == 1)
    runner.scripts[""] = Script([Tried(record="two"), Found()])
    runner.jobs[1].interrupt()
    events = [event for _, _, event in follow(client, search)]
    assert [event.get("record") for event in events if event["type"] == "tried"] == ["one", "two"]
    first, second = (request.search for request in runner.requests[1:])
    assert first is not None
    assert second is not None
    assert second.seconds < first.seconds, "what is left"
    assert [request.prefixes for request in runner.requests[1:]] == [True, False], "what there is, once"
    assert events[-1]["status"] == "ok"


def test_the_last_model_is_searched_where_that_is_asked_for(client: FlaskClient, runner: ScriptedRunner) -> None:
    models = [
        RecordedFunction(name="main", graph="graph 1", reason="r"),
        RecordedFunction(name="main", graph="graph 2"),
    ]
    runner.scripts["s"] = Script([snapshot(), *models, *RECORDED])
    state = ModelSearch(kernels=[KernelSearch(name="dense", workload="w")], total=1.0)
    runner.scripts[""] = Script([Tried(record="{}"), state])
    events = [event for _, _, event in follow(client, start(client, search={"model": True}))]
    assert [event["type"] for event in events] == ["progress", "source", "tried", "model", "ended"]
    assert events[0]["label"] == "running the script to record its model"
    assert events[3]["kernels"] == [{"name": "dense", "workload": "w"}]
    assert runner.requests[1].program == "graph 2"
    recording, limits = runner.limits
    assert recording is not None
    assert limits is not None
    assert limits.own_cpus == 1
    assert limits.memory_bytes > recording.memory_bytes, "several builds of a model, of whatever weights"


@pytest.mark.parametrize(
    ("recorded", "model", "words"),
    [
        ([RecordedFunction(name="main", reason="it is too large")], True, "it is too large"),
        (RECORDED, True, "builds no model"),
        ([], False, "makes no function"),
        ([RecordedFunction(name="sort", reason="it calls C")], False, "sort is not searched: it calls C"),
    ],
)
def test_why_nothing_is_searched_is_said(
    recorded: list[RecordedFunction], model: bool, words: str, client: FlaskClient, runner: ScriptedRunner
) -> None:
    runner.scripts["s"] = Script([snapshot(), *recorded])
    events = [event for _, _, event in follow(client, start(client, search={"model": model}))]
    assert words in str([event for event in events if event["type"] == "failed"])
    assert len(runner.requests) == 1


def test_a_search_that_is_killed_says_so_and_keeps_what_was_told(client: FlaskClient, runner: ScriptedRunner) -> None:
    runner.scripts["s"] = Script([snapshot(), RecordedFunction(name="net", graph="graph", reason="r")])
    killed = Outcome(status="crash", detail="SIGSEGV")
    runner.scripts[""] = Script([Tried(record="{}"), ModelSearch(kernels=[])], killed)
    events = [event for _, _, event in follow(client, start(client, search={"model": True}))]
    assert [event["type"] for event in events] == ["progress", "source", "tried", "model", "failed", "ended"]
    assert events[4]["label"] == "net"
    assert "SIGSEGV" in str(events[4]["problem"])


def test_searches_are_limited(client: FlaskClient) -> None:
    for search in ({"seconds": 1000}, {"seconds": 0}, {"pinned": [["a"]]}, {"pinned": [["a", 1]] * 99}, {"more": 1}):
        assert client.post("/api/searches", json={"script": "s", "search": search}).status_code == 422


def test_a_candidate_of_a_kernel_is_derived_from_the_model(client: FlaskClient, runner: ScriptedRunner) -> None:
    runner.scripts["s"] = Script([snapshot(), *RECORDED, RecordedFunction(name="main", graph="graph", reason="r")])
    runner.scripts[""] = Script([CandidateTexts(script="", loops="for", assembly="ret")])
    kernel = {"workload": "w llvm", "ways": {"conv2d": "winograd"}}
    asked = {"script": "s", "choices": [["way", "rules"]], "kernel": kernel}
    assert client.post("/api/candidates", json=asked).get_json()["candidate"]["loops"] == "for"
    request = runner.requests[1]
    assert (request.program, request.kernel) == ("graph", SoughtKernel(workload="w llvm", ways={"conv2d": "winograd"}))


def test_a_candidate_is_derived_without_the_script(client: FlaskClient, runner: ScriptedRunner) -> None:
    runner.scripts["s"] = Script([snapshot(), *RECORDED])
    runner.scripts[""] = Script([CandidateTexts(script="import tvm", loops="for", assembly="ret")])
    answer = client.post("/api/candidates", json={"script": "s", "choices": [["C.way", "tiles"]]}).get_json()
    assert (answer["candidate"]["script"], answer["problem"]) == ("import tvm", "")
    request = runner.requests[1]
    assert (request.mode, request.script, request.program, request.choices) == (
        "candidate", "", "1", [("C.way", "tiles")],
    )  # fmt: skip


def test_the_kernels_of_two_models_are_measured_in_one_process(client: FlaskClient, runner: ScriptedRunner) -> None:
    models = [RecordedFunction(name="main", graph=f"graph {at}", reason="r") for at in range(3)]
    runner.scripts["s"] = Script([snapshot(), *RECORDED, *models])
    runner.scripts[""] = Script([Tried(record="{}"), ModelTimes(models=[{"a": 1.0}, {"b": 2.0}], rounds=3)])
    response = client.post("/api/model-times", json={"script": "s", "models": [-3, -1]})
    events = [event for _, _, event in follow(client, response.get_json()["id"])]
    assert [event["type"] for event in events] == ["source", "models", "ended"]
    assert events[1]["models"] == [{"a": 1.0}, {"b": 2.0}]
    assert [variant.program for variant in runner.requests[1].variants] == ["graph 0", "graph 2"]
    limits = runner.limits[1]
    assert limits is not None
    assert limits.own_cpus == 1


@pytest.mark.parametrize(("places", "words"), [([-2, -1], "too large"), ([-9, -1], "builds no model")])
def test_models_that_are_not_recorded_are_refused(
    places: list[int], words: str, client: FlaskClient, runner: ScriptedRunner
) -> None:
    models = [RecordedFunction(name="main", graph="", reason="too large"), RecordedFunction(name="main", graph="graph")]
    runner.scripts["s"] = Script([snapshot(), *models])
    response = client.post("/api/model-times", json={"script": "s", "models": places})
    failed = [event for _, _, event in follow(client, response.get_json()["id"]) if event["type"] == "failed"]
    assert words in str(failed)
    assert len(runner.requests) == 1
