"""Large responses, spooled to disk for slow clients."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from typing import IO

from flask import Response

MEMORY_BYTES = 1 << 18
"""Size up to which a response is kept in memory."""
CHUNK_BYTES = 1 << 16


def spooled(pieces: Iterable[bytes], mimetype: str) -> Response:
    """Return a response whose pieces are generated immediately and sent from a temporary file."""
    file = tempfile.SpooledTemporaryFile(MEMORY_BYTES)  # noqa: SIM115 - it is closed with the response
    try:
        for piece in pieces:
            file.write(piece)
        size = file.tell()
        file.seek(0)
    except BaseException:
        file.close()
        raise
    response = Response(_chunks(file), mimetype=mimetype)
    response.content_length = size
    response.call_on_close(file.close)
    return response


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        yield chunk
