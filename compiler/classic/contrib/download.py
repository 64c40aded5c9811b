"""``tvm.contrib.download``."""

from __future__ import annotations

import os
import shutil
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from compiler.ir.error import UnavailableError


def download(url: str, path: str | Path, overwrite: bool = False, size_compare: bool = False, retries: int = 3) -> None:
    """Fetch a file, unless it exists; with ``size_compare`` also where it has another size than the server says.

    Raises UnavailableError if it cannot be fetched: programs in the explorer have no network.
    """
    target = Path(path)
    if target.is_file() and not overwrite and not (size_compare and _size(url) != target.stat().st_size):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(1, max(retries, 1) + 1):
        try:
            with (
                urllib.request.urlopen(url, timeout=30) as source,
                tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as part,
            ):
                shutil.copyfileobj(source, part)
            os.replace(part.name, target)
            return
        except (urllib.error.URLError, OSError, ValueError) as exc:
            if attempt >= retries:
                raise UnavailableError(f"download: {url} cannot be fetched: {exc}") from None


def _size(url: str) -> int | None:
    """Return how many bytes a server says that a file has."""
    try:
        request = urllib.request.Request(url, method="HEAD")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return int(answer.headers["Content-Length"])
    except (urllib.error.URLError, OSError, ValueError, TypeError):
        return None


def download_testdata(url: str, relpath: str, module: str | list[str] | None = None, overwrite: bool = False) -> str:
    """Fetch a file to the folder of test data: ``TEST_DATA_ROOT_PATH``, else ``~/.tvm_test_data``.

    ``module`` are the folders that ``relpath`` is in.
    """
    root = Path(os.environ.get("TEST_DATA_ROOT_PATH") or Path.home() / ".tvm_test_data")
    folders = [module] if isinstance(module, str) else module or []
    path = root.joinpath(*folders, relpath)
    download(url, path, overwrite)
    return str(path)
