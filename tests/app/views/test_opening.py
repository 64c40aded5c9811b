"""Opening links: within a rate, in turns by size, and with large responses on the disk."""

from __future__ import annotations

import base64
import random
import threading
import tracemalloc
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from app import create_app
from app.errors import Unavailable
from app.services import EXTENSION, Services
from app.store.byte_semaphore import ByteSemaphore
from app.views import opening
from tests.app.runners import ScriptedRunner, wait_until

MIB = 1 << 20


def client_of(directory: Path, **settings: object) -> FlaskClient:
    return create_app({"DATA_DIR": directory, "RATE_LIMIT": 0, **settings}, ScriptedRunner()).test_client()


def save(client: FlaskClient, content: bytes) -> str:
    files = {"model": base64.b64encode(content).decode()}
    answer = client.post("/api/links", json={"workspace": {"script": "x = 1", "files": files}})
    link: str = answer.get_json()["id"]
    return link


ROUTES = ["/z/{}", "/z/{}?view=embed", "/z/{}/code", "/api/links/{}"]


@pytest.mark.parametrize("route", ROUTES)
def test_what_a_client_opens_is_counted_by_bytes(tmp_path: Path, route: str, one_moment: None) -> None:
    client = client_of(tmp_path, OPENED_BYTES=3 * MIB)
    link = save(client, random.Random(0).randbytes(MIB))
    mine, other = ({"REMOTE_ADDR": f"192.0.2.{number}"} for number in (1, 2))
    statuses = [client.get(route.format(link), environ_base=mine).status_code for _ in range(4)]
    assert statuses == [200, 200, 429, 429]
    assert client.get(route.format(link), environ_base=other).status_code == 200


def test_ids_cannot_be_guessed_quickly(tmp_path: Path, one_moment: None) -> None:
    client = client_of(tmp_path)
    link = save(client, b"")
    statuses = [client.get(f"/api/links/zzzz{number:04}").status_code for number in range(130)]
    assert statuses == [404] * 120 + [429] * 10
    assert client.get(f"/api/links/{link}").status_code == 429, "a guess that is right is not answered either"
    assert client.get(f"/z/{link}", environ_base={"REMOTE_ADDR": "192.0.2.9"}).status_code == 200


@pytest.mark.parametrize("size", [0, 100, 3 * MIB])
def test_a_page_and_its_json_hold_the_same_file(tmp_path: Path, size: int) -> None:
    client = client_of(tmp_path)
    content = random.Random(size).randbytes(size)
    link = save(client, content)
    encoded = base64.b64encode(content)
    page, answer = client.get(f"/z/{link}"), client.get(f"/api/links/{link}")
    assert b'"model":"' + encoded + b'"' in page.data
    assert page.data.rstrip().endswith(b"</html>")
    assert answer.get_json()["state"]["workspace"]["files"]["model"].encode() == encoded
    for response in (page, answer):
        assert response.content_length == len(response.data)


def test_a_response_that_nobody_reads_takes_no_memory(tmp_path: Path) -> None:
    client = client_of(tmp_path)
    link = save(client, random.Random(0).randbytes(4 * MIB))
    client.get(f"/z/{link}")
    tracemalloc.start()
    try:
        waiting = [client.get(path.format(link)) for path in ("/z/{}", "/api/links/{}") for _ in range(4)]
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert all(response.status_code == 200 for response in waiting)
    assert held < 4 * MIB, "one of them alone is larger"
    for response in waiting:
        response.close()


def test_large_links_take_turns_and_small_ones_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of(tmp_path)
    services: Services = client.application.extensions[EXTENSION]
    monkeypatch.setattr(services.link_bytes, "_patience_seconds", 0.05)
    large, small = save(client, random.Random(0).randbytes(MIB)), save(client, b"")
    with client.application.test_request_context(f"/z/{large}"), opening.opened(large):
        assert client.get(f"/z/{small}").status_code == 200
        refused = client.get(f"/api/links/{large}")
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
    assert client.get(f"/api/links/{large}").status_code == 200


def test_a_request_waits_until_bytes_are_released() -> None:
    semaphore, order = ByteSemaphore(10, patience_seconds=20.0), []

    def work() -> None:
        with semaphore.acquire(8):
            order.append("second")

    thread = threading.Thread(target=work)
    with semaphore.acquire(100):
        thread.start()
        wait_until(lambda: bool(semaphore._freed._waiters))  # type: ignore[attr-defined]
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    hasty = ByteSemaphore(10, patience_seconds=0.01)
    with (
        hasty.acquire(6),
        hasty.acquire(4),
        pytest.raises(Unavailable, match="being saved or opened"),
        hasty.acquire(1),
    ):
        pass
    with hasty.acquire(10):
        order.append("third")
    assert order[-1] == "third", "a refusal holds nothing"
