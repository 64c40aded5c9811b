"""The Model Context Protocol: what its official client is told, and what malformed messages are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from app import create_app
from app.artifacts import Measurement, Problem
from app.mcp.messages import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, RESOURCE_NOT_FOUND
from app.mcp.tools import MAX_ITEMS, MAX_TEXT, shortened
from app.protocol import Failed, Measured, RecordedFunction
from app.sandbox import Outcome
from tests.app.runners import Script, ScriptedRunner, broken, listing, snapshot


def test_a_ladder_says_who_measured_and_what_failed(client: FlaskClient, runner: ScriptedRunner) -> None:
    row = Measurement(name="default", kind="prefix", seconds=1.0, step=0, source="server", checked="ok")
    events = [RecordedFunction(name="f", reason="it calls C"), Measured(measurement=row)]
    failed = Failed(label="split", problem=Problem(kind="TVMError", message="no"))
    runner.scripts["ladder"] = Script([snapshot(None, listing()), *events, failed])
    arguments = {"script": "ladder"}
    answer = client.post("/mcp", json=request("tools/call", name="ladder", arguments=arguments)).get_json()["result"]
    told = json.loads(answer["content"][0]["text"])
    [measured] = told["measurements"]
    assert (measured["source"], measured["checked"]) == ("script", "ok"), "whatever the process claimed"
    assert told["failures"][0]["label"] == "split"
    assert told["notes"][0] == "the script's own process measures: f: it calls C"


def request(method: str, number: object = 1, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, PARSE_ERROR),
        (b"\xff", 400, PARSE_ERROR),
        (b"[" * 90_000, 400, INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": ' + b"[" * 90_000, 400, PARSE_ERROR),
        (b"[]", 400, INVALID_REQUEST),
        (b"7", 400, INVALID_REQUEST),
        (b'{"id": 1, "method": "ping"}', 400, INVALID_REQUEST),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', 400, INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": [], "method": "ping"}', 400, INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', 400, INVALID_REQUEST),
        (request("tools/remove"), 200, METHOD_NOT_FOUND),
        (request("tools/call"), 200, INVALID_PARAMS),
        ({**request("tools/call"), "params": None}, 200, INVALID_PARAMS),
        (request("tools/call", name="os.system", arguments={"command": "id"}), 200, INVALID_PARAMS),
        (request("resources/read", uri="file:///etc/passwd"), 200, RESOURCE_NOT_FOUND),
        (request("resources/read", uri="strata://lessons/"), 200, RESOURCE_NOT_FOUND),
    ],
)
def test_malformed_messages_get_an_error(client: FlaskClient, body: Any, status: int, code: int) -> None:
    data = body if isinstance(body, bytes) else json.dumps(body)
    response = client.post("/mcp", data=data, content_type="application/json")
    assert (response.status_code, response.get_json()["error"]["code"]) == (status, code)
    assert response.get_json()["error"]["message"]
    assert response.get_json()["id"] == (1 if status == 200 else None)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "missing required field `script`"),
        ({"script": 3}, "Expected `str`"),
        ({"script": "x", "skript": "y"}, "unknown field `skript`"),
        ({"script": "x", "threads": 0}, "`int` >= 1"),
        ({"script": "x" * 1_000_001}, "length <= 1000000"),
        ({"script": "x", "device": "abacus"}, "matching regex"),
        ({"script": "x", "target": "abacus"}, "target: Target: unknown kind 'abacus'"),
        ({"script": "x", "target": "llvm -mtriple=mips-linux-gnu"}, "aarch64, riscv64, wasm32, not for mips"),
        ({"script": "x", "target": "llvm -mcpu=sandybrigde"}, "unknown CPU 'sandybrigde' for x86_64"),
    ],
)
def test_wrong_arguments_are_told_to_the_assistant(
    client: FlaskClient, runner: ScriptedRunner, arguments: dict[str, object], words: str
) -> None:
    client.application.config["MAX_CONTENT_LENGTH"] = None
    answer = client.post("/mcp", json=request("tools/call", name="compile", arguments=arguments)).get_json()["result"]
    assert answer["isError"]
    assert words in answer["content"][0]["text"]
    assert runner.jobs == []


def test_the_assembly_is_of_the_processor_that_is_named(client: FlaskClient, runner: ScriptedRunner) -> None:
    arguments = {"script": "x", "pane": "asm", "target": "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72"}
    client.post("/mcp", json=request("tools/call", name="compile", arguments=arguments))
    [asked] = runner.requests
    assert asked.options.assembly == "aarch64:cortex-a72"


def test_a_tool_fails_as_the_api_does(tmp_path: Path, runner: ScriptedRunner, one_moment: None) -> None:
    client = create_app({"DATA_DIR": tmp_path, "RATE_LIMIT": 9}, runner).test_client()
    compiling = request("tools/call", name="compile", arguments={"script": "crash"})
    runner.scripts["crash"] = Script([], Outcome(status="crash", detail="SIGSEGV"))
    told = json.loads(client.post("/mcp", json=compiling).get_json()["result"]["content"][0]["text"])
    assert (told["status"], told["text"]) == ("crash", "")
    assert "SIGSEGV" in told["problems"][0]["message"]
    runner.refuses = broken
    answer = client.post("/mcp", json=compiling).get_json()["result"]
    assert answer["isError"]
    assert "start" in answer["content"][0]["text"]
    statuses = [client.post("/mcp", json=compiling).status_code for _ in range(6)]
    assert statuses[0] == 200
    assert statuses[-1] == 429, "calls count against the quota of their address, and so does what they ask for"


@pytest.mark.parametrize(
    ("tool", "arguments"), [("compile", {"script": "endless"}), ("compare", {"before": "endless", "after": "endless"})]
)
def test_a_script_that_runs_out_of_time_is_told_so(
    client: FlaskClient, runner: ScriptedRunner, tool: str, arguments: dict[str, str]
) -> None:
    runner.scripts["endless"] = Script([snapshot(1)], Outcome(status="timeout"))
    answer = client.post("/mcp", json=request("tools/call", name=tool, arguments=arguments)).get_json()["result"]
    assert not answer["isError"]
    assert "Timeout" in answer["content"][0]["text"]


def test_what_is_no_request_has_no_answer(client: FlaskClient) -> None:
    for body in ({"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": 1, "result": {}}):
        response = client.post("/mcp", json=body)
        assert (response.status_code, response.data) == (202, b"")
    assert client.get("/mcp").status_code == 405
    assert client.delete("/mcp").status_code == 405
    assert client.post("/mcp", data=b"{}", content_type="text/plain").status_code == 415
    unheard = client.post("/mcp", json=request("ping"), headers={"MCP-Protocol-Version": "1999-01-01"})
    assert (unheard.status_code, "2025-11-25" in unheard.get_json()["error"]["expected"]) == (400, True)
    foreign = client.post("/mcp", json=request("ping"), headers={"Origin": "https://evil.example"})
    assert foreign.status_code == 403


def test_long_texts_are_shortened_and_say_so() -> None:
    cut = shortened({"text": "x" * (MAX_TEXT + 5), "lines": list(range(MAX_ITEMS + 2)), "n": 1.5})
    assert cut["text"].endswith("\n… 5 characters more; ask for one function")
    assert cut["lines"][-1] == "… 2 more"
    assert len(cut["lines"]) == MAX_ITEMS + 1
    assert cut["n"] == 1.5
