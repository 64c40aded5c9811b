"""File storage shared by several servers: an object store or a network file system.

Each server keeps the files that its scripts read in a directory of its own, see :mod:`app.store.uploads`; what is
uploaded to one is copied here under the hash of its content, and fetched from here by another that needs it.
"""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol, cast

from app.config import ConfigurationError
from app.errors import RequestError, Unavailable

RETRY_SECONDS = 5


class _Writing(Protocol):
    """A file of fsspec that others do not see before it is committed."""

    def __enter__(self) -> IO[bytes]: ...
    def __exit__(self, *error: object) -> None: ...
    def commit(self) -> None: ...
    def discard(self) -> None: ...


class FileSystem(Protocol):
    """What is used of a file system of fsspec."""

    def makedirs(self, path: str, exist_ok: bool) -> None: ...
    def exists(self, path: str) -> bool: ...
    def open(self, path: str, mode: str, **options: object) -> object: ...
    def cat_file(self, path: str) -> bytes: ...
    def pipe(self, path: Mapping[str, bytes]) -> None: ...


def open_store(url: str) -> tuple[FileSystem, str]:
    """Return the file system of a URL, and the path in it.

    Raises
    ------
    ConfigurationError
        fsspec, or the package for this kind of store, is not installed, or the store does not answer.
    """
    try:
        core = importlib.import_module("fsspec.core")
        system, root = core.url_to_fs(url)
        system.makedirs(root, exist_ok=True)
    except ImportError as error:
        raise ConfigurationError(f"the store {url} cannot be used: {error}; pip install -e '.[store]'") from error
    except Exception as error:  # each kind of store has errors of its own
        raise ConfigurationError(f"the store {url} cannot be used: {error}") from error
    return cast(FileSystem, system), root


class SharedFiles:
    """Files by the hash of their content at a URL.

    Parameters
    ----------
    url : str
        As fsspec reads it: ``s3://bucket/strata``, ``gcs://…``, ``file:///mnt/shared/strata``.  Credentials are found
        where the client of that store looks for them, such as ``AWS_ACCESS_KEY_ID``.

    Raises
    ------
    ConfigurationError
        fsspec, or the package for this kind of store, is not installed, or the store does not answer.
    """

    def __init__(self, url: str) -> None:
        self._system, self._root = open_store(url)

    def save(self, file: Path, name: str) -> None:
        """Copy a file here, unless it is here already; others see it once it is complete.

        Parameters
        ----------
        file : Path
        name : str
            The hash of its content.

        Raises
        ------
        Unavailable
            The store does not take it.
        """
        with self._errors("stored"):
            if self._system.exists(self._path(name)):
                return
            target = cast(_Writing, self._system.open(self._path(name), "wb", autocommit=False))
            try:
                with file.open("rb") as source, target as writing:
                    shutil.copyfileobj(source, writing)
            except BaseException:
                target.discard()
                raise
            target.commit()

    @contextmanager
    def reading(self, name: str) -> Iterator[IO[bytes] | None]:
        """Open a file to read it; None if it is not here.

        Parameters
        ----------
        name : str
            The hash of its content.

        Raises
        ------
        Unavailable
            The store does not answer.
        """
        with self._errors("read"):
            if not self._system.exists(self._path(name)):
                yield None
                return
            with cast("IO[bytes]", self._system.open(self._path(name), "rb")) as content:
                yield content

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    @contextmanager
    def _errors(self, done: str) -> Iterator[None]:
        try:
            yield
        except RequestError:
            raise
        except Exception as error:  # each kind of store has errors of its own
            message = f"the file could not be {done}: the store that the servers share does not answer"
            raise Unavailable(message, retry_after=RETRY_SECONDS) from error
