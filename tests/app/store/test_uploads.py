"""Large files: stored once under their hash, whole or not at all, and found again by nothing else."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
from io import BufferedReader
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app import create_app
from app.errors import Busy, Damaged, InvalidBody, NotFound, StorageFull, TooLarge
from app.store.space import BLOCK
from app.store.uploads import Upload, Uploads
from tests.app.fixtures import FixedRunner
from tests.app.store.doubles import Meter


@pytest.fixture
def uploads(tmp_path: Path) -> Uploads:
    return Uploads(tmp_path / "uploads", largest=1_000, capacity=1 << 20)


def put(uploads: Uploads, content: bytes, quota: Meter | None = None) -> Upload:
    return uploads.put(io.BytesIO(content), quota or Meter())


def names(uploads: Path) -> list[str]:
    return sorted(path.name for path in uploads.iterdir())


def test_a_file_comes_back(uploads: Uploads) -> None:
    stored = put(uploads, b"weights")
    assert stored.id == hashlib.sha256(b"weights").hexdigest()
    assert stored.size == 7
    file = uploads.find("model.onnx", stored.id)
    assert (file.size, file.path.read_bytes()) == (7, b"weights")


def test_the_same_content_is_stored_once(uploads: Uploads, tmp_path: Path) -> None:
    quota = Meter()
    assert put(uploads, b"x", quota) == put(uploads, b"x", quota)
    assert len(names(tmp_path / "uploads")) == 1
    assert quota.charged == uploads.space.used == BLOCK, "even the smallest file takes a block"


@pytest.mark.parametrize(("content", "error"), [(b"", InvalidBody), (b"x" * 1_001, TooLarge)])
def test_what_is_refused_leaves_nothing(
    uploads: Uploads, tmp_path: Path, content: bytes, error: type[Exception]
) -> None:
    with pytest.raises(error):
        put(uploads, content)
    assert names(tmp_path / "uploads") == []
    assert uploads.space.used == 0


@pytest.mark.parametrize("file", ["0" * 64, "../strata.sqlite3", "", "."])
def test_only_what_was_uploaded_is_found(uploads: Uploads, tmp_path: Path, file: str) -> None:
    (tmp_path / "strata.sqlite3").write_bytes(b"secret")
    with pytest.raises(NotFound, match=r"model\.onnx"):
        uploads.find("model.onnx", file)


def test_damage_does_not_go_unseen(uploads: Uploads, tmp_path: Path) -> None:
    stored = put(uploads, b"weights")
    (tmp_path / "uploads" / stored.id).write_bytes(b"wights")
    for _ in range(2):
        with pytest.raises(Damaged):
            uploads.find("model.onnx", stored.id)
    put(uploads, b"weights")
    assert uploads.find("model.onnx", stored.id).path.read_bytes() == b"weights", "storing it again makes it whole"


def test_a_file_is_verified_once_after_a_start(
    uploads: Uploads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, honest, verified = put(uploads, b"weights"), hashlib.file_digest, []

    def digest(file: BufferedReader, name: str) -> object:
        verified.append(file.name)
        return honest(file, name)

    monkeypatch.setattr(hashlib, "file_digest", digest)
    again = Uploads(tmp_path / "uploads", largest=1_000, capacity=1 << 20)
    assert [again.find("m", stored.id).size for _ in range(3)] == [7, 7, 7]
    assert len(verified) == 1


@pytest.mark.parametrize("size", [BLOCK, 5 * BLOCK + 1])
def test_a_quota_counts_what_is_stored(tmp_path: Path, size: int) -> None:
    uploads = Uploads(tmp_path, largest=1 << 20, capacity=1 << 20)
    quota = Meter(limit=5 * BLOCK)
    if size > quota.limit:
        with pytest.raises(Busy):
            put(uploads, b"x" * size, quota)
        assert (quota.charged, names(tmp_path)) == (0, [])
    else:
        put(uploads, b"x" * size, quota)
        assert quota.charged == size


def test_all_files_together_are_bounded(tmp_path: Path) -> None:
    uploads = Uploads(tmp_path, largest=1 << 20, capacity=2 * BLOCK)
    first, _ = put(uploads, b"a"), put(uploads, b"b")
    for _ in range(2):
        with pytest.raises(StorageFull, match="storage for files is full"):
            put(uploads, b"c")
    assert len(names(tmp_path)) == 2
    (tmp_path / first.id).unlink()
    restarted = Uploads(tmp_path, largest=1 << 20, capacity=2 * BLOCK)
    assert put(restarted, b"c").size == 1


def test_a_part_of_the_disk_stays_free(tmp_path: Path) -> None:
    everything = 1 << 60
    uploads = Uploads(tmp_path, largest=1 << 20, capacity=everything, reserve=everything)
    with pytest.raises(StorageFull, match="the disk of this server is full: the file was not stored"):
        put(uploads, b"a")
    assert names(tmp_path) == []


WRITER = """
import sys
from pathlib import Path
from app.store import uploads
handle, path = uploads._create(Path(sys.argv[1]))
print(path, flush=True)
sys.stdin.read()
"""


def test_a_start_sweeps_what_a_killed_server_left_but_not_what_another_writes(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as it:
        assert it.stdout is not None
        path = Path(it.stdout.readline().decode().strip())
        Uploads(tmp_path, largest=1_000, capacity=1 << 20)
        assert path.exists(), "its writer lives"
        it.kill()
        it.wait()
    assert path.exists()
    Uploads(tmp_path, largest=1_000, capacity=1 << 20)
    assert not path.exists()


@pytest.fixture
def client(tmp_path: Path) -> FlaskClient:
    return create_app({"DATA_DIR": tmp_path / "app", "RATE_LIMIT": 0}, FixedRunner()).test_client()


def upload(client: FlaskClient, content: bytes) -> TestResponse:
    return client.post("/api/uploads", data={"file": (io.BytesIO(content), "model.onnx")})


def test_the_pages_form_names_uploads_by_hash(client: FlaskClient) -> None:
    answer = upload(client, b"weights")
    assert answer.status_code == 201
    file = answer.get_json()["id"]
    form = {"script": "x = 1", "uploads": json.dumps({"model.onnx": file})}
    shown = client.post("/panes", data=form, headers={"HX-Request": "true"})
    assert shown.status_code == 200
    assert "✓ compiled" in shown.text


@pytest.mark.parametrize(
    ("uploads", "status", "words"),
    [
        ({"model.onnx": "0" * 64}, 404, "attach it again"),
        ({"model.onnx": "../../etc/passwd"}, 422, "uploads"),
        (["model.onnx"], 422, "uploads"),
    ],
)
def test_a_form_with_files_that_are_not_here(client: FlaskClient, uploads: object, status: int, words: str) -> None:
    form = {"script": "x = 1", "uploads": json.dumps(uploads)}
    answer = client.post("/panes", data=form, headers={"HX-Request": "true"})
    assert answer.status_code == status
    assert words in answer.text


def test_a_file_may_have_100_mb(client: FlaskClient) -> None:
    most = 100 * 1024 * 1024
    content = bytes(most + 1)
    assert upload(client, content[:most]).status_code == 201
    refused = upload(client, content)
    assert refused.status_code == 413
    assert refused.get_json()["error"]["message"] == "the file is too large"
    assert "104,857,600" in refused.get_json()["error"]["expected"]
