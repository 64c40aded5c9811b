"""Opening of links, limited in bytes per client and in total."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from app.errors import NotFound
from app.services import current_services
from app.store.links import OpenedLink
from app.store.workspace_limits import content_bytes
from app.web.requests import current_client

MAX_INFLATION = 1032
"""Maximum compression ratio of DEFLATE."""

BASE_BYTES = 1 << 18
"""Base cost of opening a link, charged even if it is too large."""


@contextmanager
def opened(link: str) -> Iterator[OpenedLink]:
    """Open a link for the duration of a block, which has to process the content completely.

    Raises
    ------
    NotFound
        If there is no such link.
    Busy
        If the client exceeded its rate limit for opened or nonexistent links.
    Unavailable
        If too many large links are being opened.
    """
    services, address = current_services(), current_client().address
    services.missing.check(address)
    services.opening.charge(address, BASE_BYTES)
    try:
        stored = services.links.stored_bytes(link)
    except NotFound:
        services.missing.charge(address)
        raise
    with services.link_bytes.acquire(min(services.workspace_limits.content_bytes, stored * MAX_INFLATION)):
        content = services.links.open(link)
        services.opening.charge(address, max(0, content_bytes(content.state.workspace) - BASE_BYTES))
        yield content
