"""Large files that scripts read, such as models: each stored once, under the hash of its content."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import IO

import msgspec

from app.errors import Damaged, InvalidBody, NotFound, TooLarge

READ_BYTES = 1 << 20
FILE_ID = re.compile(r"[0-9a-f]{64}")


class Upload(msgspec.Struct, frozen=True, kw_only=True):
    """A stored file."""

    id: str
    """SHA-256 of the content, in hexadecimal; workspaces name the file by it."""
    size: int


class Uploads:
    """A directory of files by the hash of their content.

    Parameters
    ----------
    directory : Path
        Each file is named by its hash.
    largest : int
        Size limit of a file, in bytes.
    """

    def __init__(self, directory: Path, largest: int) -> None:
        self._directory = directory
        self._largest = largest
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def put(self, source: IO[bytes]) -> Upload:
        """Store the content of ``source``; the same content is stored once.

        Raises
        ------
        TooLarge
            The file is larger than files may be.
        InvalidBody
            The file is empty.
        """
        digest, size = hashlib.sha256(), 0
        handle, temporary = tempfile.mkstemp(dir=self._directory, prefix=".arriving-")
        try:
            with os.fdopen(handle, "wb") as target:
                while data := source.read(READ_BYTES):
                    size += len(data)
                    if size > self._largest:
                        limit = f"at most {self._largest:,} bytes"
                        raise TooLarge("the file is too large", field="$.file", expected=limit)
                    digest.update(data)
                    target.write(data)
            if not size:
                raise InvalidBody("the file is empty", field="$.file", expected="a file with content")
            # Renaming is atomic: a file of that name is complete.
            os.replace(temporary, self._directory / digest.hexdigest())
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return Upload(id=digest.hexdigest(), size=size)

    def read(self, name: str, file: str) -> bytes:
        """Return the content of a file that a workspace calls ``name``.

        Raises
        ------
        NotFound
            No such file was uploaded here.
        Damaged
            The stored content does not match its hash.
        """
        path = self._directory / file
        if not FILE_ID.fullmatch(file) or not path.is_file():
            raise NotFound(f"the file {name!r} is not stored here; attach it again", field="$.uploads")
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != file:
            raise Damaged(f"the stored file {name!r} does not match its hash")
        return content
