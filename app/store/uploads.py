"""Large files that scripts read, such as models: stored once under the hash of their content."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import IO

import msgspec

from app.errors import Damaged, InvalidBody, NotFound, TooLarge

PIECE = 1 << 20
FILE_ID = re.compile(r"[0-9a-f]{64}")


class Upload(msgspec.Struct, frozen=True, kw_only=True):
    """A stored file."""

    id: str
    """SHA-256 of the content, in hexadecimal; workspaces name the file by it."""
    size: int


class Uploads:
    """Stores files and gives them back.

    Parameters
    ----------
    directory : Path
        Where they lie, a file each under the name of its hash.
    largest : int
        Bytes that a file may have.
    """

    def __init__(self, directory: Path, largest: int) -> None:
        self._directory = directory
        self._largest = largest
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def put(self, source: IO[bytes]) -> Upload:
        """Store what ``source`` holds; the same content is stored once.

        Raises
        ------
        TooLarge
            The file is larger than files may be.
        InvalidBody
            There is nothing in it.
        """
        digest, size = hashlib.sha256(), 0
        handle, temporary = tempfile.mkstemp(dir=self._directory, prefix=".arriving-")
        try:
            with os.fdopen(handle, "wb") as target:
                while piece := source.read(PIECE):
                    size += len(piece)
                    if size > self._largest:
                        limit = f"at most {self._largest:,} bytes"
                        raise TooLarge("the file is too large", field="$.file", expected=limit)
                    digest.update(piece)
                    target.write(piece)
            if not size:
                raise InvalidBody("the file is empty", field="$.file", expected="a file with something in it")
            # Moving is atomic: whoever finds the name finds the whole content.
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
            What is stored is not what was uploaded.
        """
        path = self._directory / file
        if not FILE_ID.fullmatch(file) or not path.is_file():
            raise NotFound(f"the file {name!r} is not stored here; attach it again", field="$.uploads")
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != file:
            raise Damaged(f"the stored file {name!r} is not what was uploaded")
        return content
