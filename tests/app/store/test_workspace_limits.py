"""What a workspace may carry: refused before anything is read or waits, with the limit named."""

from __future__ import annotations

import io
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from app.services import EXTENSION, Services
from tests.app.runners import Script, ScriptedRunner, wait_until

MIB = 1 << 20


@pytest.fixture
def app(tmp_path: Path, runner: ScriptedRunner) -> Flask:
    settings = {"RATE_LIMIT": 0, "FILES_BYTES": MIB, "WORKSPACE_UPLOADS_BYTES": 10 * MIB, "COMPILING": 1}
    return create_app({"DATA_DIR": tmp_path, **settings}, runner)


def upload(client: FlaskClient, content: bytes) -> str:
    answer = client.post("/api/uploads", data={"file": (io.BytesIO(content), "model.onnx")})
    file: str = answer.get_json()["id"]
    return file


def refusal(client: FlaskClient, route: str, workspace: dict[str, Any]) -> tuple[int, dict[str, str]]:
    body = {"workspace": workspace} if route == "/api/links" else workspace
    answer = client.post(route, json=body)
    return answer.status_code, answer.get_json()["error"]


ROUTES = ["/api/compile", "/api/run", "/api/ladders", "/api/links"]


@pytest.mark.parametrize("route", ROUTES)
def test_a_file_that_is_named_often_counts_as_often(client: FlaskClient, runner: ScriptedRunner, route: str) -> None:
    file = upload(client, bytes(3 * MIB))
    status, error = refusal(client, route, {"script": "", "uploads": {f"m{n}": file for n in range(4)}})
    assert (status, error["code"], error["field"]) == (413, "too_large", "$.uploads")
    assert (error["message"], error["expected"]) == (
        "the stored files have 12,582,912 bytes together",
        "at most 10,485,760 bytes",
    )
    assert runner.jobs == []


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(("kind", "limit"), [("files", 64), ("uploads", 16)])
def test_files_are_counted(client: FlaskClient, route: str, kind: str, limit: int) -> None:
    content = upload(client, b"x") if kind == "uploads" else ""
    status, error = refusal(client, route, {"script": "", kind: {f"m{n}": content for n in range(limit + 1)}})
    assert (status, error["field"], error["expected"]) == (422, f"$.{kind}", f"at most {limit}")


@pytest.mark.parametrize("route", ROUTES)
def test_attached_files_are_bounded_together(client: FlaskClient, route: str) -> None:
    half = "A" * (MIB // 3 * 4)
    status, error = refusal(client, route, {"script": "", "files": {"a": half, "b": half}})
    assert (status, error["code"], error["expected"]) == (413, "too_large", "at most 1,048,576 bytes")


@pytest.mark.parametrize("route", ["/api/compile", "/api/run"])
def test_what_could_never_start_does_not_wait(client: FlaskClient, runner: ScriptedRunner, route: str) -> None:
    until = threading.Event()
    runner.scripts["slow"] = Script(until=until)
    slow = threading.Thread(target=client.post, args=(route,), kwargs={"json": {"script": "slow"}})
    slow.start()
    try:
        wait_until(lambda: bool(runner.jobs))
        status, error = refusal(client, route, {"script": "", "files": {"../escape": ""}})
    finally:
        until.set()
        slow.join()
    assert (status, error["expected"]) == (422, "plain file names")


def test_a_script_s_memory_grows_with_its_files_up_to_a_limit(client: FlaskClient, runner: ScriptedRunner) -> None:
    small, large = upload(client, bytes(MIB)), upload(client, b"x" * (5 * MIB))
    named = [{}, {"m": small}, {"m": large, "n": large}]
    for uploads in named:
        client.post("/api/compile", json={"script": "", "uploads": uploads})
    base, one, ten = [limits.memory_bytes for limits in runner.limits if limits is not None]
    assert (one - base, ten - base) == (8 * MIB, 80 * MIB)


class Zeros(io.RawIOBase):
    """A form that is sent in chunks: its length is not announced."""

    def __init__(self, size: int) -> None:
        head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="m"\r\n\r\n'
        self._pieces = self._cut(head, size)
        self._rest = b""

    @staticmethod
    def _cut(head: bytes, size: int) -> Iterator[bytes]:
        yield head
        for _ in range(size // MIB):
            yield bytes(MIB)
        yield b"\r\n--b--\r\n"

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._rest = self._rest or next(self._pieces, b"")
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def chunked(client: FlaskClient, form: io.RawIOBase) -> int:
    answer = client.post(
        "/api/uploads",
        headers={"Transfer-Encoding": "chunked"},
        environ_overrides={
            "wsgi.input": io.BufferedReader(form),
            "wsgi.input_terminated": True,
            "CONTENT_LENGTH": "",
            "CONTENT_TYPE": "multipart/form-data; boundary=b",
        },
    )
    return answer.status_code


def test_a_day_s_bytes_count_however_they_are_sent(tmp_path: Path, runner: ScriptedRunner) -> None:
    settings = {"DATA_DIR": tmp_path, "RATE_LIMIT": 0, "STORED_BYTES": 5 * MIB}
    client = create_app(settings, runner).test_client()
    sizes = [2, 2, 3, 6, 4]
    assert [chunked(client, Zeros(size * MIB)) for size in sizes] == [201, 201, 201, 429, 429]
    stored = sorted(path.stat().st_size // MIB for path in (tmp_path / "uploads").iterdir())
    assert stored == [2, 3], "the second file was there already, and cost nothing"


def test_files_pass_through_the_server_in_pieces(app: Flask, client: FlaskClient) -> None:
    tracemalloc.start()
    try:
        assert chunked(client, Zeros(8 * MIB)) == 201
        services: Services = app.extensions[EXTENSION]
        [file] = [path.name for path in services.uploads.directory.iterdir()]
        assert client.post("/api/compile", json={"script": "", "uploads": {"m": file}}).status_code == 200
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * MIB
