"""Large files: stored once under their hash, whole or not at all, and found again by nothing else."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import pytest

from app.errors import Damaged, InvalidBody, NotFound, TooLarge
from app.uploads import Uploads


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
