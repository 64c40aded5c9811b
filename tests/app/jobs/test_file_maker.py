"""Files that scripts become travel in parts: what is hostile, broken off or too large never reaches a user."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app import create_app
from app.built_files import PART, PART_BYTES, BuiltFile, parts_of
from app.config import MIB
from app.errors import Busy
from app.jobs.file_maker import MEMORY_BYTES, IncomingFile
from app.memory import Budget
from app.protocol import Message
from app.sandbox import Outcome
from app.services import services_of
from tests.app.runners import Script, ScriptedRunner, snapshot

CONTENT = bytes(range(256)) * (PART_BYTES // 100)
PARTS = list(parts_of(CONTENT))
SAID = BuiltFile(name="model", size=len(CONTENT))
CRASH = Outcome(status="crash", detail="SIGSEGV")


@pytest.fixture
def app(tmp_path: Path, runner: ScriptedRunner) -> Flask:
    return create_app({"DATA_DIR": tmp_path, "RATE_LIMIT": 0, "BUILT_FILE_BYTES": 4 * MIB}, runner)


def asked(client: FlaskClient) -> TestResponse:
    """Ask for the library of the script that the runner knows."""
    return client.post("/api/files", json={"script": "made", "file": {"form": "so", "model": True}})


def held(app: Flask) -> int:
    """Return the bytes of files that are accounted for."""
    return services_of(app).file_maker.budget.held


def test_a_file_of_many_parts_arrives_whole(client: FlaskClient, runner: ScriptedRunner, app: Flask) -> None:
    runner.scripts["made"] = Script([snapshot(), *PARTS, SAID])
    answer = asked(client)
    assert answer.status_code == 200
    assert answer.content_length == len(CONTENT) > 2 * PART_BYTES
    assert answer.headers["Content-Disposition"] == "attachment; filename=model.so"
    assert answer.data == CONTENT
    answer.close()
    assert held(app) == 0
    limits = runner.limits[-1]
    assert runner.requests[-1].file_bytes == 4 * MIB
    assert limits is not None
    assert 4 * MIB < limits.output_bytes - limits.message_bytes < 16 * MIB


def test_a_job_that_is_started_again_begins_anew(client: FlaskClient, runner: ScriptedRunner) -> None:
    runner.scripts["made"] = Script([*PARTS[:2], snapshot(), *PARTS, SAID])
    assert asked(client).data == CONTENT


@pytest.mark.parametrize(
    ("messages", "outcome", "words"),
    [
        ([snapshot(), *PARTS[:-1]], CRASH, "ended: SIGSEGV"),
        ([*PARTS[:-1], SAID], Outcome(status="ok"), "is incomplete"),
        ([PARTS[0], PARTS[2], SAID], Outcome(status="ok"), "came after 1,048,576 bytes"),
        ([PARTS[0], PARTS[0][:-1], SAID], Outcome(status="ok"), "is incomplete"),
        ([PART, SAID], Outcome(status="ok"), "at least 23 bytes"),
        ([*parts_of(bytes(4 * MIB + 1)), SAID], Outcome(status="ok"), "larger than the 4,194,304 bytes"),
        ([*PARTS, BuiltFile(problem="it is none")], Outcome(status="ok"), "it is none"),
        ([b'{"type":"file","size":-1}'], Outcome(status="ok"), "is not an answer"),
    ],
    ids=["crash", "broken off", "gap", "overwritten", "no part", "too large", "refused", "no number"],
)
def test_what_is_no_whole_file_is_none(
    client: FlaskClient,
    runner: ScriptedRunner,
    app: Flask,
    messages: list[Message | bytes],
    outcome: Outcome,
    words: str,
) -> None:
    runner.scripts["made"] = Script(messages, outcome)
    answer = asked(client)
    assert answer.status_code == 404
    assert words in answer.get_json()["error"]["message"]
    assert held(app) == 0


def test_large_files_lie_on_the_disk_without_a_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    arriving = IncomingFile(Budget("files", 8 * MIB), "client", 4 * MIB)
    for part in PARTS:
        arriving.take(part)
    assert not arriving.content.in_memory
    assert len(CONTENT) > MEMORY_BYTES
    assert not list(tmp_path.iterdir()), "nothing is left whatever ends the server"
    assert b"".join(arriving.content) == CONTENT
    arriving.content.close()


def test_one_client_cannot_fill_the_disk() -> None:
    budget = Budget("files", 2 * len(CONTENT) + 2 * PART_BYTES)
    first, second = (IncomingFile(budget, "client", 4 * MIB) for _ in range(2))
    for part in PARTS:
        first.take(part)
    second.take(PARTS[0])
    with pytest.raises(Busy, match="this address"):
        second.take(PARTS[1])
    first.content.close()
    second.take(PARTS[1])
    second.content.close()
    assert budget.held == 0
