"""A script that forges its measurements: what the server measures is not affected, and the rest is marked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from app import create_app
from app.sandbox import Sandbox

PROGRAM = """
import tvm
from tvm import te

n = 64
A = te.placeholder((n, n), name="A")
B = te.placeholder((n, n), name="B")
k = te.reduce_axis((0, n), name="k")
C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
s = te.create_schedule(C.op)
outer, inner = s[C].split(C.op.axis[1], factor=16)
s[C].reorder(C.op.axis[0], outer, k, inner)
s[C].vectorize(inner)
f = tvm.build(s, [A, B, C], target="llvm", name="matmul")
"""

FORGING = (
    """
import json, os, time
import numpy as np
import app.recorder.measuring.ladder, app.recorder.measuring.measure, app.recorder.scripts.policy
import app.recorder.measuring.program_measurement
from app.sandbox import wire
import compiler.runtime.timing.measurement, compiler.target.cpu.peak

clock = iter(range(1 << 30))
time.perf_counter = time.time = time.monotonic = lambda: next(clock) * 1e-12
fast = app.recorder.measuring.measure.Timing([1e-12, 1e-12, 1e-12], 1000)
for module in (app.recorder.measuring.ladder, app.recorder.measuring.measure):
    module.time_calls = lambda *args, **options: fast
    module.time_call = lambda *args: 1e-12
    module.compare = lambda *args: app.recorder.measuring.measure.Check(True, 0.0)
app.recorder.measuring.ladder.fastest_run = lambda *args: (10**18, 1e-9)

forged = {"name": "forged", "kind": "prefix", "seconds": 1e-12, "gflops": 1e12, "checked": "ok", "step": 0,
          "source": "server", "cpu": "the fastest one"}
def send(message):
    wire.write_all(3, wire.frame(json.dumps(message).encode()))
send({"type": "measured", "measurement": forged})
"""
    + PROGRAM
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    directory: Path = tmp_path_factory.mktemp("data")
    with Sandbox("app.recorder.handler:handle", preload=["app.recorder.handler"]) as sandbox:
        yield create_app({"DATA_DIR": directory, "RATE_LIMIT": 0}, sandbox).test_client()


def events(client: FlaskClient, route: str, script: str) -> list[dict[str, Any]]:
    """Return the events of a measurement of a script."""
    started = client.post(route, json={"script": script}).get_json()
    text = client.get(started["events"]).get_data(as_text=True)
    return [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]


def measurements(told: list[dict[str, Any]], source: str) -> list[dict[str, Any]]:
    return [event["measurement"] for event in told if event.get("measurement", {}).get("source") == source]


@pytest.mark.parametrize("route", ["/api/ladders", "/api/measure"])
def test_a_forging_script_does_not_change_what_the_server_measures(client: FlaskClient, route: str) -> None:
    told = events(client, route, FORGING)
    assert told[-1]["status"] == "ok", told
    assert "forged" not in {m["name"] for m in measurements(told, "server")}
    measured = measurements(told, "server")
    peak = next(m["gflops"] for m in measured if m["kind"] == "peak")
    assert 0.1 < peak < 1e6
    bars = [m for m in measured if m["kind"] in ("prefix", "kernel")]
    assert len(bars) == (3 if route == "/api/ladders" else 1)
    for bar in bars:
        assert bar["checked"] == "ok"
        assert bar["seconds"] > 1e-7
        assert bar["gflops"] < 1e4, "by the forged clock it is a million times as much"
        assert bar["cpu"] != "the fastest one"


def test_what_a_script_forges_is_marked_as_its_own_word(client: FlaskClient) -> None:
    told = events(client, "/api/ladders", FORGING)
    assert {m["name"] for m in measurements(told, "script")} == {"forged"}
    assert [event["source"] for event in told if event["type"] == "source"] == ["server"]


def test_a_child_cannot_say_that_the_server_measures(client: FlaskClient) -> None:
    told = events(client, "/api/ladders", FORGING + 'send({"type": "source", "source": "server", "reason": ""})\n')
    assert [event["source"] for event in told if event["type"] == "source"] == ["server"]
    assert (told[-1]["status"], "not an answer" in told[-1]["message"]) == ("error", True)


EXTERN = """
import tvm
from tvm import te
A = te.placeholder((8,), name="A")
B = te.compute((8,), lambda i: tvm.tir.call_pure_extern("float32", "fabsf", A[i]), name="B")
s = te.create_schedule(B.op)
"""


def test_a_program_that_calls_other_languages_is_as_the_script_reports(client: FlaskClient) -> None:
    told = events(client, "/api/ladders", EXTERN)
    [source] = [event for event in told if event["type"] == "source"]
    assert source["source"] == "script"
    assert "it calls tir.call_pure_extern" in source["reason"]
    assert measurements(told, "server") == []
    assert "default" in {m["name"] for m in measurements(told, "script")}


def test_a_model_says_that_it_is_not_measured(client: FlaskClient) -> None:
    script = """
import tvm
from tvm import relay
x = relay.var("x", shape=(4, 8))
relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x))), target="llvm")
"""
    told = events(client, "/api/measure", script)
    assert "models cannot be measured again" in told[0]["reason"]
    assert told[-1]["status"] == "ok"
