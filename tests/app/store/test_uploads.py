"""Large files: stored once under their hash, whole or not at all, and found again by nothing else."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app import create_app
from app.errors import Damaged, InvalidBody, NotFound, TooLarge
from app.store.uploads import Uploads
from tests.app.fixtures import FixedRunner


@pytest.fixture
def uploads(tmp_path: Path) -> Uploads:
    return Uploads(tmp_path / "uploads", largest=1_000)


def test_a_file_comes_back(uploads: Uploads) -> None:
    stored = uploads.put(io.BytesIO(b"weights"))
    assert stored.id == hashlib.sha256(b"weights").hexdigest()
    assert stored.size == 7
    assert uploads.read("model.onnx", stored.id) == b"weights"


def test_the_same_content_is_stored_once(uploads: Uploads, tmp_path: Path) -> None:
    assert uploads.put(io.BytesIO(b"x")) == uploads.put(io.BytesIO(b"x"))
    assert len(list((tmp_path / "uploads").iterdir())) == 1


@pytest.mark.parametrize(("content", "error"), [(b"", InvalidBody), (b"x" * 1_001, TooLarge)])
def test_what_is_refused_leaves_nothing(
    uploads: Uploads, tmp_path: Path, content: bytes, error: type[Exception]
) -> None:
    with pytest.raises(error):
        uploads.put(io.BytesIO(content))
    assert list((tmp_path / "uploads").iterdir()) == []


@pytest.mark.parametrize("file", ["0" * 64, "../strata.sqlite3", "", "."])
def test_only_what_was_uploaded_is_found(uploads: Uploads, tmp_path: Path, file: str) -> None:
    (tmp_path / "strata.sqlite3").write_bytes(b"secret")
    with pytest.raises(NotFound, match=r"model\.onnx"):
        uploads.read("model.onnx", file)


def test_damage_does_not_go_unseen(uploads: Uploads, tmp_path: Path) -> None:
    stored = uploads.put(io.BytesIO(b"weights"))
    (tmp_path / "uploads" / stored.id).write_bytes(b"wights")
    with pytest.raises(Damaged):
        uploads.read("model.onnx", stored.id)


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
    assert "compiled in" in shown.text


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
