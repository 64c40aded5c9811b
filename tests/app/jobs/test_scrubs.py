"""A number of a script at several values: each script is recorded, all records are measured in turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from flask.testing import FlaskClient

from app.artifacts import Measurement, Problem
from app.protocol import Measured, RecordedFunction
from app.views.scrubs import variants_of
from tests.app.jobs.test_ladders import follow
from tests.app.runners import Script, ScriptedRunner, snapshot

SCRIPT = "n = 1\nä = f(n, factor=16)\n"
PLACE = {"line": 2, "column": 16}


def ask(client: FlaskClient, **fields: object) -> Any:
    return client.post("/api/scrubs", json={"script": SCRIPT, **PLACE, "values": ["8", "32"], **fields})


def test_each_value_is_recorded_and_all_are_measured_in_one_process(
    client: FlaskClient, runner: ScriptedRunner
) -> None:
    refused = Problem(kind="TVMError", message="32 is too much", line=2)
    forged = Measured(measurement=Measurement(name="8", kind="kernel", seconds=1e-9))
    first, last = (RecordedFunction(name="main", program=text) for text in ("first", "last"))
    runner.scripts[SCRIPT.replace("16", "8")] = Script([snapshot(), first, forged, last])
    left = snapshot(None, status="error", problems=[refused])
    runner.scripts[SCRIPT.replace("16", "32")] = Script([left, last])
    told = Measured(measurement=Measurement(name="8", kind="kernel", seconds=0.5))
    runner.scripts[""] = Script([told])
    events = [event for _, _, event in follow(client, ask(client).get_json()["id"])]
    assert [event["type"] for event in events] == ["progress", "progress", "failed", "source", "measured", "ended"]
    failed, measured = events[2], events[4]
    assert (events[1]["label"], events[1]["done"], events[1]["total"]) == ("running the script with 32", 1, 2)
    assert (failed["label"], failed["problem"]["message"]) == ("32", "32 is too much")
    assert (measured["measurement"]["seconds"], measured["measurement"]["source"]) == (0.5, "server")
    *_, contest = runner.requests
    assert [(each.label, each.program) for each in contest.variants] == [("8", "last")]
    assert (contest.mode, contest.script) == ("measure", "")


def test_without_a_value_that_is_legal_nothing_is_measured(client: FlaskClient, runner: ScriptedRunner) -> None:
    for value in ("8", "32"):
        runner.scripts[SCRIPT.replace("16", value)] = Script([snapshot()])
    events = [event for _, _, event in follow(client, ask(client).get_json()["id"])]
    failures = [event["problem"]["message"] for event in events if event["type"] == "failed"]
    assert failures == ["the script makes no function"] * 2
    assert len(runner.requests) == 2


@pytest.mark.parametrize(
    "fields",
    [
        {"line": 1, "column": 0}, {"column": 17}, {"line": 9}, {"values": []}, {"values": ["8; import os"]},
        {"values": ["-1"]}, {"values": [str(value) for value in range(99)]}, {"more": 1},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_number_is_refused(client: FlaskClient, runner: ScriptedRunner, fields: Mapping[str, Any]) -> None:
    assert ask(client, **fields).status_code == 422
    assert runner.requests == []


def test_only_the_number_at_the_place_changes() -> None:
    script = "a = 16\r\nb = [16, 0x10, 1e-3]  # 16\nc = 16"
    for column, number in ((5, "16"), (9, "0x10"), (15, "1e-3")):
        [(value, changed)] = variants_of(script, 2, column, ["7", "7"])
        second = script.split("\n")[1]
        assert changed.split("\n")[1] == second[:column] + "7" + second[column + len(number) :]
        assert value == "7"
        assert changed.replace(changed.split("\n")[1], second) == script
