"""Files that several servers share: what is uploaded to one is found by the others, complete or not at all."""

from __future__ import annotations

import io
import os
import time
from pathlib import Path

import pytest

from app.config import ConfigurationError
from app.errors import Damaged, NotFound, StorageFull, Unavailable
from app.store.shared_files import SharedFiles
from app.store.space import BLOCK
from app.store.uploads import Uploads
from tests.app.store.doubles import Meter
from tests.app.store.servers import object_store as object_store
from tests.app.store.servers import point_at

LIMIT = 1 << 20


@pytest.fixture(params=["directory", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SharedFiles:
    if request.param == "directory":
        return SharedFiles(f"file://{tmp_path / 'shared'}")
    address = request.getfixturevalue("object_store")
    point_at(address, monkeypatch)
    return SharedFiles(f"s3://strata-{time.monotonic_ns()}/files")


def server(tmp_path: Path, name: str, store: SharedFiles | None, capacity: int = LIMIT) -> Uploads:
    return Uploads(tmp_path / name, largest=LIMIT, capacity=capacity, shared=store)


def test_a_file_is_found_by_another_server(tmp_path: Path, store: SharedFiles) -> None:
    content = os.urandom(300_000)
    stored = server(tmp_path, "first", store).put(io.BytesIO(content), Meter())
    second = server(tmp_path, "second", store)
    found = second.find("model.onnx", stored.id)
    assert found.path.read_bytes() == content
    assert found.path.parent == tmp_path / "second", "scripts read a file of their own server"
    assert second.space.used >= len(content)
    quota = Meter()
    assert second.put(io.BytesIO(content), quota) == stored
    assert quota.charged == 0, "what is here costs nothing"


def test_what_nobody_has_is_not_found(tmp_path: Path, store: SharedFiles) -> None:
    with pytest.raises(NotFound):
        server(tmp_path, "first", store).find("model.onnx", "0" * 64)


def test_a_file_that_was_changed_in_the_store_is_refused(tmp_path: Path) -> None:
    store = SharedFiles(f"file://{tmp_path / 'shared'}")
    stored = server(tmp_path, "first", store).put(io.BytesIO(b"weights"), Meter())
    (tmp_path / "shared" / stored.id).write_bytes(b"others!")
    second = server(tmp_path, "second", store)
    with pytest.raises(Damaged, match=r"model\.onnx"):
        second.find("model.onnx", stored.id)
    assert list((tmp_path / "second").iterdir()) == []
    assert second.space.used == 0


def test_a_server_without_room_says_so(tmp_path: Path, store: SharedFiles) -> None:
    stored = server(tmp_path, "first", store).put(io.BytesIO(b"x" * 3 * BLOCK), Meter())
    with pytest.raises(StorageFull):
        server(tmp_path, "second", store, capacity=BLOCK).find("model.onnx", stored.id)


def test_a_store_that_does_not_answer_keeps_nothing(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    uploads = server(tmp_path, "first", SharedFiles(f"file://{shared}"))
    shared.rmdir()
    shared.write_text("a file stands where the directory was")
    with pytest.raises(Unavailable, match="does not answer"):
        uploads.put(io.BytesIO(b"weights"), Meter())
    assert list((tmp_path / "first").iterdir()) == [], "a link to it would not open elsewhere"


@pytest.mark.parametrize("url", ["nosuch://x/y", "file:///proc/nothing/here"])
def test_a_store_that_cannot_be_used_is_said_at_the_start(url: str) -> None:
    with pytest.raises(ConfigurationError, match=f"the store {url} cannot be used"):
        SharedFiles(url)
