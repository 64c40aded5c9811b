"""Uploaded files, such as models, stored once under the hash of their content.

The server streams a file in small pieces: on upload, and on its first use after a start, to verify its hash.  Jobs copy
it themselves.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import IO

import msgspec

from app.errors import Damaged, InvalidBody, NotFound, TooLarge
from app.locks import try_lock
from app.sandbox import StoredFile
from app.store.faults import storing
from app.store.quota import Quota
from app.store.shared_files import SharedFiles
from app.store.space import Space, on_disk

READ_BYTES = 1 << 18
FILE_ID = re.compile(r"[0-9a-f]{64}")
ARRIVING = ".arriving-"
"""Prefix of incomplete files."""
MAX_VERIFIED = 4096
"""Maximum number of files remembered as verified."""


class Upload(msgspec.Struct, frozen=True, kw_only=True):
    """A stored file."""

    id: str
    """SHA-256 of the content in hexadecimal, by which workspaces refer to the file."""
    size: int


class Uploads:
    """A content-addressed directory of uploaded files.

    Parameters
    ----------
    directory : Path
        The directory; its files are named by their hashes.
    largest : int
        Size limit of a file, in bytes.
    capacity : int
        Size limit of all files together, in bytes.
    reserve : int
        Bytes of the disk to keep free.
    shared : SharedFiles, optional
        Store shared with other servers.

    Attributes
    ----------
    space : Space
        Accounting of disk space.
    """

    def __init__(
        self, directory: Path, largest: int, capacity: int, reserve: int = 0, shared: SharedFiles | None = None
    ) -> None:
        self.directory = directory
        self._shared = shared
        self._largest = largest
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sweep(directory)
        self.space = Space(directory, capacity, reserve, lambda name: FILE_ID.fullmatch(name) is not None)
        self._verified: OrderedDict[str, tuple[int, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, source: IO[bytes], quota: Quota) -> Upload:
        """Store the content of ``source``; equal content is stored once.

        Parameters
        ----------
        quota : Quota
            Charged with the bytes stored; nothing for a file that is rejected or exists already.

        Raises
        ------
        TooLarge
            If the file exceeds the size limit.
        InvalidBody
            If the file is empty.
        StorageFull
            If there is no space.
        Unavailable
            If the shared store does not accept it.
        """
        return self._receive(source, quota, self._share)

    def _receive(self, source: IO[bytes], quota: Quota | None, check: Callable[[Path, str], None]) -> Upload:
        """Store the content of ``source`` after calling ``check`` with the complete file and its hash."""
        with storing("the file"):
            handle, temporary = _create(self.directory)
            taken = stored = 0
            try:
                with os.fdopen(handle, "wb") as target:
                    digest, size = hashlib.sha256(), 0
                    while data := source.read(READ_BYTES):
                        size += len(data)
                        self._check_size(size)
                        if quota is not None:
                            quota.check(on_disk(size))
                        self.space.take(len(data))
                        taken += len(data)
                        digest.update(data)
                        target.write(data)
                    if not size:
                        raise InvalidBody("the file is empty", field="$.file", expected="a file with content")
                    target.flush()
                    os.fsync(handle)
                    check(temporary, digest.hexdigest())
                    stored = self._place(temporary, digest.hexdigest(), size, quota)
            finally:
                temporary.unlink(missing_ok=True)
                self.space.settle(taken, stored)
        return Upload(id=digest.hexdigest(), size=size)

    def _share(self, temporary: Path, file: str) -> None:
        if self._shared is not None:
            self._shared.save(temporary, file)

    def _fetch(self, name: str, file: str) -> None:
        """Fetch a file from the shared store, if it is there."""

        def check(_temporary: Path, digest: str) -> None:
            if digest != file:
                raise Damaged(f"the stored file {name!r} does not match its hash; attach it again")

        if self._shared is not None:
            with self._shared.reading(file) as content:
                if content is not None:
                    self._receive(content, None, check)

    def _check_size(self, size: int) -> None:
        if size > self._largest:
            limit = f"at most {self._largest:,} bytes"
            raise TooLarge("the file is too large", field="$.file", expected=limit)

    def _place(self, temporary: Path, file: str, size: int, quota: Quota | None) -> int:
        """Move a complete file to its final name; return the number of bytes added."""
        path = self.directory / file
        stored = 0 if path.is_file() else on_disk(size)
        if quota is not None:
            quota.charge(stored)
        # Renaming is atomic: a file of that name is complete.  One that was damaged is whole again.
        os.replace(temporary, path)
        self._remember(file, path.stat())
        return stored

    def find(self, name: str, file: str) -> StoredFile:
        """Return the file that a workspace calls ``name``, verifying its hash on first use.

        Raises
        ------
        NotFound
            If there is no such file.
        Damaged
            If the stored content does not match its hash.
        StorageFull
            If there is no space to fetch it from the shared store.
        Unavailable
            If the shared store does not respond.
        """
        path = self.directory / file
        if FILE_ID.fullmatch(file) and not path.is_file():
            self._fetch(name, file)
        if not FILE_ID.fullmatch(file) or not path.is_file():
            raise NotFound(f"the file {name!r} is not stored on this server; attach it again", field="$.uploads")
        stamp = path.stat()
        if self._verified.get(file) != _identity(stamp):
            with path.open("rb") as content:
                if hashlib.file_digest(content, "sha256").hexdigest() != file:
                    raise Damaged(f"the stored file {name!r} does not match its hash; attach it again")
            self._remember(file, stamp)
        return StoredFile(path, stamp.st_size)

    def _remember(self, file: str, stamp: os.stat_result) -> None:
        with self._lock:
            self._verified[file] = _identity(stamp)
            self._verified.move_to_end(file)
            if len(self._verified) > MAX_VERIFIED:
                self._verified.popitem(last=False)


def _identity(stamp: os.stat_result) -> tuple[int, ...]:
    """Return a stamp of a file that changes when the file is written."""
    return stamp.st_ino, stamp.st_size, stamp.st_mtime_ns, stamp.st_ctime_ns


def _create(directory: Path) -> tuple[int, Path]:
    """Create a file that stays locked while it is open; see :func:`_sweep`."""
    while True:
        handle, path = tempfile.mkstemp(dir=directory, prefix=ARRIVING)
        try_lock(handle)
        if os.fstat(handle).st_nlink:
            return handle, Path(path)
        os.close(handle)  # a server that just started removed it as stale


def _sweep(directory: Path) -> None:
    """Delete stale incomplete files, which no running server holds a lock on."""
    for path in directory.glob(ARRIVING + "*"):
        with path.open("rb") as file:
            if try_lock(file.fileno()):
                path.unlink(missing_ok=True)
