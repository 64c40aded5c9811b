"""Spooled data between network, threads and children, in memory or in a temporary file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from io import BytesIO
from typing import IO

from app.errors import Unavailable
from app.memory import Claim

PIECE_BYTES = 1 << 16


class Spool:
    """A buffer that is written first and then read; iterable by WSGI servers as a response body.

    Parameters
    ----------
    claim : Claim
        Claim on the budget for the bytes; released when the spool is closed.
    memory_bytes : int
        Size up to which the data is kept in memory instead of a temporary file.
    """

    def __init__(self, claim: Claim, memory_bytes: int) -> None:
        self._claim = claim
        self._memory_bytes = memory_bytes
        self.file: IO[bytes] = BytesIO()
        self.size = 0
        self.in_memory = True

    def write(self, data: bytes) -> None:
        """Append bytes.

        Raises
        ------
        Busy, TooLarge
            If the budget of the client or of all clients is exceeded.
        Unavailable
            If the disk is full.
        """
        self._claim.grow(len(data))
        try:
            if self.in_memory and self.size + len(data) > self._memory_bytes:
                self._to_disk()
            self.file.write(data)
        except OSError as error:
            raise Unavailable(
                f"there is no room for the body in {tempfile.gettempdir()}: {error.strerror}", retry_after=10
            ) from error
        self.size += len(data)

    def rewind(self) -> IO[bytes]:
        """Return the file, positioned at its start, for reading."""
        self.file.seek(0)
        return self.file

    def __iter__(self) -> Iterator[bytes]:
        file = self.rewind()
        while piece := file.read(PIECE_BYTES):
            yield piece

    def close(self) -> None:
        """Delete the data; idempotent."""
        self.file.close()
        self._claim.release()

    def _to_disk(self) -> None:
        file = tempfile.TemporaryFile(prefix="strata-")  # noqa: SIM115 - closed by close()
        assert isinstance(self.file, BytesIO)
        file.write(self.file.getvalue())
        self.file, self.in_memory = file, False
