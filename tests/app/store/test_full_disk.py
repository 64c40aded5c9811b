"""A full disk: what cannot be stored is refused in plain words, nothing is half-written, and what was stored stays."""

from __future__ import annotations

import html
import io
import random
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import event

from app import create_app
from app.services import EXTENSION, Services
from tests.app.runners import ScriptedRunner
from tests.app.store.doubles import Store

DISK_BYTES = 2 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes, where this process may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this process may not mount a file system")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def client_of(directory: Path, **settings: object) -> FlaskClient:
    return create_app({"DATA_DIR": directory, "RATE_LIMIT": 0, **settings}, ScriptedRunner()).test_client()


def save(client: FlaskClient, number: int) -> tuple[int, dict[str, str]]:
    script = f"x = 0x{random.Random(number).randbytes(10_000).hex()}"
    answer = client.post("/api/links", json={"workspace": {"script": script}})
    return answer.status_code, answer.get_json()


def upload(client: FlaskClient, size: int) -> tuple[int, dict[str, dict[str, str]]]:
    answer = client.post("/api/uploads", data={"file": (io.BytesIO(bytes(size)), "m")})
    return answer.status_code, answer.get_json()


def test_links_on_a_full_disk(small_disk: Path) -> None:
    client = client_of(small_disk)
    saved = []
    for number in range(2000):
        status, answer = save(client, number)
        if status != 201:
            break
        saved.append(answer["id"])
    assert status == 507, answer
    assert answer["error"]["code"] == "storage_full"
    assert answer["error"]["message"] == "the disk of this server is full: the link was not stored"
    assert len(saved) > 10
    assert all(client.get(f"/api/links/{link}").status_code == 200 for link in saved)
    assert all(client.get(f"/z/{link}").status_code == 200 for link in saved[:3])
    assert client.post("/api/compile", json={"script": "x"}).status_code == 200
    health = client.get("/healthz")
    assert (health.status_code, health.get_json()["status"]) == (200, "degraded")
    assert "the disk is full" in health.get_json()["problems"][0]
    restarted = client_of(small_disk)
    assert all(restarted.get(f"/api/links/{link}").status_code == 200 for link in saved)


def test_files_on_a_full_disk(small_disk: Path) -> None:
    client = client_of(small_disk, RESERVE_BYTES=0)
    assert upload(client, 1 << 20)[0] == 201
    status, answer = upload(client, DISK_BYTES)
    assert (status, answer["error"]["code"]) == (507, "storage_full")
    assert answer["error"]["message"] == "the disk of this server is full: the file was not stored"
    assert [len(path.name) for path in (small_disk / "uploads").iterdir()] == [64]
    reserved = client_of(small_disk, RESERVE_BYTES=DISK_BYTES)
    assert upload(reserved, 1)[0] == 507


def test_no_room_for_a_request_s_body(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> object:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("werkzeug.formparser.SpooledTemporaryFile", full)
    status, answer = upload(client_of(tmp_path), 1)
    assert status == 507
    assert answer["error"]["message"] == "the disk of this server is full: the request was not stored"


def test_a_full_database_anywhere(tmp_path: Path) -> None:
    """SQLite says the same of a database that may not grow as of a disk that is full."""
    client = client_of(tmp_path)
    services: Services = client.application.extensions[EXTENSION]
    engine = services.links._engine
    with engine.connect() as connection:
        most = connection.exec_driver_sql("PRAGMA page_count").scalar_one() + 4
    engine.dispose()
    event.listen(engine, "connect", lambda raw, _: raw.execute(f"PRAGMA max_page_count={most}"))
    answers = [save(client, number) for number in range(20)]
    saved = [answer["id"] for status, answer in answers if status == 201]
    assert {status for status, _ in answers} == {201, 507}
    assert all(client.get(f"/api/links/{link}").status_code == 200 for link in saved)
    page = client.get("/z/" + saved[0])
    assert page.status_code == 200


def test_a_locked_database_says_so_and_does_not_hold_the_health_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_of(tmp_path)
    services: Services = client.application.extensions[EXTENSION]
    event.listen(services.links._engine, "connect", lambda raw, _: raw.execute("PRAGMA busy_timeout=50"))
    services.links._engine.dispose()
    other = Store(f"sqlite:///{tmp_path / 'strata.sqlite3'}")
    with other._engine.connect() as connection:
        connection.exec_driver_sql("BEGIN EXCLUSIVE")
        status, answer = save(client, 1)
        error = answer["error"]
        assert (status, error["code"], error["message"]) == (503, "unavailable", "the database of the links is busy")
        assert client.get("/healthz").get_json()["links"] == "ok", "one who writes does not keep others from reading"
    assert save(client, 1)[0] == 201


def test_the_health_check_says_when_the_database_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of(tmp_path)
    services: Services = client.application.extensions[EXTENSION]
    released = threading.Event()
    monkeypatch.setattr(services.liveness, "_check", released.wait)
    monkeypatch.setattr("app.store.liveness.HANGING_SECONDS", 0.0)
    for _ in range(3):
        health = client.get("/healthz")
        assert (health.status_code, health.get_json()["status"], health.get_json()["links"]) == (
            503,
            "failing",
            "failing",
        )
    released.set()
    services.liveness._asking.join()  # type: ignore[union-attr]
    assert client.get("/healthz").get_json()["links"] == "ok"


def test_a_page_says_it_in_the_same_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of(tmp_path)
    status, saved = save(client, 1)
    assert status == 201
    services: Services = client.application.extensions[EXTENSION]
    monkeypatch.setattr(services.links, "_key", b"another")
    answer = client.get(f"/api/links/{saved['id']}")
    page = client.get(f"/z/{saved['id']}")
    assert answer.status_code == page.status_code == 500
    assert answer.get_json()["error"]["code"] == "damaged"
    message = html.unescape(page.text)
    assert answer.get_json()["error"]["message"].removeprefix("the ") in message
    health = client.get("/healthz").get_json()
    assert (health["status"], health["links"]) == ("degraded", "damaged")
