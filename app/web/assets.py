"""Static files, with a content hash in their URL for permanent caching."""

from __future__ import annotations

import gzip
import hashlib
from functools import lru_cache
from pathlib import Path

from flask import Flask, Response, request, send_from_directory

COMPRESSED = frozenset({".css", ".js", ".json", ".mjs", ".svg", ".txt", ".webmanifest"})
"""Suffixes of files to compress; fonts and images are compressed already."""
FOREVER_SECONDS = 365 * 24 * 3600


class Assets:
    """The files of a directory, as of server start.

    As modules and style sheets refer to each other by relative paths, all files share one version, which is part of
    the URL of the directory.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.version = _version_of(folder)
        self._compressed = lru_cache(maxsize=256)(self._compress)

    def serve(self, version: str, filename: str) -> Response:
        """Return a file; requests of an older version get the newest one, without caching."""
        response = self._compressed_response(filename) or send_from_directory(self._folder, filename, conditional=True)
        if version == self.version:
            response.headers["Cache-Control"] = f"public, max-age={FOREVER_SECONDS}, immutable"
        else:
            response.headers["Cache-Control"] = "no-cache"
        return response

    def _compressed_response(self, filename: str) -> Response | None:
        """Return a compressed response, or None if the client or the file does not support that."""
        if Path(filename).suffix not in COMPRESSED or not request.accept_encodings["gzip"]:
            return None
        original = send_from_directory(self._folder, filename, conditional=False)  # this checks the path
        original.close()
        response = Response(self._compressed(filename), mimetype=original.mimetype)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Vary"] = "Accept-Encoding"
        return response

    def _compress(self, filename: str) -> bytes:
        return gzip.compress((self._folder / filename).read_bytes(), mtime=0)


def install(app: Flask, folder: Path) -> None:
    """Serve a folder as the endpoint ``static``, whose ``url_for`` only needs the file name."""
    assets = Assets(folder)
    app.add_url_rule("/static/<version>/<path:filename>", endpoint="static", view_func=assets.serve)

    def add_version(endpoint: str, values: dict[str, object]) -> None:
        if endpoint == "static":
            values.setdefault("version", assets.version)

    app.url_defaults(add_version)


def _version_of(folder: Path) -> str:
    """Return a hash of the names and contents of all files in a folder."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(str(path.relative_to(folder)).encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]
