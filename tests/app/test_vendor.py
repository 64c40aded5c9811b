"""Vendored libraries are what the manifest says, and small enough."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

STATIC = Path(__file__).resolve().parents[2] / "static"
VENDOR = STATIC / "vendor"
MANIFEST = json.loads((VENDOR / "manifest.json").read_text())
SCRIPT_BUDGET = 313_000
"""Bytes of compressed JavaScript that the page may begin with; folders hold what is loaded when it is needed."""


def test_every_file_has_the_hash_of_the_manifest() -> None:
    for library in MANIFEST["libraries"]:
        for file in library["files"]:
            digest = hashlib.sha256((VENDOR / file["path"]).read_bytes()).hexdigest()
            assert digest == file["sha256"], file["path"]
        assert (VENDOR / library["licence_text"]).read_text().strip(), library["name"]
        assert library["version"]


def test_every_file_is_in_the_manifest() -> None:
    named = {file["path"] for library in MANIFEST["libraries"] for file in library["files"]}
    found = {
        str(path.relative_to(VENDOR)) for pattern in ("*.js", "fonts/*", "keys/*") for path in VENDOR.glob(pattern)
    }
    assert found == named


def test_the_pages_scripts_are_small() -> None:
    size = sum(
        len(gzip.compress(path.read_bytes())) for folder in ("js", "vendor") for path in STATIC.glob(f"{folder}/*.js")
    )
    assert size <= SCRIPT_BUDGET


def test_nothing_names_another_host() -> None:
    for path in [*STATIC.rglob("js/**/*.js"), *STATIC.glob("css/*.css")]:
        text = path.read_text()
        assert "http://" not in text, path
        assert "https://" not in text, path
