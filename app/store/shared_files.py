"""File storage shared by several servers: an object store or a network file system.

Each server keeps the files that its scripts read in a local directory, see :mod:`app.store.uploads`; uploads are also
copied to the shared store under the hash of their content, from which other servers fetch them.
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


class _AtomicFile(Protocol):
    """An fsspec file that is invisible to others until committed."""

    def __enter__(self) -> IO[bytes]: ...
    def __exit__(self, *error: object) -> None: ...
    def commit(self) -> None: ...
    def discard(self) -> None: ...


class FileSystem(Protocol):
    """The part of an fsspec file system that is used here."""

    def makedirs(self, path: str, exist_ok: bool) -> None: ...
    def exists(self, path: str) -> bool: ...
    def open(self, path: str, mode: str, **options: object) -> object: ...
    def cat_file(self, path: str) -> bytes: ...
    def pipe(self, path: Mapping[str, bytes]) -> None: ...


def open_store(url: str) -> tuple[FileSystem, str]:
    """Return the file system of a URL, and the path within it.

    Raises
    ------
    ConfigurationError
        If fsspec or the package for this kind of store is missing, or the store does not respond.
    """
    try:
        core = importlib.import_module("fsspec.core")
        system, root = core.url_to_fs(url)
        system.makedirs(root, exist_ok=True)
    except ImportError as error:
        raise ConfigurationError(
            f"the store {url} cannot be used: {error}; pip install 'strata-explorer[store]'"
        ) from error
    except Exception as error:  # each kind of store raises its own exceptions
        raise ConfigurationError(f"the store {url} cannot be used: {error}") from error
    return cast(FileSystem, system), root


class SharedFiles:
    """A content-addressed file store at a URL.

    Parameters
    ----------
    url : str
        An fsspec URL: ``s3://bucket/strata``, ``gcs://…``, ``file:///mnt/shared/strata``.  Credentials come from where
        the client of that store looks for them, such as ``AWS_ACCESS_KEY_ID``.

    Raises
    ------
    ConfigurationError
        If fsspec or the package for this kind of store is missing, or the store does not respond.
    """

    def __init__(self, url: str) -> None:
        self._system, self._root = open_store(url)

    def save(self, file: Path, name: str) -> None:
        """Copy a file to the store unless it is there already; it becomes visible once complete.

        Parameters
        ----------
        name : str
            Hash of its content.

        Raises
        ------
        Unavailable
            If the store does not accept it.
        """
        with self._errors("stored"):
            if self._system.exists(self._path(name)):
                return
            target = cast(_AtomicFile, self._system.open(self._path(name), "wb", autocommit=False))
            try:
                with file.open("rb") as source, target as writing:
                    shutil.copyfileobj(source, writing)
            except BaseException:
                target.discard()
                raise
            target.commit()

    @contextmanager
    def reading(self, name: str) -> Iterator[IO[bytes] | None]:
        """Open a file for reading; None if it is not in the store.

        Parameters
        ----------
        name : str
            Hash of its content.

        Raises
        ------
        Unavailable
            If the store does not respond.
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
        except Exception as error:  # each kind of store raises its own exceptions
            message = f"the file could not be {done}: the store that the servers share does not answer"
            raise Unavailable(message, retry_after=RETRY_SECONDS) from error
